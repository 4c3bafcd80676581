"""The budget of a cycle: each full commit is an fsync, so their number is fixed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.stores import SqliteStore
from tests.bench.sqlite_column import SqliteColumn
from tests.bench.workload import Workload


async def test_a_cycle_is_six_full_commits_and_two_lite_ones(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite")
    workload = Workload(store)
    await workload.cycles(1)
    before = store.counters

    await workload.cycles(3)

    after = store.counters
    await store.close()
    assert after.full_commits - before.full_commits == 3 * 6
    assert after.lite_commits - before.lite_commits == 3 * 2


@pytest.mark.parametrize("tasks", [1, 5])
async def test_the_replay_does_the_same_writes_as_the_engine(tmp_path: Path, tasks: int) -> None:
    column = SqliteColumn()
    workload = Workload(column.open(tmp_path))

    with column.taping() as tape:
        await workload.cycles(10, tasks)
    async with column.replaying(tmp_path) as replay:
        await replay.play(tape)

    await workload.store.close()
    assert rows(tmp_path / "replay.sqlite") == rows(tmp_path / "engine.sqlite")


def rows(path: Path) -> dict[str, int]:
    """Return how many rows each table has."""
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
            for (name,) in tables
        }
