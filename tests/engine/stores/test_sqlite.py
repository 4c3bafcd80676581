"""What SqliteStore promises beyond the port: other processes, a loop never blocked, durability."""

import asyncio
import sqlite3
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StoreUnavailableError, UndecodableRecordError
from engine.store import ClaimEffect
from engine.stores import SqliteStore
from engine.stores.packing import pack
from tests.contracts.play import LEASE, LONG, Play
from tests.engine.stores.conftest import Opener
from tests.factories import HeldClock, make_card_key, make_next, make_receipt

ROOT = Path(__file__).parents[3]
SOON = LONG.total_seconds() / 2
SHORT = timedelta(milliseconds=20)


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Write to the file without end, as another process would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


# Other processes on the same file.


async def test_a_commit_through_another_connection_wakes_those_who_wait(
    play: Play, store: SqliteStore, opened: Opener, clock: HeldClock
) -> None:
    mark = store.mark()
    assert await store.claim("worker", LEASE) is None

    run = await Play(opened(), clock).start()

    async with asyncio.timeout(SOON):
        await store.wait(LONG, mark)
    assert await play.next_ready() == run.id


async def test_a_commit_of_another_process_wakes_those_who_wait(
    play: Play, store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    assert await store.claim("worker", LEASE) is None
    waiting = asyncio.create_task(store.wait(LONG, store.mark()))
    arguments = ("-m", "tests.engine.stores.commit_stream", path, tmp_path / "ledger", "name")

    other = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.DEVNULL
    )

    async with asyncio.timeout(SOON):
        await waiting
    other.kill()
    await other.wait()
    assert play.store.mark() > 0


async def test_a_wait_does_not_take_a_writer_for_two(
    store: SqliteStore, opened: Opener, clock: HeldClock
) -> None:
    assert await store.claim("worker", LEASE) is None
    mark = store.mark()
    await Play(opened(), clock).start()
    await store.wait(LONG, mark)

    await store.wait(SHORT * 10, store.mark())

    assert store.mark() == mark + 1


async def test_a_run_goes_to_one_of_those_who_claim_it_at_once(play: Play, opened: Opener) -> None:
    stores = [opened() for _ in range(4)]
    for turn in range(10):
        await play.start(concurrency_key="key" if turn % 2 else "")
        taken = await asyncio.gather(*(one.claim("worker", LEASE) for one in stores))
        (claimed,) = [one for one in taken if one is not None]
        await play.end(*claimed)


class Overtaken:
    """Lets another store act between a claim's reading and its taking."""

    def __init__(self, other: Callable[[], Coroutine[Any, Any, object]]) -> None:
        self.other = other
        self.loop = asyncio.get_running_loop()
        self.read = False
        self.times = 0

    def __call__(self, statement: str) -> None:
        if "ORDER BY ready_at" in statement:
            self.read = True
        elif self.read and not self.times:
            self.times += 1
            asyncio.run_coroutine_threadsafe(self.other(), self.loop).result(SOON)


@pytest.mark.parametrize("key", ["", "key"])
async def test_a_claim_that_was_overtaken_takes_the_next(
    play: Play, opened: Opener, key: str
) -> None:
    await play.start(concurrency_key=key)
    second = await play.start()
    overtaken = Overtaken(play.claim)

    taken = await opened(trace=overtaken).claim("overtaken", LEASE)

    assert overtaken.times == 1
    assert taken is not None
    assert taken[0] == second


async def test_a_claim_of_a_key_that_went_to_another_run_is_not_made(
    play: Play, opened: Opener
) -> None:
    await play.start(concurrency_key="key")

    async def overtake() -> None:
        urgent = await play.start(concurrency_key="key", priority=9)
        assert await play.next_ready() == urgent.id

    overtaken = Overtaken(overtake)

    assert await opened(trace=overtaken).claim("overtaken", LEASE) is None
    assert overtaken.times == 1


