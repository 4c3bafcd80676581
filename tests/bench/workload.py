"""One engine cycle on any store: start, park, resume, execute, finish. No model in the way."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import patch

from engine import Agent, Allow, RunEngine, RunStatus
from engine import executor as executor_module
from engine.identity import Actor, Via
from engine.ids import PersonId, RunId
from engine.model import ModelQuestion, ModelReply, ProposedCall
from engine.runs import Usage
from engine.store import Change, Claim, Done, Store
from engine.worker import WorkerOptions
from notifiers.inbox import InboxNotifier

OWNER = PersonId("UALICE")
MANY = 1_000_000


def deploy(version: str) -> str:
    """Deploy a version."""
    return f"release {version} live"


async def stub_model(question: ModelQuestion) -> ModelReply:
    """Say what a model would: one call, then words."""
    if len(question.entries) > 1:
        return ModelReply(_response("done"), "done", (), Usage(requests=1))
    call = ProposedCall("p1", "deploy", '{"version": "1.4.2"}')
    return ModelReply(_response("I would like to deploy."), "", (call,), Usage(requests=1))


def _response(words: str) -> str:
    part = {"content": words, "part_kind": "text"}
    return json.dumps([{"parts": [part], "kind": "response", "model_name": "stub"}])


class Arrivals:
    """Tells when a run has come to a status: the moment at which its commit returned."""

    def __init__(self, store: Store) -> None:
        """Listen to a store's commits."""
        self._waiting: dict[tuple[RunId, RunStatus], asyncio.Event] = {}
        self._commit = store.commit
        store.commit = self._told  # type: ignore[method-assign]

    async def _told(self, change: Change, claim: Claim | None = None) -> Done:
        done = await self._commit(change, claim)
        self._event(change.run.id, change.run.status).set()
        return done

    async def at(self, run: RunId, status: RunStatus) -> None:
        """Return when the run is there."""
        await self._event(run, status).wait()
        del self._waiting[run, status]

    def _event(self, run: RunId, status: RunStatus) -> asyncio.Event:
        return self._waiting.setdefault((run, status), asyncio.Event())


class Workload:
    """An engine on a store, and a worker that advances runs."""

    def __init__(self, store: Store, *, cards: bool = False) -> None:
        """Take the store; with cards, they are shown in an inbox."""
        self.store = store
        agent = Agent(
            name="deployer",
            model="stub",
            tools=[deploy],
            approvals={"deploy": "user"},
            notify="inbox" if cards else None,
            # Counted, as by default, but none is held back.
            max_open_asks=MANY,
            max_open_asks_per_approver=MANY,
        )
        self.engine = RunEngine(
            store=store,
            agents=[agent],
            resume_secret="s" * 32,
            notifiers={"inbox": InboxNotifier()} if cards else {},
        )
        self._arrivals = Arrivals(store)

    async def park(self) -> str:
        """Start a run and return its ref once it waits."""
        started = await self.engine.start("deployer", "deploy 1.4.2", owner=OWNER)
        await self._arrivals.at(started.run, RunStatus.WAITING)
        return started.ref

    async def cycle(self) -> None:
        """Start, park, resume, execute, finish."""
        started = await self.engine.start("deployer", "deploy 1.4.2", owner=OWNER)
        await self._arrivals.at(started.run, RunStatus.WAITING)
        token = await self.engine.token_for(started.ref, Via.API)
        actor = Actor(id=OWNER, via=Via.API)
        key = self.engine.answers.key(token, Allow(), actor)
        await self.engine.resume(token, Allow(), actor=actor, idempotency_key=key)
        await self._arrivals.at(started.run, RunStatus.SUCCEEDED)

    async def cycles(self, count: int, tasks: int = 1) -> float:
        """Run that many cycles, so many at once, and return the seconds they took."""

        async def lane() -> None:
            for _ in range(count // tasks):
                await self.cycle()

        async with self.serving(tasks):
            begun = time.perf_counter()
            await asyncio.gather(*(lane() for _ in range(tasks)))
            return time.perf_counter() - begun

    @asynccontextmanager
    async def serving(self, slots: int) -> AsyncIterator[None]:
        """Have a worker advance so many runs at once."""
        worker = self.engine.worker(WorkerOptions(name="bench", slots=slots))
        with patch.object(executor_module, "ask_model", stub_model):
            stop = asyncio.Event()
            working = asyncio.create_task(worker.run(stop))
            try:
                yield
            finally:
                stop.set()
                await working
