"""The file that a SqliteStore keeps: who may read it, which versions, and when it is closed."""

import asyncio
import gc
import os
import sqlite3
import stat
import threading
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from secrets import token_hex

import pytest

from engine.errors import ConfigurationError, StoreUnavailableError, StoreVersionError
from engine.runs import Run
from engine.store import RunFilter
from engine.stores import MemoryStore, SqliteStore
from engine.stores.sqlite_database import SCHEMA_VERSION, Options, Tally, open_database
from tests.contracts.play import LEASE, Play
from tests.engine.stores.conftest import Opener
from tests.factories import HeldClock, make_change, make_ended, make_rule, make_run


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path, text: str) -> None:
    path.write_text(text)


def contents(path: Path) -> bytes:
    return path.read_bytes()


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


async def test_the_file_and_the_folders_made_for_it_are_for_their_owner_only(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "made" / "for it"
    store = SqliteStore(folder / "store.db")
    await store.commit(make_change(make_run()))

    assert mode(folder) == mode(folder.parent) == 0o700
    assert [mode(file) for file in folder.iterdir()] == [0o600] * 3
    await store.close()


async def test_a_folder_and_a_file_that_were_there_keep_their_modes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    execute(path)
    for there, bits in ((tmp_path, 0o750), (path, 0o640)):
        os.chmod(there, bits)  # noqa: PTH101 - pathlib's is taken for a slow one
    store = SqliteStore(path)
    await store.next_due()
    await store.close()

    assert (mode(tmp_path), mode(path)) == (0o750, 0o640)


def test_a_store_does_nothing_before_it_is_asked(tmp_path: Path) -> None:
    before = threading.enumerate()
    SqliteStore(tmp_path / "store.db")
    MemoryStore()

    assert list(tmp_path.iterdir()) == []
    assert set(threading.enumerate()) <= set(before)


async def test_what_was_committed_is_there_when_the_file_is_opened_again(
    path: Path, opened: Opener
) -> None:
    run = make_run()
    first = opened()
    await first.commit(make_change(run))
    await first.close()

    assert [file.name for file in path.parent.iterdir()] == ["store.db"]
    assert (await opened().load(run.id)).run == run


async def test_a_file_of_a_newer_version_is_refused_and_left_alone(
    path: Path, opened: Opener
) -> None:
    first = opened()
    await first.next_due()
    await first.close()
    execute(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = contents(path)

    with pytest.raises(StoreVersionError, match=f"schema {SCHEMA_VERSION + 1}"):
        await opened().next_due()
    assert contents(path) == before


async def test_a_file_of_before_the_first_release_is_refused_and_left_alone(
    path: Path, opened: Opener
) -> None:
    first = opened()
    await first.next_due()
    await first.close()
    execute(path, "PRAGMA user_version = 1")
    before = contents(path)

    with pytest.raises(StoreVersionError, match=r"never released.*name a new file"):
        await opened().next_due()
    assert contents(path) == before


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE other (a)", "PRAGMA user_version = 1", "PRAGMA application_id = 1"],
)
async def test_a_database_of_something_else_is_refused_and_left_alone(
    path: Path, opened: Opener, statement: str
) -> None:
    execute(path, statement)
    before = contents(path)

    with pytest.raises(StoreVersionError, match="something else"):
        await opened().next_due()
    assert contents(path) == before


async def test_a_file_that_is_no_database_is_refused_and_left_alone(
    path: Path, opened: Opener
) -> None:
    write(path, "a letter to my aunt\n" * 1000)
    before = contents(path)

    with pytest.raises(StoreVersionError, match="not a Holdshort store"):
        await opened().next_due()
    assert contents(path) == before


async def test_an_sqlite_that_is_too_old_is_refused(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 9))

    with pytest.raises(ConfigurationError, match="too old"):
        await opened().next_due()


async def test_a_place_where_no_file_can_be_made_is_no_store(path: Path) -> None:
    write(path, "")
    store = SqliteStore(path / "store.db")

    with pytest.raises(StoreUnavailableError):
        await store.next_due()
    await store.close()


