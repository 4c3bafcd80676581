"""Finding secrets in what tests leave behind: of which kind they are and where, never which."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

# Taken here, because whoever watches connections replaces it.
from sqlite3 import Connection, Error, connect

from engine.stores.packing import unpack

_FORMATS = {
    # engine.tokens: the claims begin with the version and the key. Without the signature, so that
    # a token which some output wrapped or cut is found too.
    "resume token": re.compile(rb"eyJ2IjoxLCJrIjoi[\w-]{16,}(?:\.[\w-]+)?"),
    "slack token": re.compile(rb"\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{6,}"),
}
_MIN_CHARS = 12
_MIN_LETTERS = 6  # "ssss..." is a secret to a test, and a word that any test may write
_KEPT = 100  # each is looked for in all that a test leaves; a test makes a few, wider fixtures too


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret of some kind, where none should be."""

    kind: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind} in {self.place}"


class Secrets:
    """What must not be found: tokens by their format, other secrets by their value."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def learn(self, kind: str, value: str) -> None:
        """Take a secret to look for, unless it is too plain to be told from ordinary text.

        The latest hundred are looked for.
        """
        data = value.encode("utf-8", "surrogatepass")
        plain = len(value) < _MIN_CHARS or len(set(value)) < _MIN_LETTERS
        if plain or any(form.fullmatch(data) for form in _FORMATS.values()):
            return
        self._known[data] = self._known.pop(data, kind)
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]

    def kinds_in(self, data: bytes) -> set[str]:
        """Return the kinds of secrets in this."""
        formed = {kind for kind, form in _FORMATS.items() if form.search(data)}
        return formed | {kind for value, kind in self._known.items() if value in data}

    def leaks(self, place: str, data: bytes) -> list[Leak]:
        """Return a leak of this place for each kind of secret in it."""
        return [Leak(kind, place) for kind in sorted(self.kinds_in(data))]

    def mask(self, text: str) -> str:
        """Return the text with the kind of each secret in place of the secret."""
        data = text.encode("utf-8", "surrogatepass")
        for value, kind in self._known.items():
            data = data.replace(value, f"[{kind}]".encode())
        for kind, form in _FORMATS.items():
            data = form.sub(f"[{kind}]".encode(), data)
        return data.decode("utf-8", "surrogatepass")

    def leaks_of_files(self, folder: Path, files: list[Path]) -> list[Leak]:
        """Return what is in these files of a folder: in their bytes, and in databases by table."""
        found = []
        for file in files:
            name, data = str(file.relative_to(folder)), file.read_bytes()
            found += self.leaks(name, data)
            if data.startswith(b"SQLite format 3\0"):
                found += self.leaks_of_database(file, name)
        return found

    def leaks_of_database(self, file: Path, name: str) -> list[Leak]:
        """Return what is in the tables: a value that spans pages is in no one place of the file."""
        try:
            with closing(connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
                return self.leaks_of_tables(connection, name)
        except Error:
            return []  # damaged on purpose; its bytes have been read

    def leaks_of_tables(self, connection: Connection, name: str) -> list[Leak]:
        """Return what is in the tables of an open database."""
        return [
            leak
            for table, data in _tables(connection)
            for leak in self.leaks(f"{name}, table {table}", data)
        ]


def files_in(folder: Path) -> list[Path]:
    """Return every regular file below a folder."""
    return [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink()]


def _tables(connection: Connection) -> Iterator[tuple[str, bytes]]:
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in names:
        rows = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a name from the schema
        yield table, b"\0".join(_data(value) for row in rows for value in row)


def _data(value: str | bytes | float | None) -> bytes:
    match value:
        case bytes():
            return value + b"\0" + unpack(value).encode()
        case str():
            return value.encode()
        case _:
            return b""
