"""The commit: check, in the order the port promises, then write it all."""

from engine.cards import CardKey
from engine.entries import Record
from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    DeadlineNotReachedError,
    DeadlinePassedError,
    IdempotencyConflictError,
    NoBerthError,
    RefTakenError,
    StoreError,
)
from engine.events import RunEvent
from engine.ids import ApprovalId, Clock, CommitId, Ref, RunId
from engine.runs import RunStatus
from engine.store import Change, Claim, ClaimEffect, Done, KeyRecord
from engine.stores.packing import lay, pack
from engine.stores.rows import to_micros, write_events
from engine.stores.sqlite_berths import leave, take_all
from engine.stores.sqlite_database import Database, Row, Sync
from engine.tickets import ResumeTicket

VERSION_BITS = 20

_KEY = "SELECT body, outcome, run, version FROM keys WHERE scope = ? AND key = ?"
_PUT_KEY = "INSERT INTO keys (scope, key, body, outcome, run, version) VALUES (?, ?, ?, ?, ?, ?)"

_CREATE = """
INSERT INTO runs (id, version, status, agent, owner, concurrency_key, priority, ready_at, blocked,
    deadline, body)
VALUES (:id, :version, :status, :agent, :owner, :key, :priority, :now,
    EXISTS (SELECT 1 FROM holds WHERE holds.key = :key), :deadline, :body)
ON CONFLICT (id) DO NOTHING
RETURNING number
"""
_UPDATE = """
UPDATE runs SET version = :version, status = :status, deadline = :deadline, body = :body,
    blocked = EXISTS (
        SELECT 1 FROM holds WHERE holds.key = :key AND holds.run <> runs.number
    ),
    ready_at = CASE
        WHEN status = 'waiting' AND :status = 'waiting' THEN ready_at
        WHEN worker IS NULL OR :frees THEN :now
        ELSE ready_at
    END,
    worker = CASE WHEN :frees THEN NULL ELSE worker END,
    losses = CASE WHEN :fence IS NULL THEN losses ELSE 0 END
WHERE id = :id AND version = :expected
    AND (:fence IS NULL OR (fence = :fence AND worker IS NOT NULL))
RETURNING number
"""
# Most commits of a run leave it queued and claimed. Naming no indexed column spares the rewriting
# of every index entry.
_UPDATE_HELD = """
UPDATE runs SET version = :version, body = :body, losses = 0
WHERE id = :id AND version = :expected
    AND fence = :fence AND worker IS NOT NULL AND status = 'queued'
RETURNING number
"""
_STANDING = "SELECT number, version FROM runs WHERE id = ?"
_COMMIT_ID = "SELECT id FROM commits WHERE place = ?"
_PUT_COMMIT = "INSERT INTO commits (place, id, last_seq, events) VALUES (?, ?, ?, ?)"
_PUT_RECORD = "INSERT INTO records (run, entry, kind, idx, body) VALUES (?, ?, ?, ?, ?)"
_PUT_TICKET = "INSERT INTO tickets (approval, run, body) VALUES (?, ?, ?)"
# A ref that an ended run or a closed ticket had may be taken over.
_TAKE_REF = """
INSERT INTO refs (ref, run, approval) VALUES (:ref, :run, :approval)
ON CONFLICT (ref) DO UPDATE SET run = excluded.run, approval = excluded.approval
WHERE EXISTS (
        SELECT 1 FROM tickets WHERE tickets.run = refs.run AND tickets.approval = refs.approval
    )
    OR EXISTS (
        SELECT 1 FROM runs WHERE number = refs.run AND status NOT IN ('queued', 'waiting')
    )
"""
# One statement for a card, made or raised; it tells whether there are other posts of the card.
_RAISE_CARD = """
INSERT INTO cards (run, subject, role, notifier, duplicate, wanted, shown, due_at)
VALUES (:run, :subject, :role, :notifier, '', :wanted, 0, :now)
ON CONFLICT (run, subject, role, notifier, duplicate) DO UPDATE SET wanted = excluded.wanted
RETURNING EXISTS (
    SELECT 1 FROM cards AS post WHERE post.run = :run AND post.subject = :subject
        AND post.role = :role AND post.notifier = :notifier AND post.duplicate > ''
)
"""
_RAISE_POSTS = """
UPDATE cards SET wanted = :wanted
WHERE run = :run AND subject = :subject AND role = :role AND notifier = :notifier
    AND duplicate > ''
"""
_FREE_KEY = "DELETE FROM holds WHERE key = :key AND run = :run"
# One waiting run at a time becomes claimable: unblocking all would rewrite each of them per turn.
_OFFER_KEY = """
UPDATE runs SET blocked = 0
WHERE NOT EXISTS (SELECT 1 FROM holds WHERE holds.key = :key) AND number = (
    SELECT number FROM runs INDEXED BY runs_of_key
    WHERE status = 'queued' AND concurrency_key <> '' AND concurrency_key = :key AND blocked = 1
    ORDER BY priority DESC, ready_at, number LIMIT 1
)
"""


