"""One act for each script: what is done, and what asking once more does."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import Any

from engine.errors import CommitConflictError
from engine.ids import RunId
from engine.runs import Run
from engine.store import RunFilter, Store
from engine.stores.keys import home_of
from engine.stores.redis import LAYOUT, RedisStore
from tests.contracts.play import LEASE, Play, keyed
from tests.factories import (
    make_ask,
    make_card_key,
    make_change,
    make_event,
    make_next,
    make_receipt,
    make_record,
    make_revoked,
    make_rule,
)

DAY = timedelta(days=1)
Do = Callable[[RedisStore], Awaitable[Any]]


class Again(Enum):
    """What asking once more does, after an answer was lost."""

    READS = auto()
    """It changes nothing, the first time either."""
    SAME = auto()
    """Once it was done, it changes nothing more."""
    LEASED = auto()
    """Once it was done, it finds nothing until the lease has ended; then all is free again."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that sends one script, on a store that holds what it needs."""

    do: Do
    again: Again = Again.READS


Arrange = Callable[[Play], Awaitable[Act]]


def _key(run: Run, kind: str) -> str:
    return home_of(run.id).key(kind, run.id)


def _directly(name: str, kinds: list[str], *arguments: int) -> Arrange:
    """Return an act that reads by one script of several that an operation sends."""

    async def arrange(play: Play) -> Act:
        await play.raised()
        return Act(lambda store: _everywhere(store, name, kinds, *arguments))

    return arrange


async def _everywhere(store: RedisStore, name: str, kinds: list[str], *arguments: int) -> Any:
    server = store._server
    return await server.run_everywhere(name, kinds, server.now(), *arguments)


async def _commit(play: Play) -> Act:
    later = make_next(await play.start())
    change = make_change(later, records=(make_record(0),), events=(make_event(1),))
    return Act(lambda store: store.commit(change), Again.SAME)


async def _claim(play: Play) -> Act:
    await play.start()
    return Act(lambda store: store.claim("worker", LEASE), Again.LEASED)


async def _heartbeat(play: Play) -> Act:
    _, claim = await play.claimed()
    play.clock.move(seconds=1)
    return Act(lambda store: store.heartbeat(claim, LEASE), Again.SAME)


async def _release(play: Play) -> Act:
    _, claim = await play.claimed()
    return Act(lambda store: store.release(claim, play.clock.now), Again.SAME)


async def _take_cards(play: Play) -> Act:
    await play.raised()
    return Act(lambda store: store.take_cards("courier", LEASE, 5), Again.LEASED)


async def _card_shown(play: Play) -> Act:
    await play.raised()
    card, receipt = await play.take(), make_receipt()
    return Act(lambda store: store.card_shown(card, 1, receipt), Again.SAME)


async def _card_failed(play: Play) -> Act:
    await play.raised()
    card = await play.take()
    return Act(lambda store: store.card_failed(card, play.clock.now + LEASE), Again.SAME)


async def _adopt_card(play: Play) -> Act:
    run, receipt = await play.start(), make_receipt()
    return Act(lambda store: store.adopt_card(make_card_key(run), receipt), Again.SAME)


async def _purge(play: Play) -> Act:
    await play.end(*await play.claimed())
    return Act(lambda store: store.purge(play.clock.now + DAY, 5), Again.SAME)


async def _ended(play: Play) -> Act:
    await play.end(*await play.claimed())
    return Act(lambda store: store.purge(play.clock.now + DAY, 5, dry_run=True))


async def _touch(play: Play) -> Act:
    run = await play.start()
    return Act(lambda store: store._server.run("touch", [_key(run, "run")]), Again.SAME)


async def _open(play: Play) -> Act:
    meta = home_of(RunId("0")).key("meta")
    return Act(lambda store: store._server.run("open", [meta], "name", LAYOUT), Again.SAME)


async def _berths_take(play: Play) -> Act:
    await play.store.berths.take([make_ask("apr_0")])
    asks = [make_ask("apr_1"), make_ask("apr_2", 9)]
    return Act(lambda store: store.berths.take(asks), Again.SAME)


async def _berths_leave(play: Play) -> Act:
    asks = [make_ask("apr_0"), make_ask("apr_1")]
    await play.store.berths.take(asks)
    return Act(lambda store: store.berths.leave([asks[0].approval]), Again.SAME)


