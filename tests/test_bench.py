"""A replay does what was taped; the page of figures says what was aimed at, each miss with a reason."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.bench.__main__ import targets
from tests.bench.columns import COLUMNS, Column
from tests.bench.figures import MOST_OTHERS
from tests.bench.sqlite_column import SqliteColumn
from tests.bench.tapes import Sent, play
from tests.bench.targets import Target
from tests.bench.workload import Workload
from tests.servers.binaries import has_wheel

PAGE = json.loads((Path(__file__).parents[1] / "docs" / "bench" / "bench.json").read_text())


async def test_a_replay_waits_for_as_many_answers_as_there_were_and_for_no_more() -> None:
    begun = [asyncio.Event() for _ in range(4)]
    back: list[int] = []
    seen: dict[int, int] = {}

    async def send(place: int) -> int:
        seen[place] = len(back)
        begun[place].set()
        if place == 0:
            await begun[1].wait()
        if place == 2:
            await begun[3].wait()
        back.append(place)
        return place

    _, others = await play([Sent(0, 0, 0), Sent(1, 0, 1), Sent(2, 2, 2), Sent(3, 2, 9)], send)

    assert seen == {0: 0, 1: 0, 2: 2, 3: 2}
    assert others == 1


async def test_a_replay_that_fails_says_so() -> None:
    async def send(_: object) -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        await play([Sent(None, 0), Sent(None, 0), Sent(None, 1)], send)


async def replayed(column: Column, folder: Path, tasks: int) -> tuple[int, int]:
    """Tape cycles and replay them; return how many things were sent, and other answers."""
    workload = Workload(column.open(folder))
    with column.taping() as first:
        await workload.cycles(1)
    with column.taping() as tape:
        await workload.cycles(2 * tasks, tasks)
    async with column.replaying(folder) as replay:
        await replay.play(first)
        _, others = await replay.play(tape)
    await workload.store.close()
    return len(tape), others


@pytest.mark.parametrize("tasks", [1, 5])
async def test_replayed_statements_leave_the_same_rows(tmp_path: Path, tasks: int) -> None:
    sent, _ = await replayed(SqliteColumn(), tmp_path, tasks)

    assert sent > tasks
    assert rows(tmp_path / "replay.sqlite") == rows(tmp_path / "engine.sqlite") != []


def rows(path: Path) -> list[tuple[str, ...]]:
    """Return all runs in a file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT id, status, version FROM runs ORDER BY id").fetchall()


@pytest.mark.skipif(not has_wheel(), reason="no Valkey in a wheel for this platform")
@pytest.mark.parametrize("tasks", [1, 5])
async def test_replayed_scripts_answer_as_they_did(tmp_path: Path, tasks: int) -> None:
    column = COLUMNS["valkey"]()
    try:
        sent, others = await replayed(column, tmp_path, tasks)
    finally:
        column.close()

    assert sent > 20 * tasks
    # What is due at a moment, or not yet, is each server's own.
    assert others <= MOST_OTHERS * sent


def test_a_target_is_judged_by_its_bound() -> None:
    assert [Target("a", "x", 2.0, value).met for value in (1.9, 2.0, 2.1)] == [True, True, False]
    least = [Target("a", "x", 2.0, value, most=False).met for value in (1.9, 2.0, 2.1)]
    assert least == [False, True, True]


def test_a_miss_is_told_with_its_reason_and_a_hit_without() -> None:
    told = [Target("a", "x", 2.0, value, why="so").as_json() for value in (1.0, 3.0)]

    assert [("why" in one, one["met"]) for one in told] == [(False, True), (True, False)]


def test_the_page_holds_ten_targets_and_more_each_with_all_that_it_says() -> None:
    assert len(PAGE["targets"]) >= 10
    for target in PAGE["targets"]:
        assert {"name", "unit", "target", "value", "met", "bound"} <= target.keys()


def test_the_page_judges_as_its_figures_say_and_explains_each_miss() -> None:
    for target in PAGE["targets"]:
        at_most = target["bound"] == "at most"
        inside = target["value"] <= target["target"]
        assert target["met"] is (inside if at_most else target["value"] >= target["target"])
        assert target["met"] or target["why"], target["name"]


def test_a_reason_is_told_with_the_figures_of_its_run() -> None:
    figures = {
        "cycle_to_replay": 2.5,
        "replay_ms": 4.0,
        "engine_ms": 10.0,
        "hops_per_cycle": 14.0,
    }
    (target,) = targets("sqlite", {"sequential": figures})

    assert target.why.startswith("A replay takes 4.0 of the engine's 10.0 ms.")
