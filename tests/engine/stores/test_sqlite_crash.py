"""A process that is killed loses nothing that it was told is committed."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from engine.ids import RunId
from engine.store import RunFilter
from engine.stores import SqliteStore
from tests.engine.stores.commit_stream import STEPS

ROOT = Path(__file__).parents[3]
LANES = 4

pytestmark = pytest.mark.crash


def streaming(path: Path, ledger: Path, name: str) -> "subprocess.Popen[str]":
    """Start a process that commits without end."""
    command = [sys.executable, "-m", "tests.engine.stores.commit_stream"]
    arguments = [str(path), str(ledger), name]
    return subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def kill_after(process: "subprocess.Popen[str]", commits: int) -> None:
    """Kill a process without warning once it has reported so many commits."""
    with process:
        assert process.stdout is not None
        for _ in range(commits):
            assert process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


def acknowledged(ledger: Path) -> dict[RunId, int]:
    """Return the last version of each run that the store said it has."""
    versions: dict[RunId, int] = defaultdict(int)
    for line in ledger.read_text("utf-8").splitlines():
        run, version = line.split()
        versions[RunId(run)] = max(versions[RunId(run)], int(version))
    return versions


async def check(path: Path, versions: dict[RunId, int]) -> int:
    """Read what is there; return how many commits there are beyond those acknowledged."""
    store = SqliteStore(path)
    beyond = 0
    for run, version in versions.items():
        found = (await store.load(run)).run
        assert found.version >= version
        beyond += found.version - version
        # What belongs to a version came with it.
        steps = min(found.version - 1, STEPS)
        assert [record.entry for record in await store.records(run)] == list(range(steps + 1))
        assert [event.seq for event in await store.events(run)] == list(range(1, steps + 1))
        (card,) = await store.cards(run)
        assert card.wanted == steps + 1
    listed = await store.list_runs(RunFilter(), 100_000)
    beyond += len({run.id for run in listed.runs} - set(versions))
    await store.close()
    return beyond


def intact(path: Path) -> list[tuple[str]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()


def test_what_was_acknowledged_outlives_the_process(tmp_path: Path) -> None:
    path, ledger = tmp_path / "store.db", tmp_path / "ledger"
    for turn, commits in enumerate((1, 60, 137)):
        kill_after(streaming(path, ledger, f"turn{turn}"), commits)
        versions = acknowledged(ledger)

        beyond = asyncio.run(check(path, versions))

        assert sum(versions.values()) >= commits
        # Each lane may have had one commit taken that it was not told of, in every turn.
        assert beyond <= LANES * (turn + 1)
        assert intact(path) == [("ok",)]


def test_two_processes_on_one_file_do_not_lose_each_others_commits(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    ledgers = [tmp_path / name for name in ("one", "two")]
    processes = [streaming(path, ledger, ledger.name) for ledger in ledgers]
    kill_after(processes[0], 80)
    kill_after(processes[1], 80)

    versions: dict[RunId, int] = defaultdict(int)
    for ledger in ledgers:
        for run, version in acknowledged(ledger).items():
            versions[run] = max(versions[run], version)

    assert asyncio.run(check(path, versions)) <= 2 * LANES
    assert intact(path) == [("ok",)]
