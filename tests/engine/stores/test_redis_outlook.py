"""Who has nothing to do asks the server little, and misses nothing for that."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.errors import StoreUnavailableError
from engine.stores.keys import EVERYWHERE
from engine.stores.redis import RedisStore
from engine.stores.redis_outlook import LOOK_EVERY_S
from engine.stores.redis_scripts import script
from tests.contracts.play import LEASE, LONG, Play
from tests.contracts.redis_stores import open_redis_store
from tests.engine.stores.conftest import RedisOpener
from tests.engine.stores.test_redis_bell import listening, woken
from tests.factories import HeldClock, make_card_key
from tests.servers.binaries import Binary
from tests.servers.cluster import Cluster
from tests.servers.process import ServerProcess
from tests.servers.proxy import Fault, FaultProxy

CARD_LEASE = timedelta(seconds=30)
Look = Callable[[RedisStore], Awaitable[Any]]
LOOKS: list[Look] = [
    lambda store: store.claim("worker", LEASE),
    lambda store: store.due(10),
    lambda store: store.take_cards("courier", CARD_LEASE, 10),
    lambda store: store.next_due(),
]


async def quiet(store: RedisStore) -> RedisStore:
    """Return a store that listens, and has found nothing to do."""
    await listening(store)
    for look in LOOKS:
        await look(store)
    return store


@pytest.fixture
async def here(opened_redis: RedisOpener) -> RedisStore:
    return await quiet(opened_redis())


@pytest.fixture
def there(opened_redis: RedisOpener, clock: HeldClock) -> Play:
    """Return what another process does."""
    return Play(opened_redis(), clock)


@pytest.fixture(scope="module")
def cluster(binary: Binary) -> Iterator[Cluster]:
    with Cluster(binary) as made:
        yield made


@pytest.fixture
async def clustered(cluster: Cluster) -> AsyncIterator[RedisStore]:
    cluster.flush()
    made = open_redis_store(cluster.url)
    yield await quiet(made)
    await made.close()


def sent(*servers: ServerProcess) -> int:
    """Return how many commands clients have sent, but for those about ourselves."""
    stats = [server.info("commandstats") for server in servers]
    names = [f"cmdstat_{name}" for name in ("evalsha", "eval", "ping")]
    return sum(one[name]["calls"] for one in stats for name in names if name in one)


async def look_around(store: RedisStore) -> list[Any]:
    """Look for everything a few times, all at once."""
    return await asyncio.gather(*(look(store) for look in LOOKS * 3))


def grow_old(store: RedisStore) -> None:
    """Let what the store knows be as old as it may be."""
    last = store._outlook._last
    assert last is not None
    store._outlook._last = replace(last, at=last.at - LOOK_EVERY_S)


async def test_who_has_nothing_to_do_asks_nothing(
    here: RedisStore, redis_server: ServerProcess
) -> None:
    before = sent(redis_server)

    found = await look_around(here)

    assert found == [None, (), (), None] * 3
    assert sent(redis_server) == before


async def test_an_old_look_is_renewed_once_for_all(
    here: RedisStore, redis_server: ServerProcess
) -> None:
    grow_old(here)
    before = sent(redis_server)

    await look_around(here)

    assert sent(redis_server) - before == 1


async def test_on_a_cluster_too_one_look_serves_all(
    clustered: RedisStore, cluster: Cluster
) -> None:
    before = sent(*cluster.nodes)
    await look_around(clustered)
    assert sent(*cluster.nodes) == before
    grow_old(clustered)

    await look_around(clustered)

    assert sent(*cluster.nodes) - before == len(EVERYWHERE)


def test_a_cluster_is_asked_less_than_twice_a_second() -> None:
    assert len(EVERYWHERE) * 2 / LOOK_EVERY_S < 2  # each may need a PING before


async def test_a_run_started_elsewhere_is_taken(here: RedisStore, there: Play) -> None:
    await woken(here, there.start)

    assert await here.claim("worker", LEASE)


async def test_own_work_is_taken(here: RedisStore, clock: HeldClock) -> None:
    run = await Play(here, clock).raised()

    assert await here.claim("worker", LEASE)
    assert [card.key.run for card in await here.take_cards("courier", LEASE, 5)] == [run.id]


async def test_a_deadline_that_was_seen_to_come_needs_no_message(
    here: RedisStore, there: Play, clock: HeldClock
) -> None:
    run = await there.parked()
    await quiet_again(here)
    assert await here.due(5) == ()

    clock.move(hours=2)

    assert await here.due(5) == (run.id,)


async def test_a_run_whose_worker_was_lost_is_taken_when_its_lease_ends(
    here: RedisStore, there: Play, clock: HeldClock
) -> None:
    run, claim = await there.claimed()
    await quiet_again(here)
    clock.move(seconds=1)
    await there.store.heartbeat(claim, LEASE)

    clock.now += LEASE
    assert await here.claim("worker", LEASE) is not None
    assert (await here.load(run.id)).running


async def test_a_lease_that_was_extended_is_waited_for_again(
    here: RedisStore, there: Play, clock: HeldClock
) -> None:
    _, claim = await there.claimed()
    await quiet_again(here)
    clock.move(seconds=1)
    extended = await there.store.heartbeat(claim, LEASE)
    clock.now = claim.until
    assert await here.claim("worker", LEASE) is None
    assert await here.next_due() == extended.until

    clock.now = extended.until

    assert await here.claim("worker", LEASE) is not None


async def test_a_card_that_was_put_off_is_taken_when_its_time_has_come(
    here: RedisStore, clock: HeldClock
) -> None:
    play = Play(here, clock)
    await play.raised(make_card_key(play.run()), run=await play.start())
    card = await play.take()
    assert await here.next_due() is not None
    soon = clock.now + timedelta(seconds=1)

    await here.card_failed(card, soon)

    assert await here.take_cards("courier", LEASE, 5) == ()
    assert await here.next_due() == soon
    clock.now = soon
    assert await here.take_cards("courier", LEASE, 5)


async def test_a_look_that_was_under_way_when_a_card_was_put_off_does_not_count(
    here: RedisStore, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Play(here, clock)
    await play.raised()
    card = await play.take()
    looked, go_on = asyncio.Event(), asyncio.Event()
    ask = here._server.run_everywhere

    async def ask_slowly(*given: Any) -> Any:
        reply = await ask(*given)
        looked.set()
        await go_on.wait()
        return reply

    monkeypatch.setattr(here._server, "run_everywhere", ask_slowly)
    looking = asyncio.create_task(here.next_due())
    await looked.wait()
    await here.card_failed(card, clock.now)
    go_on.set()
    await looking

    assert await here.take_cards("courier", LEASE, 5)


async def test_a_change_whose_answer_was_lost_is_looked_for(
    redis_server: ServerProcess, opened_redis: RedisOpener, clock: HeldClock
) -> None:
    async with FaultProxy(redis_server.socket) as proxy:
        here = await quiet(opened_redis(proxy.url))
        await here._server.read("SCRIPT", "LOAD", script("commit").text)
        proxy.arm(script("commit").sha.encode(), Fault.DROP_REPLY)
        with pytest.raises(StoreUnavailableError):
            await Play(here, clock).start()

        assert await here.claim("worker", LEASE) is not None
        await here.close()


async def test_who_hears_nothing_relies_on_nothing(
    redis_server: ServerProcess, opened_redis: RedisOpener, there: Play
) -> None:
    async with FaultProxy(redis_server.socket) as proxy:
        here = await quiet(opened_redis(proxy.url))
        proxy.apply(Fault.CUT)
        with pytest.raises(StoreUnavailableError):
            await until_refused(here)
        await there.start()
        proxy.apply(Fault.PASS)

        assert await here.claim("worker", LEASE) is not None
        await here.close()


async def until_refused(store: RedisStore) -> None:
    """Ask until the store has noticed that it hears nothing, and asks the server."""
    async with asyncio.timeout(LONG.total_seconds()):
        while True:
            await store.claim("worker", LEASE)
            await asyncio.sleep(0)


async def quiet_again(store: RedisStore) -> None:
    """Let a store hear all that was told so far, and look."""
    await store._server.read("PUBLISH", "holdshort:bell", "all")
    await listening(store)
    for look in LOOKS:
        await look(store)
