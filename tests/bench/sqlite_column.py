"""SQLite, as it is measured."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engine.store import Store
from engine.stores import SqliteStore, sqlite_thread
from engine.stores.sqlite_database import Database, Options, Tally, open_database
from engine.stores.sqlite_thread import DatabaseThread, Operation
from tests.bench.tapes import Sent, play

Statement = tuple[str, Any]


@dataclass(slots=True)
class Turn:
    """What the database thread took up together.

    Attributes:
        operations: How many there were, each a pass to the thread and back.
        statements: All that they ran, with the transactions that they shared.
        back: How many operations of the tape were back when the last of these was passed.

    """

    operations: int
    back: int
    statements: list[Statement] = field(default_factory=list)


class SqliteColumn:
    """A file, and the statements that its database thread runs, turn by turn.

    The replay runs the same statements in the same transactions, in a database thread of the same
    kind, with as many passes to it and back. With many tasks the engine's thread takes up what
    queued meanwhile in one turn, so the replay's does too, and a turn is passed on when as many
    turns are back as were in the engine. Between them there is nothing of the engine's own work.
    """

    def open(self, folder: Path) -> SqliteStore:
        """Return a store on a new file."""
        return SqliteStore(folder / "engine.sqlite")

    def close(self) -> None:
        """Leave all to the folder's end."""

    @contextmanager
    def taping(self) -> Iterator[list[Sent]]:
        """Tape the statements of each turn of the database thread, with their parameters."""
        tape: list[Sent] = []
        with _recording() as turns:
            yield tape
        tape += _in_turns(turns)

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


@contextmanager
def _recording() -> Iterator[list[Turn]]:
    turns: list[Turn] = []
    passed: dict[int, int] = {}
    back = 0
    perform, execute = sqlite_thread._perform, Database._execute
    submit, tell = DatabaseThread._submit, sqlite_thread._Job.tell

    def submitted(self: DatabaseThread, operation: Any, *given: Any, **named: Any) -> Any:
        # Noted first: the thread may take it up before this returns.
        passed[id(operation)] = back
        return submit(self, operation, *given, **named)

    def told(self: Any) -> None:
        nonlocal back
        back += 1
        tell(self)

    def turn(database: Database, queued: list[Any]) -> None:
        turns.append(
            Turn(len(queued), max((passed.pop(id(job.operation), 0) for job in queued), default=0))
        )
        perform(database, queued)

    def taped(self: Database, sql: str, parameters: Any = ()) -> Any:
        if turns:
            turns[-1].statements.append((sql, parameters))
        return execute(self, sql, parameters)

    with (
        patch.object(DatabaseThread, "_submit", submitted),
        patch.object(sqlite_thread._Job, "tell", told),
        patch.object(sqlite_thread, "_perform", turn),
        patch.object(Database, "_execute", taped),
    ):
        yield turns


def _in_turns(turns: list[Turn]) -> list[Sent]:
    """Count what was back in turns, not in operations."""
    tape: list[Sent] = []
    whole = operations = 0
    for turn in turns:
        while whole < len(tape) and operations + turns[whole].operations <= turn.back:
            operations += turns[whole].operations
            whole += 1
        tape.append(Sent(turn, whole))
    return tape


class SqliteReplay:
    """Runs taped statements, turn by turn."""

    def __init__(self, thread: DatabaseThread) -> None:
        """Take the thread they run in."""
        self._thread = thread

    async def play(self, tape: list[Sent]) -> tuple[float, int]:
        """Run them, and return the seconds that took; answers are not compared."""
        return await play(tape, self._pass)

    async def _pass(self, turn: Turn) -> None:
        run = self._thread.run
        # The first carries the statements, and goes before those of any later turn; the others queue
        # behind it, as they did in the engine.
        others = [asyncio.create_task(run(_nothing)) for _ in range(turn.operations - 1)]
        await run(_playing(turn))
        for other in others:
            await other


def _playing(turn: Turn) -> Operation[None]:
    def play_turn(database: Database) -> None:
        for sql, parameters in turn.statements:
            database.all(sql, parameters)

    return play_turn


def _nothing(database: Database) -> None:
    """Cost the pass alone."""