def commit(database: Database, change: Change, claim: Claim | None, clock: Clock) -> Done:
    """Commit one change: in a transaction of its own, or as its part of a group."""
    with database.transaction(Sync.FULL):
        return write_change(database, change, claim, clock)


def write_change(database: Database, change: Change, claim: Claim | None, clock: Clock) -> Done:
    """Check and write one change inside an open transaction.

    When it raises it may have written some of the change: the caller rolls back to before it.
    """
    recorded = _recorded(database, change.key)
    if recorded is not None:
        return recorded
    now = to_micros(clock())
    number = _put_run(database, change, claim, now)
    if number is None:
        return _replayed(database, change)
    _check_moment(change, now)
    _move_berths(database, change, now)
    _put_facts(database, change, number)
    _take_refs(database, change, number)
    for card in change.raised:
        _raise_card(database, card, number, change.run.version, now)
    _pass_key_on(database, change, claim, number)
    return Done(change.run.id, change.run.version, change.key.outcome if change.key else None)


def place_of(number: int, version: int) -> int:
    """Return where the row of a run's commit lies.

    Raises:
        StoreError: the run has had more commits than there are places.

    """
    if version >> VERSION_BITS:
        raise StoreError(f"a run can have {1 << VERSION_BITS} commits at most")
    return number << VERSION_BITS | version


def _recorded(database: Database, key: KeyRecord | None) -> Done | None:
    row = database.one(_KEY, (key.scope, key.key)) if key else None
    if key is None or row is None:
        return None
    body, outcome, run, version = row
    if body != key.body:
        raise IdempotencyConflictError(key.key)
    return Done(run, version, outcome, replayed=True)


def _put_run(database: Database, change: Change, claim: Claim | None, now: int) -> int | None:
    run = change.run
    values = {
        "id": run.id,
        "expected": change.expected,
        "version": run.version,
        "status": run.status.value,
        "agent": run.agent,
        "owner": run.owner,
        "key": run.concurrency_key,
        "priority": run.priority,
        "deadline": to_micros(run.deadline) if run.deadline else None,
        "body": _body(change),
        "fence": claim.fence if claim else None,
        "frees": change.claim is ClaimEffect.RELEASE or not run.live,
        "now": now,
    }
    row: Row | None = None
    if change.expected == 0:
        row = database.one(_CREATE, values)
    else:
        if claim and run.status is RunStatus.QUEUED and not values["frees"]:
            row = database.one(_UPDATE_HELD, values)
        row = row or database.one(_UPDATE, values)
    return int(row[0]) if row else None


def _body(change: Change) -> bytes:
    """Return the run's body: packed where it will rest, and not where a worker has it in hand."""
    text = change.run.model_dump_json()
    rests = change.expected == 0 or change.run.status is not RunStatus.QUEUED
    return pack(text) if rests else lay(text)


