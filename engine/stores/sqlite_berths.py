"""Berths in a SQLite file: a row for each ask, and a count for each name. Lite writes.

What a commit opens and closes takes and leaves its berths in that commit's own transaction.
"""

import json
from collections.abc import Callable, Sequence

from engine.berths import Ask, Berth, BerthState, Count, Held
from engine.ids import ApprovalId, Clock
from engine.stores.rows import to_micros, to_moment
from engine.stores.sqlite_database import Database, Row, Sync
from engine.stores.sqlite_thread import DatabaseThread, Writes

# All that an ask is judged by, in one look: how it stands if it is known, what the one at the head
# of the line is within, and how many are open by name.
_LOOK = """
SELECT (SELECT json_array(state, full, news) FROM berths WHERE approval = :approval),
    (SELECT within FROM berths INDEXED BY berths_waiting
        WHERE state = 'waiting' ORDER BY number LIMIT 1),
    (SELECT json_group_object(name, json_array(open, waiting)) FROM berth_counts
        WHERE name IN (SELECT value FROM json_each(:names)))
"""
_PUT = """
INSERT INTO berths (approval, run, state, since, within, told, full, news)
VALUES (:approval, :run, :state, :now, :within, :told, :full, :news)
"""
_ADD = """
INSERT INTO berth_counts (name, open, waiting)
SELECT value, :open, :waiting FROM json_each(:names) WHERE true
ON CONFLICT (name) DO UPDATE SET open = open + excluded.open, waiting = waiting + excluded.waiting
"""
_TIDY = """
DELETE FROM berth_counts
WHERE name IN (SELECT value FROM json_each(?)) AND open = 0 AND waiting = 0
"""
_FORGET = "DELETE FROM berths WHERE approval = ? RETURNING state, within, told"
# The others of a kind have no room where the first of it has none.
_HEADS = "SELECT number, within FROM berth_heads ORDER BY number"
_CALL = """
UPDATE berths SET state = 'called' WHERE number = ? AND state = 'waiting' RETURNING within, told
"""
_OPEN_COUNTS = """
SELECT name, open FROM berth_counts WHERE name IN (SELECT value FROM json_each(?))
"""
_CALLED = """
SELECT number, approval, run, state, since FROM berths INDEXED BY berths_called
WHERE state = 'called' ORDER BY number LIMIT ?
"""
_KNOWN = """
SELECT number, approval, run, state, since FROM berths WHERE number > ? ORDER BY number LIMIT ?
"""
_SETTLE = "UPDATE berths SET state = 'open' WHERE approval = ? AND state = 'called'"
_COUNT = "SELECT open, waiting FROM berth_counts WHERE name = ?"
_STATE = "SELECT state, within, told FROM berths WHERE approval = ?"
_SET_STATE = "UPDATE berths SET state = :state WHERE approval = :approval"

Within = Sequence[tuple[str, int]]


class SqliteBerths:
    """The Berths of a SQLite file."""

    def __init__(self, thread: DatabaseThread, clock: Clock, ring: Callable[[], None]) -> None:
        """Take the thread, the clock of the store, and what tells that an ask may have been called."""
        self._thread = thread
        self._clock = clock
        self._ring = ring

    async def take(self, asks: Sequence[Ask]) -> tuple[Held, ...]:
        """Give each ask a berth, or a place in the line; return those that wait."""
        return await self._thread.run(
            lambda database: take(database, asks, self._clock), writes=Writes.LITE
        )

    async def leave(self, approvals: Sequence[ApprovalId]) -> None:
        """Forget asks; what they leave free goes to those that wait."""
        await self._thread.run(
            lambda database: leave_at_once(database, approvals),
            writes=Writes.LITE,
            after=lambda _: self._ring(),
        )

    async def called(self, limit: int) -> tuple[Berth, ...]:
        """Return asks that were called, the first that came first."""
        return await self._thread.run(lambda database: called(database, limit))

    async def settle(self, approvals: Sequence[ApprovalId]) -> None:
        """Note that the tickets of called asks were released."""
        await self._thread.run(lambda database: settle(database, approvals), writes=Writes.LITE)

    async def count(self, names: Sequence[str]) -> tuple[Count, ...]:
        """Return how many asks count for each name."""
        return await self._thread.run(lambda database: count(database, names))

    async def known(self, after: int, limit: int) -> tuple[Berth, ...]:
        """Return asks whose number is greater than ``after``, by their number."""
        return await self._thread.run(lambda database: known(database, after, limit))

    async def restore(
        self, opened: Sequence[Ask], waiting: Sequence[Ask]
    ) -> tuple[ApprovalId, ...]:
        """Make up for what was lost; return the asks that were not known."""
        return await self._thread.run(
            lambda database: restore(database, opened, waiting, self._clock),
            writes=Writes.LITE,
            after=lambda _: self._ring(),
        )


