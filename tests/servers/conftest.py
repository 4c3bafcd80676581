"""What the tests of the servers themselves use."""

from tests.servers.fixtures import (  # noqa: F401 - found by name
    binary,
    redis_server,
    shared_server,
    start_server,
)
