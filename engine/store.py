"""The Store port: the only way a run changes, and the questions the loops ask."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, Self

from engine.berths import Ask, Berths
from engine.cards import Card, CardKey, Receipt
from engine.entries import Record
from engine.events import RunEvent
from engine.gauges import Gauges
from engine.ids import ApprovalId, CommitId, Ref, RunId
from engine.remembered import RememberedRules
from engine.runs import Run, RunStatus
from engine.tickets import ResumeTicket

CARDS_KEEP_FOR = timedelta(days=30)
"""How much longer than other ended runs one is kept of which a card still waits to be shown."""


class ClaimEffect(StrEnum):
    """What a commit does to the claim it is made under."""

    NONE = "none"
    KEEP = "keep"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's exclusive hold on a run.

    Attributes:
        fence: Grows by one with every claim of the run; compared in every commit under it.
        until: End of the lease, by the store's clock.
        losses: How often a claim of this run ended without a commit, one after another.

    """

    run: RunId
    worker: str
    fence: int
    until: datetime
    losses: int = 0


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What a caller's idempotency key stands for.

    Attributes:
        scope: ``run:<id>`` for answers, ``start:<agent>:<concurrency key>`` for starts.
        body: Digest of what was asked under the key; the same key with another body is refused.
        outcome: What the caller was told, as JSON; told again on a repeat.

    """

    scope: str
    key: str
    body: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Change:
    """The result of one transition: all that a commit writes, atomically.

    Attributes:
        commit: Names this commit; the same name again returns the first outcome.
        expected: The run's version before; 0 creates the run.
        run: The run after, at version ``expected + 1``.
        opened: Tickets that this change opened; their refs must not be in use.
        closed: Tickets that this change closed; they, and their refs, stay readable as long as the
            run is kept.
        raised: Cards that must show the run's new version. A new key makes the card.
        not_after: The commit is refused when the store's clock is past this (people's answers).
        not_before: The commit is refused until the store's clock is past this (the sweeper).
        confirm: Something will be built on it that cannot be undone: where the store has replicas,
            they must have it too.
        asks: Tickets of it that need a berth; where one has to wait, the commit is refused. The
            closed tickets leave theirs.

    """

    commit: CommitId
    expected: int
    run: Run
    events: tuple[RunEvent, ...] = ()
    records: tuple[Record, ...] = ()
    opened: tuple[ResumeTicket, ...] = ()
    closed: tuple[ResumeTicket, ...] = ()
    raised: tuple[CardKey, ...] = ()
    key: KeyRecord | None = None
    not_after: datetime | None = None
    not_before: datetime | None = None
    claim: ClaimEffect = ClaimEffect.NONE
    confirm: bool = False
    asks: tuple[Ask, ...] = ()

    def then(self, following: "Change") -> Self:
        """Return this change and the one made from its run, as one commit."""
        version = self.expected + 1
        return replace(
            self,
            run=following.run.model_copy(update={"version": version}),
            events=self.events + following.events,
            records=self.records + following.records,
            opened=self.opened + following.opened,
            closed=self.closed + following.closed,
            raised=tuple(dict.fromkeys(self.raised + following.raised)),
            claim=following.claim,
            confirm=self.confirm or following.confirm,
            asks=self.asks + following.asks,
        )


@dataclass(frozen=True, slots=True)
class Done:
    """A commit's outcome: the version it made, and the key's recorded outcome (JSON) if keyed.

    ``replayed``: nothing was written now, as it was there already.
    """

    run: RunId
    version: int
    outcome: str | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """One consistent reading of a run."""

    run: Run
    now: datetime
    recorded: KeyRecord | None = None
    closed: ResumeTicket | None = None
    running: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a ref points at: a run, and the ticket (open or closed) if it is a ticket's ref."""

    run: RunId
    approval: ApprovalId | None


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit that was made: its name, and its events. The first brought the run to version 1."""

    id: CommitId
    events: tuple[RunEvent, ...]


@dataclass(frozen=True, slots=True)
class Parcel:
    """All that a store holds of one run, to be put into another store.

    Attributes:
        since: When a queued run becomes ready, or one was parked, or ended; by that store's clock.
        losses: As in a claim; one that was lost and not taken over yet is among them.
        holds_key: The run holds its concurrency key: it was claimed before and has not ended.
        commits: In order; as many as the run's version.
        records: By entry, kind and index; ``closed`` by approval id.
        refs: In alphabetical order; those that went to others are not here.
        keys: The record of each and the version it was made at, by scope and key.
        cards: In the order they were made, without leases and back-offs.

    """

    run: Run
    since: datetime
    fence: int
    losses: int
    holds_key: bool
    commits: tuple[PastCommit, ...]
    records: tuple[Record, ...]
    closed: tuple[ResumeTicket, ...]
    refs: tuple[tuple[Ref, ApprovalId | None], ...]
    keys: tuple[tuple[KeyRecord, int], ...]
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; an empty field does not filter."""

    statuses: tuple[RunStatus, ...] = ()
    agent: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first, and the cursor of the next page (empty on the last)."""

    runs: tuple[Run, ...]
    cursor: str = ""


class Store(Protocol):
    """Port: durable runs.

    ``commit`` is the only operation that changes a run; when it returns, the change survives
    power loss. Claims, heartbeats and card rows live outside the run's version and need only be
    seen by other processes. Every operation may raise StoreUnavailableError. ``rules`` are what is
    remembered of approvals: facts that cross runs, with commits of their own.
    """

    rules: RememberedRules

    @property
    def berths(self) -> Berths:
        """Return what bounds how many asks are open at once."""
        ...

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Check, in this order: key, version, fence, not_after, not_before; then write it all.

        Raises:
            IdempotencyConflictError: the key was used for another body.
            CommitConflictError: the version is not the expected one.
            ClaimLostError: the claim's fence is not the run's.
            DeadlinePassedError: the store's clock is past ``not_after``.
            DeadlineNotReachedError: the store's clock is not past ``not_before``.
            NoBerthError: one of its asks has to wait. Take their berths, and hold that one back.
            RefTakenError: a new ref is in use.
            StoreUnconfirmedError: it was written, and is not confirmed though that was wanted.

        """
        ...

    async def load(
        self, run: RunId, *, key: str | None = None, approval: ApprovalId | None = None
    ) -> Loaded:
        """Read a run, the record of a key in its scope, and a closed ticket, at one moment.

        Raises:
            RunNotFoundError: no such run.
            StoreUnconfirmedError: the key's record is there, and not confirmed by the replicas.
            UndecodableRecordError: it was written by an unknown version.

        """
        ...

    async def records(self, run: RunId, first: int = 0) -> tuple[Record, ...]:
        """Return the run's records from entry ``first`` on, in order."""
        ...

    async def events(self, run: RunId, after: int = 0) -> tuple[RunEvent, ...]:
        """Return the run's events whose number is greater than ``after``."""
        ...

    async def find(self, ref: Ref) -> Found | None:
        """Return what a ref points at: a live ticket or run first, else the last that had it."""
        ...

    async def list_runs(self, wanted: RunFilter, limit: int, cursor: str = "") -> Page:
        """Return a page of runs, newest first."""
        ...

    async def claim(self, worker: str, lease: timedelta) -> tuple[Run, Claim] | None:
        """Take the next run that is queued and not held, or whose holder's lease has ended.

        Runs whose concurrency key another live run holds are passed over.
        """
        ...

    async def heartbeat(self, claim: Claim, lease: timedelta) -> Claim:
        """Extend a claim.

        Raises:
            ClaimLostError: another worker holds the run.

        """
        ...

    async def release(self, claim: Claim, retry_at: datetime | None = None) -> None:
        """Give a claim back; with ``retry_at`` as a loss, and not ready before then."""
        ...

    async def due(self, limit: int) -> tuple[RunId, ...]:
        """Return waiting runs with an open ticket past its deadline, by the store's clock."""
        ...

    async def take_cards(self, courier: str, lease: timedelta, limit: int) -> tuple[Card, ...]:
        """Take cards that are behind their wanted version, due, and not held by a live lease.

        Their ``attempts`` tell how often each was taken before, since it was last up to date.
        """
        ...

    async def card_shown(self, card: Card, version: int, receipt: Receipt) -> None:
        """Record what a card shows now and where; gives the lease back and clears the back-off."""
        ...

    async def card_failed(self, card: Card, retry_at: datetime) -> None:
        """Give the lease back; the card is not due before ``retry_at``."""
        ...

    async def adopt_card(self, key: CardKey, receipt: Receipt) -> None:
        """Make a card row for a second post of a card, unless one with this receipt is known."""
        ...

    async def cards(self, run: RunId) -> tuple[Card, ...]:
        """Return the run's cards in the order they were made."""
        ...

    def mark(self) -> int:
        """Return a mark of the present moment, to be taken before looking for work."""
        ...

    async def wait(self, at_most: timedelta, since: int | None = None) -> None:
        """Return when work may have come up since a mark, at the latest after ``at_most``.

        Without a mark, work that came up between looking and waiting is not noticed.
        """
        ...

    async def next_due(self) -> datetime | None:
        """Return the earliest moment at which a ticket, lease, card or retry falls due.

        It lies in the past where a ticket or card is due already.
        """
        ...

    async def check(self) -> None:
        """Return if a commit could be taken now.

        Raises:
            StoreUnavailableError: it could not; the text says why.

        """
        ...

    async def purge(self, older_than: datetime, limit: int, *, dry_run: bool = False) -> int:
        """Remove up to ``limit`` runs that ended before a moment, each wholly and in one step.

        A run ends with its last commit, by the store's clock; those that ended first go first. A
        run that has not ended is never removed. One with a card behind its wanted version is kept
        ``CARDS_KEEP_FOR`` longer: it must be told, while anybody may still read it.

        With a run goes all that was kept of it, its keys too: as if it had never been.

        Returns how many went, or with ``dry_run`` would; fewer than ``limit``: none are left.
        """
        ...

    async def gauges(self) -> Gauges:
        """Count what is live, along indexes: the cost grows with it, never with what has ended."""
        ...

    async def pack(self, run: RunId) -> Parcel:
        """Return all there is of a run, at one moment; it stays where it is.

        Raises:
            RunNotFoundError: no such run.
            RunClaimedError: a live claim holds it, so it is about to change.
            UndecodableRecordError: some of it cannot be read.

        """
        ...

    async def unpack(self, parcel: Parcel) -> None:
        """Put a run in as it was packed, as the youngest of the lists; durable when it returns.

        Whatever waits, waits on. Cards that are behind are due at once.

        Raises:
            CommitConflictError: there is a run of that id, or another holds its concurrency key.
            RefTakenError: one of its refs is in use.
            IdempotencyConflictError: the key it was started under stands for another run here.
            StoreUnconfirmedError: it was written, and is not confirmed by the replicas.
            StoreError: its id names no place, and this store needs one.

        """
        ...

    async def close(self) -> None:
        """Close the store; nothing may be called after."""
        ...
