"""What is asked of the store: runs, records, events, refs, lists, and what falls due."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from operator import itemgetter

from engine.entries import Record
from engine.errors import RunNotFoundError
from engine.events import RunEvent
from engine.ids import ApprovalId, Clock, Ref, RunId
from engine.runs import RunStatus
from engine.store import Found, KeyRecord, Loaded, Page, RunFilter
from engine.stores.packing import unpack
from engine.stores.rows import (
    Readable,
    read_events,
    read_record,
    read_run,
    read_ticket,
    to_micros,
    to_moment,
)
from engine.stores.sqlite_database import Database, Row

# One statement, so one moment.
_LOAD = """
SELECT runs.body, worker IS NOT NULL AND status = 'queued' AND ready_at > :now,
    keys.scope, keys.key, keys.body, keys.outcome, tickets.body
FROM runs
LEFT JOIN keys ON keys.scope = 'run:' || runs.id AND keys.key = :key
LEFT JOIN tickets ON tickets.approval = :approval AND tickets.run = runs.number
WHERE runs.id = :run
"""
_RECORDS = """
SELECT entry, kind, idx, body FROM records
WHERE run = (SELECT number FROM runs WHERE id = ?) AND entry >= ?
ORDER BY entry, kind, idx
"""
# The commits of a run, newest first: the tail of a long history is read without its head.
_COMMITS = """
SELECT last_seq, events FROM commits
WHERE place BETWEEN (SELECT number << 20 FROM runs WHERE id = :run)
    AND (SELECT (number << 20) + 1048575 FROM runs WHERE id = :run)
ORDER BY place DESC
"""
_FIND = """
SELECT runs.id, refs.approval FROM refs JOIN runs ON runs.number = refs.run WHERE refs.ref = ?
"""
_DUE = """
SELECT id, version, body FROM runs INDEXED BY runs_deadline WHERE deadline < ? ORDER BY deadline, number
"""
_NEWEST = """
SELECT number, id, version, body FROM runs WHERE number < :before
ORDER BY number DESC LIMIT :limit
"""
# A queued run that a live claim holds is seen as running: claimed is 0, 1, or NULL for either.
_NEWEST_OF_STATUS = """
SELECT number, id, version, body FROM runs
WHERE status = :status AND number < :before
    AND (:claimed IS NULL OR :claimed = (worker IS NOT NULL AND ready_at > :now))
ORDER BY number DESC LIMIT :limit
"""
_NEWEST_OF_AGENT = """
SELECT number, id, version, body FROM runs
WHERE status = :status AND agent = :agent AND number < :before AND (:owner = '' OR owner = :owner)
    AND (:claimed IS NULL OR :claimed = (worker IS NOT NULL AND ready_at > :now))
ORDER BY number DESC LIMIT :limit
"""
_NEWEST_OF_OWNER = """
SELECT number, id, version, body FROM runs
WHERE status = :status AND owner = :owner AND number < :before
    AND (:claimed IS NULL OR :claimed = (worker IS NOT NULL AND ready_at > :now))
ORDER BY number DESC LIMIT :limit
"""
_DEADLINES = """
SELECT id, version, deadline FROM runs INDEXED BY runs_deadline
WHERE deadline IS NOT NULL ORDER BY deadline
"""
_BEHIND = """
SELECT number, wanted, due_at FROM cards INDEXED BY cards_behind
WHERE wanted > shown ORDER BY due_at
"""
_NEXT_READY = """
WITH RECURSIVE priorities (priority) AS (
    SELECT max(priority) FROM runs INDEXED BY runs_queue WHERE status = 'queued' AND blocked = 0
    UNION ALL
    SELECT (
        SELECT max(runs.priority) FROM runs INDEXED BY runs_queue
        WHERE status = 'queued' AND blocked = 0 AND runs.priority < priorities.priority
    ) FROM priorities WHERE priorities.priority IS NOT NULL
)
SELECT min((
    SELECT ready_at FROM runs INDEXED BY runs_queue
    WHERE status = 'queued' AND blocked = 0 AND runs.priority = priorities.priority
        AND ready_at > ?
    ORDER BY ready_at LIMIT 1
)) FROM priorities
"""
_NO_CURSOR = (1 << 63) - 1


def load(
    database: Database, run: RunId, key: str | None, approval: ApprovalId | None, clock: Clock
) -> Loaded:
    """Read a run, a key's record and a closed ticket in one statement."""
    now = clock()
    row = database.one(_LOAD, {"run": run, "key": key, "approval": approval, "now": to_micros(now)})
    if row is None:
        raise RunNotFoundError(run)
    body, running, scope, name, asked, outcome, ticket = row
    return Loaded(
        run=read_run(run, unpack(body)),
        now=now,
        recorded=None if scope is None else KeyRecord(scope, name, asked, outcome),
        closed=None if ticket is None else read_ticket(run, unpack(ticket)),
        running=bool(running),
    )


