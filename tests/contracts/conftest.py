"""The stores that the contract is tried on. Each test here runs once on each."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UndecodableRecordError
from engine.ids import Clock
from engine.store import Store
from engine.stores import MemoryStore, SqliteStore, redis_connection
from tests.contracts.play import LONG, Play
from tests.contracts.redis_audit import check_indexes
from tests.contracts.redis_stores import open_redis_store
from tests.factories import HeldClock
from tests.servers.binaries import Binary, installed
from tests.servers.cluster import Cluster
from tests.servers.process import ServerProcess


@dataclass(frozen=True, slots=True)
class Where:
    """A kind of server to put a store on."""

    binary: Binary
    clustered: bool = False

    @property
    def name(self) -> str:
        """Return how tests on it are called."""
        return f"{self.binary.name}-cluster" if self.clustered else self.binary.name


SERVERS = tuple(Where(binary, clustered) for binary in installed() for clustered in (False, True))
Report = Callable[[UndecodableRecordError], None]
Running = Callable[[Where], ServerProcess | Cluster]


def _emptied(stack: ExitStack) -> Running:
    servers: dict[Where, ServerProcess | Cluster] = {}

    def emptied(where: Where) -> ServerProcess | Cluster:
        if where not in servers:
            kind: Any = Cluster if where.clustered else ServerProcess
            servers[where] = stack.enter_context(kind(where.binary))
        servers[where].flush()
        return servers[where]

    return emptied


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """Return what gives the one server, or Cluster, of each program, emptied."""
    with ExitStack() as stack:
        yield _emptied(stack)


@pytest.fixture(scope="session")
def beside() -> Iterator[Running]:
    """Return what gives another of each, for tests that need two stores."""
    with ExitStack() as stack:
        yield _emptied(stack)


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
def reported() -> list[UndecodableRecordError]:
    """Return what the store reports as unreadable."""
    return []


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a server as long as the machine takes: how long people wait is tried elsewhere."""
    monkeypatch.setattr(redis_connection, "TIMEOUT_S", 20.0)


def _stores() -> list[Any]:
    embedded = [pytest.param(None, id="memory"), pytest.param("store.db", id="sqlite")]
    return embedded + [pytest.param(where, id=where.name) for where in SERVERS]


@pytest.fixture(params=_stores())
async def store(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    clock: HeldClock,
    reported: list[UndecodableRecordError],
    running: Running,
) -> AsyncIterator[Store]:
    made = _open(request.param, tmp_path, running, clock, reported.append)
    if isinstance(request.param, Where) and not request.param.clustered:
        # It is rung as it begins to listen; from then on it relies on what it hears.
        await made.wait(LONG, made.mark())
    yield made
    await made.close()


def _open(where: object, folder: Path, running: Running, clock: Clock, report: Report) -> Store:
    if isinstance(where, Where):
        return open_redis_store(running(where).url, clock=clock, on_undecodable=report)
    if isinstance(where, str):
        return SqliteStore(folder / where, clock=clock, on_undecodable=report)
    return MemoryStore(clock=clock, on_undecodable=report)


@pytest.fixture
def play(store: Store, clock: HeldClock) -> Play:
    return Play(store, clock)


def _targets() -> list[Any]:
    embedded = [pytest.param(None, id="to-memory"), pytest.param("other.db", id="to-sqlite")]
    return embedded + [pytest.param(where, id=f"to-{where.name}") for where in SERVERS]


@pytest.fixture(params=_targets())
async def target(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    clock: HeldClock,
    beside: Running,
) -> AsyncIterator[Store]:
    """Return a store to move to; servers here are others than those that are moved from."""
    where = request.param
    if isinstance(where, Where):
        server = beside(where)
        served = open_redis_store(server.url, clock=clock)
        yield served
        await served.close()
        check_indexes(server)
        return
    made = SqliteStore(tmp_path / where, clock=clock) if where else MemoryStore(clock=clock)
    yield made
    await made.close()


@pytest.fixture
def there(target: Store, clock: HeldClock) -> Play:
    return Play(target, clock)
