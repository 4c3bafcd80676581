"""How much there is to do: counts along the indexes of what is live."""

from datetime import datetime

from engine.gauges import Gauges
from engine.ids import Clock
from engine.stores.rows import to_micros, to_moment
from engine.stores.sqlite_database import Database

# One statement, so one moment. A claimed run is found among those that are not ready before later,
# one priority after another, so that runs nobody holds are not read.
_GAUGES = """
SELECT
    (SELECT count(*) FROM runs INDEXED BY runs_status WHERE status = 'queued'),
    (SELECT total((
        SELECT count(*) FROM runs INDEXED BY runs_queue
        WHERE status = 'queued' AND blocked = 0 AND runs.priority = priorities.priority
            AND ready_at > :now AND worker IS NOT NULL
    )) FROM priorities),
    (SELECT count(*) FROM runs INDEXED BY runs_status WHERE status = 'waiting'),
    (SELECT ready_at FROM runs INDEXED BY runs_waiting
        WHERE status = 'waiting' ORDER BY ready_at LIMIT 1),
    (SELECT count(*) FROM cards INDEXED BY cards_behind WHERE wanted > shown),
    (SELECT count(*) FROM cards INDEXED BY cards_behind WHERE wanted > shown AND due_at <= :now),
    (SELECT due_at FROM cards INDEXED BY cards_behind
        WHERE wanted > shown AND due_at <= :now ORDER BY due_at LIMIT 1),
    (SELECT count(*) FROM berths INDEXED BY berths_waiting WHERE state = 'waiting')
"""


def read(database: Database, clock: Clock) -> Gauges:
    """Count what is live."""
    now = clock()
    row = database.one(_GAUGES, {"now": to_micros(now)})
    if row is None:
        raise AssertionError("a SELECT without a table has one row")
    live, running, waiting, waiting_since, behind, due, due_since, held = row
    return Gauges(
        now=now,
        queued=int(live) - int(running),
        running=int(running),
        waiting=int(waiting),
        waiting_since=_moment(waiting_since),
        cards_behind=int(behind),
        cards_due=int(due),
        due_since=_moment(due_since),
        held=int(held),
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else to_moment(micros)
