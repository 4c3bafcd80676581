"""A storm: several bots on one store, people who press, and something killed all the time.

Real processes, real SIGKILL, Socket Mode; the local Slack lives in the test. Kills come with the
progress of the work, not with time, so that a slow machine sees as many as a quick one.
"""

import asyncio
import contextlib
import hashlib
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from bot.bootstrap import open_runtime
from bot.local_slack import ControlError, LocalSlack, LocalSlackClient
from bot.local_slack.messages import Message
from bot.settings import Purpose, given_settings
from engine import Origin, Run, RunEngine, RunStatus, Settle, Via
from engine.errors import StoreUnavailableError
from engine.events import RunEvent, TicketClosed
from engine.identity import Actor
from engine.ids import PersonId, RunId
from engine.store import RunFilter
from engine.tickets import OutcomeUnknown
from notifiers import names
from tests.faults.replica import deployer

ALICE, BOB, DEPLOYS = "U0ALICE", "U0BOB", "C0DEPLOYS"
SECRET = "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf"
LOOK_AGAIN = timedelta(seconds=0.2)
LIVE = RunFilter(statuses=(RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING))


class Backend(Protocol):
    """The store's server, if it has one."""

    @property
    def url(self) -> str:
        """Return the store's URL."""
        ...

    async def kill(self) -> bool:
        """Kill the server and start it again on its data; False where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class OnFile:
    """SQLite: nothing to kill but the bots."""

    url: str

    async def kill(self) -> bool:
        """There is no server."""
        return False


@dataclass(frozen=True, slots=True)
class Weather:
    """How hard it blows.

    Attributes:
        runs: Started in as many batches as there are kills.
        kills: One in each batch, of a random bot or the server.
        moves: A kill falls after at most so many more changes in Slack.

    """

    runs: int
    kills: int
    moves: int = 40
    replicas: int = 3
    seed: int = 1


@dataclass
class Storm:
    """The Slack, the bots, the store, and what happened."""

    slack: LocalSlack
    people: LocalSlackClient
    engine: RunEngine
    backend: Backend
    folder: Path
    weather: Weather
    stack: AsyncExitStack
    replicas: list[asyncio.subprocess.Process] = field(default_factory=list)
    rising: list[asyncio.Task[None]] = field(default_factory=list)
    started: dict[RunId, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    async def blow(self) -> None:
        """Start the runs, press and kill until nothing is left but what only a person can know."""
        self.replicas = list(
            await asyncio.gather(*(self._replica() for _ in range(self.weather.replicas)))
        )
        async with asyncio.TaskGroup() as group:
            pressing = group.create_task(self._press())
            await self._start_and_kill(group)
            await pressing
        await self._settle_unknown()
        await self._until(self._all_told)

    def effects(self) -> Counter[str]:
        """Return how often each version was really deployed."""
        ledger = self.folder / "ledger"
        return Counter(ledger.read_text().split() if ledger.exists() else [])

    async def runs(self) -> list[Run]:
        """Return every run as it stands."""
        return [await self._insist(self.engine.get_run, run) for run in self.started]

    async def decisions(self, run: RunId) -> Counter[str]:
        """Return how often each ticket of a run was decided."""
        facts = [event.fact for event in await self.events(run)]
        return Counter(fact.approval for fact in facts if isinstance(fact, TicketClosed))

    async def events(self, run: RunId) -> tuple[RunEvent, ...]:
        """Return what happened to a run."""
        found: tuple[RunEvent, ...] = await self._insist(self.engine.events, run)
        return found

    def cards(self) -> list[Message]:
        """Return every card that was ever posted to the channel."""
        return [one for one in self.slack.workspace.messages.in_channel(DEPLOYS) if one.metadata]

    async def _replica(self) -> asyncio.subprocess.Process:
        with (self.folder / "bot.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.faults.replica",
                env=self._environment(),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        self.stack.push_async_callback(_end, process)
        assert process.stdout is not None
        await process.stdout.readline()
        return process

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path.cwd()),
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "HOLDSHORT_SLACK_MODE": "socket",
            "HOLDSHORT_SLACK_API_URL": self.slack.api_url,
            "HOLDSHORT_SLACK_CHANNEL": DEPLOYS,
            "HOLDSHORT_STORE_URL": self.backend.url,
            "HOLDSHORT_RESUME_SECRETS": SECRET,
            "HOLDSHORT_PORT": "0",
            "LEDGER": str(self.folder / "ledger"),
        }

    async def _start_and_kill(self, group: asyncio.TaskGroup) -> None:
        dice = random.Random(self.weather.seed)  # noqa: S311 - the same storm each time
        for number in range(self.weather.kills):
            await self._start_runs(number)
            await self._something_moved(dice.randrange(self.weather.moves))
            await self._kill_one(dice, group)

    async def _start_runs(self, batch: int) -> None:
        for number in range(batch, self.weather.runs, self.weather.kills):
            version = f"1.{number}"
            queued = await self._insist(
                self.engine.start,
                "deployer",
                version,
                owner=ALICE,
                origin=Origin(via=Via.SLACK, channel=DEPLOYS),
                idempotency_key=version,
            )
            self.started[queued.run] = version

    async def _something_moved(self, count: int) -> None:
        """Wait until so many things happened in Slack, or nothing is left to happen."""
        feed = self.slack.workspace.feed
        until = feed.seq + count

        async def look() -> bool:
            return feed.seq >= until or await self._only_unknown_left()

        await self._until(look)

    async def _press(self) -> None:
        async def look() -> bool:
            # Whoever sees a card that can still be answered presses again, until it is closed.
            await asyncio.gather(*(self._press_one(card) for card in self.cards() if _open(card)))
            all_started = len(self.started) == self.weather.runs
            return all_started and await self._only_unknown_left()

        await self._until(look)

    async def _press_one(self, card: Message) -> None:
        version = self.started.get(RunId(_key(card).partition(":")[0]))
        if version is None:
            return
        # The card may close while the finger is on its way, and a dead bot takes no press.
        with contextlib.suppress(ControlError):
            action = names.APPROVE if allowed(version) else names.DENY
            await self.people.click(BOB, DEPLOYS, card.ts, action)

    async def _kill_one(self, dice: random.Random, group: asyncio.TaskGroup) -> None:
        if dice.randrange(self.weather.replicas + 1) == 0 and await self.backend.kill():
            self.kills["server"] += 1
            return
        standing = [bot for bot in self.replicas if bot.returncode is None]
        victim = dice.choice(standing) if standing else await self._next_up()
        self.kills["bot"] += 1
        victim.kill()
        await victim.wait()
        self.rising.append(group.create_task(self._put_up(self.replicas.index(victim))))

    async def _next_up(self) -> asyncio.subprocess.Process:
        await asyncio.wait(self.rising, return_when=asyncio.FIRST_COMPLETED)
        return next(bot for bot in self.replicas if bot.returncode is None)

    async def _put_up(self, place: int) -> None:
        self.replicas[place] = await self._replica()
        self.rising = [task for task in self.rising if task is not asyncio.current_task()]

    async def _only_unknown_left(self) -> bool:
        page = await self._insist(self.engine.list_runs, LIVE, self.weather.runs)
        return all(
            run.waiting is not None and isinstance(run.waiting.target, OutcomeUnknown)
            for run in page.runs
        )

    async def _settle_unknown(self) -> None:
        """Look into the ledger, and say what happened."""
        page = await self._insist(self.engine.list_runs, LIVE, self.weather.runs)
        bob = Actor(id=PersonId(BOB), via=Via.TERMINAL)
        for run in page.runs:
            assert run.waiting is not None
            happened = self.started[run.id] in self.effects()
            found = Settle(outcome="happened" if happened else "abandon", value="seen")
            token = await self._insist(self.engine.token_for, run.waiting.ref, Via.TERMINAL)
            await self._insist(
                self.engine.resume, token, found, actor=bob, idempotency_key="settle"
            )

    async def _all_told(self) -> bool:
        ended = not (await self._insist(self.engine.list_runs, LIVE, 1)).runs
        return ended and not any(_open(card) for card in self.cards())

    async def _until(self, look: Callable[[], Awaitable[bool]]) -> None:
        await self.people.wait_for(look, timeout_s=600)

    async def _insist(self, ask: Callable[..., Awaitable[Any]], *given: Any, **more: Any) -> Any:
        """Ask a store that may be down until it answers; every question here may be repeated."""
        while True:
            try:
                return await ask(*given, **more)
            except StoreUnavailableError:
                await self.engine.store.wait(LOOK_AGAIN)


def allowed(version: str) -> bool:
    """Tell whether the people approve of a version: the same for every press."""
    return hashlib.sha256(version.encode()).digest()[0] % 4 > 0


@asynccontextmanager
async def storm(folder: Path, backend: Backend, weather: Weather) -> AsyncIterator[Storm]:
    """Put up a Slack and a store; whatever is left at the end is ended."""
    settings = given_settings(
        Purpose.TERMINAL, store_url=backend.url, resume_secrets=SECRET, operator=BOB
    )
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(LocalSlack())
        people = await stack.enter_async_context(LocalSlackClient(slack.url))
        runtime = await stack.enter_async_context(open_runtime(settings, agents=[deployer]))
        bots = await stack.enter_async_context(AsyncExitStack())
        yield Storm(slack, people, runtime.engine, backend, folder, weather, bots)


def _key(card: Message) -> str:
    return str(card.metadata["event_payload"]["key"])


def _open(card: Message) -> bool:
    return any(block["type"] == "actions" for block in card.blocks)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