async def test_a_claim_of_a_run_that_changed_meanwhile_returns_it_as_it_is(
    play: Play, opened: Opener
) -> None:
    later = make_next(await play.start())
    overtaken = Overtaken(lambda: play.commit(later))

    taken = await opened(trace=overtaken).claim("overtaken", LEASE)

    assert overtaken.times == 1
    assert taken is not None
    assert taken[0] == later


async def test_a_card_goes_to_one_of_those_who_take_it_at_once(play: Play, opened: Opener) -> None:
    stores = [opened() for _ in range(4)]
    for _ in range(10):
        await play.raised()
        taken = await asyncio.gather(*(one.take_cards("courier", LEASE, 5) for one in stores))
        ((card,),) = [cards for cards in taken if cards]
        await play.store.card_shown(card, 1, make_receipt())


async def test_commits_of_many_stores_to_one_run_conflict_or_follow_each_other(
    play: Play, opened: Opener, clock: HeldClock
) -> None:
    run = await play.start()
    plays = [Play(opened(), clock) for _ in range(4)]

    outcomes = await asyncio.gather(
        *(one.commit(make_next(run)) for one in plays), return_exceptions=True
    )

    assert sum(not isinstance(outcome, BaseException) for outcome in outcomes) == 1


async def test_a_file_that_stays_locked_is_unavailable_in_time(
    path: Path, opened: Opener, clock: HeldClock
) -> None:
    play = Play(opened(busy=SHORT), clock)
    run, claim = await play.claimed()
    store = play.store
    began = time.monotonic()
    with locked(path):
        for refused in (play.commit(make_next(run)), store.heartbeat(claim, LEASE), play.start()):
            with pytest.raises(StoreUnavailableError):
                await refused
        assert (await store.load(run.id)).run == run

    assert time.monotonic() - began < SOON
    assert (await play.commit(make_next(run), claim)).version == 2


async def test_the_loop_goes_on_while_a_write_waits_for_the_file(
    play: Play, store: SqliteStore, path: Path
) -> None:
    run = await play.start()
    with locked(path) as other:
        commit = asyncio.create_task(play.commit(make_next(run)))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not commit.done()
        other.execute("ROLLBACK")

    assert (await commit).version == 2


# Callers that are cancelled.


async def statement_begun(store: SqliteStore) -> threading.Event:
    """Return what is set once the store runs a statement."""
    begun = threading.Event()
    await store._thread.run(
        lambda database: database._connection.set_trace_callback(lambda _: begun.set())
    )
    return begun


async def cancelled(
    store: SqliteStore, path: Path, work: Coroutine[Any, Any, object], when: str
) -> None:
    """Cancel some work while it waits for the file, or when it is done and not yet returned."""
    begun = await statement_begun(store)
    task = asyncio.create_task(work)
    if when == "under way":
        with locked(path):
            assert await asyncio.to_thread(begun.wait, SOON)
            task.cancel()
            await asyncio.wait((task,))
    else:
        await asyncio.sleep(0)
        done = threading.Event()
        store._thread.forget(lambda _: done.set())
        assert done.wait(SOON)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
    assert task.cancelled()


MOMENTS = pytest.mark.parametrize("when", ["under way", "done"])


@MOMENTS
async def test_a_cancelled_commit_is_made_whole_and_wakes_others(
    play: Play, store: SqliteStore, path: Path, when: str
) -> None:
    run = await play.start()
    mark = store.mark()

    await cancelled(store, path, play.commit(make_next(run)), when)

    loaded = await store.load(run.id)
    assert loaded.run.version == 2
    assert store.mark() == mark + 1
    assert (await play.commit(make_next(loaded.run))).version == 3


@MOMENTS
async def test_a_cancelled_claim_is_given_back(
    play: Play, store: SqliteStore, path: Path, when: str
) -> None:
    run = await play.start()
    await cancelled(store, path, store.claim("worker", LEASE), when)
    await store.load(run.id)

    taken, claim = await play.claim()

    assert taken == run
    assert (claim.fence, claim.losses) == (2, 0)


