"""What falls due, when, and how those who wait for work are woken."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from engine.cards import Receipt
from engine.errors import StoreUnavailableError
from engine.runs import RunStatus
from engine.store import Store
from tests.contracts.play import LEASE, LONG, Play
from tests.factories import (
    HeldClock,
    make_card_key,
    make_closed,
    make_ended,
    make_newer,
    make_next,
    make_parked,
    make_receipt,
    make_ticket,
)

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


# Deadlines.


async def test_a_run_is_due_past_its_deadline_and_not_on_it(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.parked()
    assert run.deadline is not None

    clock.now = run.deadline
    assert await store.due(10) == ()
    clock.now += MICROSECOND
    assert await store.due(10) == (run.id,)


async def test_the_earliest_deadline_of_a_run_counts(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    late = make_ticket(run, deadline=clock.now + HOUR)
    early = make_ticket(run, deadline=clock.now + MICROSECOND)
    await play.park(run, claim, late, early)
    clock.move(microseconds=2)

    assert await store.due(10) == (run.id,)


async def test_a_closed_ticket_is_not_due(play: Play, store: Store, clock: HeldClock) -> None:
    run, claim = await play.claimed()
    late = make_ticket(run, deadline=clock.now + HOUR)
    early = make_ticket(run, deadline=clock.now + MICROSECOND)
    parked = await play.park(run, claim, early, late)
    await play.commit(make_parked(parked, late), closed=(make_closed(early),))
    clock.now += HOUR
    assert await store.due(10) == ()

    clock.move(microseconds=1)
    assert await store.due(10) == (run.id,)


async def test_a_run_that_goes_on_is_not_due(play: Play, store: Store, clock: HeldClock) -> None:
    parked = await play.parked()
    closed = (make_closed(parked.tickets[0]),)
    await play.commit(make_next(parked, status=RunStatus.QUEUED, tickets=()), closed=closed)
    clock.move(days=1)

    assert await store.due(10) == ()


async def test_a_ticket_without_a_deadline_is_never_due(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    await play.park(run, claim, make_ticket(run, deadline=None))
    clock.move(days=10_000)

    assert await store.due(10) == ()
    assert await store.next_due() is None


async def test_the_most_overdue_come_first_up_to_the_limit(
    play: Play, store: Store, clock: HeldClock
) -> None:
    made = []
    for hours in (3, 1, 2):
        run, claim = await play.claimed()
        deadline = clock.now + hours * HOUR
        made.append((await play.park(run, claim, make_ticket(run, deadline=deadline))).id)
    clock.move(days=1)

    assert await store.due(2) == (made[1], made[2])
    assert await store.due(10) == (made[1], made[2], made[0])


async def test_a_run_that_cannot_be_read_does_not_hide_others_that_are_due(
    play: Play, store: Store, clock: HeldClock
) -> None:
    first = await play.start()
    newer = make_newer(make_parked(first, make_ticket(first, deadline=clock.now)))
    await play.commit(newer, opened=newer.tickets)
    run = await play.parked()
    clock.move(days=1)

    assert await store.due(1) == (run.id,)


# The next moment of interest.


async def test_nothing_falls_due_in_an_empty_store(store: Store) -> None:
    assert await store.next_due() is None


async def test_a_ticket_falls_due_just_past_its_deadline(play: Play, store: Store) -> None:
    run = await play.parked()
    assert run.deadline is not None

    assert await store.next_due() == run.deadline + MICROSECOND


async def test_a_claimed_run_falls_due_when_its_lease_ends(play: Play, store: Store) -> None:
    _, claim = await play.claimed()

    assert await store.next_due() == claim.until


async def test_a_run_put_off_falls_due_at_its_retry(
    play: Play, store: Store, clock: HeldClock
) -> None:
    _, claim = await play.claimed()
    await store.release(claim, clock.now + HOUR)

    assert await store.next_due() == clock.now + HOUR


async def test_a_run_that_is_ready_falls_due_at_no_moment(play: Play, store: Store) -> None:
    await play.start()

    assert await store.next_due() is None


async def test_a_run_that_waits_for_its_key_falls_due_at_no_moment(
    play: Play, store: Store
) -> None:
    parked = await play.parked(concurrency_key="key")
    await play.start(concurrency_key="key")
    assert parked.deadline is not None

    assert await store.next_due() == parked.deadline + MICROSECOND


async def test_a_card_that_is_behind_is_due_now(play: Play, store: Store, clock: HeldClock) -> None:
    await play.raised()

    due = await store.next_due()

    assert due is not None
    assert due <= clock.now


async def test_a_card_falls_due_when_its_lease_or_back_off_ends(
    play: Play, store: Store, clock: HeldClock
) -> None:
    await play.raised()
    card = await play.take()
    assert await store.next_due() == clock.now + LEASE

    await store.card_failed(card, clock.now + HOUR)
    assert await store.next_due() == clock.now + HOUR


async def test_a_card_that_is_up_to_date_falls_due_at_no_moment(play: Play, store: Store) -> None:
    run, _ = await play.shown(make_receipt())
    await play.commit(make_ended(run))

    assert await store.next_due() is None


async def test_the_earliest_of_all_falls_due_next(
    play: Play, store: Store, clock: HeldClock
) -> None:
    await play.parked()
    _, claim = await play.claimed(priority=7)
    await store.release(claim, clock.now + 3 * MICROSECOND)
    _, claim = await play.claimed()
    await store.release(claim, clock.now + 2 * MICROSECOND)
    await play.raised()
    await store.card_failed(await play.take(), clock.now + 4 * MICROSECOND)

    assert await store.next_due() == clock.now + 2 * MICROSECOND


async def test_what_cannot_be_read_falls_due_at_no_moment(
    play: Play, store: Store, clock: HeldClock
) -> None:
    first = await play.start()
    newer = make_newer(make_parked(first, make_ticket(first, deadline=clock.now)))
    await play.commit(newer, opened=newer.tickets)
    clock.move(seconds=1)
    assert await store.due(1) == ()

    assert await store.next_due() is None


# Waiting for work.


async def woken(store: Store, work: Callable[[], Awaitable[object]]) -> None:
    """Wait without end for what this work brings."""
    waiting = asyncio.create_task(store.wait(LONG))
    await asyncio.sleep(0)
    assert not waiting.done()
    async with asyncio.timeout(LONG.total_seconds() / 2):
        await work()
        await waiting


async def test_a_wait_ends_with_its_time(store: Store) -> None:
    await store.wait(timedelta(0))
    await store.wait(timedelta(milliseconds=1))


async def test_a_commit_wakes_those_who_wait(play: Play, store: Store) -> None:
    await woken(store, play.start)


async def test_a_run_given_back_wakes_those_who_wait(play: Play, store: Store) -> None:
    _, claim = await play.claimed()

    await woken(store, lambda: store.release(claim))


async def test_a_card_shown_too_old_wakes_those_who_wait(play: Play, store: Store) -> None:
    run = await play.raised()
    card = await play.take()
    await play.raised(card.key, run=run)

    await woken(store, lambda: store.card_shown(card, 1, make_receipt()))


async def test_an_adopted_card_wakes_those_who_wait(play: Play, store: Store) -> None:
    run = await play.start()

    await woken(store, lambda: store.adopt_card(make_card_key(run), make_receipt()))


async def test_everyone_who_waits_is_woken(play: Play, store: Store) -> None:
    others = [asyncio.create_task(store.wait(LONG)) for _ in range(3)]

    await woken(store, play.start)
    async with asyncio.timeout(LONG.total_seconds() / 2):
        await asyncio.gather(*others)


async def test_work_that_came_up_since_the_mark_ends_the_wait(play: Play, store: Store) -> None:
    mark = store.mark()
    assert await store.claim("worker", LEASE) is None
    await play.start()

    async with asyncio.timeout(LONG.total_seconds() / 2):
        await store.wait(LONG, mark)


async def test_what_changes_nothing_wakes_nobody(play: Play, store: Store) -> None:
    run, card = await play.shown(receipt := make_receipt())
    later = make_next(run)
    await play.commit(later)
    mark = store.mark()

    await store.load(run.id)
    await play.next_ready()
    await store.take_cards("courier", LEASE, 5)
    await store.card_shown(card, 1, receipt)
    await store.adopt_card(card.key, Receipt(place="", id="", shown=False))

    assert store.mark() == mark


async def test_a_cancelled_wait_leaves_the_others_waiting(play: Play, store: Store) -> None:
    cancelled = asyncio.create_task(store.wait(LONG))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.wait((cancelled,))

    await woken(store, play.start)


# The end.


async def test_nothing_is_answered_after_the_end(play: Play, store: Store) -> None:
    run = await play.start()
    await store.close()

    with pytest.raises(StoreUnavailableError):
        await store.load(run.id)
    await store.close()


async def test_a_store_that_did_nothing_can_be_closed(store: Store) -> None:
    await store.close()
