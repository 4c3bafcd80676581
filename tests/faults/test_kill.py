"""Kill -9 at every point between asking and done: nothing is lost, nothing happens twice.

Real processes, real SIGKILL, a real file; the oracle is a ledger that the tool appends to and
syncs, outside the store.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.local_slack import ActResult, LocalSlack, LocalSlackClient
from engine.runs import Run, RunStatus
from engine.store import RunFilter
from engine.stores import SqliteStore
from notifiers import names
from tests.faults.doomed import Point

ALICE, BOB, DEPLOYS = "U0ALICE", "U0BOB", "C0DEPLOYS"
Json = dict[str, Any]


@dataclass
class Scene:
    """A local Slack that outlives the bots, and the files they share."""

    slack: LocalSlack
    people: LocalSlackClient
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Return the documented settings of a bot here."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path.cwd()),
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_SIGNING_SECRET": self.slack.signing_secret,
            "HOLDSHORT_SLACK_API_URL": self.slack.api_url,
            "HOLDSHORT_SLACK_CHANNEL": DEPLOYS,
            "HOLDSHORT_STORE_URL": f"sqlite:///{self.folder / 'store.sqlite'}",
            "HOLDSHORT_RESUME_SECRETS": "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf",
            "HOLDSHORT_PORT": "0",
            "HOLDSHORT_OPERATOR": BOB,
            "HOLDSHORT_AGENTS": "tests.faults.doomed:deployer",
            "LEDGER": str(self.folder / "ledger"),
        }

    async def bot(self, doom: str = "") -> asyncio.subprocess.Process:
        """Start a bot and point the Slack at it."""
        with (self.folder / "bot.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.faults.doomed",
                env={**self.environment, "DOOM": doom},
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        self.slack.request_url = f"http://127.0.0.1:{port}/slack/events"
        return process

    async def terminal(self, *arguments: str) -> int:
        """Run a command as the operator and return its exit status."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", *arguments, env=self.environment
        )
        return await process.wait()

    def effects(self) -> list[str]:
        """Return what really happened."""
        ledger = self.folder / "ledger"
        return ledger.read_text().splitlines() if ledger.exists() else []

    async def run(self) -> Run:
        """Return the one run as it is stored."""
        store = SqliteStore(self.folder / "store.sqlite")
        try:
            return (await store.list_runs(RunFilter(), 1)).runs[0]
        finally:
            await store.close()

    async def cards(self) -> list[Json]:
        """Return every card in the channel, oldest first."""
        state = await self.people.state(BOB)
        (channel,) = [one for one in state["channels"] if one["id"] == DEPLOYS]
        return [one for one in channel["messages"] if one.get("metadata")]

    async def open_card(self) -> Json:
        """Wait for a card that can be answered."""

        async def look() -> Json | None:
            return next((card for card in await self.cards() if is_open(card)), None)

        found: Json = await self.people.wait_for(look, timeout_s=30)
        return found

    async def approve(self, card: Json) -> ActResult:
        """Press Approve as bob."""
        return await self.people.click(BOB, DEPLOYS, card["ts"], names.APPROVE)

    async def all_closed(self) -> None:
        """Wait until the owner was told of the end and no card can be answered any more."""

        async def look() -> bool:
            state = await self.people.state(ALICE)
            mine = [one for one in state["channels"] if one["is_im"]]
            texts = [message["text"] for channel in mine for message in channel["messages"]]
            told = any(text.startswith("Done") for text in texts)
            return told and not any(is_open(card) for card in await self.cards())

        await self.people.wait_for(look, timeout_s=30)


def is_open(card: Json) -> bool:
    """Tell whether a card has buttons."""
    return "actions" in {block["type"] for block in card["blocks"]}


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """Put up a Slack."""
    async with LocalSlack() as slack, LocalSlackClient(slack.url) as people:
        yield Scene(slack, people, tmp_path)


async def die_at(scene: Scene, point: Point) -> None:
    """Take a run to a point with a bot that dies there; the people press what they are shown."""
    bot = await scene.bot(point)
    await scene.people.slash(ALICE, DEPLOYS, "run deployer Deploy 1.4.2")
    if point not in {Point.PARKED, Point.POSTED}:
        await scene.approve(await scene.open_card())
    assert await asyncio.wait_for(bot.wait(), 30) == -signal.SIGKILL


async def end(bot: asyncio.subprocess.Process) -> None:
    """End a bot in good order."""
    bot.terminate()
    await bot.wait()


async def done_once(scene: Scene) -> None:
    """Check that the run ended as it should, with one effect and every card closed."""
    await scene.all_closed()
    run = await scene.run()
    assert run.status is RunStatus.SUCCEEDED
    assert scene.effects() == ["deploy 1.4.2"]


@pytest.mark.parametrize("point", [Point.PARKED, Point.POSTED])
async def test_a_wait_is_shown_after_the_bot_died_before_it_knew(
    scene: Scene, point: Point
) -> None:
    await die_at(scene, point)

    bot = await scene.bot()
    await scene.approve(await scene.open_card())

    await done_once(scene)
    await end(bot)


async def test_a_card_whose_receipt_was_lost_is_answered_and_closed_with_the_second_post(
    scene: Scene,
) -> None:
    await die_at(scene, Point.POSTED)
    (orphan,) = await scene.cards()

    bot = await scene.bot()
    await scene.people.wait_for(lambda: _two(scene), timeout_s=30)
    result = await scene.approve(orphan)

    assert result.acked
    await done_once(scene)
    assert len(await scene.cards()) == 2
    await end(bot)


async def test_a_decision_stands_though_nobody_was_told(scene: Scene) -> None:
    await die_at(scene, Point.DECIDED)

    bot = await scene.bot()

    await done_once(scene)
    await end(bot)


@pytest.mark.parametrize(
    ("point", "settle"),
    [
        (Point.EXECUTING, ["--not-happened"]),
        (Point.EFFECT, ["--happened", "release 1.4.2 live"]),
    ],
)
async def test_an_unknown_outcome_is_settled_by_a_person_and_nothing_happens_twice(
    scene: Scene, point: Point, settle: list[str]
) -> None:
    await die_at(scene, point)
    before = scene.effects()

    bot = await scene.bot()
    run = await _waiting(scene)
    assert run.waiting is not None
    assert run.waiting.target.kind == "outcome_unknown"
    assert scene.effects() == before
    assert await scene.terminal("runs", "resolve", run.waiting.ref, *settle) == 0

    await done_once(scene)
    await end(bot)


async def test_a_finished_run_is_told_of_though_the_bot_died_with_the_last_commit(
    scene: Scene,
) -> None:
    await die_at(scene, Point.FINISHED)

    bot = await scene.bot()

    await done_once(scene)
    await end(bot)


async def _two(scene: Scene) -> bool:
    return len(await scene.cards()) == 2


async def _waiting(scene: Scene) -> Run:
    async def look() -> Run | None:
        run = await scene.run()
        return run if run.status is RunStatus.WAITING else None

    found: Run = await scene.people.wait_for(look, timeout_s=30)
    return found
