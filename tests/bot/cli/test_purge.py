"""Removing old runs from the terminal."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from bot.cli import purge
from engine.ids import utc_now
from engine.stores import SqliteStore
from tests.bot.cli.conftest import ALICE, Terminal
from tests.factories import make_change, make_ended, make_newer, make_run


def keep(path: Path, *, age: timedelta, ended: bool = True, readable: bool = True) -> str:
    """Store a run that ended, or has been waiting for a worker, for so long."""
    run = make_run()

    async def work() -> None:
        store = SqliteStore(path, clock=lambda: utc_now() - age)
        await store.commit(make_change(run))
        if ended:
            end = make_ended(run)
            await store.commit(make_change(end if readable else make_newer(end)))
        await store.close()

    asyncio.run(work())
    return run.ref


def refs(terminal: Terminal) -> str:
    return terminal("runs", "list", operator=ALICE).out


def test_runs_that_ended_long_ago_go_and_the_others_stay(terminal: Terminal, path: Path) -> None:
    old = keep(path, age=timedelta(days=91))
    live = keep(path, age=timedelta(days=400), ended=False)
    young = keep(path, age=timedelta(days=89))

    said = terminal("purge", "--older-than", "90d")

    assert (said.status, said.out) == (0, "Removed 1 run that ended more than 90d ago.\n")
    assert old not in refs(terminal)
    assert live in refs(terminal)
    assert young in refs(terminal)


def test_a_dry_run_says_how_many_and_removes_nothing(terminal: Terminal, path: Path) -> None:
    names = [keep(path, age=timedelta(days=8)) for _ in range(2)]

    said = terminal("purge", "--older-than", "1w", "--dry-run")

    assert said.out == "Would remove 2 runs that ended more than 1w ago.\n"
    assert all(name in refs(terminal) for name in names)


def test_those_that_cannot_be_read_are_counted(terminal: Terminal, path: Path) -> None:
    keep(path, age=timedelta(days=8))
    keep(path, age=timedelta(days=8), readable=False)

    planned = terminal("purge", "--older-than", "1w", "--dry-run")
    done = terminal("purge", "--older-than", "1w")

    said = "2 runs that ended more than 1w ago; 1 of them could not be read.\n"
    assert (planned.out, done.out) == (f"Would remove {said}", f"Removed {said}")
    assert done.err == ""


def test_more_than_one_batch_goes(
    terminal: Terminal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "BATCH", 2)
    for _ in range(3):
        keep(path, age=timedelta(hours=13))

    assert "Removed 3 runs" in terminal("purge", "--older-than", "12h").out


@pytest.mark.parametrize("age", ["90", "d", "0d", "-1d", "90 days", "1.5d", "9999999h"])
def test_an_age_that_is_none_is_refused(terminal: Terminal, age: str) -> None:
    said = terminal("purge", f"--older-than={age}")

    assert said.status == 2
    assert "say an age such as 12h, 90d or 26w" in said.err
