"""Stores on real servers."""

from typing import Any

from engine.stores.redis import RedisStore
from engine.stores.redis_address import read_address
from engine.stores.redis_connection import open_listener, open_writer


def open_redis_store(url: str, **options: Any) -> RedisStore:
    """Return a store at an address."""
    address = read_address(url)
    return RedisStore(open_writer(address), lambda: open_listener(address), **options)
