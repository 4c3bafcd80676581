"""The store, and a count of what passes: every change of a run does. Failed runs are logged."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from bot.logs import get_log
from bot.metrics import Meters
from engine.berths import Berths
from engine.cards import Card, CardKey, Receipt
from engine.entries import Record
from engine.errors import ClaimLostError, CommitConflictError, StoreUnavailableError
from engine.events import RunEvent, RunFailed
from engine.gauges import Gauges
from engine.guard import clip
from engine.ids import ApprovalId, Ref, RunId
from engine.runs import Run
from engine.store import Change, Claim, Done, Found, Loaded, Page, Parcel, RunFilter, Store

_SHORT = 300
_log = get_log(__name__)


class MeteredStore:
    """A Store that passes everything on to another.

    A commit counts where it was written now: a repeat that finds its first outcome does not.
    """

    def __init__(self, inner: Store, meters: Meters) -> None:
        """Take the store and the meters."""
        self.inner = inner
        self.rules = inner.rules
        self._meters = meters

    @property
    def berths(self) -> Berths:
        """Pass on."""
        return self.inner.berths

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Pass on, and count what it did."""
        commits, begun = self._meters.commits, time.perf_counter()
        try:
            with self._errors():
                done = await self.inner.commit(change, claim)
        except CommitConflictError:
            commits.conflicts.inc()
            raise
        except ClaimLostError:
            commits.lost.labels("commit").inc()
            raise
        if not done.replayed:
            commits.made(change, time.perf_counter() - begun)
        _tell_failure(change)
        return done

    async def load(
        self, run: RunId, *, key: str | None = None, approval: ApprovalId | None = None
    ) -> Loaded:
        """Pass on."""
        with self._errors():
            return await self.inner.load(run, key=key, approval=approval)

    async def records(self, run: RunId, first: int = 0) -> tuple[Record, ...]:
        """Pass on."""
        with self._errors():
            return await self.inner.records(run, first)

    async def events(self, run: RunId, after: int = 0) -> tuple[RunEvent, ...]:
        """Pass on."""
        with self._errors():
            return await self.inner.events(run, after)

    async def find(self, ref: Ref) -> Found | None:
        """Pass on."""
        with self._errors():
            return await self.inner.find(ref)

    async def list_runs(self, wanted: RunFilter, limit: int, cursor: str = "") -> Page:
        """Pass on."""
        with self._errors():
            return await self.inner.list_runs(wanted, limit, cursor)

    async def claim(self, worker: str, lease: timedelta) -> tuple[Run, Claim] | None:
        """Pass on."""
        with self._errors():
            return await self.inner.claim(worker, lease)

    async def heartbeat(self, claim: Claim, lease: timedelta) -> Claim:
        """Pass on, and count a claim that is lost."""
        try:
            with self._errors():
                return await self.inner.heartbeat(claim, lease)
        except ClaimLostError:
            self._meters.commits.lost.labels("heartbeat").inc()
            raise

    async def release(self, claim: Claim, retry_at: datetime | None = None) -> None:
        """Pass on."""
        with self._errors():
            await self.inner.release(claim, retry_at)

    async def due(self, limit: int) -> tuple[RunId, ...]:
        """Pass on."""
        with self._errors():
            return await self.inner.due(limit)

    async def take_cards(self, courier: str, lease: timedelta, limit: int) -> tuple[Card, ...]:
        """Pass on."""
        with self._errors():
            return await self.inner.take_cards(courier, lease, limit)

    async def card_shown(self, card: Card, version: int, receipt: Receipt) -> None:
        """Pass on, and count it."""
        with self._errors():
            await self.inner.card_shown(card, version, receipt)
        self._meters.cards.shown.inc()

    async def card_failed(self, card: Card, retry_at: datetime) -> None:
        """Pass on, and count it."""
        with self._errors():
            await self.inner.card_failed(card, retry_at)
        self._meters.cards.put_off.inc()

    async def adopt_card(self, key: CardKey, receipt: Receipt) -> None:
        """Pass on."""
        with self._errors():
            await self.inner.adopt_card(key, receipt)

    async def cards(self, run: RunId) -> tuple[Card, ...]:
        """Pass on."""
        with self._errors():
            return await self.inner.cards(run)

    def mark(self) -> int:
        """Pass on."""
        return self.inner.mark()

    async def wait(self, at_most: timedelta, since: int | None = None) -> None:
        """Pass on."""
        with self._errors():
            await self.inner.wait(at_most, since)

    async def next_due(self) -> datetime | None:
        """Pass on."""
        with self._errors():
            return await self.inner.next_due()

    async def check(self) -> None:
        """Pass on."""
        with self._errors():
            await self.inner.check()

    async def gauges(self) -> Gauges:
        """Pass on."""
        with self._errors():
            return await self.inner.gauges()

    async def purge(self, older_than: datetime, limit: int, *, dry_run: bool = False) -> int:
        """Pass on."""
        with self._errors():
            return await self.inner.purge(older_than, limit, dry_run=dry_run)

    async def pack(self, run: RunId) -> Parcel:
        """Pass on."""
        with self._errors():
            return await self.inner.pack(run)

    async def unpack(self, parcel: Parcel) -> None:
        """Pass on."""
        with self._errors():
            await self.inner.unpack(parcel)

    async def close(self) -> None:
        """Pass on."""
        await self.inner.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except StoreUnavailableError:
            self._meters.commits.errors.inc()
            raise


def _tell_failure(change: Change) -> None:
    """Log that a run failed, also where the commit's first answer was lost."""
    for event in change.events:
        if isinstance(event.fact, RunFailed):
            run, fact = change.run, event.fact
            why = clip(" ".join(fact.message.split()), _SHORT)
            _log.warning("run failed", run=run.ref, agent=run.agent, code=fact.code, why=why)
