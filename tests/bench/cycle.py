"""One engine cycle, start to finish with one approval, and the replay of its own statements."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from engine import Agent, Allow, RunEngine
from engine import executor as executor_module
from engine.identity import Actor, Via
from engine.ids import PersonId
from engine.model import ModelQuestion, ModelReply, ProposedCall
from engine.runs import Usage
from engine.stores.sqlite import Counters, SqliteStore
from engine.stores.sqlite_database import Database, Options, Tally, open_database
from engine.stores.sqlite_thread import DatabaseThread, Operation
from engine.worker import Worker, WorkerOptions

OWNER = PersonId("UALICE")
T = TypeVar("T")
Statement = tuple[str, Any]


def deploy(version: str) -> str:
    """Deploy a version."""
    return f"release {version} live"


async def stub_model(question: ModelQuestion) -> ModelReply:
    """Say what a model would: one call, then words. No model layer in the way."""
    if len(question.entries) > 1:
        return ModelReply(_response("done"), "done", (), Usage(requests=1))
    call = ProposedCall("p1", "deploy", '{"version": "1.4.2"}')
    return ModelReply(_response("I would like to deploy."), "", (call,), Usage(requests=1))


def _response(words: str) -> str:
    part = {"content": words, "part_kind": "text"}
    return json.dumps([{"parts": [part], "kind": "response", "model_name": "stub"}])


@dataclass
class Tape:
    """The statements of each hop to the database thread, with their parameters."""

    hops: list[list[Statement]] = field(default_factory=list)


class Bench:
    """An engine on a file, its statements taped as they run."""

    def __init__(self, path: Path) -> None:
        self.store = SqliteStore(path)
        agent = Agent(name="deployer", model="stub", tools=[deploy], approvals={"deploy": "user"})
        self.engine = RunEngine(store=self.store, agents=[agent], resume_secret="s" * 32)
        self.worker: Worker = self.engine.worker(WorkerOptions(name="bench"))

    async def cycle(self) -> None:
        """Start, park, resume, execute, finish."""
        started = await self.engine.start("deployer", "deploy 1.4.2", owner=OWNER)
        await self.worker.drain_ready()
        run = await self.engine.get_run(started.run)
        if run.waiting is None:
            raise AssertionError(f"the run did not park: {run.status}")
        token = await self.engine.token_for(run.waiting.ref, Via.API)
        actor = Actor(id=OWNER, via=Via.API)
        key = self.engine.answer_key(token, Allow(), actor)
        await self.engine.resume(token, Allow(), actor=actor, idempotency_key=key)
        await self.worker.drain_ready()

    async def cycles(self, count: int) -> float:
        """Run cycles one after another and return the seconds they took."""
        with patch.object(executor_module, "ask_model", stub_model):
            begun = time.perf_counter()
            for _ in range(count):
                await self.cycle()
            return time.perf_counter() - begun


class Replay:
    """Runs taped statements through a database thread of the same kind on a file of its own."""

    def __init__(self, path: Path) -> None:
        options = Options(str(path), timedelta(seconds=1))
        self._thread = DatabaseThread(lambda: open_database(options, Tally()))

    async def play(self, tape: Tape) -> float:
        """Play a tape, hop by hop, and return the seconds it took."""
        begun = time.perf_counter()
        for hop in tape.hops:
            await self._thread.run(_playing(hop))
        return time.perf_counter() - begun

    async def close(self) -> None:
        """Close the file."""
        await self._thread.close()


def _playing(hop: list[Statement]) -> Operation[None]:
    def play(database: Database) -> None:
        for sql, parameters in hop:
            database.all(sql, parameters)

    return play


def taping(tape: Tape) -> Any:
    """Return a patch under which every hop and statement goes onto the tape."""
    run_in_thread, execute = DatabaseThread.run, Database._execute

    async def run(self: DatabaseThread, operation: Operation[T], **options: Any) -> T:
        tape.hops.append([])
        return await run_in_thread(self, operation, **options)

    def taped(self: Database, sql: str, parameters: Any = ()) -> Any:
        tape.hops[-1].append((sql, parameters))
        return execute(self, sql, parameters)

    return patch.multiple(DatabaseThread, run=run), patch.multiple(Database, _execute=taped)


async def tape_cycles(bench: Bench, count: int) -> tuple[Tape, float]:
    """Run cycles with the tape on; return it and the seconds (the tape costs a little)."""
    tape = Tape()
    hops, statements = taping(tape)
    with hops, statements:
        seconds = await bench.cycles(count)
    return tape, seconds


def per_cycle(before: Counters, after: Counters, count: int) -> dict[str, float]:
    """Return what one cycle cost, by counter."""
    return {
        name: (getattr(after, name) - getattr(before, name)) / count
        for name in ("full_commits", "lite_commits", "statements", "hops")
    }


async def measure(folder: Path, rounds: int, count: int) -> dict[str, Any]:
    """Interleave rounds of cycles with the replay of their statements; return the figures."""
    bench, replay = Bench(folder / "engine.sqlite"), Replay(folder / "replay.sqlite")
    warm, _ = await tape_cycles(bench, 5)
    await replay.play(warm)
    before = bench.store.counters
    pairs = []
    for _ in range(rounds):
        tape, engine_s = await tape_cycles(bench, count)
        pairs.append((engine_s / count, await replay.play(tape) / count))
    counted = per_cycle(before, bench.store.counters, rounds * count)
    await bench.store.close()
    await replay.close()
    return {"pairs": pairs, **counted}


def run(folder: Path, rounds: int = 20, count: int = 50) -> dict[str, Any]:
    """Measure in an event loop of its own."""
    return asyncio.run(measure(folder, rounds, count))
