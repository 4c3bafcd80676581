"""A SQLite file, a clock, and stores on that file; Redis servers."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from engine.stores import SqliteStore
from engine.stores.redis import RedisStore
from tests.contracts.play import Play
from tests.contracts.redis_stores import open_redis_store
from tests.factories import HeldClock
from tests.servers.fixtures import (  # noqa: F401 - found by name
    binary,
    redis_server,
    shared_server,
    start_server,
)
from tests.servers.process import ServerProcess

Opener = Callable[..., SqliteStore]
RedisOpener = Callable[..., RedisStore]


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def opened(path: Path, clock: HeldClock) -> AsyncIterator[Opener]:
    """Return what opens one more store on the file."""
    stores: list[SqliteStore] = []

    def another(**given: object) -> SqliteStore:
        stores.append(SqliteStore(path, **({"clock": clock} | given)))  # type: ignore[arg-type]
        return stores[-1]

    yield another
    for store in stores:
        await store.close()


@pytest.fixture
async def opened_redis(
    redis_server: ServerProcess,  # noqa: F811 - the fixture
    clock: HeldClock,
) -> AsyncIterator[RedisOpener]:
    """Return what opens one more store on the server, or at the address that is given."""
    stores: list[RedisStore] = []

    def another(url: str = redis_server.url, **given: object) -> RedisStore:
        stores.append(open_redis_store(url, **({"clock": clock} | given)))
        return stores[-1]

    yield another
    for store in stores:
        await store.close()


@pytest.fixture
def store(opened: Opener) -> SqliteStore:
    return opened()


@pytest.fixture
def play(store: SqliteStore, clock: HeldClock) -> Play:
    return Play(store, clock)