async def test_a_cancelled_commit_that_fails_is_forgotten(
    play: Play, store: SqliteStore, path: Path
) -> None:
    run = await play.start()

    await cancelled(store, path, play.commit(make_next(run, version=9)), "under way")

    assert (await store.load(run.id)).run == run


async def test_closing_lets_what_was_asked_end(opened: Opener, clock: HeldClock) -> None:
    play = Play(opened(), clock)
    starts = [asyncio.create_task(play.start()) for _ in range(5)]
    await asyncio.sleep(0)

    await play.store.close()

    started = await asyncio.gather(*starts)
    again = opened()
    assert [(await again.load(run.id)).run for run in started] == started


# What survives what.


async def test_commits_wait_for_the_disk_and_claims_do_not(
    opened: Opener, clock: HeldClock
) -> None:
    statements: list[str] = []
    play = Play(opened(trace=statements.append), clock)
    run = await play.raised()
    _, claim = await play.claim()
    card = await play.take()
    await play.store.heartbeat(claim, LEASE)
    await play.store.card_shown(card, 1, make_receipt())
    await play.commit(make_next(run), claim)
    await play.store.release(claim)

    assert levels(statements) == {
        "new runs": {"FULL"},
        "new cards": {"FULL"},
        "runs.version": {"FULL"},
        "runs.worker": {"NORMAL"},
        "runs.ready_at": {"NORMAL"},
        "cards.fence": {"NORMAL"},
        "cards.shown": {"NORMAL"},
    }


def levels(statements: list[str]) -> dict[str, set[str]]:
    """Return under which level of synchronous each kind of write to runs and cards was made."""
    level = ""
    found: dict[str, set[str]] = defaultdict(set)
    for words in map(str.split, statements):
        match words:
            case ["PRAGMA", "synchronous", "=", now]:
                level = now
            case ["INSERT", "INTO", "runs" | "cards" as table, *_]:
                found[f"new {table}"].add(level)
            case ["UPDATE", "runs" | "cards" as table, "SET", column, *_]:
                found[f"{table}.{column}"].add(level)
    return found


# Waking.


@pytest.mark.parametrize(
    ("effect", "cards", "rung"),
    [
        (ClaimEffect.KEEP, 0, 0),
        (ClaimEffect.KEEP, 1, 1),
        (ClaimEffect.RELEASE, 0, 1),
        (ClaimEffect.NONE, 0, 1),
    ],
)
async def test_a_commit_wakes_others_unless_the_worker_goes_on_and_no_card_is_behind(
    play: Play, store: SqliteStore, effect: ClaimEffect, cards: int, rung: int
) -> None:
    run, claim = await play.claimed()
    mark = store.mark()

    raised = (make_card_key(run),) * cards
    await play.commit(make_next(run), claim, claim=effect, raised=raised)

    assert store.mark() - mark == rung


# Damage.


async def test_a_damaged_row_is_named_and_what_it_held_is_not_repeated(
    path: Path, opened: Opener, clock: HeldClock
) -> None:
    reported: list[UndecodableRecordError] = []
    store = opened(on_undecodable=reported.append)
    play = Play(store, clock)
    run, other = await play.start(), await play.start()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        damage = "UPDATE runs SET body = ? WHERE id = ?"
        connection.execute(damage, (pack('{"my": "secret"'), run.id))

    with pytest.raises(UndecodableRecordError) as refused:
        await store.load(run.id)
    assert await play.next_ready() == other.id
    for error in (refused.value, *reported):
        assert run.id in str(error)
        assert "secret" not in str(error)


async def test_a_record_of_an_unknown_kind_is_named_by_its_run(
    play: Play, store: SqliteStore, path: Path
) -> None:
    run = await play.start()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO records VALUES (1, 0, 'thought', 0, ?)", (pack("{}"),))
        connection.execute("UPDATE commits SET events = ?, last_seq = 1", (pack("[{}]"),))

    with pytest.raises(UndecodableRecordError, match=run.id):
        await store.records(run.id)
    with pytest.raises(UndecodableRecordError, match=run.id):
        await store.events(run.id)