async def test_a_store_that_could_not_be_opened_is_opened_at_the_next_try(
    path: Path, opened: Opener
) -> None:
    store = opened(busy=timedelta(milliseconds=1))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailableError):
            await store.next_due()
        connection.execute("ROLLBACK")

    assert await store.next_due() is None


async def test_many_may_open_a_new_file_at_once(opened: Opener) -> None:
    runs = [make_run() for _ in range(6)]
    stores = [opened() for _ in runs]

    await asyncio.gather(
        *(store.commit(make_change(run)) for store, run in zip(stores, runs, strict=True))
    )

    for store in stores:
        for run in runs:
            assert (await store.load(run.id)).run == run


async def test_a_file_that_becomes_a_store_while_it_is_looked_at_is_one(path: Path) -> None:
    looked_at: list[str] = []

    def make_it_a_store(statement: str) -> None:
        if statement == "PRAGMA user_version" and not looked_at:
            looked_at.append(statement)
            # Where the one who looks keeps the file as it was, the other has to wait for that.
            with suppress(sqlite3.OperationalError):
                other = open_database(Options(str(path), timedelta(0)), Tally())
                other.close()

    store = SqliteStore(path, trace=make_it_a_store)

    assert await store.next_due() is None
    assert looked_at
    await store.close()


async def test_a_file_made_before_there_was_retention_is_given_what_that_needs(
    path: Path, opened: Opener, clock: HeldClock
) -> None:
    first = opened()
    await Play(first, clock).end(await Play(first, clock).start())
    await first.close()
    execute(path, "DROP INDEX runs_ended", "DROP INDEX keys_of_start")
    clock.move(days=1)

    assert await opened().purge(clock.now, 1) == 1


async def test_a_file_made_before_rules_were_remembered_keeps_them_and_its_runs_go_on(
    path: Path, opened: Opener, clock: HeldClock
) -> None:
    first = opened()
    parked = await Play(first, clock).parked()
    await first.close()
    execute(path, "DROP TABLE rules")
    rule = make_rule()

    later = opened()
    await later.rules.keep(rule)

    assert await later.rules.live(rule.agent, rule.owner) == (rule,)
    assert (await later.load(parked.id)).run == parked
    ended = make_ended(parked)
    assert (await later.commit(make_change(ended))).version == ended.version


async def test_a_full_disk_refuses_a_commit_and_the_store_goes_on(
    play: Play, store: SqliteStore
) -> None:
    run = await play.start()
    room = await store._thread.run(lambda database: database.one("PRAGMA page_count"))
    assert room is not None
    limit = f"PRAGMA max_page_count = {room[0]}"
    await store._thread.run(lambda database: database.one(limit))
    large = play.run(context=token_hex(500_000))

    with pytest.raises(StoreUnavailableError, match="full"):
        await play.commit(large)

    await store._thread.run(lambda database: database.one("PRAGMA max_page_count = 100000"))
    assert (await store.load(run.id)).run == run
    assert (await play.commit(large)).version == 1


async def test_reading_leaves_no_view_of_the_file_open(
    play: Play, store: SqliteStore, path: Path
) -> None:
    run = await play.parked()
    await play.raised()
    for _ in range(2):
        await play.start()
    await store.list_runs(everything := RunFilter(owner="UOWNER"), 1)
    await store.list_runs(everything, 1, (await store.list_runs(everything, 1)).cursor)
    await store.due(1)
    await store.events(run.id, 1)
    await store.next_due()
    await store.take_cards("courier", LEASE, 1)
    await play.next_ready()

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert busy == 0


def test_a_store_that_nobody_closed_ends_with_its_owner_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def use() -> threading.Thread:
        store = SqliteStore(path)
        before = threading.enumerate()
        await store.next_due()
        (thread,) = set(threading.enumerate()) - set(before)
        return thread

    gc.collect()
    gc.disable()
    try:
        thread = asyncio.run(use())
        thread.join(timeout=10)
    finally:
        gc.enable()

    assert not thread.is_alive()
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


def test_a_store_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    store, run = SqliteStore(tmp_path / "store.db"), make_run()

    asyncio.run(_commit(store, run))
    loaded = asyncio.run(store.load(run.id))
    asyncio.run(store.close())

    assert loaded.run == run


async def _commit(store: SqliteStore, run: Run) -> None:
    await store.commit(make_change(run))
