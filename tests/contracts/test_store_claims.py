"""A queued run is worked on by one worker at a time, in turn, and is not lost with its worker."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.errors import ClaimLostError, UndecodableRecordError
from engine.runs import RunStatus
from engine.store import ClaimEffect, Store
from tests.contracts.play import LEASE, Play
from tests.factories import (
    HeldClock,
    make_closed,
    make_ended,
    make_newer,
    make_next,
)

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


async def test_there_is_nothing_to_claim_in_an_empty_store(store: Store) -> None:
    assert await store.claim("worker", LEASE) is None


async def test_a_claim_names_the_run_the_worker_and_the_end_of_the_lease(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.start()

    taken = await store.claim("worker", LEASE)

    assert taken is not None
    assert taken[0] == run
    claim = taken[1]
    assert (claim.run, claim.worker, claim.losses) == (run.id, "worker", 0)
    assert claim.until == clock.now + LEASE


async def test_a_higher_priority_goes_first(play: Play) -> None:
    usual = await play.start()
    low, high = await play.start(priority=-1), await play.start(priority=5)

    assert [await play.next_ready() for _ in range(3)] == [high.id, usual.id, low.id]


async def test_within_a_priority_the_longest_ready_goes_first(
    play: Play, store: Store, clock: HeldClock
) -> None:
    first, claim = await play.claimed()
    clock.move(seconds=1)
    second = await play.start()
    clock.move(seconds=1)
    await store.release(claim)

    assert [await play.next_ready() for _ in range(2)] == [second.id, first.id]


async def test_runs_ready_at_one_moment_go_in_the_order_they_were_made(play: Play) -> None:
    made = [(await play.start()).id for _ in range(12)]

    assert [await play.next_ready() for _ in made] == made


async def test_a_lower_priority_is_not_held_up_by_runs_that_are_not_ready(
    play: Play, store: Store, clock: HeldClock
) -> None:
    _, claim = await play.claimed(priority=5)
    await store.release(claim, clock.now + HOUR)
    await play.claimed(priority=3)
    usual = await play.start()

    assert await play.next_ready() == usual.id


async def test_a_claimed_run_is_claimable_again_when_its_lease_ends(
    play: Play, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    clock.now += LEASE - MICROSECOND
    assert await play.next_ready() is None
    clock.now += MICROSECOND

    again, second = await play.claim("another")

    assert again == run
    assert (second.fence, second.losses) == (claim.fence + 1, 1)
    assert second.worker == "another"


async def test_losses_count_one_after_another(play: Play, clock: HeldClock) -> None:
    await play.claimed()

    for losses in (1, 2, 3):
        clock.now += LEASE
        assert (await play.claim())[1].losses == losses


async def test_a_commit_under_a_claim_ends_the_row_of_losses(play: Play, clock: HeldClock) -> None:
    run, _ = await play.claimed()
    clock.now += LEASE
    _, claim = await play.claim()
    await play.commit(make_next(run), claim, claim=ClaimEffect.KEEP)
    clock.now += LEASE

    assert (await play.claim())[1].losses == 1


async def test_a_commit_without_a_claim_leaves_the_row_of_losses(
    play: Play, clock: HeldClock
) -> None:
    run, _ = await play.claimed()
    clock.now += LEASE
    await play.claim()
    await play.commit(make_next(run))
    clock.now += LEASE

    assert (await play.claim())[1].losses == 2


async def test_giving_a_claim_back_is_no_loss(play: Play, store: Store) -> None:
    _, claim = await play.claimed()
    await store.release(claim)

    _, second = await play.claim()

    assert (second.fence, second.losses) == (claim.fence + 1, 0)


async def test_putting_a_run_off_is_a_loss(play: Play, store: Store, clock: HeldClock) -> None:
    _, claim = await play.claimed()
    await store.release(claim, clock.now)

    assert (await play.claim())[1].losses == 1


async def test_a_released_run_is_ready_from_its_retry_on(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    retry_at = clock.now + HOUR
    await store.release(claim, retry_at)

    clock.now = retry_at - MICROSECOND
    assert await play.next_ready() is None
    clock.now = retry_at
    assert await play.next_ready() == run.id


async def test_a_lost_claim_cannot_be_given_back(
    play: Play, store: Store, clock: HeldClock
) -> None:
    _, lost = await play.claimed()
    clock.now += LEASE
    await play.claim("another")

    await store.release(lost)

    assert await play.next_ready() is None


async def test_a_heartbeat_extends_the_lease(play: Play, store: Store, clock: HeldClock) -> None:
    _, claim = await play.claimed()
    clock.now += LEASE - MICROSECOND

    longer = await store.heartbeat(claim, LEASE)

    assert longer == replace(claim, until=clock.now + LEASE)
    clock.now += LEASE - MICROSECOND
    assert await play.next_ready() is None


async def test_a_late_heartbeat_saves_a_claim_that_nobody_took(
    play: Play, store: Store, clock: HeldClock
) -> None:
    _, claim = await play.claimed()
    clock.now += HOUR

    await store.heartbeat(claim, LEASE)

    assert await play.next_ready() is None


@pytest.mark.parametrize("how", ["taken", "released", "ended"])
async def test_a_heartbeat_tells_that_the_claim_is_lost(
    play: Play, store: Store, clock: HeldClock, how: str
) -> None:
    run, claim = await play.claimed()
    if how == "taken":
        clock.now += LEASE
        await play.claim("another")
    elif how == "released":
        await store.release(claim)
    else:
        await play.end(run)

    with pytest.raises(ClaimLostError):
        await store.heartbeat(claim, LEASE)


async def test_a_commit_under_a_lost_claim_is_refused(play: Play, clock: HeldClock) -> None:
    run, lost = await play.claimed()
    clock.now += LEASE
    _, claim = await play.claim("another")

    with pytest.raises(ClaimLostError):
        await play.commit(make_next(run), lost)
    await play.commit(make_next(run), claim)


async def test_a_commit_under_a_claim_given_back_is_refused(play: Play, store: Store) -> None:
    run, claim = await play.claimed()
    await store.release(claim)

    with pytest.raises(ClaimLostError):
        await play.commit(make_next(run), claim)


async def test_a_commit_under_an_ended_lease_counts_while_nobody_took_the_run(
    play: Play, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    clock.now += HOUR

    assert (await play.commit(make_next(run), claim)).version == 2


@pytest.mark.parametrize("effect", [ClaimEffect.KEEP, ClaimEffect.NONE])
async def test_a_commit_may_keep_the_claim(
    play: Play, store: Store, clock: HeldClock, effect: ClaimEffect
) -> None:
    run, claim = await play.claimed()
    await play.commit(make_next(run), claim, claim=effect)

    assert (await store.load(run.id)).running
    assert (await store.heartbeat(claim, LEASE)).fence == claim.fence
    clock.now += LEASE - MICROSECOND
    assert await play.next_ready() is None


async def test_a_commit_may_give_the_claim_back(play: Play, store: Store) -> None:
    run, claim = await play.claimed()
    later = make_next(run)
    await play.commit(later, claim, claim=ClaimEffect.RELEASE)

    assert not (await store.load(run.id)).running
    assert (await play.claim())[0] == later


async def test_a_claimed_run_can_be_committed_to_without_the_claim(
    play: Play, store: Store
) -> None:
    run, claim = await play.claimed()
    asked_to_stop = make_next(run)

    await play.commit(asked_to_stop)

    assert (await store.load(run.id)).running
    await play.commit(make_next(asked_to_stop), claim)


async def test_waiting_and_ended_runs_are_not_claimable(play: Play, clock: HeldClock) -> None:
    await play.parked()
    await play.end(*await play.claimed())
    await play.commit(make_ended(await play.start(), RunStatus.CANCELLED))
    clock.now += HOUR

    assert await play.next_ready() is None


async def test_a_run_that_was_answered_waits_its_turn_again(play: Play, clock: HeldClock) -> None:
    parked = await play.parked()
    clock.move(seconds=1)
    other = await play.start()
    clock.move(seconds=1)
    answered = make_next(parked, status=RunStatus.QUEUED, tickets=())
    await play.commit(answered, closed=(make_closed(parked.tickets[0]),))

    assert [await play.next_ready() for _ in range(2)] == [other.id, parked.id]


async def test_a_run_is_running_while_a_live_claim_holds_it(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.start()
    assert not (await store.load(run.id)).running
    await play.claim()
    assert (await store.load(run.id)).running
    clock.now += LEASE
    assert not (await store.load(run.id)).running


async def test_a_run_put_off_is_not_running(play: Play, store: Store, clock: HeldClock) -> None:
    run, claim = await play.claimed()
    await store.release(claim, clock.now + HOUR)

    assert not (await store.load(run.id)).running


# Rows that cannot be read.


async def test_a_run_that_cannot_be_read_is_passed_over_and_reported_once(
    play: Play, reported: list[UndecodableRecordError]
) -> None:
    unreadable = make_newer(play.run(priority=9))
    await play.commit(unreadable)
    run = await play.start()

    assert await play.next_ready() == run.id
    assert await play.next_ready() is None
    assert [unreadable.id in str(error) for error in reported] == [True]


async def test_a_run_that_cannot_be_read_is_left_as_it_is(play: Play, store: Store) -> None:
    unreadable = make_newer(play.run())
    await play.commit(unreadable)
    await play.next_ready()

    with pytest.raises(UndecodableRecordError, match=unreadable.id):
        await store.load(unreadable.id)
    readable = make_next(play.run(id=unreadable.id, ref=play.ref()))
    assert (await play.commit(readable)).version == 2
    assert await play.next_ready() == readable.id
