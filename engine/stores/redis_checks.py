"""Is this server one that decisions may be trusted to? Asked once, at the start.

Each thing that is wrong is a Finding with its remedy. What a decision needs is in
``docs/redis.md``; ``relaxed`` durability turns the findings about durability into warnings that say
what may be lost.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisClusterException, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from engine.ids import Clock
from engine.stores.keys import CHANNEL, EVERYWHERE
from engine.stores.redis_connection import Client
from engine.stores.redis_errors import told_as_ours
from engine.stores.redis_findings import Check, Finding
from engine.stores.redis_rights import missing_rights

OLDEST_REDIS = (7, 0)
OLDEST_VALKEY = (7, 2)
MOST_SKEW = timedelta(seconds=60)
SLOTS = 16_384
_MOST_REPLICAS = 100
_STRICT = ("appendfsync", "no-appendfsync-on-rewrite")
_MAY_LOSE = {
    "everysec": "power loss loses the last second or two of decisions",
    "no": "power loss loses up to 30 s of decisions",
}
_ACCEPT = "or accept that with HOLDSHORT_DURABILITY=relaxed"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the servers beside what is asked of all.

    Attributes:
        relaxed: Lost decisions are accepted; each finding says which.
        identity: The store's expected id; empty if any will do.
        replicas: How many replicas must be able to confirm what is written.

    """

    relaxed: bool = False
    identity: str = ""
    replicas: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server tells of itself.

    Attributes:
        name: Which server, for a person to find.
        info: INFO's fields; empty where the user may not ask.
        config: The settings that INFO does not tell; None where the user may not ask.
        cluster: CLUSTER INFO's fields; None where the server is not used as one of a Cluster.
        skew: How far its clock is ahead of ours.

    """

    name: str
    info: Mapping[str, Any]
    config: Mapping[str, str] | None
    cluster: Mapping[str, str] | None
    skew: timedelta


async def examine(client: Client, wanted: Wanted, clock: Clock) -> tuple[Finding, ...]:
    """Return all that is wrong: with the servers, the user's rights, and which store it is.

    Raises:
        StoreUnavailableError: a server did not answer, or refused the user.

    """
    return (
        *await check_servers(client, wanted, clock),
        *await check_rights(client),
        *await check_identity(client, wanted),
    )


async def check_servers(client: Client, wanted: Wanted, clock: Clock) -> tuple[Finding, ...]:
    """Return what is wrong with the server, or with each master of the Cluster.

    Raises:
        StoreUnavailableError: a server did not answer, or refused the user.

    """
    with told_as_ours():
        if isinstance(client, RedisCluster):
            return await _check_cluster(client, wanted, clock)
        return judge(await _ask(client, None, clock), wanted)


async def _check_cluster(client: RedisCluster, wanted: Wanted, clock: Clock) -> tuple[Finding, ...]:
    try:
        await client.initialize()
    except RedisClusterException as error:
        return (_not_whole(error),)
    findings: list[Finding] = []
    for node in client.get_primaries():
        try:
            findings += judge(await _ask(client, node, clock), wanted)
        except (RedisConnectionError, RedisTimeoutError):
            silent = f"node {node.name}, which has a part of the Cluster's slots, does not answer"
            findings.append(Finding(Check.CLUSTER, silent, "start it, or let a replica take over"))
    return tuple(findings)


async def check_rights(client: Client) -> tuple[Finding, ...]:
    """Return a finding where the user may not do all that the store does; writes nothing.

    Raises:
        StoreUnavailableError: the server did not answer.

    """
    with told_as_ours():
        missing = await missing_rights(client)
    if not missing:
        return ()
    return (
        Finding(
            Check.RIGHTS,
            f"the server's ACL forbids this user {' '.join(missing)} on the store's keys or channel",
            f"grant it {' '.join(missing)} ~{{hs:?}}:* &{CHANNEL} (docs/redis.md has the whole rule)",
        ),
    )


async def check_identity(client: Client, wanted: Wanted) -> tuple[Finding, ...]:
    """Return a finding where the store is not the one that is expected; writes nothing.

    Raises:
        StoreUnavailableError: the server did not answer.

    """
    if not wanted.identity:
        return ()
    with told_as_ours():
        asked = [("HGET", place.key("meta"), "id") for place in EVERYWHERE]
        names = [await _tell(client, None, *command) for command in asked]
    found = {name.decode() if name else "" for name in names}
    if found == {wanted.identity}:
        return ()
    told = " and ".join(sorted(f"'{name}'" for name in found if name)) or "no store"
    parts = ", and not in every part" if "" in found and len(found) > 1 else ""
    return (
        Finding(
            Check.IDENTITY,
            f"HOLDSHORT_STORE_ID is '{wanted.identity}', but the server holds {told}{parts}",
            "was it flushed, or is it another server or database? Point HOLDSHORT_STORE_URL at the"
            " right one or restore its data; for a new store, unset HOLDSHORT_STORE_ID once",
        ),
    )


async def is_new(client: Client) -> bool:
    """Tell whether no store was ever opened there; writes nothing.

    Raises:
        StoreUnavailableError: the server did not answer.

    """
    with told_as_ours():
        return not await _tell(client, None, "HGET", EVERYWHERE[0].key("meta"), "id")


def judge(facts: Facts, wanted: Wanted) -> tuple[Finding, ...]:
    """Return what is wrong with one server. Pure."""
    if not facts.info:
        # Whether it is a master at all cannot be told.
        return (
            Finding(
                Check.VERSION,
                f"{facts.name} does not let this user ask INFO, so nothing about it is known",
                "grant it +info (docs/redis.md has the whole rule)",
            ),
        )
    too_old = tuple(_version(facts))
    if too_old:
        return too_old
    return (
        *_role(facts),
        *_append_only(facts, wanted),
        *_fsync(facts, wanted),
        *_eviction(facts),
        *_clock(facts),
        *_cluster(facts),
        *_replicas(facts, wanted),
    )


def _version(facts: Facts) -> Iterator[Finding]:
    valkey = str(facts.info.get("valkey_version", ""))
    told = valkey or str(facts.info.get("redis_version", ""))
    oldest = OLDEST_VALKEY if valkey else OLDEST_REDIS
    if _numbers(told) < oldest:
        program = "Valkey" if valkey else "Redis"
        yield Finding(
            Check.VERSION,
            f"{facts.name} is {program} {told or 'of an unknown version'}",
            f"it needs {program} {'.'.join(map(str, oldest))} or newer: upgrade it",
        )


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(map(str.isdecimal, parts)) else ()


def _role(facts: Facts) -> Iterator[Finding]:
    if facts.info.get("role") != "master":
        yield Finding(
            Check.ROLE,
            f"{facts.name} is a read-only replica",
            "point HOLDSHORT_STORE_URL at the master, or at the Sentinels with redis+sentinel://",
        )


def _append_only(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    if facts.info.get("aof_enabled") == 1:
        return
    problem = f"{facts.name} keeps no append-only file"
    if wanted.relaxed:
        loss = "any end of the server loses every decision since its last snapshot"
        yield Finding(Check.APPEND_ONLY, problem, loss, refuses=False)
    else:
        yield Finding(Check.APPEND_ONLY, problem, f"set 'appendonly yes' in its config, {_ACCEPT}")


def _fsync(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    if facts.info.get("aof_enabled") != 1 and (wanted.relaxed or facts.config is None):
        # There is no file to be written: what that loses has been told.
        return
    if facts.config is None:
        yield _unknown_fsync(facts, wanted)
        return
    when = facts.config.get("appendfsync", "")
    if when != "always":
        loss = _MAY_LOSE.get(when, "power loss loses decisions")
        yield _weak(facts, wanted, "appendfsync", when, "always", loss)
    elif facts.config.get("no-appendfsync-on-rewrite") != "no":
        loss = "power loss while it rewrites its file loses decisions"
        yield _weak(facts, wanted, "no-appendfsync-on-rewrite", "yes", "no", loss)


def _weak(facts: Facts, wanted: Wanted, name: str, *has_needs_loss: str) -> Finding:
    has, needs, loss = has_needs_loss
    problem = f"{facts.name} has '{name} {has}'"
    if wanted.relaxed:
        return Finding(Check.FSYNC, problem, loss, refuses=False)
    return Finding(Check.FSYNC, problem, f"set '{name} {needs}' in its config, {_ACCEPT}")


def _unknown_fsync(facts: Facts, wanted: Wanted) -> Finding:
    problem = f"{facts.name} does not let this user ask how it writes to its disk (CONFIG GET)"
    if wanted.relaxed:
        loss = "power loss may lose decisions; how many is not known"
        return Finding(Check.FSYNC, problem, loss, refuses=False)
    return Finding(Check.FSYNC, problem, f"grant the user +config|get, {_ACCEPT}")


def _eviction(facts: Facts) -> Iterator[Finding]:
    policy = facts.info.get("maxmemory_policy")
    if policy != "noeviction":
        yield Finding(
            Check.EVICTION,
            f"{facts.name} has 'maxmemory-policy {policy}', which deletes runs when memory is short",
            "set 'maxmemory-policy noeviction' in its config",
        )


def _clock(facts: Facts) -> Iterator[Finding]:
    if abs(facts.skew) > MOST_SKEW:
        seconds = round(abs(facts.skew).total_seconds())
        side = "ahead of" if facts.skew > timedelta(0) else "behind"
        yield Finding(
            Check.CLOCK,
            f"the clock of {facts.name} is {seconds} s {side} this machine's",
            "let both keep time by NTP: deadlines are judged by the server's clock",
        )


def _cluster(facts: Facts) -> Iterator[Finding]:
    enabled = facts.info.get("cluster_enabled") == 1
    if facts.cluster is None:
        if enabled:
            yield Finding(
                Check.CLUSTER,
                f"{facts.name} is one of a Cluster",
                "write HOLDSHORT_STORE_URL with redis+cluster://",
            )
        return
    state, served = facts.cluster.get("cluster_state"), facts.cluster.get("cluster_slots_ok")
    if state != "ok" or served != str(SLOTS):
        yield Finding(
            Check.CLUSTER,
            f"{facts.name} sees its Cluster in state '{state}', {served} of {SLOTS} slots served",
            "bring every slot's master back (CLUSTER SHARDS tells which are missing)",
        )


def _replicas(facts: Facts, wanted: Wanted) -> Iterator[Finding]:
    told = (facts.info.get(f"slave{number}") for number in range(_MOST_REPLICAS))
    online = sum(isinstance(one, dict) and one.get("state") == "online" for one in told)
    if online < wanted.replicas:
        yield Finding(
            Check.REPLICAS,
            f"HOLDSHORT_STORE_REPLICAS is {wanted.replicas}, but {facts.name} has {online} connected,"
            " so no decision could ever be confirmed",
            "connect as many replicas (INFO replication tells which are), or lower it",
        )


def _not_whole(error: RedisClusterException) -> Finding:
    apart = "Cluster mode is not enabled" in str(error) or isinstance(
        error.__cause__, ResponseError
    )
    if apart:
        return Finding(
            Check.CLUSTER,
            "the servers of HOLDSHORT_STORE_URL are no Cluster",
            "write it with redis://, or start them with 'cluster-enabled yes'",
        )
    return Finding(
        Check.CLUSTER,
        "the Cluster does not serve every slot, or none of its nodes answers",
        "bring every slot's master back (CLUSTER SHARDS tells which are missing)",
    )


async def _ask(client: Client, node: ClusterNode | None, clock: Clock) -> Facts:
    before = clock()
    seconds, micros = await _tell(client, node, "TIME")
    middle = before + (clock() - before) / 2
    now = datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=int(micros))
    cluster = None if node is None else await _allowed(client, node, "CLUSTER INFO") or {}
    return Facts(
        name="the server" if node is None else f"node {node.name}",
        info=await _allowed(client, node, "INFO") or {},
        config=await _allowed(client, node, "CONFIG GET", *_STRICT),
        cluster=cluster,
        skew=now - middle,
    )


async def _tell(client: Client, node: ClusterNode | None, *command: str) -> Any:  # noqa: ANN401 - as redis-py
    if node is None:
        return await client.execute_command(*command)
    return await client.execute_command(*command, target_nodes=node)


async def _allowed(client: Client, node: ClusterNode | None, *command: str) -> Any:  # noqa: ANN401 - as redis-py
    """Return what a server tells; None where it does not know the command, or forbids it."""
    try:
        return await _tell(client, node, *command)
    except ResponseError:
        return None
