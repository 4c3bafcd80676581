"""What is counted of what is live, for whoever watches."""

from datetime import timedelta

from engine.gauges import Gauges
from engine.runs import RunStatus
from engine.store import Store
from tests.contracts.play import LEASE, Play
from tests.factories import HeldClock, make_ended, make_next, make_receipt

HOUR = timedelta(hours=1)


async def test_an_empty_store_has_nothing_to_do(store: Store, clock: HeldClock) -> None:
    assert await store.gauges() == Gauges(now=clock.now)


async def test_runs_are_counted_by_where_they_are(play: Play, store: Store) -> None:
    await play.claimed()
    await play.claimed(priority=3)
    await play.parked()
    await play.parked(concurrency_key="key")
    await play.start(concurrency_key="key")
    await play.start()
    for status in (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED):
        ended = await play.start()
        await play.commit(make_ended(ended, status))

    counted = await store.gauges()

    assert (counted.queued, counted.running, counted.waiting) == (2, 2, 2)


async def test_a_run_put_off_or_whose_worker_was_lost_counts_as_queued(
    play: Play, store: Store, clock: HeldClock
) -> None:
    _, claim = await play.claimed()
    await store.release(claim, clock.now + HOUR)
    await play.claimed()
    assert (await store.gauges()).running == 1
    clock.now += LEASE

    counted = await store.gauges()

    assert (counted.queued, counted.running) == (2, 0)


async def test_the_longest_wait_begins_when_the_run_was_parked(
    play: Play, store: Store, clock: HeldClock
) -> None:
    first = await play.claimed()
    clock.now += LEASE / 3
    later_started = await play.parked()
    parked_at = clock.now
    clock.now += LEASE / 3
    await play.park(*first)
    assert (await store.gauges()).waiting_since == parked_at

    await play.end(later_started)

    assert (await store.gauges()).waiting_since == clock.now


async def test_a_commit_that_leaves_a_run_parked_does_not_begin_its_wait_anew(
    play: Play, store: Store, clock: HeldClock
) -> None:
    parked = await play.parked()
    since = clock.now
    clock.now += HOUR

    await play.commit(make_next(parked))

    counted = await store.gauges()
    assert (counted.waiting, counted.waiting_since) == (1, since)


async def test_a_run_parked_anew_waits_from_then_on(
    play: Play, store: Store, clock: HeldClock
) -> None:
    parked = await play.parked()
    clock.now += HOUR
    await play.commit(make_next(parked, status=RunStatus.QUEUED, tickets=()))
    assert (await store.gauges()).waiting_since is None
    run, claim = await play.claim()
    clock.now += HOUR

    await play.park(run, claim)

    assert (await store.gauges()).waiting_since == clock.now


async def test_cards_are_behind_until_shown_and_due_while_nobody_has_them(
    play: Play, store: Store, clock: HeldClock
) -> None:
    await play.raised()
    since = clock.now
    clock.now += HOUR
    await play.raised()
    both = await store.gauges()
    assert (both.cards_behind, both.cards_due, both.due_since) == (2, 2, since)

    first, second = await store.take_cards("courier", LEASE, 2)
    taken = await store.gauges()
    assert (taken.cards_behind, taken.cards_due, taken.due_since) == (2, 0, None)

    await store.card_failed(second, clock.now + HOUR)
    await store.card_shown(first, 1, make_receipt())
    clock.now += HOUR
    late = await store.gauges()
    assert (late.cards_behind, late.cards_due, late.due_since) == (1, 1, clock.now)
