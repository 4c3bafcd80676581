"""Remembered rules on a server: all in one place of their own, apart from the runs'."""

from collections import defaultdict
from datetime import datetime

from engine.errors import StoreUnconfirmedError
from engine.ids import PersonId
from engine.remembered import (
    MAX_LIVE,
    RememberedRule,
    RememberFault,
    RememberRefusedError,
    Revoked,
)
from engine.schema import digest_of
from engine.stores.keys import RULES
from engine.stores.redis_scripts import Server
from engine.stores.rows import Readable, read_rule, to_micros

_ALL = RULES.key("all")
_DIGITS = 16
"""Before each body: when the rule is over, as the scripts' ``digits`` has it."""


class RedisRules:
    """The remembered rules of a RedisStore."""

    def __init__(self, server: Server, readable: Readable) -> None:
        """Take the store's server, and what passes over rules that cannot be read."""
        self._server = server
        self._readable = readable

    async def keep(self, rule: RememberedRule) -> None:
        """Keep a rule, once. A rule that is lost with a server is asked for again."""
        keys = [_ALL, _place_of(rule.agent, rule.owner)]
        told = await self._server.run(
            "rule_keep", keys, self._server.now(), rule.id, _written(rule), MAX_LIVE
        )
        if told == b"full":
            raise RememberRefusedError(RememberFault.FULL)

    async def live(self, agent: str, owner: PersonId) -> tuple[RememberedRule, ...]:
        """Return the rules of an agent for an owner that hold now."""
        now = self._server.now()
        told = await self._server.run("rule_live", [_place_of(agent, owner)], now)
        return self._read(dict(zip(told[::2], told[1::2], strict=True)))

    async def listed(self) -> tuple[RememberedRule, ...]:
        """Return all that are kept, by when they were given."""
        kept: dict[bytes, bytes] = {}
        for place in await self._places():
            kept |= await self._held(place)
        return tuple(sorted(self._read(kept), key=lambda rule: (rule.granted_at, rule.id)))

    async def revoke(self, rule: str, revoked: Revoked) -> RememberedRule | None:
        """End a rule, unless it was revoked before; the replicas have it when this returns."""
        while True:
            place = await self._server.read("HGET", _ALL, rule)
            before = await self._server.read("HGET", place, rule) if place else None
            if before is None:
                return None
            ended = read_rule(rule, before[_DIGITS:])
            if ended.revoked is None:
                ended = ended.model_copy(update={"revoked": revoked})
            # Written even where it was revoked already: that may not have been confirmed.
            done, confirmed = await self._server.run_confirmed(
                "rule_end", [place.decode()], rule, before, _written(ended), wanted=True
            )
            if done and not confirmed:
                raise StoreUnconfirmedError(f"rule {rule}: revoked, but not by all replicas")
            if done:
                return ended

    async def forget(self, older_than: datetime, *, dry_run: bool = False) -> int:
        """Remove rules that were over before a moment; return how many."""
        older, count = to_micros(older_than), 0
        for place, rules in (await self._places()).items():
            held = await self._held(place)
            over = [name for name in rules if int(held.get(name, b"9" * _DIGITS)[:_DIGITS]) < older]
            if over and not dry_run:
                count += await self._server.run("rule_forget", [_ALL, place], older, *over)
            else:
                count += len(over)
        return count

    async def _places(self) -> dict[str, list[bytes]]:
        found: dict[str, list[bytes]] = defaultdict(list)
        for rule, place in _pairs(await self._server.read("HGETALL", _ALL)).items():
            found[place.decode()].append(rule)
        return found

    async def _held(self, place: str) -> dict[bytes, bytes]:
        return _pairs(await self._server.read("HGETALL", place))

    def _read(self, held: dict[bytes, bytes]) -> tuple[RememberedRule, ...]:
        read = (self._readable.rule(name.decode(), body[_DIGITS:]) for name, body in held.items())
        return tuple(rule for rule in read if rule is not None)


def _place_of(agent: str, owner: PersonId) -> str:
    return RULES.key("of", digest_of(agent, owner)[:32])


def _written(rule: RememberedRule) -> str:
    return f"{to_micros(rule.over_at):0{_DIGITS}d}{rule.model_dump_json()}"


def _pairs(told: dict[bytes, bytes] | list[bytes]) -> dict[bytes, bytes]:
    """Return a hash as a dict, whichever way the client gives it."""
    if isinstance(told, dict):
        return told
    return dict(zip(told[::2], told[1::2], strict=True))
