"""The embedded store: one SQLite file, one connection, one database thread.

Several processes on one machine may use one file at once. Local file systems only: WAL keeps its
index in shared memory.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from engine.cards import Card, CardKey, Receipt
from engine.entries import Record
from engine.events import RunEvent
from engine.gauges import Gauges
from engine.ids import ApprovalId, Clock, Ref, RunId, utc_now
from engine.remembered import RememberedRules
from engine.runs import Run
from engine.store import Change, Claim, ClaimEffect, Done, Found, Loaded, Page, Parcel, RunFilter
from engine.stores import (
    sqlite_cards,
    sqlite_claims,
    sqlite_commit,
    sqlite_gauges,
    sqlite_parcels,
    sqlite_purge,
    sqlite_reads,
)
from engine.stores.bell import Bell
from engine.stores.rows import OnUndecodable, Readable, to_micros
from engine.stores.sqlite_berths import SqliteBerths
from engine.stores.sqlite_database import (
    MEMORY,
    Database,
    Options,
    Tally,
    Trace,
    open_database,
)
from engine.stores.sqlite_rules import SqliteRules
from engine.stores.sqlite_thread import DatabaseThread, Writes
from engine.stores.sqlite_watch import Watch, log_of

DEFAULT_BUSY = timedelta(milliseconds=500)
"""How long a write waits for another process's; Slack wants an answer to a click within 3 s."""
_PROBE = "INSERT INTO probes (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at"


@dataclass(frozen=True, slots=True)
class Counters:
    """What a store has done since it was made.

    Attributes:
        full_commits: Transactions that waited for the disk.
        lite_commits: Transactions that did not.
        hops: Operations passed to the database thread.
        statements: SQL statements run, BEGIN and COMMIT and PRAGMA among them.

    """

    full_commits: int
    lite_commits: int
    hops: int
    statements: int


