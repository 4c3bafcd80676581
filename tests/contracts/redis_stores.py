"""Stores on real servers."""

from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from engine.stores.redis import RedisStore
from tests.servers.process import ServerProcess


def open_redis_store(server: ServerProcess, **options: Any) -> RedisStore:
    """Return a store on a server."""

    def connect() -> Redis:
        return Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0), db=0)

    return RedisStore(connect(), connect, **options)
