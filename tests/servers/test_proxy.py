"""The fault proxy: each fault, seen from the client and from the server."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tests.servers.process import ServerProcess
from tests.servers.proxy import Fault, FaultProxy


@pytest.fixture(params=["socket", "port"])
async def proxy(
    request: pytest.FixtureRequest, redis_server: ServerProcess
) -> AsyncIterator[FaultProxy]:
    upstream = redis_server.socket if request.param == "socket" else redis_server.port
    async with FaultProxy(upstream) as made:
        yield made


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[Redis]:
    made = Redis(port=proxy.port, socket_timeout=0.3, retry=Retry(NoBackoff(), 0))
    async with made:
        await made.ping()
        yield made


async def test_what_passes_is_counted(proxy: FaultProxy, client: Redis) -> None:
    before = (proxy.passed.requests, proxy.passed.replies)
    assert await client.set("key", "v" * 200_000)
    assert await client.get("key") == b"v" * 200_000

    passed = proxy.passed
    assert passed.connections == 1
    assert passed.requests - before[0] > 200_000
    assert passed.replies - before[1] > 200_000
    assert passed.faults == 0


@pytest.mark.parametrize(
    ("fault", "error", "applied"),
    [
        (Fault.CUT, RedisConnectionError, 0),
        (Fault.BLACK_HOLE, RedisTimeoutError, 0),
        (Fault.HALF_OPEN, RedisTimeoutError, 0),
        (Fault.DROP_REPLY, RedisConnectionError, 1),
        (Fault.SWALLOW_REPLY, RedisTimeoutError, 1),
    ],
)
async def test_a_fault_hits_the_armed_request_alone(
    proxy: FaultProxy,
    client: Redis,
    redis_server: ServerProcess,
    fault: Fault,
    error: type[RedisError],
    applied: int,
) -> None:
    proxy.arm(b"INCR", fault)
    await client.get("other")
    assert proxy.armed

    with pytest.raises(error):
        await client.incr("count")

    assert not proxy.armed
    assert int(redis_server.ask("GET", "count") or 0) == applied
    assert await client.incr("count") == applied + 1
    assert proxy.passed.faults > 0


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.BLACK_HOLE, Fault.HALF_OPEN])
async def test_a_fault_of_the_line_hits_connections_old_and_new_until_it_is_mended(
    proxy: FaultProxy, client: Redis, redis_server: ServerProcess, fault: Fault
) -> None:
    proxy.apply(fault)
    for _ in "on the connection that was open", "on a new one":
        with pytest.raises(RedisError):
            await client.set("key", "value")
    assert redis_server.ask("GET", "key") is None

    proxy.apply(Fault.PASS)
    assert await client.set("key", "value")


async def test_what_is_held_passes_when_it_is_let_go(
    proxy: FaultProxy, client: Redis, redis_server: ServerProcess
) -> None:
    proxy.arm(b"INCR", Fault.HOLD)
    asked = asyncio.ensure_future(client.incr("count"))
    await proxy.struck()
    assert redis_server.ask("GET", "count") is None

    proxy.apply(Fault.PASS)
    assert await asked == 1


async def test_what_is_delayed_passes(proxy: FaultProxy, client: Redis) -> None:
    proxy.delay = 0.001
    proxy.apply(Fault.DELAY)
    assert await client.incr("count") == 1
    assert proxy.passed.faults > 0


async def test_a_dead_server_is_told_to_the_client(proxy: FaultProxy) -> None:
    async with FaultProxy(proxy.port) as before:
        await proxy.__aexit__()
        reader, writer = await asyncio.open_connection("127.0.0.1", before.port)
        assert await reader.read(1) == b""
        writer.close()