class SqliteStore:
    """A Store in a SQLite file. It opens with its first operation; use it from one event loop.

    The first operation may raise StoreVersionError: a newer Holdshort wrote the file.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Clock = utc_now,
        busy: timedelta = DEFAULT_BUSY,
        trace: Trace | None = None,
        on_undecodable: OnUndecodable | None = None,
    ) -> None:
        """Take the file, the clock that judges deadlines, and how long to wait for other writers.

        ``trace`` is called in the database thread with each statement; ``on_undecodable`` there
        with each record that a poll passed over because it cannot be read.
        """
        self._clock = clock
        self._tally = Tally()
        self._readable = Readable(on_undecodable)
        self._thread = DatabaseThread(
            partial(open_database, Options(str(path), busy, trace), self._tally)
        )
        self.rules: RememberedRules = SqliteRules(self._thread, clock, self._readable)
        self._bell = Bell()
        self._berths = SqliteBerths(self._thread, clock, self._bell.ring)
        # Nobody else writes to memory.
        file = str(path) != MEMORY
        look = partial(_look_elsewhere, self._thread, self._bell)
        self._watch = Watch(log_of(path), look) if file else None

    @property
    def berths(self) -> SqliteBerths:
        """Return what bounds how many asks are open at once."""
        return self._berths

    @property
    def counters(self) -> Counters:
        """Return what was done so far."""
        tally = self._tally
        return Counters(tally.full_commits, tally.lite_commits, self._thread.hops, tally.statements)

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Check and write a change; durable when it returns."""
        return await self._thread.run(
            lambda database: sqlite_commit.commit(database, change, claim, self._clock),
            writes=Writes.FULL,
            after=lambda done: self._ring_if(_wakes(change) and not done.replayed),
        )

    async def load(
        self, run: RunId, *, key: str | None = None, approval: ApprovalId | None = None
    ) -> Loaded:
        """Read a run, the record of a key in its scope, and a closed ticket, at one moment."""
        return await self._thread.run(
            lambda database: sqlite_reads.load(database, run, key, approval, self._clock)
        )

    async def records(self, run: RunId, first: int = 0) -> tuple[Record, ...]:
        """Return the run's records from entry ``first`` on, in order."""
        return await self._thread.run(lambda database: sqlite_reads.records(database, run, first))

    async def events(self, run: RunId, after: int = 0) -> tuple[RunEvent, ...]:
        """Return the run's events whose number is greater than ``after``."""
        return await self._thread.run(lambda database: sqlite_reads.events(database, run, after))

    async def find(self, ref: Ref) -> Found | None:
        """Return what a ref points at."""
        return await self._thread.run(lambda database: sqlite_reads.find(database, ref))

    async def list_runs(self, wanted: RunFilter, limit: int, cursor: str = "") -> Page:
        """Return a page of runs, newest first."""
        return await self._thread.run(
            lambda database: sqlite_reads.list_runs(
                database, wanted, limit, cursor, self._clock, self._readable
            )
        )

    async def claim(self, worker: str, lease: timedelta) -> tuple[Run, Claim] | None:
        """Take the next run that is ready; a caller that was cancelled meanwhile keeps nothing."""
        return await self._thread.run(
            lambda database: sqlite_claims.claim(
                database, worker, lease, self._clock, self._readable
            ),
            orphaned=self._hand_back,
        )

    async def heartbeat(self, claim: Claim, lease: timedelta) -> Claim:
        """Extend a claim."""
        return await self._thread.run(
            lambda database: sqlite_claims.heartbeat(database, claim, lease, self._clock),
            writes=Writes.LITE,
        )

    async def release(self, claim: Claim, retry_at: datetime | None = None) -> None:
        """Give a claim back; with ``retry_at`` the run is not ready before then."""
        await self._thread.run(
            lambda database: sqlite_claims.release(database, claim, retry_at, self._clock),
            writes=Writes.LITE,
            after=lambda _: self._bell.ring(),
        )

    async def due(self, limit: int) -> tuple[RunId, ...]:
        """Return waiting runs with an open ticket past its deadline."""
        return await self._thread.run(
            lambda database: sqlite_reads.due(database, limit, self._clock, self._readable)
        )

    async def take_cards(self, courier: str, lease: timedelta, limit: int) -> tuple[Card, ...]:
        """Take cards that are behind, due, and not held by a live lease."""
        return await self._thread.run(
            lambda database: sqlite_cards.take(
                database, courier, lease, limit, self._clock, self._readable
            )
        )

    async def card_shown(self, card: Card, version: int, receipt: Receipt) -> None:
        """Record what a card shows now and where."""
        await self._thread.run(
            lambda database: sqlite_cards.shown(database, card, version, receipt, self._clock),
            writes=Writes.LITE,
            after=self._ring_if,
        )

    async def card_failed(self, card: Card, retry_at: datetime) -> None:
        """Give the lease back; the card is not due before ``retry_at``."""
        await self._thread.run(
            lambda database: sqlite_cards.failed(database, card, retry_at), writes=Writes.LITE
        )

    async def adopt_card(self, key: CardKey, receipt: Receipt) -> None:
        """Make a card row for a second post of a card."""
        await self._thread.run(
            lambda database: sqlite_cards.adopt(database, key, receipt, self._clock),
            writes=Writes.LITE,
            after=self._ring_if,
        )

    async def cards(self, run: RunId) -> tuple[Card, ...]:
        """Return the run's cards in the order they were made."""
        return await self._thread.run(lambda database: sqlite_cards.of_run(database, run))

    def mark(self) -> int:
        """Return a mark of the present moment, for ``wait``."""
        return self._bell.rung

    async def wait(self, at_most: timedelta, since: int | None = None) -> None:
        """Return when work may have come up since the mark, at the latest after ``at_most``."""
        known = self.mark() if since is None else since
        with self._watch.watching() if self._watch else nullcontext():
            await self._bell.heard(known, at_most.total_seconds())

    async def next_due(self) -> datetime | None:
        """Return the earliest moment at which a ticket, lease, card or retry falls due."""
        return await self._thread.run(
            lambda database: sqlite_reads.next_due(database, self._clock, self._readable)
        )

    async def check(self) -> None:
        """Return if the file takes what is written: a full disk is read, and keeps no answer."""
        now = to_micros(self._clock())
        await self._thread.run(lambda database: database.lite(_PROBE, (now,)), writes=Writes.LITE)

    async def purge(self, older_than: datetime, limit: int, *, dry_run: bool = False) -> int:
        """Remove, wholly and in one step, up to ``limit`` runs that ended before a moment.

        Those that cannot be read go too, and are reported. The file does not shrink: what they took
        up is used again.
        """
        return await self._thread.run(
            lambda database: sqlite_purge.purge(
                database, older_than, limit, self._readable, dry_run=dry_run
            ),
            writes=Writes.NOTHING if dry_run else Writes.FULL,
        )

    async def gauges(self) -> Gauges:
        """Count what is live, along indexes."""
        return await self._thread.run(lambda database: sqlite_gauges.read(database, self._clock))

    async def pack(self, run: RunId) -> Parcel:
        """Return all there is of a run, at one moment."""
        return await self._thread.run(
            lambda database: sqlite_parcels.pack(database, run, self._clock)
        )

    async def unpack(self, parcel: Parcel) -> None:
        """Put a run in as it was packed; durable when it returns."""
        await self._thread.run(
            lambda database: sqlite_parcels.unpack(database, parcel, self._clock),
            writes=Writes.FULL,
            after=lambda _: self._bell.ring(),
        )

    async def close(self) -> None:
        """Let queued operations finish, then close the file."""
        await self._thread.close()

    def _ring_if(self, work: bool) -> None:  # noqa: FBT001 - the outcome of an operation
        if work:
            self._bell.ring()

    def _hand_back(self, taken: tuple[Run, Claim] | None) -> None:
        if taken is not None:
            claim = taken[1]
            self._thread.forget(
                lambda database: sqlite_claims.release(database, claim, None, self._clock)
            )


def _look_elsewhere(thread: DatabaseThread, bell: Bell) -> None:
    """Have the bell rung if another process wrote.

    No method: a store that holds itself would end only when the garbage collector came.
    """
    thread.forget(Database.others_wrote, after=lambda wrote: bell.ring() if wrote else None)


def _wakes(change: Change) -> bool:
    """Tell whether a change makes work for anybody but the worker that goes on with its run."""
    return change.claim is not ClaimEffect.KEEP or bool(change.raised)


class MemoryStore(SqliteStore):
    """A store that is gone with the process: the same code on a database in memory."""

    def __init__(
        self,
        *,
        clock: Clock = utc_now,
        trace: Trace | None = None,
        on_undecodable: OnUndecodable | None = None,
    ) -> None:
        """Take the clock that judges deadlines."""
        super().__init__(MEMORY, clock=clock, trace=trace, on_undecodable=on_undecodable)
