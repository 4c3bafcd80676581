"""Moving to another store from the terminal."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot import store_copy
from engine import Run, RunStatus
from engine.store import RunFilter
from engine.stores import SqliteStore
from tests.bot.cli.conftest import SECRET, Serving, Terminal
from tests.contracts.redis_stores import open_redis_store
from tests.factories import (
    make_change,
    make_ended,
    make_newer,
    make_next,
    make_parked,
    make_run,
)
from tests.servers.fixtures import Start
from tests.servers.process import ServerProcess


def put(path: Path, *changes: Any) -> None:
    """Make some commits in a file."""

    async def work() -> None:
        store = SqliteStore(path)
        for change in changes:
            await store.commit(change)
        await store.close()

    asyncio.run(work())


def kept(url: str) -> list[Run]:
    """Return the runs of a server, oldest first."""

    async def work() -> list[Run]:
        store = open_redis_store(url)
        page = await store.list_runs(RunFilter(), 99)
        await store.close()
        return list(page.runs[::-1])

    return asyncio.run(work())


def some(path: Path, count: int) -> list[Run]:
    """Put runs in a file: the first waits, the second has ended."""
    runs = [make_run(place) for place in "0123456789"[:count]]
    put(path, *(make_change(run) for run in runs))
    runs[0], runs[1] = make_parked(runs[0]), make_ended(runs[1])
    put(path, make_change(runs[0], opened=runs[0].tickets), make_change(runs[1]))
    return runs


def test_every_run_is_copied_in_order_and_told(
    terminal: Terminal, path: Path, redis_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_copy, "_PAGE", 2)
    runs = some(path, 5)

    said = terminal("store", "copy", f"sqlite:///{path}", redis_server.tcp_url)

    assert (said.status, said.err) == (0, "")
    copied, following = said.out.splitlines()
    assert copied == "Copied 5 runs (1 waiting); verified."
    assert following.startswith(f"Now point HOLDSHORT_STORE_URL at {redis_server.tcp_url}")
    assert kept(redis_server.url) == runs


def test_a_copy_goes_on_where_it_was(
    terminal: Terminal, path: Path, redis_server: ServerProcess
) -> None:
    some(path, 2)
    terminal("store", "copy", f"sqlite:///{path}", redis_server.url)
    put(path, make_change(make_run("a")))

    said = terminal("store", "copy", f"sqlite:///{path}", redis_server.url)

    assert said.out.splitlines()[0] == "Copied 1 run (0 waiting); verified. 2 were there already."


def test_and_back(terminal: Terminal, path: Path, redis_server: ServerProcess) -> None:
    runs = some(path, 3)
    back = path.with_name("back.db")
    terminal("store", "copy", f"sqlite:///{path}", redis_server.url)

    said = terminal("store", "copy", redis_server.url, f"sqlite:///{back}")

    assert said.out.splitlines() == [
        "Copied 3 runs (1 waiting); verified.",
        f"Now point HOLDSHORT_STORE_URL at sqlite:///{back} and serve from there alone.",
    ]
    again = terminal("store", "copy", f"sqlite:///{back}", f"sqlite:///{path}")
    assert again.out.startswith(f"Copied 0 runs (0 waiting); verified. {len(runs)} were there")


def test_a_run_that_went_on_in_one_of_the_stores_stops_the_copy(
    terminal: Terminal, path: Path, redis_server: ServerProcess
) -> None:
    runs = some(path, 2)
    terminal("store", "copy", f"sqlite:///{path}", redis_server.url)
    put(path, make_change(make_next(runs[0])))

    said = terminal("store", "copy", f"sqlite:///{path}", redis_server.url)

    assert (said.status, said.out) == (1, "")
    assert f"stopped at run {runs[0].id}: it is in both stores and not the same" in said.err
    assert kept(redis_server.url) == runs


def test_runs_that_cannot_be_read_are_named_and_the_others_copied(
    terminal: Terminal, path: Path, redis_server: ServerProcess
) -> None:
    runs = some(path, 4)
    put(path, make_change(make_next(make_newer(runs[2]))))

    said = terminal("store", "copy", f"sqlite:///{path}", redis_server.url)

    assert said.status == 1
    assert said.err.startswith(f"holdshort: not copied: run {runs[2].id}: the run cannot be read")
    assert said.out.splitlines()[0] == "Copied 3 runs (1 waiting); verified."
    assert kept(redis_server.url) == [runs[0], runs[1], runs[3]]


def test_runs_of_before_ids_had_a_place_stop_the_copy_to_a_server(
    terminal: Terminal, path: Path, redis_server: ServerProcess
) -> None:
    old = make_run()
    put(path, make_change(old))

    said = terminal("store", "copy", f"sqlite:///{path}", redis_server.url)

    assert said.status == 1
    assert f"stopped at run {old.id}" in said.err
    assert "an earlier Holdshort made it" in said.err


def test_while_runs_are_worked_on_nothing_is_copied(
    terminal: Terminal, path: Path, redis_server: ServerProcess, serving: Serving
) -> None:
    serving.queue()

    async def claim() -> None:
        store = SqliteStore(path)
        assert await store.claim("worker", timedelta(minutes=5)) is not None
        await store.close()

    asyncio.run(claim())
    said = terminal("store", "copy", f"sqlite:///{path}", redis_server.url)

    assert said.status == 1
    assert "stop the processes that serve FROM" in said.err
    assert kept(redis_server.url) == []


def test_an_unfit_server_is_refused(terminal: Terminal, path: Path, start_server: Start) -> None:
    some(path, 2)
    server = start_server(conf={"appendonly": "no"})

    said = terminal("store", "copy", f"sqlite:///{path}", server.url)

    assert said.status == 2
    assert "appendonly yes" in said.err
    assert server.ask("DBSIZE") == 0


def test_from_an_unfit_server_runs_are_copied(
    terminal: Terminal, path: Path, start_server: Start
) -> None:
    server = start_server(conf={"appendonly": "no"})
    some(path, 2)

    async def fill() -> None:
        old, new = SqliteStore(path), open_redis_store(server.url)
        await store_copy.copy_runs(old, new, lambda _done, _total: None)
        await old.close()
        await new.close()

    asyncio.run(fill())
    away = path.with_name("away.db")

    assert terminal("store", "copy", server.url, f"sqlite:///{away}").status == 0


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("memory:", "sqlite:///x"), 2, "FROM is in the memory of one process"),
        (("sqlite:///none.db", "sqlite:///x"), 2, "there is no file none.db"),
        (("mysql://u:word@host/db", "sqlite:///x"), 2, "'mysql', which is no store"),
        (("sqlite:///x", "sqlite:///x"), 2, "names the store that FROM names"),
        (("redis://u:word@127.0.0.1:1", "sqlite:///x"), 2, "FROM names a store that cannot be"),
    ],
)
def test_what_cannot_be_copied_is_told_without_a_password(
    terminal: Terminal, words: tuple[str, str], status: int, told: str
) -> None:
    said = terminal("store", "copy", *words)

    assert said.status == status
    assert told in said.err.replace("Invalid value for ", "").replace(": is in", " is in")
    assert "word@" not in said.err + said.out
    assert not Path("x").exists()


def test_a_server_without_a_store_is_not_made_one(
    terminal: Terminal, redis_server: ServerProcess
) -> None:
    said = terminal("store", "copy", redis_server.url, "sqlite:///x")

    assert said.status == 2
    assert "holds none" in said.err
    assert redis_server.ask("DBSIZE") == 0


def test_passwords_are_in_nothing_that_is_printed(
    terminal: Terminal, path: Path, start_server: Start
) -> None:
    server = start_server(tcp=True, conf={"requirepass": "wordofhonour"})
    url = server.tcp_url.replace("://", "://:wordofhonour@")
    some(path, 2)

    there = terminal("store", "copy", f"sqlite:///{path}", url)
    back = terminal("store", "copy", url, f"sqlite:///{path}")

    assert (there.status, back.status) == (0, 0)
    assert "wordofhonour" not in there.out + there.err + back.out + back.err
    assert SECRET not in there.out
    assert RunStatus.WAITING in {run.status for run in kept(url)}
