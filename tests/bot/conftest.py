"""What every test of the bot starts from: an environment that says nothing."""

import os

import pytest

from tests.servers.fixtures import (  # noqa: F401 - found by name
    binary,
    redis_server,
    shared_server,
    start_server,
)


@pytest.fixture(autouse=True)
def _silent_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("SLACK_", "HOLDSHORT_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
