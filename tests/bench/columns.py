"""The stores that are measured, each with what only it can tell. Add one by naming it here."""

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Protocol

from engine.store import Store
from tests.bench.redis_column import RedisColumn
from tests.bench.sqlite_column import SqliteColumn
from tests.bench.tapes import Sent


class Replay(Protocol):
    """Sends tapes to a database."""

    async def play(self, tape: list[Sent]) -> tuple[float, int]:
        """Send a tape; return the seconds that took, and how many answers were other ones."""
        ...


class Column(Protocol):
    """How one store is opened, taped, replayed and weighed.

    A tape holds what the store sent to its database: turns of SQL, or commands.
    """

    def open(self, folder: Path) -> Store:
        """Return a store in a folder of its own."""
        ...

    def close(self) -> None:
        """End whatever was started for its stores, once they are closed."""
        ...

    def taping(self) -> AbstractContextManager[list[Sent]]:
        """Tape for as long as the block lasts; the tape is whole when it ends."""
        ...

    def replaying(self, folder: Path) -> AbstractAsyncContextManager[Replay]:
        """Open another database of the same kind, through a client of the same kind."""
        ...

    async def weigh(self, store: Store, folder: Path) -> int:
        """Return the bytes that a store takes up, once it has come to rest."""
        ...

    def spent(self, store: Store) -> dict[str, int]:
        """Return what the store counts of its work."""
        ...


COLUMNS: dict[str, type[Column]] = {"sqlite": SqliteColumn, "valkey": RedisColumn}
