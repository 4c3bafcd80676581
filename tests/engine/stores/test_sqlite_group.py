"""Writes that queue up behind another share one transaction, and nobody pays for another's fault."""

import asyncio
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any

from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    IdempotencyConflictError,
    RunNotFoundError,
    StoreUnavailableError,
)
from engine.runs import Run
from engine.store import Done, Loaded, RunFilter
from engine.stores import Counters, SqliteStore
from engine.stores.sqlite_database import Database
from tests.contracts.play import LEASE, LONG, Play, due, keyed
from tests.engine.stores.conftest import Opener
from tests.engine.stores.test_sqlite import locked
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_next,
    make_receipt,
    make_record,
    make_run,
)

SOON = LONG.total_seconds() / 2
SHORT = timedelta(milliseconds=20)

Outcomes = list[Any]


@asynccontextmanager
async def held(store: SqliteStore) -> AsyncIterator[sqlite3.Connection]:
    """Keep the database thread busy, so that what is asked meanwhile queues up."""
    begun, go_on = threading.Event(), threading.Event()
    connections: list[sqlite3.Connection] = []

    def hold(database: Database) -> None:
        connections.append(database._connection)
        begun.set()
        go_on.wait(SOON)

    store._thread.forget(hold)
    assert await asyncio.to_thread(begun.wait, SOON)
    try:
        yield connections[0]
    finally:
        go_on.set()


async def queue(*work: Coroutine[Any, Any, Any]) -> list["asyncio.Task[Any]"]:
    """Ask all of it, in this order, and return when it is in the queue."""
    tasks = [asyncio.create_task(one) for one in work]
    await asyncio.sleep(0)
    return tasks


async def together(store: SqliteStore, *work: Coroutine[Any, Any, Any]) -> Outcomes:
    """Let work queue up behind something else; return how each of it ended."""
    async with held(store):
        tasks = await queue(*work)
    return await asyncio.gather(*tasks, return_exceptions=True)


def spent(before: Counters, after: Counters) -> tuple[int, int]:
    """Return full and lite commits."""
    return after.full_commits - before.full_commits, after.lite_commits - before.lite_commits


async def stored(store: SqliteStore, *runs: Run) -> list[int]:
    """Return the version of each run, 0 where it is not there."""
    versions = []
    for run in runs:
        try:
            versions.append((await store.load(run.id)).run.version)
        except RunNotFoundError:
            versions.append(0)
    return versions


async def test_commits_that_queue_up_wait_for_the_disk_once(play: Play, store: SqliteStore) -> None:
    runs = [play.run() for _ in range(20)]
    await store.next_due()
    before = store.counters

    done = await together(store, *(play.commit(run) for run in runs))

    assert spent(before, store.counters) == (1, 0)
    assert [one.version for one in done] == [1] * 20
    assert await stored(store, *runs) == [1] * 20


async def test_a_commit_alone_is_a_transaction_without_savepoints(
    opened: Opener, clock: HeldClock
) -> None:
    statements: list[str] = []
    await Play(opened(trace=statements.append), clock).start()

    assert not [one for one in statements if "SAVEPOINT" in one]


async def test_each_of_a_group_has_its_own_outcome(play: Play, store: SqliteStore) -> None:
    run, claim = await play.claimed()
    stale, taken = await play.start(), await play.start()
    answered = make_next(taken)
    new = play.run()
    lost = play.store.heartbeat(claim, LEASE)

    outcomes = await together(
        store,
        play.commit(make_next(run, version=7)),
        play.commit(new, records=(make_record(0),), raised=(make_card_key(new),)),
        play.commit(make_next(stale), claim),
        play.commit(answered, key=keyed(answered, body="one")),
        play.commit(answered, key=keyed(answered, body="other")),
        store.load(new.id),
        play.end(run, claim),
        lost,
        play.commit(make_next(stale)),
    )

    kinds = [type(one) if isinstance(one, Exception) else "done" for one in outcomes]
    assert kinds == [
        CommitConflictError,
        "done",
        ClaimLostError,
        "done",
        IdempotencyConflictError,
        "done",
        "done",
        ClaimLostError,
        "done",
    ]
    assert await stored(store, run, new, stale, taken) == [2, 1, 2, 2]


async def test_nothing_of_a_refused_change_is_written_with_the_group(
    play: Play, store: SqliteStore
) -> None:
    run, ref = await play.start(), make_run().ref
    refused = play.run(ref=run.ref)
    first, second = play.run(ref=ref), play.run(ref=ref)
    before = await play.reading(make_change(refused))

    outcomes = await together(
        store,
        play.commit(first),
        play.commit(refused, records=(make_record(0),), raised=(make_card_key(refused),)),
        play.commit(second),
    )

    assert [isinstance(one, Exception) for one in outcomes] == [False, True, True]
    assert await play.reading(make_change(refused)) == before
    assert await stored(store, first, refused, second) == [1, 0, 0]


async def test_a_group_keeps_the_order_in_which_it_was_asked(
    play: Play, store: SqliteStore
) -> None:
    run = play.run()
    second, third = make_next(run), make_next(make_next(run))

    outcomes = await together(
        store,
        store.load(run.id),
        play.commit(run),
        store.load(run.id),
        play.commit(second),
        play.commit(third),
        store.load(run.id),
    )

    assert isinstance(outcomes[0], RunNotFoundError)
    assert [outcomes[place].run.version for place in (2, 5)] == [1, 3]


async def test_the_same_commit_twice_in_a_group_happens_once(
    play: Play, store: SqliteStore
) -> None:
    change = make_change(play.run())
    mark = store.mark()

    one, other = await together(store, store.commit(change), store.commit(change))

    assert (one.replayed, other.replayed) == (False, True)
    assert store.mark() == mark + 1


