"""A SQLite file, a clock, and stores on that file; Redis servers."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from engine.stores import SqliteStore
from tests.contracts.play import Play
from tests.factories import HeldClock
from tests.servers.fixtures import (  # noqa: F401 - found by name
    binary,
    redis_server,
    shared_server,
    start_server,
)

Opener = Callable[..., SqliteStore]


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
def store(opened: Opener) -> SqliteStore:
    return opened()


@pytest.fixture
def play(store: SqliteStore, clock: HeldClock) -> Play:
    return Play(store, clock)
