"""Claims: which run is next, and who holds it. Outside the run's version; lite writes."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from engine.errors import ClaimLostError
from engine.ids import Clock
from engine.runs import Run
from engine.store import Claim
from engine.stores.packing import unpack
from engine.stores.rows import Readable, span, to_micros, to_moment
from engine.stores.sqlite_database import Database, Row, Sync

# INDEXED BY, here and elsewhere, where the planner would rather walk all runs of a status.
# Two steps, so that neither walks over runs that are claimed or put off: the priorities there are,
# highest first, then the first ready run of one.
_TOP_PRIORITY = """
SELECT max(priority) FROM runs INDEXED BY runs_queue WHERE status = 'queued' AND blocked = 0
"""
_NEXT_PRIORITY = """
SELECT max(priority) FROM runs INDEXED BY runs_queue
WHERE status = 'queued' AND blocked = 0 AND priority < ?
"""
_READY = """
SELECT number, id, version, fence, body FROM runs INDEXED BY runs_queue
WHERE status = 'queued' AND blocked = 0 AND priority = ? AND ready_at <= ?
ORDER BY ready_at, number
"""
_CLAIM = """
UPDATE runs SET worker = :worker, fence = fence + 1, ready_at = :until,
    losses = losses + (worker IS NOT NULL)
WHERE number = :number AND version = :version AND fence = :fence
    AND status = 'queued' AND blocked = 0 AND ready_at <= :now
RETURNING fence, losses
"""
_HOLD_KEY = "INSERT INTO holds (key, run) VALUES (:key, :number) ON CONFLICT (key) DO NOTHING"
_BLOCK_OTHERS = """
UPDATE runs INDEXED BY runs_of_key SET blocked = 1
WHERE status = 'queued' AND concurrency_key <> '' AND concurrency_key = :key AND blocked = 0
    AND number <> :number
"""
_EXTEND = "UPDATE runs SET ready_at = ? WHERE id = ? AND fence = ? AND worker IS NOT NULL"
_RELEASE = """
UPDATE runs SET worker = NULL, ready_at = ?, losses = losses + ?
WHERE id = ? AND fence = ? AND worker IS NOT NULL
"""


def claim(
    database: Database, worker: str, lease: timedelta, clock: Clock, readable: Readable
) -> tuple[Run, Claim] | None:
    """Take the next ready run that can be read."""
    while True:
        now = to_micros(clock())
        candidate = _next_ready(database, now, readable)
        if candidate is None:
            return None
        until = now + span(lease)
        taken = _take(database, candidate, worker, now, until)
        if taken is not None:
            fence, losses = taken
            run = candidate.run
            return run, Claim(run.id, worker, fence, to_moment(until), losses)


def heartbeat(database: Database, claim: Claim, lease: timedelta, clock: Clock) -> Claim:
    """Extend a claim that still holds."""
    until = to_micros(clock()) + span(lease)
    if database.lite(_EXTEND, (until, claim.run, claim.fence)) == 0:
        raise ClaimLostError(f"run {claim.run} is no longer held by this claim")
    return replace(claim, until=to_moment(until))


def release(database: Database, claim: Claim, retry_at: datetime | None, clock: Clock) -> None:
    """Give a claim back, if it still holds."""
    ready_at = to_micros(retry_at or clock())
    lost = retry_at is not None
    database.lite(_RELEASE, (ready_at, lost, claim.run, claim.fence))


def hold_key(database: Database, key: str, number: int) -> None:
    """Let a run hold a concurrency key, if none does, so that the others of that key must wait."""
    values = {"key": key, "number": number}
    if database.change(_HOLD_KEY, values):
        database.change(_BLOCK_OTHERS, values)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A ready run as it was read, before it was taken."""

    number: int
    fence: int
    run: Run


def _next_ready(database: Database, now: int, readable: Readable) -> _Candidate | None:
    row = database.one(_TOP_PRIORITY)
    while row is not None and row[0] is not None:
        priority = row[0]
        with database.each(_READY, (priority, now)) as rows:
            for number, run_id, version, fence, body in rows:
                run = readable.run(run_id, version, unpack(body))
                if run is not None:
                    return _Candidate(number, fence, run)
        row = database.one(_NEXT_PRIORITY, (priority,))
    return None


def _take(
    database: Database, candidate: _Candidate, worker: str, now: int, until: int
) -> tuple[int, int] | None:
    """Return the new fence and the losses, or None where somebody else was first."""
    values = {
        "number": candidate.number,
        "version": candidate.run.version,
        "fence": candidate.fence,
        "worker": worker,
        "now": now,
        "until": until,
    }
    if not candidate.run.concurrency_key:
        return _first_pair(database.lite_returning(_CLAIM, values))
    with database.transaction(Sync.NORMAL):
        rows = database.all(_CLAIM, values)
        # A run whose key another one holds is blocked, so it is not claimed above.
        if rows:
            hold_key(database, candidate.run.concurrency_key, candidate.number)
    return _first_pair(rows)


def _first_pair(rows: list[Row]) -> tuple[int, int] | None:
    return (int(rows[0][0]), int(rows[0][1])) if rows else None
