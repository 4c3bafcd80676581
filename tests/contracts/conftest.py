"""The stores that the contract is tried on. Each test here runs once on each."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from engine.errors import UndecodableRecordError
from engine.ids import Clock
from engine.store import Store
from engine.stores import MemoryStore, SqliteStore
from tests.contracts.play import Play
from tests.factories import HeldClock

Report = Callable[[UndecodableRecordError], None]
Open = Callable[[Path, Clock, Report], Store]


def _memory(_folder: Path, clock: Clock, report: Report) -> Store:
    return MemoryStore(clock=clock, on_undecodable=report)


def _sqlite(folder: Path, clock: Clock, report: Report) -> Store:
    return SqliteStore(folder / "store.db", clock=clock, on_undecodable=report)


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
def reported() -> list[UndecodableRecordError]:
    """Return what the store reports as unreadable."""
    return []


@pytest.fixture(params=[_memory, _sqlite], ids=["memory", "sqlite"])
async def store(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    clock: HeldClock,
    reported: list[UndecodableRecordError],
) -> AsyncIterator[Store]:
    opened: Open = request.param
    made = opened(tmp_path, clock, reported.append)
    yield made
    await made.close()


@pytest.fixture
def play(store: Store, clock: HeldClock) -> Play:
    return Play(store, clock)
