"""The connection: how a database file is opened, made durable, and counted."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from engine.errors import ConfigurationError, StoreVersionError

MEMORY = ":memory:"
APPLICATION_ID = 0x484F4C44  # "HOLD"
SCHEMA_VERSION = 2
OLDEST_SQLITE = (3, 37, 0)  # STRICT tables; RETURNING came with 3.35
_BUSY_STEP_S = 0.005

Row = tuple[Any, ...]
Parameters = tuple[Any, ...] | dict[str, Any]
Trace = Callable[[str], None]


class Sync(StrEnum):
    """What a commit survives: FULL survives power loss, NORMAL the end of the process."""

    FULL = "FULL"
    NORMAL = "NORMAL"


@dataclass(slots=True)
class Tally:
    """What the database thread has done so far; written by that thread only."""

    full_commits: int = 0
    lite_commits: int = 0
    statements: int = 0


@dataclass(frozen=True, slots=True)
class Options:
    """How to open a database."""

    path: str
    busy: timedelta
    trace: Trace | None = None


class Database:
    """A connection, with the few ways in which it is used. Belongs to one thread.

    Lite writes and full commits share one connection, and ``PRAGMA synchronous`` is switched when
    the kind changes. Measured (a lite write then a full commit, 20,000 rows, ext4): switching
    55 + 265 us, two connections 52 + 262 us, no lite writes 240 + 250 us. The first two are
    equal within noise; one connection also works in memory and keeps one page cache.
    """

    def __init__(self, connection: sqlite3.Connection, tally: Tally, *, in_memory: bool) -> None:
        """Take an open connection that holds the schema."""
        self._connection = connection
        self._tally = tally
        self._in_memory = in_memory
        self._grouped = False
        self._sync: Sync | None = None
        self._seen = self._data_version()

    def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """Return the first row, if there is one."""
        row: Row | None = self._execute(sql, parameters).fetchone()
        return row

    def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return every row."""
        return self._execute(sql, parameters).fetchall()

    @contextmanager
    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Iterator[Row]]:
        """Iterate over the rows inside the block, which may be left early."""
        cursor = self._execute(sql, parameters)
        try:
            yield cursor
        finally:
            # An open statement would keep its view of the file, and so the WAL, from moving on.
            cursor.close()

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Write inside a transaction; return the number of rows changed."""
        return self._execute(sql, parameters).rowcount

    def lite(self, sql: str, parameters: Parameters = ()) -> int:
        """Write with one statement that other processes see but power loss may undo."""
        self._synchronize(Sync.NORMAL)
        changed = self._execute(sql, parameters).rowcount
        self._tally.lite_commits += changed > 0 and not self._grouped
        return changed

    def lite_returning(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Write like ``lite``; return the rows the statement returns."""
        self._synchronize(Sync.NORMAL)
        rows = self._execute(sql, parameters).fetchall()
        self._tally.lite_commits += bool(rows) and not self._grouped
        return rows

    @contextmanager
    def transaction(self, sync: Sync) -> Iterator[None]:
        """Write all of the block or, when it raises, nothing of it."""
        with self._savepoint() if self._grouped else self._committed(sync):
            yield

    @contextmanager
    def group(self, sync: Sync) -> Iterator[None]:
        """Write several operations as one transaction; each still wholly or not at all.

        Leave the block with an error once ``in_transaction`` is false: SQLite has given up the
        transaction (a full disk), and whatever followed would be written on its own.
        """
        with self._committed(sync):
            self._grouped = True
            try:
                yield
            finally:
                self._grouped = False

    @property
    def in_transaction(self) -> bool:
        """Tell whether a transaction is open."""
        return self._connection.in_transaction

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        self._execute("SAVEPOINT operation")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._execute("ROLLBACK TO operation")
                self._execute("RELEASE operation")
            raise
        self._execute("RELEASE operation")

    @contextmanager
    def _committed(self, sync: Sync) -> Iterator[None]:
        self._synchronize(sync)
        self._execute("BEGIN IMMEDIATE")
        before = self._connection.total_changes
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            # A COMMIT that failed (disk full) may leave the transaction open, or may not.
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            raise
        wrote = self._connection.total_changes > before
        if sync is Sync.FULL:
            self._tally.full_commits += wrote
        else:
            self._tally.lite_commits += wrote

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read all of the block at one moment."""
        if self._grouped:
            yield
            return
        self._execute("BEGIN")
        try:
            yield
        finally:
            self._execute("COMMIT")

    def others_wrote(self) -> bool:
        """Tell whether another connection has written since this was last asked."""
        seen, self._seen = self._seen, self._data_version()
        return self._seen != seen

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _data_version(self) -> int:
        row = self.one("PRAGMA data_version")
        return int(row[0]) if row else 0

    def _synchronize(self, wanted: Sync) -> None:
        if self._sync is not wanted and not self._in_memory and not self._grouped:
            self._execute(f"PRAGMA synchronous = {wanted.value}")
            self._sync = wanted

    def _execute(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        self._tally.statements += 1
        return self._connection.execute(sql, parameters)


def open_database(options: Options, tally: Tally) -> Database:
    """Open a database, and make it (file 0600, new folders 0700) if it is not there.

    Only for local file systems: WAL needs shared memory between the processes that use the file.

    Raises:
        StoreVersionError: a newer Holdshort wrote it, or one of before 0.1, or something else did.
        ConfigurationError: this Python's SQLite is too old.

    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise ConfigurationError(f"SQLite {sqlite3.sqlite_version} is too old; needs {oldest}")
    in_memory = options.path == MEMORY
    if not in_memory:
        _make_file(Path(options.path))
    connection = sqlite3.connect(
        options.path,
        timeout=options.busy.total_seconds(),
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.set_trace_callback(options.trace)
        _prepare(connection, options)
    except BaseException:
        connection.close()
        raise
    return Database(connection, tally, in_memory=in_memory)


def _make_file(path: Path) -> None:
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    # SQLite makes the contents durable; the names leading to them are ours.
    for folder in (path.parent, *(made.parent for made in missing)):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _prepare(connection: sqlite3.Connection, options: Options) -> None:
    _check_version(connection, options.path)
    _until_free(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone(), options.busy)
    # On macOS plain fsync does not reach the disk; elsewhere this changes nothing.
    connection.execute("PRAGMA fullfsync = 1")
    connection.execute("BEGIN IMMEDIATE")
    # Again, now that no other process can be making the schema.
    if _check_version(connection, options.path) == 0:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    for statement in _statements(files("engine.stores").joinpath("schema.sql").read_text("utf-8")):
        connection.execute(statement)
    connection.execute("COMMIT")


def _check_version(connection: sqlite3.Connection, path: str) -> int:
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise StoreVersionError(f"{path} is not a Holdshort store: {error}") from error
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreVersionError(f"{path} is a database of something else than Holdshort")
    if version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{path} has schema {version}; this Holdshort knows {SCHEMA_VERSION}: upgrade it"
        )
    if application == APPLICATION_ID and version < SCHEMA_VERSION:
        raise StoreVersionError(
            f"{path} has schema {version}, which was never released; this Holdshort knows "
            f"{SCHEMA_VERSION}: end its runs with the Holdshort that made it, and name a new file"
        )
    return int(version)


def _statements(script: str) -> Iterator[str]:
    # executescript would commit the transaction that the schema is made in.
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _until_free(attempt: Callable[[], object], busy: timedelta) -> None:
    # SQLite does not wait (its busy timeout does not apply) when several processes turn a new
    # file to WAL at once.
    until = time.monotonic() + busy.total_seconds()
    while True:
        try:
            attempt()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_BUSY_STEP_S)
        else:
            return
