"""Remembered rules in the embedded store."""

from datetime import datetime
from functools import partial

from engine.ids import Clock, PersonId
from engine.remembered import (
    MAX_LIVE,
    RememberedRule,
    RememberFault,
    RememberRefusedError,
    Revoked,
)
from engine.stores.rows import Readable, read_rule, to_micros
from engine.stores.sqlite_database import Database, Row, Sync
from engine.stores.sqlite_thread import DatabaseThread, Writes

_LIVE = "SELECT id, body FROM rules WHERE agent = ? AND owner = ? AND over_at > ?"
_LISTED = "SELECT id, body FROM rules ORDER BY granted_at, id"
_KNOWN = "SELECT body FROM rules WHERE id = ?"
_END = "UPDATE rules SET over_at = ?, body = ? WHERE id = ?"
_OVER = "SELECT count(*) FROM rules WHERE over_at < ?"
_FORGET = "DELETE FROM rules WHERE over_at < ?"
_FULL = "SELECT count(*) FROM rules WHERE agent = ? AND owner = ? AND over_at > ?"
_KEEP = "INSERT INTO rules (id, agent, owner, over_at, granted_at, body) VALUES (?, ?, ?, ?, ?, ?)"


class SqliteRules:
    """The remembered rules of a SqliteStore, in its file and its database thread."""

    def __init__(self, thread: DatabaseThread, clock: Clock, readable: Readable) -> None:
        """Take the store's thread, its clock, and what passes over rules that cannot be read."""
        self._thread = thread
        self._clock = clock
        self._readable = readable

    async def keep(self, rule: RememberedRule) -> None:
        """Keep a rule, once; durable when it returns."""
        await self._thread.run(partial(_keep, rule=rule, clock=self._clock), writes=Writes.FULL)

    async def live(self, agent: str, owner: PersonId) -> tuple[RememberedRule, ...]:
        """Return the rules of an agent for an owner that hold now."""
        now = to_micros(self._clock())
        rows = await self._thread.run(lambda database: database.all(_LIVE, (agent, owner, now)))
        return self._read(rows)

    async def listed(self) -> tuple[RememberedRule, ...]:
        """Return all that are kept, by when they were given."""
        return self._read(await self._thread.run(lambda database: database.all(_LISTED)))

    async def revoke(self, rule: str, revoked: Revoked) -> RememberedRule | None:
        """End a rule, unless it was revoked before; durable when it returns."""
        return await self._thread.run(
            partial(_revoke, rule=rule, revoked=revoked), writes=Writes.FULL
        )

    async def forget(self, older_than: datetime, *, dry_run: bool = False) -> int:
        """Remove rules that were over before a moment; return how many."""
        older = (to_micros(older_than),)
        if dry_run:
            return int((await self._thread.run(lambda database: database.all(_OVER, older)))[0][0])
        return await self._thread.run(partial(_forget, older=older), writes=Writes.FULL)

    def _read(self, rows: list[Row]) -> tuple[RememberedRule, ...]:
        read = (self._readable.rule(name, body) for name, body in rows)
        return tuple(rule for rule in read if rule is not None)


def _keep(database: Database, rule: RememberedRule, clock: Clock) -> None:
    now = clock()
    with database.transaction(Sync.FULL):
        if database.one(_KNOWN, (rule.id,)) is not None:
            return
        if rule.live(now):
            live = database.all(_FULL, (rule.agent, rule.owner, to_micros(now)))[0][0]
            if live >= MAX_LIVE:
                raise RememberRefusedError(RememberFault.FULL)
        moments = to_micros(rule.over_at), to_micros(rule.granted_at)
        values = (rule.id, rule.agent, rule.owner, *moments, rule.model_dump_json())
        database.change(_KEEP, values)


def _revoke(database: Database, rule: str, revoked: Revoked) -> RememberedRule | None:
    with database.transaction(Sync.FULL):
        row = database.one(_KNOWN, (rule,))
        if row is None:
            return None
        known = read_rule(rule, row[0])
        if known.revoked is not None:
            return known
        ended = known.model_copy(update={"revoked": revoked})
        values = (to_micros(ended.over_at), ended.model_dump_json(), rule)
        database.change(_END, values)
        return ended


def _forget(database: Database, older: tuple[int]) -> int:
    with database.transaction(Sync.FULL):
        return database.change(_FORGET, older)
