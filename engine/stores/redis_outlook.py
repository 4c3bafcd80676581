"""What is to come, looked up once for all who wait: a replica with nothing to do asks little.

A look at every place costs a Cluster sixteen commands. As long as the line on which others tell of
new work stands and nobody has told of any, what the last look found still holds.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from engine.stores.bell import Bell
from engine.stores.keys import BERTHS
from engine.stores.redis_bell import Listener
from engine.stores.redis_scripts import Server
from engine.stores.rows import Readable, to_moment

LOOK_EVERY_S = 20.0
"""How old a look may be: so long work may wait of which the message was lost, line and all."""
_NEVER = 2**63


class Work(StrEnum):
    """What may come up."""

    RUNS = "runs"
    DEADLINES = "deadlines"
    CARDS = "cards"
    CALLED = "called"


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at one moment, in microseconds by the store's clock.

    Attributes:
        mark: How often the bell had been rung, and what was known forgotten, before.
        at: When, by the event loop's clock.
        now: When, by the store's clock.
        first: From when there is work of each kind; in the past where there is some.
        wake: The earliest moment, still to come, from which a run is ready.

    """

    mark: tuple[int, int]
    at: float
    now: int
    first: dict[Work, int]
    wake: int


class Outlook:
    """Keeps the last look for as long as it holds."""

    def __init__(self, server: Server, readable: Readable, bell: Bell, listener: Listener) -> None:
        """Take what looks, and what tells that a look does not hold any more."""
        self._server = server
        self._readable = readable
        self._bell = bell
        self._listener = listener
        self._last: Look | None = None
        self._forgotten = 0
        self._looking = asyncio.Lock()

    async def nothing(self, work: Work) -> bool:
        """Tell whether it is known that there is no such work; looks if what is known is old.

        What is known is used up by telling of some: whoever asked goes to see.
        """
        if self._standing() is None:
            return False
        look = await self._recent()
        if look.first[work] > self._now(look):
            return True
        self.forget()
        return False

    async def next_due(self) -> datetime | None:
        """Return the earliest moment to come at which something falls due, or one that has been."""
        look = await self._recent()
        moment = min(look.wake, look.first[Work.DEADLINES], look.first[Work.CARDS])
        return None if moment == _NEVER else to_moment(moment)

    def forget(self) -> None:
        """Hold nothing for known: it was changed from here, or may have been."""
        # A look under way may have missed it: it must not count either.
        self._forgotten += 1

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Forget all if a change from here may have been made without an answer."""
        try:
            yield
        except BaseException:
            self.forget()
            raise

    def _standing(self) -> Look | None:
        look = self._last
        heard_all = self._listener.hears and look is not None and look.mark == self._mark()
        return look if heard_all else None

    def _mark(self) -> tuple[int, int]:
        return self._bell.rung, self._forgotten

    def _now(self, look: Look) -> int:
        held = self._server.now()
        if held:
            return int(held)
        return look.now + int((asyncio.get_running_loop().time() - look.at) * 1_000_000)

    async def _recent(self) -> Look:
        async with self._looking:
            look, now = self._standing(), asyncio.get_running_loop().time()
            if look is None or now >= look.at + LOOK_EVERY_S:
                look = await self._look()
                self._last = look
            return look

    async def _look(self) -> Look:
        mark, at = self._mark(), asyncio.get_running_loop().time()
        count = len(self._readable.passed_over) + 1
        replies = await self._server.run_everywhere(
            "moments", ["ready", "due", "behind"], self._server.now(), count
        )
        called = await self._server.read("ZCARD", BERTHS.key("called"))
        places = [place for some in replies for place in some]
        return Look(
            mark,
            at,
            now=min(int(place[0]) for place in places),
            first={
                Work.RUNS: _earliest(place[1] for place in places),
                Work.DEADLINES: _earliest(m for p in places for m in self._deadlines(p[3])),
                Work.CALLED: 0 if called else _NEVER,
                Work.CARDS: _earliest(m for p in places for m in self._cards(p[4])),
            },
            wake=_earliest(place[2] for place in places),
        )

    def _deadlines(self, told: list[Any]) -> Iterator[int]:
        for deadline, run, version in told:
            if not self._readable.known(run.decode(), int(version)):
                # On its deadline a ticket can still be answered.
                yield int(deadline) + 1

    def _cards(self, told: list[Any]) -> Iterator[int]:
        for moment, name, wanted in told:
            if not self._readable.known(f"card {name.decode()}", int(wanted)):
                yield int(moment)


def _earliest(moments: Iterable[Any]) -> int:
    return min((int(moment) for moment in moments if moment), default=_NEVER)
