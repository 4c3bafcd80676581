"""Clients for the servers that an address names.

The driver repeats commands by itself unless told not to (redis-py 8.1: ten times on a lost
connection or a timeout), a script whose answer was lost too. So its retries are off everywhere:
only who knows the commit's id may ask again. What says that nothing was executed is still followed:
a Cluster's MOVED, ASK and TRYAGAIN (``RedisCluster._execute_command`` follows them whatever the
retries are).
"""

import os
from typing import Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.maint_notifications import MaintNotificationsConfig

from engine.errors import ConfigurationError
from engine.stores.redis_address import Login, RedisAddress, Tls, Topology

Client = Redis | RedisCluster

CLIENT_NAME = "holdshort"
"""How our connections are called in CLIENT LIST."""
TIMEOUT_S = 0.8
"""For connecting and for an answer: a click must be answered within Slack's 3 s, retry included."""
MOST_CONNECTIONS = 256
"""Of one client to one server: how many operations may be under way at once."""
IDLE_S = 10.0
"""A connection unused for longer is asked with a PING first, of which a loss harms nobody."""


def open_writer(address: RedisAddress) -> Client:
    """Return the client for commands that answer at once; nothing is sent before its first.

    A command that fails with a connection error or a timeout was sent at most once.

    Raises:
        ConfigurationError: a file that the address names cannot be read.

    """
    return _open(address, socket_timeout=TIMEOUT_S, health_check_interval=IDLE_S)


def open_listener(address: RedisAddress) -> Client:
    """Return the client for blocking reads, whose answers may take any time.

    Connecting still has its time limit, and keep-alive notices a server that is gone.
    """
    return _open(address, socket_timeout=None, health_check_interval=0)


class _Client(Redis):
    """A client that does not spread one failure over the connections it holds in reserve.

    After a failover each connection left in the pool would cost one more error. So one error drops
    all that are idle, and the next command connects anew: through the Sentinels if there are some.
    (A Cluster's client does so by itself.)
    """

    async def execute_command(self, *command: Any, **options: Any) -> Any:  # noqa: ANN401 - redis-py's
        try:
            return await super().execute_command(*command, **options)  # type: ignore[no-untyped-call]
        except (RedisConnectionError, RedisTimeoutError):
            await self.connection_pool.disconnect(inuse_connections=False)
            raise

    async def aclose(self, close_connection_pool: bool | None = None) -> None:  # noqa: FBT001 - redis-py's
        await super().aclose(close_connection_pool)
        sentinel = getattr(self.connection_pool, "sentinel_manager", None)
        if isinstance(sentinel, Sentinel):
            await sentinel.aclose()


class _ClusterClient(RedisCluster):
    """A client that leaves no connection: redis-py's takes itself for closed once a node is lost."""

    async def execute_command(self, *command: Any, **options: Any) -> Any:  # noqa: ANN401 - redis-py's
        # Before it knows which arguments are keys it sends to any node; and when several commands
        # at once are sent on from there, it closes the connections under them.
        await self.initialize()
        return await super().execute_command(*command, **options)

    async def aclose(self) -> None:
        await super().aclose()
        await self.nodes_manager.aclose()
        await self.nodes_manager.aclose("startup_nodes")


def _open(
    address: RedisAddress, *, socket_timeout: float | None, health_check_interval: float
) -> Client:
    options: dict[str, Any] = {
        **_common(address.tls),
        **_login(address.login),
        "socket_timeout": socket_timeout,
        "health_check_interval": health_check_interval,
        "client_name": CLIENT_NAME,
        "max_connections": MOST_CONNECTIONS,
    }
    match address.topology:
        case Topology.SOCKET:
            place = address.place
            return _Client(unix_socket_path=place.socket, db=place.db, **options)
        case Topology.SINGLE:
            (node,) = address.nodes
            return _Client(host=node.host, port=node.port, db=address.place.db, **options)
        case Topology.SENTINEL:
            return _behind_sentinels(address, options)
        case Topology.CLUSTER:
            nodes = [ClusterNode(node.host, node.port) for node in address.nodes]
            # The nodes that were named stay known, for when all others are gone.
            return _ClusterClient(startup_nodes=nodes, dynamic_startup_nodes=False, **options)


def _behind_sentinels(address: RedisAddress, options: dict[str, Any]) -> Redis:
    hosts = [(node.host, node.port) for node in address.nodes]
    to_sentinels = {
        **_common(address.tls),
        **_login(address.sentinel_login),
        "socket_timeout": TIMEOUT_S,
    }
    sentinel = Sentinel(hosts, sentinel_kwargs=to_sentinels)  # type: ignore[no-untyped-call]
    master: Redis = sentinel.master_for(
        address.place.service, redis_class=_Client, db=address.place.db, **options
    )
    return master


def _common(tls: Tls | None) -> dict[str, Any]:
    return {
        "socket_connect_timeout": TIMEOUT_S,
        "retry": Retry(NoBackoff(), 0),
        # It may stretch the time limits, and no server we support has it.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
        # CLIENT SETINFO is a right more that a user would need.
        "driver_info": None,
        **(_tls(tls) if tls is not None else {}),
    }


def _login(login: Login) -> dict[str, Any]:
    return {"username": login.username or None, "password": login.password or None}


def _tls(tls: Tls) -> dict[str, Any]:
    for name in filter(None, (tls.ca, tls.certificate, tls.key)):
        if not os.access(name, os.R_OK):
            raise ConfigurationError(f"HOLDSHORT_STORE_URL names {name}, which cannot be read")
    return {
        "ssl": True,
        "ssl_ca_certs": tls.ca or None,
        "ssl_certfile": tls.certificate or None,
        "ssl_keyfile": tls.key or None,
        "ssl_check_hostname": tls.check_hostname,
    }
