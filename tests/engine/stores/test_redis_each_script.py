"""Each script meets each fault: done once or not at all, and asking again is safe as documented.

Whoever asked hears StoreUnavailableError, or the outcome: never something else.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from engine.errors import StoreUnavailableError
from engine.stores.redis import RedisStore
from engine.stores.redis_scripts import SCRIPTS, script
from tests.contracts.play import LEASE, Play
from tests.contracts.redis_audit import check_indexes, contents
from tests.engine.stores.conftest import RedisOpener
from tests.engine.stores.script_acts import ACTS, Act, Again
from tests.factories import HeldClock
from tests.servers.binaries import Binary
from tests.servers.process import ServerProcess
from tests.servers.proxy import Fault, FaultProxy

UNHEARD = {Fault.CUT, Fault.HALF_OPEN, Fault.BLACK_HOLE}
"""The server never hears of it."""
HANGING = {Fault.HALF_OPEN, Fault.BLACK_HOLE, Fault.SWALLOW_REPLY}
HANGS_S = 0.2
"""Long enough for the reads that an operation sends before the script that is struck."""


@pytest.fixture(scope="module")
def quick_server(binary: Binary) -> Iterator[ServerProcess]:
    """Give a server that does not wait for its disk."""
    with ServerProcess(binary, conf={"appendfsync": "no"}) as server:
        yield server


@pytest.fixture
def redis_server(quick_server: ServerProcess) -> ServerProcess:
    quick_server.flush()
    return quick_server


@pytest.fixture
async def proxy(redis_server: ServerProcess) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(redis_server.socket) as made:
        made.delay = 0.01
        yield made


@pytest.fixture
def store(opened_redis: RedisOpener) -> RedisStore:
    """Return a store with nothing in between."""
    return opened_redis()


@pytest.fixture
async def struck(proxy: FaultProxy, opened_redis: RedisOpener, store: RedisStore) -> RedisStore:
    """Return a store behind the proxy, with a connection made."""
    made = opened_redis(proxy.url)
    made._identity = await store.identity()
    await made._server.read("PING")
    return made


def hurry(store: RedisStore) -> None:
    """Let a store give up soon."""
    pool = store._server._client.connection_pool  # type: ignore[union-attr]
    for connection in pool._available_connections:
        connection.socket_timeout = HANGS_S


def test_each_script_has_an_act() -> None:
    assert set(ACTS) == set(SCRIPTS)


async def strike(store: RedisStore, act: Act, fault: Fault) -> None:
    """Do it under a fault; whoever asked knows that it may not have been done."""
    if fault is Fault.DELAY:
        await act.do(store)
        return
    if fault in HANGING:
        hurry(store)
    with pytest.raises(StoreUnavailableError):
        await act.do(store)


@pytest.mark.parametrize("fault", sorted(set(Fault) - {Fault.PASS, Fault.HOLD}))
@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_is_applied_once_or_not_at_all(  # noqa: PLR0917 - fixtures
    name: str,
    fault: Fault,
    proxy: FaultProxy,
    store: RedisStore,
    struck: RedisStore,
    clock: HeldClock,
    redis_server: ServerProcess,
) -> None:
    act = await ACTS[name](Play(store, clock))
    told = await act.do(store) if act.again is Again.READS else None
    await store._server.read("SCRIPT", "LOAD", script(name).text)
    before = contents(redis_server)
    proxy.arm(script(name).sha.encode(), fault)

    await strike(struck, act, fault)

    assert not proxy.armed
    after = contents(redis_server)
    assert after == before or fault not in UNHEARD
    check_indexes(redis_server)
    match act.again:
        case Again.READS:
            assert after == before
            assert await act.do(store) == told
        case Again.SAME:
            await act.do(store)
            assert after in (before, contents(redis_server))
            assert after == contents(redis_server) or fault in {*UNHEARD, Fault.SWALLOW_REPLY}
        case Again.LEASED:
            await check_lease(store, act, clock, taken=after != before)
            assert after != before or fault in {*UNHEARD, Fault.SWALLOW_REPLY}
    check_indexes(redis_server)


async def check_lease(store: RedisStore, act: Act, clock: HeldClock, *, taken: bool) -> None:
    """Check that nobody has what was taken, until the lease ends; then somebody has it once."""
    if taken:
        assert not await act.do(store)
        clock.now += LEASE
    assert await act.do(store)
    assert not await act.do(store)