def take(database: Database, asks: Sequence[Ask], clock: Clock) -> tuple[Held, ...]:
    """Give each ask a berth or a place in the line, in one transaction; return those that wait."""
    with database.transaction(Sync.NORMAL):
        held = [_take(database, ask, to_micros(clock())) for ask in asks]
    return tuple(one for one in held if one is not None)


def take_all(database: Database, asks: Sequence[Ask], now: int) -> bool:
    """Give each ask a berth inside an open transaction; False, to be rolled back, if one waits."""
    return all(_take(database, ask, now) is None for ask in asks)


def leave(database: Database, approvals: Sequence[ApprovalId]) -> bool:
    """Forget asks inside an open transaction and call others; tell whether any was known."""
    gone = [row for one in approvals for row in database.all(_FORGET, (one,))]
    for state, within, told in gone:
        _add(database, _names(within, told), state, -1)
    if gone:
        _call(database)
        for _, within, told in gone:
            database.change(_TIDY, (_names(within, told),))
    return bool(gone)


def leave_at_once(database: Database, approvals: Sequence[ApprovalId]) -> bool:
    """Forget asks in a transaction of their own."""
    with database.transaction(Sync.NORMAL):
        return leave(database, approvals)


def called(database: Database, limit: int) -> tuple[Berth, ...]:
    """Return asks that were called."""
    return tuple(_berth(row) for row in database.all(_CALLED, (limit,)))


def settle(database: Database, approvals: Sequence[ApprovalId]) -> None:
    """Note that called asks are open."""
    with database.transaction(Sync.NORMAL):
        for approval in approvals:
            database.change(_SETTLE, (approval,))


def count(database: Database, names: Sequence[str]) -> tuple[Count, ...]:
    """Return the count of each name."""
    with database.snapshot():
        rows = [database.one(_COUNT, (name,)) for name in names]
    return tuple(Count(*row) if row else Count() for row in rows)


def known(database: Database, after: int, limit: int) -> tuple[Berth, ...]:
    """Return asks by their number."""
    return tuple(_berth(row) for row in database.all(_KNOWN, (after, limit)))


def restore(
    database: Database, opened: Sequence[Ask], waiting: Sequence[Ask], clock: Clock
) -> tuple[ApprovalId, ...]:
    """Make up for what was lost; return the asks that were not known."""
    now = to_micros(clock())
    with database.transaction(Sync.NORMAL):
        unknown = [a.approval for a in opened if _is_open(database, a, now)]
        unknown += [a.approval for a in waiting if _waits(database, a, now)]
        _call(database)
    return tuple(unknown)


