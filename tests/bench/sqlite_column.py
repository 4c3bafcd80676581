"""SQLite, as it is measured."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engine.store import Store
from engine.stores import SqliteStore, sqlite_thread
from engine.stores.sqlite_database import Database, Options, Tally, open_database
from engine.stores.sqlite_thread import DatabaseThread, Operation

Statement = tuple[str, Any]


class SqliteColumn:
    """A file, and the statements that its database thread runs, turn by turn."""

    def open(self, folder: Path) -> SqliteStore:
        """Return a store on a new file."""
        return SqliteStore(folder / "engine.sqlite")

    @contextmanager
    def taping(self) -> Iterator[list[Any]]:
        """Tape the statements of each turn of the database thread, with their parameters."""
        tape: list[Any] = []
        perform, execute = sqlite_thread._perform, Database._execute

        def turn(*given: Any) -> None:
            tape.append([])
            perform(*given)

        def taped(self: Database, sql: str, parameters: Any = ()) -> Any:
            if tape:
                tape[-1].append((sql, parameters))
            return execute(self, sql, parameters)

        with (
            patch.object(sqlite_thread, "_perform", turn),
            patch.object(Database, "_execute", taped),
        ):
            yield tape

    @asynccontextmanager
    async def replaying(self, folder: Path) -> AsyncIterator["SqliteReplay"]:
        """Open a database thread of the same kind on a file of its own."""
        options = Options(str(folder / "replay.sqlite"), timedelta(seconds=1))
        thread = DatabaseThread(lambda: open_database(options, Tally()))
        yield SqliteReplay(thread)
        await thread.close()

    async def weigh(self, store: Store, folder: Path) -> int:
        """Return the bytes of the file, its log written back."""
        assert isinstance(store, SqliteStore)
        await store._thread.run(lambda database: database.all("PRAGMA wal_checkpoint(TRUNCATE)"))
        return (folder / "engine.sqlite").stat().st_size

    def spent(self, store: Store) -> dict[str, int]:
        """Return its counters."""
        assert isinstance(store, SqliteStore)
        return asdict(store.counters)


class SqliteReplay:
    """Runs taped statements, turn by turn."""

    def __init__(self, thread: DatabaseThread) -> None:
        """Take the thread they run in."""
        self._thread = thread

    async def play(self, tape: list[Any]) -> float:
        """Run them, and return the seconds that took."""
        begun = time.perf_counter()
        for turn in tape:
            await self._thread.run(_playing(turn))
        return time.perf_counter() - begun


def _playing(turn: Any) -> Operation[None]:
    def play(database: Database) -> None:
        for sql, parameters in turn:
            database.all(sql, parameters)

    return play
