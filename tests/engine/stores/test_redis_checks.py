"""The self-check at the start: each wrong setting of a real server is named with its remedy."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.errors import StoreUnavailableError, StoreUnfitError
from engine.ids import utc_now
from engine.stores.keys import EVERYWHERE
from engine.stores.redis_address import read_address
from engine.stores.redis_checks import (
    Facts,
    Wanted,
    check_identity,
    check_servers,
    judge,
)
from engine.stores.redis_connection import Client, open_writer
from engine.stores.redis_findings import Check, Finding, refuse_unfit
from tests.servers.binaries import Binary
from tests.servers.cluster import Cluster
from tests.servers.fixtures import Start
from tests.servers.process import ServerProcess
from tests.servers.replicas import Pair, SentinelSet

Connect = Callable[[str], Client]

STRICT, RELAXED = Wanted(), Wanted(relaxed=True)
GOOD_INFO: Mapping[str, Any] = {
    "redis_version": "7.0.15",
    "role": "master",
    "aof_enabled": 1,
    "maxmemory_policy": "noeviction",
    "cluster_enabled": 0,
}
ALWAYS = {"appendfsync": "always", "no-appendfsync-on-rewrite": "no"}
NEEDED = {"appendonly": "yes", **ALWAYS}


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    made: list[Client] = []

    def open_one(url: str) -> Client:
        made.append(open_writer(read_address(url)))
        return made[-1]

    yield open_one
    for client in made:
        await client.aclose()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


def kinds(findings: tuple[Finding, ...]) -> list[tuple[Check, bool]]:
    return [(finding.check, finding.refuses) for finding in findings]


def facts(**info: Any) -> Facts:
    return Facts("the server", {**GOOD_INFO, **info}, ALWAYS, None, timedelta(0))


async def test_a_server_as_it_should_be_gives_no_finding(
    redis_server: ServerProcess, connect: Connect
) -> None:
    assert await check_servers(connect(redis_server.url), STRICT, utc_now) == ()


@pytest.mark.parametrize(
    ("setting", "check", "problem", "loss"),
    [
        (
            "appendonly no",
            Check.APPEND_ONLY,
            "keeps no append-only file",
            "loses every decision since its last snapshot",
        ),
        (
            "appendfsync everysec",
            Check.FSYNC,
            "has 'appendfsync everysec'",
            "loses the last second or two of decisions",
        ),
        (
            "appendfsync no",
            Check.FSYNC,
            "has 'appendfsync no'",
            "loses up to 30 s of decisions",
        ),
        (
            "no-appendfsync-on-rewrite yes",
            Check.FSYNC,
            "has 'no-appendfsync-on-rewrite yes'",
            "while it rewrites its file",
        ),
    ],
)
async def test_weak_durability_is_refused_and_when_relaxed_its_loss_is_told(
    start_server: Start,
    connect: Connect,
    setting: str,
    check: Check,
    problem: str,
    loss: str,
) -> None:
    name, value = setting.split()
    client = connect(start_server(conf={name: value}).url)

    (refused,) = await check_servers(client, STRICT, utc_now)
    assert (refused.check, refused.refuses) == (check, True)
    assert problem in refused.problem
    assert f"set '{name} {NEEDED[name]}'" in refused.remedy
    assert "HOLDSHORT_DURABILITY=relaxed" in refused.remedy

    (warned,) = await check_servers(client, RELAXED, utc_now)
    assert (warned.check, warned.refuses) == (check, False)
    assert problem in warned.problem
    assert loss in warned.remedy


async def test_all_that_is_weak_is_told_at_once(start_server: Start, connect: Connect) -> None:
    client = connect(start_server(conf={"appendonly": "no", "appendfsync": "everysec"}).url)

    refused = await check_servers(client, STRICT, utc_now)
    assert kinds(refused) == [(Check.APPEND_ONLY, True), (Check.FSYNC, True)]
    warned = await check_servers(client, RELAXED, utc_now)
    assert kinds(warned) == [(Check.APPEND_ONLY, False)]


async def test_a_server_with_fewer_replicas_than_must_confirm_is_refused(
    binary: Binary, connect: Connect
) -> None:
    async with Pair(binary) as pair:
        await pair.settle()
        client = connect(pair.master.url)
        one, two = Wanted(replicas=1), Wanted(relaxed=True, replicas=2)
        assert await check_servers(client, one, utc_now) == ()

        (refused,) = await check_servers(client, two, utc_now)

    assert (refused.check, refused.refuses) == (Check.REPLICAS, True)
    assert "HOLDSHORT_STORE_REPLICAS is 2, but the server has 1 connected" in refused.problem
    assert "or lower it" in refused.remedy


def test_a_replica_that_is_still_filled_confirms_nothing() -> None:
    syncing = {"slave0": {"ip": "10.0.0.1", "state": "wait_bgsave"}, "slave1": {"state": "online"}}
    assert judge(facts(**syncing), Wanted(replicas=1)) == ()
    assert kinds(judge(facts(**syncing), Wanted(replicas=2))) == [(Check.REPLICAS, True)]


@pytest.mark.parametrize("wanted", [STRICT, RELAXED])
async def test_a_server_that_deletes_runs_is_always_refused(
    start_server: Start, connect: Connect, wanted: Wanted
) -> None:
    client = connect(start_server(conf={"maxmemory-policy": "allkeys-lru"}).url)
    (refused,) = await check_servers(client, wanted, utc_now)
    assert (refused.check, refused.refuses) == (Check.EVICTION, True)
    assert "'maxmemory-policy allkeys-lru'" in refused.problem
    assert "set 'maxmemory-policy noeviction'" in refused.remedy


async def test_a_replica_is_refused(start_server: Start, connect: Connect) -> None:
    replica = start_server(conf={"replicaof": "127.0.0.1 1"})
    (refused,) = await check_servers(connect(replica.url), RELAXED, utc_now)
    assert (refused.check, refused.refuses) == (Check.ROLE, True)
    assert "redis+sentinel://" in refused.remedy


async def test_behind_sentinels_the_master_is_checked(connect: Connect) -> None:
    with SentinelSet() as watched:
        client = connect(watched.url)
        assert await check_servers(client, STRICT, utc_now) == ()
        watched.master().configure(appendfsync="everysec")
        assert kinds(await check_servers(client, STRICT, utc_now)) == [(Check.FSYNC, True)]


@pytest.mark.parametrize(("off", "found"), [(-62, "behind"), (-58, ""), (58, ""), (62, "ahead of")])
async def test_clocks_more_than_a_minute_apart_are_refused(
    redis_server: ServerProcess, connect: Connect, off: int, found: str
) -> None:
    def ours() -> datetime:
        return datetime.now(UTC) - timedelta(seconds=off)

    findings = await check_servers(connect(redis_server.url), RELAXED, ours)

    assert kinds(findings) == ([(Check.CLOCK, True)] if found else [])
    assert found in "".join(map(str, findings))


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [(STRICT, "+config|get"), (RELAXED, "how many is not known")],
)
@pytest.mark.parametrize("how", ["forbidden", "renamed"])
async def test_where_the_settings_may_not_be_read_a_strict_start_is_refused(
    start_server: Start, connect: Connect, how: str, wanted: Wanted, advice: str
) -> None:
    renamed = {"rename-command CONFIG": '""'} if how == "renamed" else {}
    server = start_server(conf=renamed)
    if how == "forbidden":
        server.ask("ACL", "SETUSER", "default", "-config|get")

    findings = await check_servers(connect(server.url), wanted, utc_now)

    assert kinds(findings) == [(Check.FSYNC, not wanted.relaxed)]
    assert "does not let this user ask" in findings[0].problem
    assert advice in findings[0].remedy


async def test_a_server_that_tells_nothing_of_itself_is_refused(
    start_server: Start, connect: Connect
) -> None:
    server = start_server()
    server.ask("ACL", "SETUSER", "default", "-info")
    (refused,) = await check_servers(connect(server.url), RELAXED, utc_now)
    assert refused.refuses
    assert "+info" in refused.remedy


async def test_a_server_that_refuses_the_user_is_unavailable(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(tcp=True, conf={"requirepass": "word"})
    for url in server.tcp_url, server.tcp_url.replace("//", "//:hunter2@"):
        with pytest.raises(StoreUnavailableError) as refused:
            await check_servers(connect(url), STRICT, utc_now)
        assert "check the URL" in str(refused.value)
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("told", "program"),
    [
        ({"redis_version": "6.2.14"}, "Redis 6.2.14"),
        ({"redis_version": "2.8"}, "Redis 2.8"),
        ({"redis_version": "7.2.4", "valkey_version": "7.1.9"}, "Valkey 7.1.9"),
        ({"redis_version": ""}, "Redis of an unknown version"),
        ({"redis_version": "unstable"}, "Redis unstable"),
    ],
)
def test_an_old_server_is_refused_and_nothing_else_is_asked_of_it(
    told: dict[str, str], program: str
) -> None:
    (refused,) = judge(facts(role="slave", **told), RELAXED)
    assert (refused.check, refused.refuses) == (Check.VERSION, True)
    assert program in refused.problem
    assert "or newer: upgrade it" in refused.remedy


@pytest.mark.parametrize(
    "told",
    [
        {"redis_version": "7.0.0"},
        {"redis_version": "8.4.1"},
        {"redis_version": "10.0.0"},
        {"redis_version": "7.2.4", "valkey_version": "7.2.5"},
        {"redis_version": "7.2.4", "valkey_version": "9.1.2"},
    ],
)
def test_a_server_that_is_new_enough_passes(told: dict[str, str]) -> None:
    assert judge(facts(**told), STRICT) == ()


async def test_every_master_of_a_cluster_is_checked(cluster: Cluster, connect: Connect) -> None:
    client = connect(cluster.url)
    assert await check_servers(client, STRICT, utc_now) == ()

    odd = cluster.nodes[1]
    odd.configure(appendfsync="everysec")
    (refused,) = await check_servers(client, STRICT, utc_now)
    assert f"node 127.0.0.1:{odd.port} has 'appendfsync everysec'" in refused.problem
    odd.configure(appendfsync="always")


async def test_a_cluster_without_one_of_its_masters_is_refused(connect: Connect) -> None:
    with Cluster() as cluster:
        client = connect(cluster.url)
        await client.initialize()
        lost = cluster.nodes[2]
        lost.kill()

        findings = await check_servers(client, RELAXED, utc_now)

    assert (Check.CLUSTER, True) in kinds(findings)
    assert f"127.0.0.1:{lost.port}" in str(findings[0])


@pytest.mark.parametrize(
    ("state", "served"), [("fail", "16384"), ("ok", "16383"), ("fail", "10923")]
)
def test_a_cluster_that_is_not_whole_is_refused(state: str, served: str) -> None:
    told = {"cluster_state": state, "cluster_slots_ok": served}
    node = Facts("node a:1", {**GOOD_INFO, "cluster_enabled": 1}, ALWAYS, told, timedelta(0))
    (refused,) = judge(node, RELAXED)
    assert (refused.check, refused.refuses) == (Check.CLUSTER, True)
    assert f"state '{state}', {served} of 16384" in refused.problem


async def test_a_url_of_the_other_kind_is_refused(
    cluster: Cluster, redis_server: ServerProcess, connect: Connect
) -> None:
    node = connect(cluster.nodes[0].tcp_url)
    (one,) = await check_servers(node, RELAXED, utc_now)
    assert (one.check, one.refuses) == (Check.CLUSTER, True)
    assert "redis+cluster://" in one.remedy

    alone = connect(redis_server.tcp_url.replace("redis:", "redis+cluster:"))
    (other,) = await check_servers(alone, RELAXED, utc_now)
    assert (other.check, other.refuses) == (Check.CLUSTER, True)
    assert "redis://" in other.remedy


async def test_the_store_must_be_the_expected_one(
    redis_server: ServerProcess, connect: Connect
) -> None:
    client = connect(redis_server.url)
    expected = Wanted(identity="mine")
    (empty,) = await check_identity(client, expected)
    assert "holds no store" in empty.problem
    assert redis_server.ask("DBSIZE") == 0
    assert await check_identity(client, STRICT) == ()

    for place in EVERYWHERE:
        redis_server.ask("HSET", place.key("meta"), "id", "mine")
    assert await check_identity(client, expected) == ()
    (other,) = await check_identity(client, Wanted(identity="theirs"))
    assert "is 'theirs', but the server holds 'mine'" in other.problem

    redis_server.ask("DEL", EVERYWHERE[7].key("meta"))
    (part,) = await check_identity(client, expected)
    assert (part.check, part.refuses) == (Check.IDENTITY, True)
    assert "not in every part" in part.problem


def test_what_refuses_is_raised_line_by_line_and_what_warns_is_returned() -> None:
    warning = Finding(Check.FSYNC, "weak", "loses", refuses=False)
    first, second = Finding(Check.ROLE, "a", "b"), Finding(Check.EVICTION, "c", "d")
    assert refuse_unfit([warning]) == (warning,)
    with pytest.raises(StoreUnfitError) as refused:
        refuse_unfit([first, warning, second])
    assert refused.value.problems == ("a: b", "c: d")
    assert str(refused.value) == "a: b\nc: d"