async def _berths_settle(play: Play) -> Act:
    asks = [make_ask("apr_0"), make_ask("apr_1")]
    await play.store.berths.take(asks)
    await play.store.berths.leave([asks[0].approval])
    return Act(lambda store: store.berths.settle([asks[1].approval]), Again.SAME)


async def _berths_restore(play: Play) -> Act:
    asks = [make_ask(f"apr_{number}") for number in range(3)]
    await play.store.berths.take(asks[:1])
    return Act(lambda store: store.berths.restore(asks[:2], asks[2:]), Again.SAME)


async def _berths_list(play: Play) -> Act:
    await play.store.berths.take([make_ask("apr_0"), make_ask("apr_1")])
    return Act(lambda store: store.berths.known(0, 5))


async def _cards(play: Play) -> Act:
    run = await play.raised()
    return Act(lambda store: store.cards(run.id))


async def _due(play: Play) -> Act:
    await play.parked()
    play.clock.now += DAY
    return Act(lambda store: store.due(5))


async def _events(play: Play) -> Act:
    run = await play.start(requester="UOTHER")
    await play.commit(make_next(run), events=(make_event(1),))
    return Act(lambda store: store.events(run.id))


async def _records(play: Play) -> Act:
    run = await play.start()
    await play.commit(make_next(run), records=(make_record(0),))
    return Act(lambda store: store.records(run.id))


async def _load(play: Play) -> Act:
    later = make_next(await play.start())
    await play.commit(later, key=keyed(later))
    return Act(lambda store: store.load(later.id, key="key"))


async def _pack(play: Play) -> Act:
    run = await play.parked()
    return Act(lambda store: store.pack(run.id))


async def _unpack(play: Play) -> Act:
    run = await play.end(*await play.claimed())
    parcel = await play.store.pack(run.id)
    assert await play.store.purge(play.clock.now + DAY, 1) == 1

    async def unpack(store: RedisStore) -> None:
        # Whoever asks again finds that it is there.
        with suppress(CommitConflictError):
            await store.unpack(parcel)

    return Act(unpack, Again.SAME)


async def _rule_keep(_: Play) -> Act:
    rule = make_rule()
    return Act(lambda store: store.rules.keep(rule), Again.SAME)


async def _rule_live(play: Play) -> Act:
    rule = make_rule()
    await play.store.rules.keep(rule)
    return Act(lambda store: store.rules.live(rule.agent, rule.owner))


async def _rule_end(play: Play) -> Act:
    rule = make_rule()
    await play.store.rules.keep(rule)
    return Act(lambda store: store.rules.revoke(rule.id, make_revoked()), Again.SAME)


async def _rule_forget(play: Play) -> Act:
    rule = make_rule()
    await play.store.rules.keep(rule)
    return Act(lambda store: store.rules.forget(rule.expires_at + DAY), Again.SAME)


def _of_store(do: Callable[[Store], Awaitable[Any]]) -> Arrange:
    async def arrange(play: Play) -> Act:
        await play.parked()
        return Act(do)

    return arrange


ACTS: dict[str, Arrange] = {
    "adopt_card": _adopt_card,
    "behind": _directly("behind", ["behind"], 5),
    "berths_leave": _berths_leave,
    "berths_list": _berths_list,
    "berths_restore": _berths_restore,
    "berths_settle": _berths_settle,
    "berths_take": _berths_take,
    "card_failed": _card_failed,
    "card_shown": _card_shown,
    "cards": _cards,
    "check": _of_store(lambda store: store.check()),
    "claim": _claim,
    "commit": _commit,
    "due": _due,
    "ended": _ended,
    "events": _events,
    "gauges": _of_store(lambda store: store.gauges()),
    "heartbeat": _heartbeat,
    "list": _of_store(lambda store: store.list_runs(RunFilter(), 5)),
    "load": _load,
    "moments": _of_store(lambda store: store.next_due()),
    "open": _open,
    "pack": _pack,
    "peek": _directly("peek", ["ready"]),
    "purge": _purge,
    "records": _records,
    "release": _release,
    "rule_end": _rule_end,
    "rule_forget": _rule_forget,
    "rule_keep": _rule_keep,
    "rule_live": _rule_live,
    "take_cards": _take_cards,
    "touch": _touch,
    "unpack": _unpack,
}
"""By the name of the script that the fault strikes."""