def records(database: Database, run: RunId, first: int) -> tuple[Record, ...]:
    """Return the run's records from entry ``first`` on."""
    rows = database.all(_RECORDS, (run, first))
    return tuple(read_record(run, (*name, unpack(body))) for *name, body in rows)


def events(database: Database, run: RunId, after: int) -> tuple[RunEvent, ...]:
    """Return the events past ``after``, reading no further back than they go."""
    found: list[tuple[RunEvent, ...]] = []
    with database.each(_COMMITS, {"run": run}) as rows:
        for last_seq, body in rows:
            # A commit without events has no last number, and says nothing of those before it.
            if 0 < last_seq <= after:
                break
            found.append(read_events(run, unpack(body)))
    return tuple(event for group in reversed(found) for event in group if event.seq > after)


def find(database: Database, ref: Ref) -> Found | None:
    """Return what the ref was last given to: a live one cannot be taken over."""
    row = database.one(_FIND, (ref,))
    return Found(*row) if row else None


def list_runs(
    database: Database, wanted: RunFilter, limit: int, cursor: str, clock: Clock, readable: Readable
) -> Page:
    """Return a page of runs, in the reverse of the order in which they were made."""
    values = {
        "before": int(cursor) if cursor else _NO_CURSOR,
        "agent": wanted.agent,
        "owner": wanted.owner,
        "now": to_micros(clock()),
        "limit": limit + 1,
    }
    with database.snapshot():
        rows = _newest(database, wanted, values)
    shown = rows[:limit]
    runs = (readable.run(run, version, unpack(body)) for _, run, version, body in shown)
    return Page(
        runs=tuple(run for run in runs if run is not None),
        cursor=str(shown[-1][0]) if len(rows) > limit else "",
    )


def due(database: Database, limit: int, clock: Clock, readable: Readable) -> tuple[RunId, ...]:
    """Return waiting runs past a deadline, passing over those that cannot be read."""
    with database.each(_DUE, (to_micros(clock()),)) as rows:
        late = (run for run, version, body in rows if readable.run(run, version, unpack(body)))
        return tuple(islice(late, limit))


def next_due(database: Database, clock: Clock, readable: Readable) -> datetime | None:
    """Return the earliest moment at which something falls due; past where it has already."""
    moments = (
        _first_deadline(database, readable),
        _first_behind(database, readable),
        _next_ready(database, clock),
    )
    earliest = min((moment for moment in moments if moment is not None), default=None)
    return None if earliest is None else to_moment(earliest)


def _newest(database: Database, wanted: RunFilter, values: dict[str, object]) -> list[Row]:
    if not (wanted.statuses or wanted.agent or wanted.owner):
        return database.all(_NEWEST, values)
    # One query per status, each along an index and no longer than the page.
    sql = _NEWEST_OF_STATUS
    if wanted.agent:
        sql = _NEWEST_OF_AGENT
    elif wanted.owner:
        sql = _NEWEST_OF_OWNER
    rows = [
        row
        for status, claimed in _stored(frozenset(wanted.statuses or RunStatus))
        for row in database.all(sql, {**values, "status": status.value, "claimed": claimed})
    ]
    return sorted(rows, key=itemgetter(0), reverse=True)


def _stored(views: frozenset[RunStatus]) -> Iterator[tuple[RunStatus, bool | None]]:
    """Yield the stored statuses, and for queued runs whether a live claim must hold them."""
    if views & {RunStatus.QUEUED, RunStatus.RUNNING}:
        both = {RunStatus.QUEUED, RunStatus.RUNNING} <= views
        yield RunStatus.QUEUED, None if both else RunStatus.RUNNING in views
    for status in views - {RunStatus.QUEUED, RunStatus.RUNNING}:
        yield status, None


def _first_deadline(database: Database, readable: Readable) -> int | None:
    with database.each(_DEADLINES) as rows:
        readable_ones = (row[2] for row in rows if not readable.known(row[0], row[1]))
        first = next(readable_ones, None)
    # On its deadline a ticket can still be answered.
    return None if first is None else int(first) + 1


def _first_behind(database: Database, readable: Readable) -> int | None:
    with database.each(_BEHIND) as rows:
        readable_ones = (row[2] for row in rows if not readable.known(f"card {row[0]}", row[1]))
        return next(readable_ones, None)


def _next_ready(database: Database, clock: Clock) -> int | None:
    row = database.one(_NEXT_READY, (to_micros(clock()),))
    return None if row is None or row[0] is None else int(row[0])
