"""Retention: runs that ended long ago go, with all that was kept of them."""

from datetime import datetime

from engine.store import CARDS_KEEP_FOR
from engine.stores.packing import unpack
from engine.stores.rows import Readable, span, to_micros
from engine.stores.sqlite_commit import place_of
from engine.stores.sqlite_database import Database, Sync

# Of an ended run ready_at is the moment of its last commit.
_ENDED = """
SELECT number, id, body FROM runs INDEXED BY runs_ended
WHERE status IN ('succeeded', 'failed', 'cancelled') AND ready_at < :older
    AND (ready_at < :untold OR NOT EXISTS (
        SELECT 1 FROM cards WHERE cards.run = runs.number AND wanted > shown
    ))
ORDER BY ready_at, number LIMIT :limit
"""
_FORGET = (
    "DELETE FROM commits WHERE place BETWEEN :first AND :last",
    "DELETE FROM records WHERE run = :number",
    "DELETE FROM tickets WHERE run = :number",
    "DELETE FROM refs WHERE run = :number",
    "DELETE FROM cards WHERE run = :number",
    "DELETE FROM keys WHERE scope = 'run:' || :id",
    # A caller's key for starting the run stands for that run alone.
    "DELETE FROM keys INDEXED BY keys_of_start WHERE scope >= 'start:' AND run = :id",
    "DELETE FROM runs WHERE number = :number",
)


def purge(
    database: Database, older_than: datetime, limit: int, readable: Readable, *, dry_run: bool
) -> int:
    """Remove runs in one transaction, those that ended first first; return how many."""
    older = to_micros(older_than)
    values = {"older": older, "untold": older - span(CARDS_KEEP_FOR), "limit": limit}
    if dry_run:
        count = 0
        with database.each(_ENDED, values) as rows:
            for _, run, body in rows:
                readable.look(run, unpack(body))
                count += 1
        return count
    with database.transaction(Sync.FULL):
        ended = database.all(_ENDED, values)
        for number, run, body in ended:
            readable.look(run, unpack(body))
            _forget(database, number, run)
    return len(ended)


def _forget(database: Database, number: int, run: str) -> None:
    values = {
        "number": number,
        "id": run,
        "first": place_of(number, 0),
        "last": place_of(number + 1, 0) - 1,
    }
    for statement in _FORGET:
        database.change(statement, values)
