"""Processes that share a server wake each other, whatever happens to the line in between."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from engine.store import ClaimEffect
from engine.stores.keys import CHANNEL
from engine.stores.redis import RedisStore
from tests.contracts.play import LEASE, LONG, Play
from tests.engine.stores.conftest import RedisOpener
from tests.factories import HeldClock, make_card_key, make_next, make_receipt
from tests.servers.process import ServerProcess
from tests.servers.proxy import Fault, FaultProxy

SOON = LONG.total_seconds() / 2


@pytest.fixture
def here(opened_redis: RedisOpener) -> RedisStore:
    return opened_redis()


@pytest.fixture
def there(opened_redis: RedisOpener, clock: HeldClock) -> Play:
    """Return what another process does."""
    return Play(opened_redis(), clock)


async def listening(store: RedisStore) -> None:
    """Return when the store hears others: it is rung once as it begins to."""
    mark = store.mark()
    async with asyncio.timeout(SOON):
        await store.wait(LONG, mark)


async def woken(store: RedisStore, work: Callable[[], Awaitable[object]]) -> None:
    """Wait for what another process does."""
    mark = store.mark()
    async with asyncio.timeout(SOON):
        await work()
        await store.wait(LONG, mark)


async def test_what_begins_to_listen_looks_once_more(here: RedisStore, there: Play) -> None:
    await there.start()

    await listening(here)


async def test_a_run_queued_elsewhere_is_heard_of(here: RedisStore, there: Play) -> None:
    await listening(here)

    await woken(here, there.start)


async def test_a_claim_given_back_elsewhere_is_heard_of(here: RedisStore, there: Play) -> None:
    await listening(here)
    _, claim = await there.claimed()

    await woken(here, lambda: there.store.release(claim))


async def test_a_new_deadline_is_heard_of_elsewhere(here: RedisStore, there: Play) -> None:
    await listening(here)
    taken = await there.claimed()

    await woken(here, lambda: there.park(*taken))


async def test_a_card_raised_by_a_worker_that_goes_on_is_heard_of(
    here: RedisStore, there: Play
) -> None:
    await listening(here)
    run, claim = await there.claimed()
    card = make_card_key(run)
    later = make_next(run)

    await woken(here, lambda: there.commit(later, claim, raised=(card,), claim=ClaimEffect.KEEP))


async def test_an_adopted_card_is_heard_of(here: RedisStore, there: Play) -> None:
    await listening(here)
    run = await there.start()

    await woken(here, lambda: there.store.adopt_card(make_card_key(run), make_receipt()))


async def test_what_brings_no_work_is_told_to_nobody(
    redis_server: ServerProcess, here: RedisStore, there: Play
) -> None:
    run, claim = await there.claimed()
    before = redis_server.info("commandstats")["cmdstat_publish"]["calls"]

    await there.commit(make_next(run), claim, claim=ClaimEffect.KEEP)
    await there.store.heartbeat(claim, LEASE)
    await there.store.claim("worker", LEASE)

    assert redis_server.info("commandstats")["cmdstat_publish"]["calls"] == before


async def test_own_work_rings_once(here: RedisStore, clock: HeldClock) -> None:
    await listening(here)
    mark = here.mark()

    await Play(here, clock).start()
    await here._server.read("PING")

    assert here.mark() == mark + 1


async def test_a_lost_line_is_made_up_for(
    redis_server: ServerProcess, opened_redis: RedisOpener, there: Play
) -> None:
    async with FaultProxy(redis_server.socket) as proxy:
        here = opened_redis(proxy.url)
        await listening(here)
        mark = here.mark()
        proxy.apply(Fault.CUT)
        await there.start()
        proxy.apply(Fault.PASS)

        async with asyncio.timeout(SOON):
            await here.wait(LONG, mark)
        await woken(here, there.start)
        await here.close()


async def test_a_closed_store_listens_no_more(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    here = opened_redis()
    await listening(here)
    assert redis_server.ask("PUBSUB", "NUMSUB", CHANNEL) == [CHANNEL, 1]

    await here.close()

    assert redis_server.ask("CLIENT", "LIST").count("name=holdshort") == 0
