"""The budget of a cycle: each full commit is an fsync, so their number is fixed."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.bench.cycle import Bench, Replay, per_cycle, tape_cycles


async def test_a_cycle_is_six_full_commits_and_two_lite_ones(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "store.sqlite")
    await bench.cycles(1)
    before = bench.store.counters

    await bench.cycles(3)

    cost = per_cycle(before, bench.store.counters, 3)
    await bench.store.close()
    assert (cost["full_commits"], cost["lite_commits"]) == (6, 2)


async def test_the_replay_does_the_same_writes_as_the_engine(tmp_path: Path) -> None:
    bench, replay = Bench(tmp_path / "engine.sqlite"), Replay(tmp_path / "replay.sqlite")

    tape, _ = await tape_cycles(bench, 2)
    await replay.play(tape)

    await bench.store.close()
    await replay.close()
    assert rows(tmp_path / "replay.sqlite") == rows(tmp_path / "engine.sqlite")


def rows(path: Path) -> dict[str, int]:
    """Return how many rows each table has."""
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
            for (name,) in tables
        }