def _take(database: Database, ask: Ask, now: int) -> Held | None:
    names = [*(name for name, _ in ask.within), *ask.told]
    values = {"approval": ask.approval, "names": json.dumps(names)}
    row = database.one(_LOOK, values)
    if row is None:
        raise AssertionError("a SELECT without a table has one row")
    known_as, head, counted = row
    if known_as is not None:
        state, full, news = json.loads(known_as)
        waits = state == BerthState.WAITING
        return _held(ask, json.loads(full), json.loads(news)) if waits else None
    counts = {name: Count(*both) for name, both in json.loads(counted).items()}
    lacking = _lacking(ask.within, counts, json.loads(head) if head else None)
    if lacking is None:
        _put(database, ask, BerthState.OPEN, now)
        return None
    news = [name for name in ask.told if counts.get(name, Count()).waiting == 0]
    _put(database, ask, BerthState.WAITING, now, json.dumps(lacking), json.dumps(news))
    return _held(ask, lacking, news)


def _held(ask: Ask, full: list[str], news: list[str]) -> Held:
    return Held(ask.approval, tuple(full), tuple(news))


def _lacking(within: Within, counts: dict[str, Count], head: Within | None) -> list[str] | None:
    """Return where there is no room, empty if only the last that the head waits for; None: room."""
    opened = {name: one.open for name, one in counts.items()}
    full = [name for name, most in within if opened.get(name, 0) >= most]
    if full or head is None:
        return full or None
    needs = dict(head)
    last = any(opened.get(name, 0) + 1 == needs.get(name) for name, _ in within)
    return [] if last else None


def _put(
    database: Database, ask: Ask, state: BerthState, now: int, full: str = "[]", news: str = "[]"
) -> None:
    within, told = json.dumps(ask.within), json.dumps(ask.told)
    values = {"within": within, "told": told, "full": full, "news": news, "now": now}
    database.change(_PUT, {"approval": ask.approval, "run": ask.run, "state": state, **values})
    _add(database, _names(within, told), state, 1)


def _is_open(database: Database, ask: Ask, now: int) -> bool:
    """Give an ask its berth; tell whether it was not known."""
    row = database.one(_STATE, (ask.approval,))
    if row is None:
        _put(database, ask, BerthState.OPEN, now)
        return True
    state, within, told = row
    database.change(_SET_STATE, {"state": BerthState.OPEN, "approval": ask.approval})
    if state == BerthState.WAITING:
        _add(database, _names(within, told), BerthState.WAITING, -1)
        _add(database, _names(within, told), BerthState.OPEN, 1)
    return False


def _waits(database: Database, ask: Ask, now: int) -> bool:
    """Let an ask wait, or be called if it has a berth; tell whether it was not known."""
    row = database.one(_STATE, (ask.approval,))
    if row is None:
        _put(database, ask, BerthState.WAITING, now)
        return True
    if row[0] == BerthState.OPEN:
        database.change(_SET_STATE, {"state": BerthState.CALLED, "approval": ask.approval})
    return False


def _call(database: Database) -> None:
    """Call whoever has room now, in the order in which they came."""
    while _call_next(database, database.all(_HEADS)):
        pass


def _call_next(database: Database, heads: list[Row]) -> bool:
    """Call the first that has room; False where none has."""
    if not heads:
        return False
    kinds: list[tuple[int, Within]] = [(number, json.loads(body)) for number, body in heads]
    names = json.dumps([name for _, within in kinds for name, _ in within])
    counts = {name: Count(opened) for name, opened in database.all(_OPEN_COUNTS, (names,))}
    first = kinds[0][1]
    for number, within in kinds:
        if _lacking(within, counts, None if within is first else first) is None:
            ((body, told),) = database.all(_CALL, (number,))
            _add(database, _names(body, told), BerthState.WAITING, -1)
            _add(database, _names(body, told), BerthState.CALLED, 1)
            return True
    return False


def _add(database: Database, names: str, state: str, step: int) -> None:
    waits = state == BerthState.WAITING
    values = {"names": names, "open": 0 if waits else step, "waiting": step if waits else 0}
    database.change(_ADD, values)


def _names(within: str, told: str) -> str:
    return json.dumps([*(name for name, _ in json.loads(within)), *json.loads(told)])


def _berth(row: Row) -> Berth:
    number, approval, run, state, since = row
    return Berth(number, approval, run, BerthState(state), to_moment(since))
