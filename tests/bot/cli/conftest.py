"""The command line as people use it, beside a serving process, both on one SQLite file."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from bot.cli import app
from engine import Actor, Agent, Allow, Run, RunEngine, Via
from engine.ids import Clock, PersonId, Surroundings, utc_now
from engine.stores import SqliteStore
from engine.worker import WorkerOptions
from examples.deployer import deployer
from notifiers.inbox import InboxNotifier

SECRET = "terminal-tests-" + "0123456789abcdef" * 2
ALICE, BOB, CAROL = "U0ALICE", "U0BOB", "U0CAROL"

T = TypeVar("T")


@dataclass(frozen=True)
class Said:
    """What a command printed, and how it ended."""

    status: int
    out: str
    err: str


@dataclass
class Terminal:
    """Types commands."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str, operator: str | None = None) -> Said:
        if operator is not None:
            self.monkeypatch.setenv("HOLDSHORT_OPERATOR", operator)
        self.monkeypatch.setattr(sys, "argv", ["holdshort", *words])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        printed = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, printed.out, printed.err)


@dataclass
class Serving:
    """The serving process on the same file: agents, and an inbox in place of Slack."""

    path: Path
    agent: Agent
    inbox: InboxNotifier = field(default_factory=InboxNotifier)

    clock: Clock = utc_now

    def start(self, *, owner: str = ALICE, requester: str = "") -> Run:
        """Start a run, serve until it waits, and return it."""

        async def work(engine: RunEngine) -> Run:
            name = self.agent.name
            queued = await engine.start(name, "Deploy 1.4.2", owner=owner, requester=requester)
            return await _settled(engine, queued.run)

        return asyncio.run(self._use(work))

    def queue(self) -> str:
        """Start a run that nobody advances yet, and return its id."""

        async def work(engine: RunEngine) -> str:
            return (await engine.start(self.agent.name, "Go", owner=ALICE)).run

        return asyncio.run(self._use(work))

    def approve(self, run: Run, who: str) -> None:
        """Approve what a run waits for, by the token on its card."""

        async def work(engine: RunEngine) -> None:
            assert run.waiting is not None
            token = self.inbox.tokens[f"{run.id}:{run.waiting.approval}"]
            await engine.resume(token, Allow(), actor=Actor(id=PersonId(who), via=Via.API))

        asyncio.run(self._use(work))

    def serve(self, name: str) -> Run:
        """Serve until nothing moves, and return a run."""
        return asyncio.run(self._use(lambda engine: _settled(engine, name)))

    def vanish(self, begun: asyncio.Event) -> None:
        """Serve until a tool has begun; then be gone without a word."""

        async def work(engine: RunEngine) -> None:
            worker = engine.worker(WorkerOptions(name="gone"))
            working = asyncio.create_task(worker.drain_ready())
            await begun.wait()
            working.cancel()
            await asyncio.wait({working})

        asyncio.run(self._use(work))

    async def _use(self, work: Callable[[RunEngine], Awaitable[T]]) -> T:
        store = SqliteStore(self.path, clock=self.clock)
        engine = RunEngine(
            store=store,
            agents=[self.agent],
            resume_secret=SECRET,
            notifiers={"slack": self.inbox},
            surroundings=Surroundings(clock=self.clock),
        )
        try:
            return await work(engine)
        finally:
            await store.close()


async def _settled(engine: RunEngine, name: str) -> Run:
    for _ in range(4):
        await engine.tick()
    return await engine.get_run(name)


def an_hour_ago() -> datetime:
    return datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set up the environment of a terminal, and return the database file."""
    for name in [name for name in os.environ if name.startswith(("HOLDSHORT_", "SLACK_"))]:
        monkeypatch.delenv(name)
    file = tmp_path / "holdshort.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDSHORT_STORE_URL", f"sqlite:///{file}")
    monkeypatch.setenv("HOLDSHORT_RESUME_SECRETS", SECRET)
    monkeypatch.setenv("HOLDSHORT_AGENTS", "examples.deployer:agent")
    return file


@pytest.fixture
def terminal(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    return Terminal(monkeypatch, capsys)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def serving(path: Path, ledger: Path) -> Serving:
    """Return a process that serves the example agent; Bob and Carol approve."""
    return Serving(path, deployer(ledger, [BOB, CAROL]))