async def test_lite_writes_go_with_the_group(play: Play, store: SqliteStore) -> None:
    run, claim = await play.claimed()
    raised = await play.raised()
    card = await play.take()
    new = play.run()
    before = store.counters

    _, extended, _, taken = await together(
        store,
        store.card_shown(card, raised.version, make_receipt()),
        store.heartbeat(claim, LEASE * 2),
        play.commit(new),
        store.claim("other", LEASE),
    )

    # The claim comes after the last write, so it is made on its own.
    assert spent(before, store.counters) == (1, 1)
    assert extended.until == play.clock.now + LEASE * 2
    assert taken[0].id == raised.id
    assert [one.shown for one in await store.cards(raised.id)] == [1]
    assert await stored(store, run, new) == [1, 1]


async def test_lite_writes_alone_do_not_wait_for_the_disk(play: Play, store: SqliteStore) -> None:
    claims = [(await play.claimed())[1] for _ in range(3)]
    before = store.counters

    await together(store, *(store.heartbeat(claim, LEASE) for claim in claims))

    assert spent(before, store.counters) == (0, 1)


async def test_a_claim_between_two_commits_takes_the_run_of_the_first(
    play: Play, store: SqliteStore
) -> None:
    first, second = play.run(concurrency_key="key"), play.run(concurrency_key="key")
    before = store.counters

    _, taken, _ = await together(
        store, play.commit(first), store.claim("worker", LEASE), play.commit(second)
    )

    assert spent(before, store.counters) == (1, 0)
    assert taken[0] == first
    assert await store.claim("worker", LEASE) is None


async def test_a_list_between_two_commits_is_read_in_the_group(
    play: Play, store: SqliteStore
) -> None:
    first, second = play.run(), play.run()

    _, page, _ = await together(
        store, play.commit(first), store.list_runs(RunFilter(), 10), play.commit(second)
    )

    assert page.runs == (first,)


async def test_a_locked_file_is_waited_for_once_by_all_who_queue(
    path: Path, opened: Opener, clock: HeldClock
) -> None:
    waits: list[str] = []
    store = opened(busy=SHORT, trace=waits.append)
    play = Play(store, clock)
    run, claim = await play.claimed()
    runs = [play.run() for _ in range(10)]
    waits.clear()

    with locked(path):
        writes = [play.commit(one) for one in runs]
        outcomes = await together(store, *writes, store.load(run.id), store.heartbeat(claim, LEASE))

    assert [type(one) for one in outcomes[:10]] == [StoreUnavailableError] * 10
    assert outcomes[10].run == run
    assert isinstance(outcomes[11], StoreUnavailableError)
    assert len({id(one) for one in outcomes}) == 12
    assert waits.count("BEGIN IMMEDIATE") == 1
    assert await stored(store, *runs) == [0] * 10


async def test_a_click_cancelled_while_it_is_queued_is_not_written(
    play: Play, store: SqliteStore
) -> None:
    runs = [play.run() for _ in range(3)]
    async with held(store):
        tasks = await queue(*(play.commit(run) for run in runs))
        tasks[1].cancel()
        await asyncio.wait((tasks[1],))
    await asyncio.wait(tasks)

    assert tasks[1].cancelled()
    assert await stored(store, *runs) == [1, 0, 1]


async def test_a_click_cancelled_while_its_group_waits_for_the_file_is_not_written(
    play: Play, store: SqliteStore, path: Path
) -> None:
    runs = [play.run() for _ in range(3)]
    begun = threading.Event()
    await store.next_due()
    with locked(path):
        async with held(store) as connection:
            tasks = await queue(*(play.commit(run) for run in runs))
            connection.set_trace_callback(lambda _: begun.set())
        assert await asyncio.to_thread(begun.wait, SOON)
        tasks[2].cancel()
        await asyncio.wait((tasks[2],))
    await asyncio.wait(tasks)

    assert tasks[2].cancelled()
    assert await stored(store, *runs) == [1, 1, 0]


@contextmanager
def no_file_grows_past(size: int) -> Iterator[None]:
    """Let the disk take nothing that would make a file longer than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_group_that_the_disk_does_not_take_fails_all_and_writes_nothing(
    play: Play, store: SqliteStore, path: Path
) -> None:
    run, claim = await play.claimed()
    answered = make_next(run)
    runs = [play.run() for _ in range(3)]
    wal = path.with_name("store.db-wal").stat().st_size

    with no_file_grows_past(wal):
        outcomes = await together(
            store,
            *(play.commit(one, raised=(make_card_key(one),)) for one in runs),
            play.commit(make_next(run, version=9)),
            store.load(run.id),
            store.load(runs[0].id),
            play.commit(answered, key=keyed(answered)),
            store.heartbeat(claim, LEASE),
        )

    assert [type(one) for one in outcomes] == [
        *[StoreUnavailableError] * 4,
        Loaded,
        RunNotFoundError,
        *[StoreUnavailableError] * 2,
    ]
    assert await stored(store, run, *runs) == [1, 0, 0, 0]
    assert await due(store) == []
    assert (await play.commit(answered, key=keyed(answered))).replayed is False
    assert await together(store, *(play.commit(one) for one in runs)) == [
        Done(one.id, 1) for one in runs
    ]


async def test_a_change_too_large_for_the_disk_does_not_take_the_group_with_it(
    play: Play, store: SqliteStore
) -> None:
    first, large, last = play.run(), play.run(context=token_hex(500_000)), play.run()
    async with held(store) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 20}")
        tasks = await queue(*(play.commit(run) for run in (first, large, last)))
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(one) for one in outcomes] == [Done, StoreUnavailableError, Done]
    assert await stored(store, first, large, last) == [1, 0, 1]
