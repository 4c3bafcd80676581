"""Where the machines of stateful tests run other than in memory."""

import tempfile
from pathlib import Path

from hypothesis.stateful import RuleBasedStateMachine

from engine.store import Store
from engine.stores import SqliteStore
from tests.contracts.redis_audit import check_indexes
from tests.contracts.redis_stores import open_redis_store
from tests.factories import HeldClock
from tests.servers.cluster import Cluster
from tests.servers.process import ServerProcess


class OnFile(RuleBasedStateMachine):
    """A machine on a file."""

    clock: HeldClock

    def open(self) -> Store:
        """Return a store on a new file."""
        self.folder = tempfile.TemporaryDirectory()
        return SqliteStore(Path(self.folder.name) / "store.db", clock=self.clock)

    def teardown(self) -> None:
        """Remove the file."""
        super().teardown()
        self.folder.cleanup()


class OnServer(RuleBasedStateMachine):
    """A machine on a server, where the indexes are checked as well."""

    clock: HeldClock
    server: ServerProcess | Cluster

    def open(self) -> Store:
        """Return a store on the server, empty."""
        self.server.flush()
        return open_redis_store(self.server.url, clock=self.clock)

    def teardown(self) -> None:
        """Check what the server holds in the end."""
        check_indexes(self.server)
        super().teardown()
