"""The clients: they reach every kind of server, and ask nothing twice."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress

import pytest
from redis.asyncio import Redis, RedisCluster
from redis.exceptions import (
    AuthenticationError,
    RedisError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from engine.errors import ConfigurationError
from engine.stores import redis_connection
from engine.stores.redis_address import read_address
from engine.stores.redis_connection import (
    Client,
    open_listener,
    open_writer,
)
from tests.servers.cluster import Cluster
from tests.servers.fixtures import Start
from tests.servers.process import ServerProcess
from tests.servers.proxy import CERTIFICATE, Fault, FaultProxy
from tests.servers.replicas import SentinelSet

Connect = Callable[..., Client]
_COUNT = "#!lua\nreturn redis.call('INCR', KEYS[1])"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    made: list[Client] = []

    def open_one(url: str, how: Callable[..., Client] = open_writer) -> Client:
        made.append(how(read_address(url)))
        return made[-1]

    yield open_one
    for client in made:
        await client.aclose()


async def test_a_single_server_is_reached_by_port_and_by_socket_and_in_a_database(
    redis_server: ServerProcess, connect: Connect
) -> None:
    await connect(f"{redis_server.tcp_url}/3").set("key", "value")

    assert await connect(f"{redis_server.url}?db=3").get("key") == b"value"
    assert await connect(redis_server.url).get("key") is None
    assert {one["name"] for one in await connect(redis_server.url).client_list()} >= {"holdshort"}


async def test_a_user_logs_in_with_any_password(start_server: Start, connect: Connect) -> None:
    server = start_server(tcp=True)
    server.ask("ACL", "SETUSER", "bot", "on", ">p@ss:/?#% ", "~*", "+@all")
    server.ask("ACL", "SETUSER", "default", "resetpass", ">word")
    address = server.tcp_url.removeprefix("redis://")

    assert await connect(f"redis://bot:p%40ss%3A%2F%3F%23%25%20@{address}").ping()
    assert await connect(f"redis://:word@{address}").ping()
    with pytest.raises(AuthenticationError) as refused:
        await connect(f"redis://bot:hunter2@{address}").ping()
    assert "hunter2" not in str(refused.value)


async def test_a_server_behind_tls_is_trusted_by_its_certificate_and_address(
    redis_server: ServerProcess, connect: Connect
) -> None:
    async with FaultProxy(redis_server.socket, tls=True) as proxy:
        named, unnamed = f"rediss://127.0.0.1:{proxy.port}", f"rediss://localhost:{proxy.port}"
        trusted = f"?ssl_ca_certs={CERTIFICATE}"
        assert await connect(f"{named}{trusted}").ping()
        assert await connect(f"{unnamed}{trusted}&ssl_check_hostname=no").ping()
        for url in named, f"{unnamed}{trusted}":
            with pytest.raises(RedisConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                await connect(url).ping()


def test_a_certificate_file_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"names /no/such.pem, which cannot be read"):
        open_writer(read_address("rediss://127.0.0.1?ssl_ca_certs=/no/such.pem"))


@pytest.mark.parametrize("fault", [Fault.DROP_REPLY, Fault.SWALLOW_REPLY])
async def test_a_script_whose_reply_is_lost_is_sent_once(
    redis_server: ServerProcess, connect: Connect, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_connection, "TIMEOUT_S", 0.2)
    async with FaultProxy(redis_server.socket) as proxy:
        client = connect(proxy.url)
        proxy.arm(b"EVAL", fault)
        with pytest.raises((RedisConnectionError, RedisTimeoutError)):
            await client.eval(_COUNT, 1, "count")
        assert redis_server.ask("GET", "count") == "1"
        assert await client.eval(_COUNT, 1, "count") == 2


async def test_a_pipeline_whose_reply_is_lost_is_sent_once(
    redis_server: ServerProcess, connect: Connect
) -> None:
    async with FaultProxy(redis_server.socket) as proxy:
        pipeline = connect(proxy.url).pipeline(transaction=False)
        pipeline.eval(_COUNT, 1, "count")
        proxy.arm(b"EVAL", Fault.DROP_REPLY)
        with pytest.raises(RedisConnectionError):
            await pipeline.execute()
        assert redis_server.ask("GET", "count") == "1"


async def test_a_server_that_came_back_is_found_without_an_error(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(tcp=True)
    client = connect(server.tcp_url)
    await client.set("key", "value")
    await asyncio.to_thread(server.restart)
    assert await client.get("key") == b"value"


async def test_one_error_is_all_that_the_connections_of_a_lost_server_cost(
    redis_server: ServerProcess, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_connection, "TIMEOUT_S", 0.2)
    async with FaultProxy(redis_server.socket) as proxy:
        client = connect(proxy.url)
        await asyncio.gather(*(client.ping() for _ in range(3)))
        assert proxy.passed.connections == 3
        proxy.apply(Fault.HALF_OPEN)
        with pytest.raises(RedisTimeoutError):
            await client.ping()
        proxy.apply(Fault.PASS)

        assert await asyncio.gather(*(client.ping() for _ in range(3))) == [True] * 3


async def test_a_hanging_server_is_given_up_by_the_writer_and_not_by_the_listener(
    start_server: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_connection, "TIMEOUT_S", 0.2)
    server = start_server(tcp=True)
    writer, listener = connect(server.tcp_url), connect(server.tcp_url, open_listener)
    await asyncio.gather(writer.ping(), listener.ping())
    heard = asyncio.ensure_future(listener.blpop(["bell"], timeout=0))
    server.pause()

    with pytest.raises(RedisTimeoutError):
        await writer.ping()

    assert not heard.done()
    server.resume()
    await writer.rpush("bell", "ring")
    assert await heard == (b"bell", b"ring")


async def test_a_cluster_is_reached_by_any_node_and_a_moved_slot_followed(
    cluster: Cluster, connect: Connect
) -> None:
    client = connect(f"redis+cluster://127.0.0.1:{cluster.nodes[1].port}")
    for shard in range(8):
        assert await client.eval(_COUNT, 1, f"{{hs:{shard}}}count") == 1

    before = cluster.owner("{hs:3}count")
    cluster.move("{hs:3}count", next(node for node in cluster.nodes if node is not before))

    assert await client.eval(_COUNT, 1, "{hs:3}count") == 2


async def test_a_script_in_a_cluster_whose_reply_is_lost_is_sent_once(
    cluster: Cluster, connect: Connect
) -> None:
    key = "{hs:5}lost"
    owner = cluster.owner(key)
    async with FaultProxy(owner.port) as proxy:

        def through(place: tuple[str, int]) -> tuple[str, int]:
            return (place[0], proxy.port) if place[1] == owner.port else place

        client = connect(cluster.url)
        assert isinstance(client, RedisCluster)
        client.nodes_manager.address_remap = through
        await client.ping()
        proxy.arm(b"EVAL", Fault.DROP_REPLY)
        with pytest.raises(RedisConnectionError):
            await client.eval(_COUNT, 1, key)
        assert not proxy.armed
        assert owner.ask("GET", key) == "1"
        assert await client.eval(_COUNT, 1, key) == 2


async def test_the_master_is_found_through_sentinels_and_found_again_after_a_failover(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_connection, "TIMEOUT_S", 0.3)
    with SentinelSet() as watched:
        client = connect(watched.url)
        assert isinstance(client, Redis)
        await asyncio.gather(*(client.set(f"key{n}", "value") for n in range(3)))
        before = watched.master()
        assert before.ask("WAIT", 1, 5_000) == 1

        before.pause()
        watched.wait_promoted(before)
        with pytest.raises(RedisError):
            await client.set("key0", "other")

        assert await client.set("key0", "other")
        assert watched.master().ask("GET", "key0") == "other"


async def test_a_master_made_a_replica_is_left_for_the_new_one(connect: Connect) -> None:
    with SentinelSet() as watched:
        client = connect(watched.url)
        await client.set("key", "value")
        watched.failover()
        with suppress(RedisError):  # the connections may have been closed already, or not
            await client.set("key", "other")
        assert await client.set("key", "other")
        assert watched.master().ask("GET", "key") == "other"


async def test_a_client_that_is_closed_leaves_no_connection(redis_server: ServerProcess) -> None:
    client = open_writer(read_address(redis_server.url))
    await client.ping()
    await client.aclose()
    assert len(redis_server.ask("CLIENT", "LIST").splitlines()) == 1
