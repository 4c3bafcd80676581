"""Berths: how many asks may be open at once, of one agent or at one approver; the others wait.

An ask has its berth from before its ticket is committed as open until after it is closed, so there
are never more open than there are berths. A berth that is given back is the next ask's at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from engine.ids import ApprovalId, RunId


class BerthState(StrEnum):
    """How an ask stands."""

    WAITING = "waiting"
    """It has no berth yet."""
    CALLED = "called"
    """It waited, and has its berth now; its ticket is to be released."""
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Ask:
    """A ticket that wants a berth.

    Attributes:
        within: What it counts for (an agent, an approver) and how many may be open there when it
            comes, by name and in the order of the names.
        told: What is to be told once, from when the first ask waits until none does any more.

    """

    approval: ApprovalId
    run: RunId
    within: tuple[tuple[str, int], ...]
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """An ask that has to wait.

    Attributes:
        full: Of what it counts for, where no more could be open.
        news: Of what is to be told once, what nobody was told yet.

    """

    approval: ApprovalId
    full: tuple[str, ...] = ()
    news: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Berth:
    """An ask that is known; ``number`` grows with each, ``since`` is when it came."""

    number: int
    approval: ApprovalId
    run: RunId
    state: BerthState
    since: datetime


@dataclass(frozen=True, slots=True)
class Count:
    """How many asks count for a name: those with a berth, and those that wait."""

    open: int = 0
    waiting: int = 0


class Berths(Protocol):
    """Port: a semaphore with a line, shared by all who use the store.

    An ask comes in where every name it is ``within`` has room for it. Those that wait go first in,
    first out, but for one that still has no room elsewhere: it is passed over. So that it cannot
    be passed over for ever, nobody takes the last room that the one at the head of all could use.

    Nothing here needs to survive power loss: what was lost is made up from the runs (``restore``).
    Every operation may be repeated, and may raise StoreUnavailableError.
    """

    async def take(self, asks: Sequence[Ask]) -> tuple[Held, ...]:
        """Give each ask a berth, or a place in the line; return those that wait.

        One that is known already stays as it is.
        """
        ...

    async def leave(self, approvals: Sequence[ApprovalId]) -> None:
        """Forget asks; what they leave free goes to those that wait, who are called."""
        ...

    async def called(self, limit: int) -> tuple[Berth, ...]:
        """Return asks that were called, the first that came first."""
        ...

    async def settle(self, approvals: Sequence[ApprovalId]) -> None:
        """Note that the tickets of called asks were released."""
        ...

    async def count(self, names: Sequence[str]) -> tuple[Count, ...]:
        """Return how many asks count for each name."""
        ...

    async def known(self, after: int, limit: int) -> tuple[Berth, ...]:
        """Return asks whose number is greater than ``after``, by their number."""
        ...

    async def restore(
        self, opened: Sequence[Ask], waiting: Sequence[Ask]
    ) -> tuple[ApprovalId, ...]:
        """Make up for what was lost: tickets that are open, and such as are held back.

        The open ones have a berth from here on, room or not. The others wait, unless they were
        called, or have a berth: then they are called. Returns those that were not known.
        """
        ...
