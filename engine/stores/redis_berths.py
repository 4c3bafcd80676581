"""Berths on a Redis server: in a place of their own, as they are shared by the runs of all places.

So a commit cannot move them itself: they are taken before it and left after it. What is lost in
between costs nothing but the time until berths and tickets are compared.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from engine.berths import Ask, Berth, BerthState, Count, Held
from engine.errors import NoBerthError, StoreError, StoreUnavailableError, StoreUnconfirmedError
from engine.ids import ApprovalId, CommitId, RunId
from engine.store import Change
from engine.stores.keys import BERTHS, CHANNEL
from engine.stores.redis_outlook import Outlook, Work
from engine.stores.redis_scripts import Server
from engine.stores.rows import to_moment

_KEYS = [BERTHS.key(name) for name in ("rows", "counts", "known", "waiting", "called", "lines")]
_ROWS, _COUNTS, _KNOWN, WAITING, _CALLED, _ = _KEYS
"""``WAITING`` holds those that wait."""


class RedisBerths:
    """The Berths on a server."""

    def __init__(
        self, server: Server, outlook: Outlook, ring: str, ring_here: Callable[[], None]
    ) -> None:
        """Take the server, what is known of called asks, and how we tell others and ourselves."""
        self._server = server
        self._outlook = outlook
        self._ring = ring
        self._ring_here = ring_here
        self._taken: set[CommitId] = set()

    async def take(self, asks: Sequence[Ask]) -> tuple[Held, ...]:
        """Give each ask a berth, or a place in the line; return those that wait."""
        told = await self._server.run("berths_take", _KEYS, self._server.now(), _tell(asks))
        return tuple(
            Held(_approval(one), tuple(json.loads(full)), tuple(json.loads(news)))
            for one, full, news in told
        )

    async def leave(self, approvals: Sequence[ApprovalId]) -> None:
        """Forget asks; what they leave free goes to those that wait."""
        if not approvals:
            return
        with self._outlook.changing():
            called = await self._server.run("berths_leave", _KEYS, CHANNEL, self._ring, *approvals)
        if called:
            self._ring_here()

    async def called(self, limit: int) -> tuple[Berth, ...]:
        """Return asks that were called, the first that came first."""
        if await self._outlook.nothing(Work.CALLED):
            return ()
        return await self._list(_CALLED, 0, limit)

    async def settle(self, approvals: Sequence[ApprovalId]) -> None:
        """Note that the tickets of called asks were released."""
        if approvals:
            await self._server.run("berths_settle", _KEYS, *approvals)

    async def count(self, names: Sequence[str]) -> tuple[Count, ...]:
        """Return how many asks count for each name."""
        fields = [kind + name for name in names for kind in "ow"]
        counts = [int(one or 0) for one in await self._server.read("HMGET", _COUNTS, *fields)]
        return tuple(Count(*both) for both in zip(counts[::2], counts[1::2], strict=True))

    async def known(self, after: int, limit: int) -> tuple[Berth, ...]:
        """Return asks whose number is greater than ``after``, by their number."""
        return await self._list(_KNOWN, after, limit)

    async def restore(
        self, opened: Sequence[Ask], waiting: Sequence[Ask]
    ) -> tuple[ApprovalId, ...]:
        """Make up for what was lost; return the asks that were not known."""
        asks = (_tell(opened), _tell(waiting))
        unknown = await self._server.run(
            "berths_restore", _KEYS, self._server.now(), CHANNEL, self._ring, *asks
        )
        self._ring_here()
        return tuple(_approval(one) for one in unknown)

    @asynccontextmanager
    async def moved_by(self, change: Change) -> AsyncIterator[None]:
        """Take the berths of what a commit opens before it, and leave those of what it closes.

        Raises:
            NoBerthError: one of its asks has to wait.

        """
        await self._take_for(change)
        try:
            yield
        except StoreUnconfirmedError:
            await self._after(change, [ticket.approval for ticket in change.closed])
            raise
        except StoreUnavailableError:
            # Written or not; the same commit will be made again.
            raise
        except StoreError:
            await self._after(change, [ask.approval for ask in change.asks])
            raise
        await self._after(change, [ticket.approval for ticket in change.closed])

    async def _take_for(self, change: Change) -> None:
        # A commit that is made again has its berths, and its tickets may be closed by now.
        if not change.asks or change.commit in self._taken:
            return
        if await self.take(change.asks):
            raise NoBerthError(f"run {change.run.id} asks for more than may be open now")
        self._taken.add(change.commit)

    async def _after(self, change: Change, gone: list[ApprovalId]) -> None:
        self._taken.discard(change.commit)
        with suppress(StoreUnavailableError):
            await self.leave(gone)

    async def _list(self, which: str, after: int, limit: int) -> tuple[Berth, ...]:
        told = await self._server.run("berths_list", [_ROWS, which], after, limit)
        return tuple(
            Berth(
                int(number),
                _approval(approval),
                RunId(run.decode()),
                BerthState(state.decode()),
                to_moment(int(since)),
            )
            for number, approval, run, state, since in told
        )


def _tell(asks: Sequence[Ask]) -> str:
    told: list[dict[str, Any]] = [
        {
            "approval": ask.approval,
            "run": ask.run,
            "within": json.dumps(ask.within),
            "told": json.dumps(ask.told),
        }
        for ask in asks
    ]
    return json.dumps(told)


def _approval(told: bytes) -> ApprovalId:
    return ApprovalId(told.decode())
