"""Whatever happens to the server or the line to it: applied once or not at all, and never half."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.errors import StoreUnavailableError, StoreVersionError
from engine.store import Change, Done
from engine.stores.keys import EVERYWHERE
from engine.stores.redis import LAYOUT, RedisStore
from engine.stores.redis_scripts import script
from tests.contracts.play import LEASE, Play
from tests.contracts.redis_audit import check_indexes
from tests.engine.stores.conftest import RedisOpener
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_event,
    make_next,
    make_receipt,
    make_record,
)
from tests.servers.fixtures import Start
from tests.servers.process import ServerProcess
from tests.servers.proxy import Fault, FaultProxy

LOSSES = [Fault.CUT, Fault.DROP_REPLY, Fault.SWALLOW_REPLY]


@pytest.fixture
async def proxy(redis_server: ServerProcess) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(redis_server.socket) as made:
        yield made


@pytest.fixture
async def store(proxy: FaultProxy, opened_redis: RedisOpener) -> RedisStore:
    """Return a store behind the proxy, whose scripts the server knows."""
    made = opened_redis(proxy.url)
    await made.identity()
    for name in ("claim", "commit", "heartbeat", "release", "card_shown", "take_cards"):
        await made._server.read("SCRIPT", "LOAD", script(name).text)
    return made


@pytest.fixture
def play(store: RedisStore, clock: HeldClock) -> Play:
    return Play(store, clock)


async def again(store: RedisStore, change: Change) -> Done:
    """Commit; when nobody answers, commit the same again, as the engine does."""
    try:
        return await store.commit(change)
    except StoreUnavailableError:
        return await store.commit(change)


@pytest.mark.parametrize("fault", LOSSES)
async def test_a_commit_whose_answer_was_lost_counts_once(
    store: RedisStore, play: Play, proxy: FaultProxy, redis_server: ServerProcess, fault: Fault
) -> None:
    run = await play.start()
    change = make_change(make_next(run), records=(make_record(0),), events=(make_event(1),))
    proxy.arm(script("commit").sha.encode(), fault)

    done = await again(store, change)

    assert not proxy.armed
    assert done == Done(run.id, 2, replayed=fault is not Fault.CUT)
    assert len(await store.records(run.id)) == len(await store.events(run.id)) == 1
    assert (await store.load(run.id)).run == change.run
    check_indexes(redis_server)


@pytest.mark.parametrize("fault", LOSSES)
async def test_a_claim_whose_answer_was_lost_is_free_when_its_lease_ends(
    store: RedisStore, play: Play, proxy: FaultProxy, clock: HeldClock, fault: Fault
) -> None:
    run = await play.start()
    proxy.arm(script("claim").sha.encode(), fault)
    with pytest.raises(StoreUnavailableError):
        await store.claim("worker", LEASE)

    clock.now += LEASE

    assert await play.next_ready() == run.id
    assert await play.next_ready() is None


@pytest.mark.parametrize("fault", LOSSES)
async def test_a_heartbeat_whose_answer_was_lost_can_be_made_again(
    store: RedisStore, play: Play, proxy: FaultProxy, clock: HeldClock, fault: Fault
) -> None:
    _, claim = await play.claimed()
    proxy.arm(script("heartbeat").sha.encode(), fault)
    with pytest.raises(StoreUnavailableError):
        await store.heartbeat(claim, LEASE)

    assert (await store.heartbeat(claim, LEASE)).until == clock.now + LEASE


@pytest.mark.parametrize("fault", LOSSES)
async def test_a_claim_given_back_twice_is_given_back_once(
    store: RedisStore, play: Play, proxy: FaultProxy, clock: HeldClock, fault: Fault
) -> None:
    run, claim = await play.claimed()
    proxy.arm(script("release").sha.encode(), fault)
    with pytest.raises(StoreUnavailableError):
        await store.release(claim, clock.now)

    await store.release(claim, clock.now)

    again_taken, second = await play.claim()
    assert (again_taken, second.losses) == (run, 1)


@pytest.mark.parametrize("fault", LOSSES)
async def test_a_card_whose_courier_heard_nothing_is_shown_in_the_end(
    store: RedisStore, play: Play, proxy: FaultProxy, clock: HeldClock, fault: Fault
) -> None:
    run = play.run()
    await play.commit(run, raised=(make_card_key(run),))
    proxy.arm(script("take_cards").sha.encode(), fault)
    with pytest.raises(StoreUnavailableError):
        await store.take_cards("courier", LEASE, 5)
    clock.now += LEASE
    card = await play.take()
    receipt = make_receipt()
    proxy.arm(script("card_shown").sha.encode(), fault)
    with pytest.raises(StoreUnavailableError):
        await store.card_shown(card, 1, receipt)

    await store.card_shown(card, 1, receipt)

    assert [(one.shown, one.receipt) for one in await store.cards(run.id)] == [(1, receipt)]


async def test_a_caller_cancelled_while_claiming_keeps_nothing(
    store: RedisStore, play: Play, proxy: FaultProxy, redis_server: ServerProcess
) -> None:
    run = await play.start()
    proxy.arm(script("claim").sha.encode(), Fault.HOLD)
    claiming = asyncio.create_task(store.claim("worker", LEASE))
    await proxy.struck()
    claiming.cancel()
    await asyncio.wait({claiming})
    assert claiming.cancelled()

    proxy.apply(Fault.PASS)
    await store.close()

    key = f"{{hs:{run.id[0]}}}:run:{run.id}"
    assert redis_server.ask("HMGET", key, "f", "w", "l") == ["1", None, None]


@pytest.mark.parametrize("fault", [Fault.BLACK_HOLE, Fault.HALF_OPEN])
async def test_a_line_that_hangs_is_given_up(
    store: RedisStore, play: Play, proxy: FaultProxy, fault: Fault
) -> None:
    run = await play.start()
    proxy.apply(fault)

    with pytest.raises(StoreUnavailableError, match="in time"):
        await play.commit(make_next(run))
    proxy.apply(Fault.CUT)
    proxy.apply(Fault.PASS)

    assert (await store.load(run.id)).run.version == 1


# What the server refuses.


async def make_trouble(server: ServerProcess, trouble: str) -> None:
    """Let the server refuse writes."""
    match trouble:
        case "maxmemory":
            server.configure(maxmemory=1)
        case "replica":
            server.ask("REPLICAOF", "127.0.0.1", server.port)
        case "acl":
            server.ask("ACL", "SETUSER", "default", "-evalsha", "-eval")
        case _:
            server.ask("CONFIG", "SET", "min-replicas-to-write", 1)


@pytest.mark.parametrize(
    ("trouble", "remedy"),
    [
        ("maxmemory", "out of memory: raise its maxmemory"),
        ("replica", "read-only replica"),
        ("acl", "ACL"),
        ("replicas", "too few replicas"),
    ],
)
async def test_what_the_server_refuses_is_told_with_its_remedy_and_writes_nothing(
    start_server: Start, opened_redis: RedisOpener, trouble: str, remedy: str
) -> None:
    server = start_server(tcp=True)
    store = opened_redis(server.url)
    play = Play(store, HeldClock())
    run = await play.start()
    size = server.ask("DBSIZE")
    await make_trouble(server, trouble)

    with pytest.raises(StoreUnavailableError, match=remedy):
        await play.commit(make_next(run), records=(make_record(0),))

    assert server.ask("DBSIZE") == size
    assert server.ask("HGET", f"{{hs:{run.id[0]}}}:run:{run.id}", "v") == "1"


async def test_a_full_server_still_takes_heartbeats_and_claims_given_back(
    start_server: Start, opened_redis: RedisOpener
) -> None:
    server = start_server()
    store = opened_redis(server.url)
    _, claim = await Play(store, HeldClock()).claimed()
    server.configure(maxmemory=1)

    await store.release(await store.heartbeat(claim, LEASE))


async def test_a_restarted_server_is_used_again(
    start_server: Start, opened_redis: RedisOpener
) -> None:
    server = start_server()
    store = opened_redis(server.url)
    play = Play(store, HeldClock())
    run = await play.start()
    server.kill()
    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        await play.commit(make_next(run))

    server.start()

    assert (await play.commit(make_next(run))).version == 2


async def test_a_store_that_was_flushed_takes_nothing_from_who_opened_it_before(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    play = Play(opened_redis(), HeldClock())
    await play.start()
    redis_server.ask("FLUSHALL")

    with pytest.raises(StoreUnavailableError, match="flushed"):
        await play.start()
    with pytest.raises(StoreUnavailableError, match="flushed"):
        await play.store.check()

    assert redis_server.ask("DBSIZE") == 0
    await Play(opened_redis(), HeldClock()).start()


# Who made the store.


async def test_a_store_keeps_its_name(opened_redis: RedisOpener) -> None:
    name = await opened_redis().identity()

    assert await opened_redis().identity() == name
    assert len(name) == 32


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    await opened_redis().identity()
    for place in EVERYWHERE:
        redis_server.ask("HSET", place.key("meta"), "layout", LAYOUT + 1)
    store = opened_redis()

    for use in (Play(store, HeldClock()).start, store.next_due):
        with pytest.raises(StoreVersionError, match="upgrade"):
            await use()
    assert redis_server.ask("DBSIZE") == len(EVERYWHERE)
