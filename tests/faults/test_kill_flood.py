"""Kill -9 around asks that are held back: each is asked in the end, and runs once."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.local_slack import LocalSlack, LocalSlackClient
from engine.store import RunFilter
from engine.stores import SqliteStore
from tests.faults.doomed import Point
from tests.faults.test_kill import ALICE, DEPLOYS, Scene, end, is_open

Json = dict[str, Any]


class Narrow(Scene):
    """A scene whose agent may have one open ask."""

    @property
    def environment(self) -> dict[str, str]:
        """Return the settings of a bot here."""
        return {**super().environment, "MOST": "1"}

    async def ask(self) -> None:
        """Start another run."""
        await self.people.slash(ALICE, DEPLOYS, "run deployer Deploy 1.4.2")

    async def owner_knows(self) -> None:
        """Wait until the owner was told that something waits: the card's receipt is kept then."""
        await self.people.wait_for_message(
            ALICE, await self.room(), lambda one: one["text"].startswith("Waiting"), timeout_s=30
        )

    async def room(self) -> str:
        """Wait for the owner's DM."""

        async def look() -> str | None:
            channels = (await self.people.state(ALICE))["channels"]
            return next((one["id"] for one in channels if one["is_im"]), None)

        found: str = await self.people.wait_for(look, timeout_s=30)
        return found

    async def approve_next(self) -> None:
        """Approve the one card that can be, once there is one."""
        card = await self.open_card()
        assert sum(is_open(one) for one in await self.cards()) == 1
        await self.approve(card)
        await self.people.wait_for(lambda: self.is_closed(card), timeout_s=30)

    async def is_closed(self, card: Json) -> bool:
        """Tell whether a card has no buttons any more."""
        return any(one["ts"] == card["ts"] and not is_open(one) for one in await self.cards())

    async def all_is_over(self) -> None:
        """Wait until the last outcome was told, and see that no berth is taken."""
        await self.people.wait_for(lambda: ended(self), timeout_s=30)
        store = SqliteStore(self.folder / "store.sqlite")
        assert await store.berths.known(0, 9) == ()
        await store.close()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Narrow]:
    """Put up a Slack."""
    async with LocalSlack() as slack, LocalSlackClient(slack.url) as people:
        yield Narrow(slack, people, tmp_path)


@pytest.mark.parametrize("point", [Point.LINED_UP, Point.HELD])
async def test_what_was_to_be_held_back_is_asked_after_the_bot_died(
    scene: Narrow, point: Point
) -> None:
    doomed = await scene.bot(point)
    await scene.ask()
    await scene.owner_knows()
    await scene.ask()
    assert await asyncio.wait_for(doomed.wait(), 30) == -signal.SIGKILL

    bot = await scene.bot()
    await scene.approve_next()
    await scene.approve_next()

    await scene.all_is_over()
    assert scene.effects() == ["deploy 1.4.2"] * 2
    await end(bot)


@pytest.mark.parametrize("point", ["killed with the cancel", Point.RELEASED])
async def test_what_was_held_back_is_released_after_the_bot_died(scene: Narrow, point: str) -> None:
    doomed = await scene.bot(point)
    await scene.ask()
    await scene.owner_knows()
    first, card = (await scene.run()).ref, await scene.open_card()
    await scene.ask()
    await scene.people.wait_for(lambda: held_back(scene), timeout_s=30)
    await scene.terminal("runs", "cancel", first)
    if point != Point.RELEASED:
        doomed.kill()
    assert await asyncio.wait_for(doomed.wait(), 30) == -signal.SIGKILL

    bot = await scene.bot()
    await scene.people.wait_for(lambda: scene.is_closed(card), timeout_s=30)
    await scene.approve_next()

    await scene.all_is_over()
    assert scene.effects() == ["deploy 1.4.2"]
    await end(bot)


async def held_back(scene: Scene) -> bool:
    """Tell whether a ticket is held back."""
    store = SqliteStore(scene.folder / "store.sqlite")
    try:
        return (await store.gauges()).held == 1
    finally:
        await store.close()


async def ended(scene: Scene) -> bool:
    """Tell whether both runs have ended."""
    store = SqliteStore(scene.folder / "store.sqlite")
    try:
        runs = (await store.list_runs(RunFilter(), 9)).runs
    finally:
        await store.close()
    return [run.live for run in runs] == [False] * 2
