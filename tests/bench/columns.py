"""The stores that are measured, each with what only it can tell. Add one by naming it here."""

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from engine.store import Store
from tests.bench.sqlite_column import SqliteColumn


class Replay(Protocol):
    """Sends tapes to a database."""

    async def play(self, tape: list[Any]) -> float:
        """Send a tape, turn by turn, and return the seconds that took."""
        ...


class Column(Protocol):
    """How one store is opened, taped, replayed and weighed.

    A tape holds what the store sent to its database, turn by turn: SQL, or scripts.
    """

    def open(self, folder: Path) -> Store:
        """Return a store in a folder of its own."""
        ...

    def taping(self) -> AbstractContextManager[list[Any]]:
        """Fill the tape for as long as the block lasts."""
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


COLUMNS: dict[str, type[Column]] = {"sqlite": SqliteColumn}
