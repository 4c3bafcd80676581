"""When a look at the log has the database asked; the looks are made by hand."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.stores.sqlite_watch import ASK_EVERY, Watch, log_of


class Watched:
    """A watch on a database, and how often it asked."""

    def __init__(self, path: Path, writer: sqlite3.Connection) -> None:
        self.path = path
        self.writer = writer
        self.asked = 0
        self.watch = Watch(log_of(path), self._count)

    def _count(self) -> None:
        self.asked += 1

    def write(self) -> None:
        """Commit something, as another process would."""
        self.writer.execute("INSERT INTO facts VALUES (1)")

    def asks(self, looks: int) -> int:
        """Look so many times, and return how many of them asked."""
        before = self.asked
        for _ in range(looks):
            self.watch.look()
        return self.asked - before


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Give one that has seen what was there at first."""
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE facts (fact INTEGER)")
        found = Watched(path, writer)
        assert found.asks(3) == 2
        yield found


def test_looks_at_a_quiet_file_seldom_ask(watched: Watched) -> None:
    assert watched.asks(ASK_EVERY - 2) == 0
    assert watched.asks(ASK_EVERY) == 1


def test_the_first_look_after_a_commit_asks_and_so_does_the_next(watched: Watched) -> None:
    watched.write()

    assert [watched.asks(1) for _ in range(3)] == [1, 1, 0]


def test_a_commit_that_overwrites_the_log_in_place_is_seen(watched: Watched) -> None:
    watched.write()
    watched.asks(3)
    size = log_of(watched.path).stat().st_size
    watched.writer.execute("PRAGMA wal_checkpoint(RESTART)")
    os.utime(log_of(watched.path), ns=(0, 0))
    watched.asks(3)

    watched.write()

    assert log_of(watched.path).stat().st_size == size
    assert watched.asks(1) == 1


def test_a_commit_within_the_same_step_of_the_file_times_is_asked_about(watched: Watched) -> None:
    watched.write()
    assert watched.asks(1) == 1
    told = log_of(watched.path).stat()
    watched.writer.execute("PRAGMA wal_checkpoint(RESTART)")
    watched.write()
    os.utime(log_of(watched.path), ns=(told.st_atime_ns, told.st_mtime_ns))
    assert log_of(watched.path).stat().st_size == told.st_size

    assert watched.asks(1) == 1


def test_a_log_that_is_not_there_yet_is_seen_when_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    asked: list[bool] = []
    watch = Watch(log_of(path), lambda: asked.append(True))
    watch.look()
    assert not asked

    log_of(path).touch()
    watch.look()

    assert asked == [True]


async def test_looks_go_on_until_the_last_who_waits_is_gone(watched: Watched) -> None:
    watch = watched.watch
    with watch.watching():
        with watch.watching():
            only = watch._timer
        assert watch._timer is only is not None

    assert watch._timer is None
    assert only.cancelled()