def _replayed(database: Database, change: Change) -> Done:
    """Return this commit's first outcome if it was made before, else say what is in the way."""
    run, made = change.run.id, change.expected + 1
    row = database.one(_STANDING, (run,))
    if row is None:
        raise CommitConflictError(f"run {run} does not exist")
    number, version = row
    if version == change.expected:
        raise ClaimLostError(f"run {run} is no longer held by this claim")
    mine = database.one(_COMMIT_ID, (place_of(number, made),))
    if mine is None or mine[0] != change.commit:
        raise CommitConflictError(f"run {run} is at version {version}, not {change.expected}")
    return Done(run, made, change.key.outcome if change.key else None, replayed=True)


def _check_moment(change: Change, now: int) -> None:
    if change.not_after is not None and now > to_micros(change.not_after):
        raise DeadlinePassedError(f"past {change.not_after.isoformat()}")
    if change.not_before is not None and now <= to_micros(change.not_before):
        raise DeadlineNotReachedError(f"not past {change.not_before.isoformat()}")


def _move_berths(database: Database, change: Change, now: int) -> None:
    if change.closed:
        leave(database, [ticket.approval for ticket in change.closed])
    if not take_all(database, change.asks, now):
        raise NoBerthError(f"run {change.run.id} asks for more than may be open now")


def _put_facts(database: Database, change: Change, number: int) -> None:
    run, key = change.run, change.key
    put_commit(database, (number, run.version), change.commit, change.events)
    put_records(database, number, change.records)
    put_tickets(database, number, change.closed)
    if key is not None:
        put_key(database, key, run.id, run.version)


def put_commit(
    database: Database, place: tuple[int, int], name: CommitId, events: tuple[RunEvent, ...]
) -> None:
    """Write the row of the commit that brings a run (its number) to a version."""
    last_seq = events[-1].seq if events else 0
    database.change(_PUT_COMMIT, (place_of(*place), name, last_seq, pack(write_events(events))))


def put_records(database: Database, number: int, records: tuple[Record, ...]) -> None:
    """Write records of a run."""
    for record in records:
        name = (number, record.entry, record.kind.value, record.index)
        database.change(_PUT_RECORD, (*name, pack(record.body)))


def put_tickets(database: Database, number: int, closed: tuple[ResumeTicket, ...]) -> None:
    """Write closed tickets of a run."""
    for ticket in closed:
        database.change(_PUT_TICKET, (ticket.approval, number, pack(ticket.model_dump_json())))


def put_key(database: Database, key: KeyRecord, run: RunId, version: int) -> None:
    """Write what a key stands for; it must not be there."""
    told = (key.body, key.outcome, run, version)
    database.change(_PUT_KEY, (key.scope, key.key, *told))


def _take_refs(database: Database, change: Change, number: int) -> None:
    if change.expected == 0:
        take_ref(database, change.run.ref, number, None)
    for ticket in change.opened:
        take_ref(database, ticket.ref, number, ticket.approval)


def take_ref(database: Database, ref: Ref, run: int, approval: ApprovalId | None) -> None:
    """Point a ref at a run, or at a ticket of it.

    Raises:
        RefTakenError: it is in use.

    """
    if database.change(_TAKE_REF, {"ref": ref, "run": run, "approval": approval}) == 0:
        raise RefTakenError(f"ref {ref} is in use")


def _raise_card(database: Database, key: CardKey, run: int, wanted: int, now: int) -> None:
    values = {
        "run": run,
        "subject": key.subject,
        "role": key.role.value,
        "notifier": key.notifier,
        "wanted": wanted,
        "now": now,
    }
    row = database.one(_RAISE_CARD, values)
    if row and row[0]:
        database.change(_RAISE_POSTS, values)


def _pass_key_on(database: Database, change: Change, claim: Claim | None, number: int) -> None:
    run = change.run
    if not run.concurrency_key or run.status is RunStatus.QUEUED:
        return
    values = {"key": run.concurrency_key, "run": number}
    if not run.live:
        database.change(_FREE_KEY, values)
    # A waiting run keeps the key if it was ever claimed; one that never was has nothing to keep.
    if not run.live or claim is None:
        database.change(_OFFER_KEY, values)
