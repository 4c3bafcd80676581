"""What a purge leaves on a server, and what it does beside others."""

import asyncio
import json

from engine.runs import RunStatus
from engine.store import KeyRecord
from engine.stores.keys import EVERYWHERE
from tests.contracts.play import LEASE, Play, keyed
from tests.contracts.redis_audit import check_indexes
from tests.engine.stores.conftest import RedisOpener
from tests.factories import (
    HeldClock,
    make_card_key,
    make_closed,
    make_ended,
    make_event,
    make_next,
    make_receipt,
    make_record,
)
from tests.servers.process import ServerProcess

METAS = {place.key("meta") for place in EVERYWHERE}
"""What is there of a store without runs, beside the names of agents."""


async def lived(play: Play) -> None:
    """Take a run to its end, with something of all that can be kept of one."""
    run = play.run(concurrency_key="key")
    card = make_card_key(run)
    start = KeyRecord("start:deployer:key", run.id, "body", "{}")
    facts = (make_record(0),), (make_event(1),)
    await play.commit(run, key=start, raised=(card,), records=facts[0], events=facts[1])
    parked = await play.park(*await play.claim())
    closed = (make_closed(parked.tickets[0]),)
    answered = make_next(parked, status=RunStatus.QUEUED, tickets=())
    await play.commit(answered, closed=closed, key=keyed(answered))
    await play.store.card_shown(await play.take(), answered.version, make_receipt())
    await play.store.adopt_card(card, make_receipt())
    await play.store.card_shown(await play.take(), answered.version, make_receipt())
    await play.end(*await play.claim())


def names(server: ServerProcess) -> set[str]:
    found = server.ask("KEYS", "*")
    told = {name.decode() if isinstance(name, bytes) else name for name in found}
    return told - {place.key("agents") for place in EVERYWHERE}


async def test_nothing_is_left_of_runs_that_went(
    redis_server: ServerProcess, opened_redis: RedisOpener, clock: HeldClock
) -> None:
    store = opened_redis()
    for _ in range(3):
        await lived(Play(store, clock))
    assert names(redis_server) > METAS
    clock.now += LEASE

    assert await store.purge(clock.now, 10) == 3

    assert names(redis_server) == METAS


async def test_two_purges_at_once_remove_each_run_once(
    redis_server: ServerProcess, opened_redis: RedisOpener, clock: HeldClock
) -> None:
    one, other = opened_redis(), opened_redis()
    play = Play(one, clock)
    for _ in range(20):
        await play.end(await play.start())
    clock.now += LEASE

    removed = await asyncio.gather(one.purge(clock.now, 10), other.purge(clock.now, 10))

    assert sum(removed) == 20
    check_indexes(redis_server)


async def test_a_run_of_a_newer_version_goes_by_its_status_and_time_alone(
    redis_server: ServerProcess, opened_redis: RedisOpener, clock: HeldClock
) -> None:
    store = opened_redis()
    run = make_ended(await Play(store, clock).start())
    await Play(store, clock).commit(run)
    for place in EVERYWHERE:
        if redis_server.ask("EXISTS", place.key("facts", run.id)):
            redis_server.ask("HSET", place.key("facts", run.id), "b", json.dumps({"of": "newer"}))
    clock.now += LEASE

    assert await store.purge(clock.now, 10) == 1
    assert names(redis_server) == METAS
