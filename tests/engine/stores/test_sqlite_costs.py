"""What each operation costs: statements, thread hops, waits for the disk, and index searches."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.cards import Card, CardKey
from engine.runs import Run, RunStatus
from engine.store import Claim, ClaimEffect, KeyRecord
from engine.stores import (
    Counters,
    SqliteStore,
)
from engine.tickets import ResumeTicket
from tests.contracts.play import LEASE, Play, keyed
from tests.factories import (
    make_card_key,
    make_change,
    make_closed,
    make_ended,
    make_event,
    make_next,
    make_parked,
    make_receipt,
    make_record,
    make_ticket,
)

# Polls.


async def polls(store: SqliteStore) -> None:
    """Ask all that the loops ask, as they do when there is nothing to do."""
    assert await store.claim("worker", LEASE) is None
    assert await store.take_cards("courier", LEASE, 10) == ()
    assert await store.due(10) == ()
    await store.next_due()
    await store.wait(timedelta(0))


async def nothing(play: Play) -> None:
    await play.store.next_due()


async def much_but_nothing_to_do(play: Play) -> None:
    """Leave parked, blocked, claimed, put off and ended runs, and leased and shown cards."""
    await play.parked()
    await play.parked(concurrency_key="key")
    await play.start(concurrency_key="key")
    await play.raised()
    await play.take()
    await play.shown(make_receipt())
    while (taken := await play.store.claim("worker", LEASE)) is not None:
        await play.store.release(taken[1], play.clock.now + LEASE)
    await play.claimed(priority=3)


@pytest.mark.parametrize("before", [nothing, much_but_nothing_to_do])
async def test_idle_polls_write_nothing(
    play: Play, store: SqliteStore, path: Path, before: Callable[[Play], Awaitable[None]]
) -> None:
    await before(play)
    wal = path.with_name("store.db-wal")
    with closing(sqlite3.connect(path)) as observer:
        version = observer.execute("PRAGMA data_version").fetchone()
        size, counters = wal.stat().st_size, store.counters

        for _ in range(3):
            await polls(store)

        assert observer.execute("PRAGMA data_version").fetchone() == version
    assert wal.stat().st_size == size
    assert store.counters.lite_commits == counters.lite_commits
    assert store.counters.full_commits == counters.full_commits


async def test_a_cycle_of_polls_is_a_hop_and_few_statements_each(
    play: Play, store: SqliteStore
) -> None:
    await much_but_nothing_to_do(play)
    before = store.counters
    await polls(store)
    after = store.counters

    assert after.hops - before.hops == 4
    assert after.statements - before.statements <= 10


# Bytes.

PARKED = 200
MOST_BYTES = 2_000
PAGE_BYTES = 4_096


async def park(play: Play) -> None:
    """Park a run as the engine does, and show its two cards."""
    run = play.run()
    await play.store.commit(make_change(run, records=(make_record(0),), events=(make_event(1),)))
    _, claim = await play.claim()
    ticket = make_ticket(run)
    cards = tuple(make_card_key(run, subject=ticket.approval, role=r) for r in ("ask", "asked"))
    change = make_change(
        make_parked(run, ticket),
        records=(make_record(1), make_record(2)),
        events=(make_event(2), make_event(3)),
    )
    change = replace(change, opened=(ticket,), raised=cards, claim=ClaimEffect.RELEASE)
    await play.store.commit(change, claim)
    for card in await play.store.take_cards("courier", LEASE, 5):
        await play.store.card_shown(card, card.wanted, make_receipt())


async def test_a_parked_run_is_small(play: Play, store: SqliteStore) -> None:
    async def weigh() -> int:
        row = await store._thread.run(lambda database: database.one("PRAGMA page_count"))
        return int(row[0]) * PAGE_BYTES if row else 0

    await park(play)
    empty = await weigh()
    for _ in range(PARKED):
        await park(play)

    assert (await weigh() - empty) / PARKED < MOST_BYTES


async def test_a_run_is_packed_where_it_rests_and_not_while_a_worker_has_it_in_hand(
    play: Play, path: Path
) -> None:
    def stored() -> bytes:
        with closing(sqlite3.connect(path)) as observer:
            ((body,),) = observer.execute("SELECT body FROM runs").fetchall()
        return bytes(body)

    run, claim = await play.claimed()
    assert run.id.encode() not in stored()
    await play.commit(going := make_next(run), claim, claim=ClaimEffect.KEEP)
    assert run.id.encode() in stored()
    parked = await play.park(going, claim, make_ticket(run))
    assert run.id.encode() not in stored()
    assert (await play.store.load(run.id)).run == parked


# Operations.


@dataclass
class Meter:
    """Tells what was spent since it was last asked."""

    store: SqliteStore
    before: Counters

    def spent(self) -> tuple[int, int, int, int]:
        """Return full commits, lite commits, hops and statements."""
        before, self.before = self.before, self.store.counters
        one, other = astuple(self.before), astuple(before)
        full, lite, hops, statements = (
            later - earlier for later, earlier in zip(one, other, strict=True)
        )
        return full, lite, hops, statements


@dataclass
class Cycle:
    """The six commits of DESIGN section 5, and what is around them, one method each."""

    play: Play
    run: Run
    ticket: ResumeTicket
    claim: Claim | None = None
    card: Card | None = None

    @property
    def key(self) -> CardKey:
        return make_card_key(self.run, subject=self.ticket.approval)

    async def step(self, after: Run, seq: int, **given: Any) -> None:
        self.run = after
        await self.play.commit(after, self.claim, events=(make_event(seq),), **given)

    async def start(self) -> None:
        key = KeyRecord("start:deployer:", self.run.id, "body", "outcome")
        await self.step(self.run, 1, key=key, records=(make_record(0),))

    async def take_run(self) -> None:
        _, self.claim = await self.play.claim()

    async def park(self) -> None:
        records = (make_record(1), make_record(2))
        parked = make_parked(self.run, self.ticket)
        opened = {"opened": (self.ticket,), "raised": (self.key,)}
        await self.step(parked, 2, records=records, claim=ClaimEffect.RELEASE, **opened)
        self.claim = None

    async def take_card(self) -> None:
        self.card = await self.play.take()

    async def card_shown(self) -> None:
        assert self.card is not None
        await self.play.store.card_shown(self.card, self.run.version, make_receipt())

    async def load(self) -> None:
        approval = self.ticket.approval
        await self.play.store.load(self.run.id, key="answer", approval=approval)

    async def resume(self) -> None:
        after = make_next(self.run, status=RunStatus.QUEUED, tickets=())
        answer = keyed(after, key="answer")
        closed = (make_closed(self.ticket),)
        await self.step(after, 3, key=answer, closed=closed, raised=(self.key,))

    async def executing(self) -> None:
        await self.step(make_next(self.run), 4, raised=(self.key,), claim=ClaimEffect.KEEP)

    async def heartbeat(self) -> None:
        assert self.claim is not None
        await self.play.store.heartbeat(self.claim, LEASE)

    async def result(self) -> None:
        await self.step(make_next(self.run), 5, records=(make_record(3),), raised=(self.key,))

    async def finish(self) -> None:
        await self.step(make_ended(self.run), 6, raised=(make_card_key(self.run),))


async def test_a_cycle_costs_as_many_commits_and_statements_as_written_here(
    play: Play, store: SqliteStore
) -> None:
    """Count full commits, lite commits, hops and statements of each operation.

    Of the statements, BEGIN and COMMIT are two, and PRAGMA synchronous is one wherever a full
    commit follows a lite one or the other way about.
    """
    await store.next_due()
    run = play.run()
    cycle = Cycle(play, run, make_ticket(run))
    meter = Meter(store, store.counters)
    spent = []
    for operation in (
        cycle.start,
        cycle.take_run,
        cycle.park,
        cycle.take_card,
        cycle.card_shown,
        cycle.load,
        cycle.resume,
        cycle.take_run,
        cycle.executing,
        cycle.heartbeat,
        cycle.result,
        cycle.finish,
    ):
        await operation()
        spent.append((operation.__name__, *meter.spent()))

    assert spent == [
        ("start", 1, 0, 1, 9),
        ("take_run", 0, 1, 1, 4),
        ("park", 1, 0, 1, 9),
        ("take_card", 0, 1, 1, 3),
        ("card_shown", 0, 1, 1, 1),
        ("load", 0, 0, 1, 1),
        ("resume", 1, 0, 1, 10),
        ("take_run", 0, 1, 1, 4),
        ("executing", 1, 0, 1, 6),
        ("heartbeat", 0, 1, 1, 2),
        ("result", 1, 0, 1, 7),
        ("finish", 1, 0, 1, 5),
    ]
