"""Parcels: all of a run read at one moment, or put in as it was in another store."""

from engine.cards import Card
from engine.errors import (
    CommitConflictError,
    IdempotencyConflictError,
    RunClaimedError,
    RunNotFoundError,
)
from engine.ids import Clock, CommitId, RunId
from engine.store import KeyRecord, Parcel, PastCommit
from engine.stores import packing, sqlite_cards, sqlite_reads
from engine.stores.rows import read_events, read_run, read_ticket, to_micros, to_moment
from engine.stores.sqlite_claims import hold_key
from engine.stores.sqlite_commit import (
    place_of,
    put_commit,
    put_key,
    put_records,
    put_tickets,
    take_ref,
)
from engine.stores.sqlite_database import Database, Row, Sync

_RUN = """
SELECT number, body, ready_at, worker, fence, losses,
    EXISTS (SELECT 1 FROM holds WHERE holds.key = concurrency_key AND holds.run = number)
FROM runs WHERE id = ?
"""
_COMMITS = "SELECT id, events FROM commits WHERE place BETWEEN ? AND ? ORDER BY place"
_TICKETS = "SELECT approval, body FROM tickets WHERE run = ?"
_REFS = "SELECT ref, approval FROM refs WHERE run = ? ORDER BY ref"
_KEYS = "SELECT scope, key, body, outcome, version FROM keys WHERE scope = 'run:' || ?"
_START_KEYS = """
SELECT scope, key, body, outcome, version FROM keys INDEXED BY keys_of_start
WHERE scope >= 'start:' AND run = ?
"""
_HOLDER = """
SELECT runs.id FROM holds JOIN runs ON runs.number = holds.run WHERE holds.key = ?
"""
_PUT_RUN = """
INSERT INTO runs (id, version, status, agent, owner, concurrency_key, priority, ready_at, blocked,
    deadline, fence, losses, body)
VALUES (:id, :version, :status, :agent, :owner, :key, :priority, :since,
    EXISTS (SELECT 1 FROM holds WHERE holds.key = :key), :deadline, :fence, :losses, :body)
ON CONFLICT (id) DO NOTHING
RETURNING number
"""
_KEY = "SELECT 1 FROM keys WHERE scope = ? AND key = ?"
_PUT_CARD = """
INSERT INTO cards (run, subject, role, notifier, duplicate, wanted, shown, due_at, attempts, fence,
    receipt)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def pack(database: Database, run: RunId, clock: Clock) -> Parcel:
    """Read all of a run in one snapshot."""
    with database.snapshot():
        row = database.one(_RUN, (run,))
        if row is None:
            raise RunNotFoundError(run)
        number, body, since, worker, fence, losses, holds_key = row
        if worker is not None and since > to_micros(clock()):
            raise RunClaimedError(run, worker)
        return Parcel(
            run=read_run(run, packing.unpack(body)),
            since=to_moment(since),
            fence=fence,
            losses=losses + (worker is not None),
            holds_key=bool(holds_key),
            commits=_commits(database, run, number),
            records=sqlite_reads.records(database, run, 0),
            closed=tuple(
                read_ticket(run, packing.unpack(body))
                for _, body in sorted(database.all(_TICKETS, (number,)))
            ),
            refs=tuple((ref, approval) for ref, approval in database.all(_REFS, (number,))),
            keys=_keys(database, run),
            cards=sqlite_cards.of_run(database, run),
        )


def unpack(database: Database, parcel: Parcel, clock: Clock) -> None:
    """Write all of a run in one transaction."""
    with database.transaction(Sync.FULL):
        number = _put_run(database, parcel)
        _put_facts(database, parcel, number)
        now = to_micros(clock())
        for card in parcel.cards:
            database.change(_PUT_CARD, _card_row(card, number, now))


def _commits(database: Database, run: RunId, number: int) -> tuple[PastCommit, ...]:
    rows = database.all(_COMMITS, (place_of(number, 0), place_of(number + 1, 0) - 1))
    return tuple(
        PastCommit(CommitId(name), read_events(run, packing.unpack(events)))
        for name, events in rows
    )


def _keys(database: Database, run: RunId) -> tuple[tuple[KeyRecord, int], ...]:
    rows: list[Row] = database.all(_KEYS, (run,)) + database.all(_START_KEYS, (run,))
    return tuple((KeyRecord(*row[:4]), row[4]) for row in sorted(rows))


def _put_run(database: Database, parcel: Parcel) -> int:
    run = parcel.run
    key = run.concurrency_key
    if parcel.holds_key and (holder := database.one(_HOLDER, (key,))):
        raise CommitConflictError(f"run {holder[0]} holds the concurrency key of run {run.id}")
    values = {
        "id": run.id,
        "version": run.version,
        "status": run.status.value,
        "agent": run.agent,
        "owner": run.owner,
        "key": key,
        "priority": run.priority,
        "since": to_micros(parcel.since),
        "deadline": to_micros(run.deadline) if run.deadline else None,
        "fence": parcel.fence,
        "losses": parcel.losses,
        "body": packing.pack(run.model_dump_json()),
    }
    row = database.one(_PUT_RUN, values)
    if row is None:
        raise CommitConflictError(f"there is a run {run.id} already")
    number = int(row[0])
    if parcel.holds_key:
        hold_key(database, key, number)
    return number


def _put_facts(database: Database, parcel: Parcel, number: int) -> None:
    for version, made in enumerate(parcel.commits, start=1):
        put_commit(database, (number, version), made.id, made.events)
    put_records(database, number, parcel.records)
    put_tickets(database, number, parcel.closed)
    for key, version in parcel.keys:
        if database.one(_KEY, (key.scope, key.key)):
            raise IdempotencyConflictError(key.key)
        put_key(database, key, parcel.run.id, version)
    for ref, approval in parcel.refs:
        take_ref(database, ref, number, approval)


def _card_row(card: Card, number: int, now: int) -> Row:
    key = card.key
    names = (key.subject, key.role.value, key.notifier, key.duplicate)
    receipt = packing.pack(card.receipt.model_dump_json()) if card.receipt else None
    return (number, *names, card.wanted, card.shown, now, card.attempts, card.fence, receipt)
