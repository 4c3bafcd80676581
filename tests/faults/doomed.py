"""A bot that kills itself at a chosen point: ``python -m tests.faults.doomed``.

Configured by the documented settings, and by ``DOOM`` (a Point, or nothing) and ``LEDGER`` (a file
that the tool appends a line to, and syncs). Prints the port it listens on.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from bot.bootstrap import open_runtime
from bot.server import Limits, serve
from bot.settings import Purpose, read_settings
from engine import Agent, ToolOptions, courier, usher
from engine.berths import Ask, Held
from engine.cards import Card, Receipt, Role
from engine.events import (
    CallStarted,
    RunSucceeded,
    TicketClosed,
    TicketHeld,
    TicketOpened,
    TicketReleased,
)
from engine.store import Change, Claim, Done
from engine.stores import SqliteStore
from engine.stores.sqlite_berths import SqliteBerths
from tests.engine.scripted import repeat_results, script

LEASE_S = 1.0


class Point(StrEnum):
    """Where to die."""

    PARKED = "after park, before post"
    POSTED = "after Slack accepted, before the receipt is stored"
    DECIDED = "after the decision, before the ack"
    EXECUTING = "after executing"
    EFFECT = "after the effect, before its result"
    FINISHED = "after finish, before the card update"
    LINED_UP = "after its place in the line, before it is parked"
    HELD = "after it was parked and held back"
    RELEASED = "after its release, before that is noted with its berth"


_FACTS: dict[type[object], Point] = {
    TicketOpened: Point.PARKED,
    TicketClosed: Point.DECIDED,
    CallStarted: Point.EXECUTING,
    RunSucceeded: Point.FINISHED,
    TicketHeld: Point.HELD,
    TicketReleased: Point.RELEASED,
}
DOOM = os.environ.get("DOOM", "")


def die() -> NoReturn:
    """End as by power loss: no handler, no cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


class DoomedBerths(SqliteBerths):
    """Dies where an ask has its place in the line."""

    async def take(self, asks: Sequence[Ask]) -> tuple[Held, ...]:
        """Take berths, and die if this was it."""
        held = await super().take(asks)
        if DOOM == Point.LINED_UP and held:
            die()
        return held


class DoomedStore(SqliteStore):
    """Dies right after the commit that holds the fact it waits for, or before a receipt."""

    def __init__(self, path: Path) -> None:
        """Take the file."""
        super().__init__(path)
        self._berths = DoomedBerths(self._thread, self._clock, self._bell.ring)

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Commit, and die if this was it."""
        done = await super().commit(change, claim)
        if any(_FACTS.get(type(event.fact)) == DOOM for event in change.events):
            die()
        return done

    async def card_shown(self, card: Card, version: int, receipt: Receipt) -> None:
        """Die if this was it, or keep the receipt."""
        if DOOM == Point.POSTED and card.key.role is Role.ASK:
            die()
        await super().card_shown(card, version, receipt)


def deploy(version: str) -> str:
    """Deploy a version."""
    with Path(os.environ["LEDGER"]).open("a", encoding="utf-8") as ledger:
        ledger.write(f"deploy {version}\n")
        ledger.flush()
        os.fsync(ledger.fileno())
    if DOOM == Point.EFFECT:
        die()
    return f"release {version} live"


deployer = Agent(
    name="deployer",
    model=script([("deploy", {"version": "1.4.2"})], repeat_results),
    tools=[deploy],
    approvals={"deploy": "user"},
    approvers=["U0BOB", "U0CAROL"],
    options={"deploy": ToolOptions(timeout=timedelta(seconds=1))},
    max_open_asks=int(os.environ.get("MOST", "20")),
)


async def main() -> None:
    """Serve until killed."""
    courier.LEASE = timedelta(seconds=LEASE_S)
    usher.UNCOMMITTED = 2 * timedelta(seconds=LEASE_S)
    usher.RECOUNT_EVERY = timedelta(seconds=LEASE_S)
    settings = read_settings(Purpose.EMBED)
    path = settings.store_place
    if not isinstance(path, Path):
        raise TypeError("a doomed bot needs a file that outlives it")
    async with (
        open_runtime(settings, agents=[deployer], store=DoomedStore(path)) as runtime,
        serve(runtime, limits=Limits(lease=LEASE_S)) as bot,
    ):
        sys.stdout.write(f"{bot.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
