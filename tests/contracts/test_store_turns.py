"""Runs of one concurrency key take turns: from its first claim until it ends, one of them has it."""

from datetime import timedelta

from engine.runs import RunStatus
from engine.store import Store
from tests.contracts.play import LEASE, Play
from tests.factories import HeldClock, make_closed, make_ended, make_next, make_parked

HOUR = timedelta(hours=1)


async def test_runs_of_one_key_go_one_after_another(play: Play) -> None:
    first = await play.start(concurrency_key="key")
    second = await play.start(concurrency_key="key")
    third = await play.start(concurrency_key="key")

    order = []
    for _ in range(3):
        run, claim = await play.claim()
        order.append(run.id)
        assert await play.next_ready() is None
        await play.end(run, claim)

    assert order == [first.id, second.id, third.id]


async def test_a_waiting_run_keeps_its_key(play: Play, clock: HeldClock) -> None:
    parked = await play.parked(concurrency_key="key")
    behind = await play.start(concurrency_key="key")
    clock.now += HOUR
    assert await play.next_ready() is None

    answered = make_next(parked, status=RunStatus.QUEUED, tickets=())
    await play.commit(answered, closed=(make_closed(parked.tickets[0]),))

    run, claim = await play.claim()
    assert run.id == parked.id
    assert await play.next_ready() is None
    await play.end(run, claim)
    assert await play.next_ready() == behind.id


async def test_a_run_given_back_keeps_its_key(play: Play, store: Store, clock: HeldClock) -> None:
    run, claim = await play.claimed(concurrency_key="key")
    await play.start(concurrency_key="key")
    await store.release(claim, clock.now + HOUR)

    assert await play.next_ready() is None
    clock.now += HOUR
    assert await play.next_ready() == run.id


async def test_a_lost_run_keeps_its_key(play: Play, clock: HeldClock) -> None:
    run, _ = await play.claimed(concurrency_key="key")
    await play.start(concurrency_key="key")
    clock.now += LEASE

    assert await play.next_ready() == run.id
    assert await play.next_ready() is None


async def test_a_free_key_goes_to_the_higher_priority(play: Play) -> None:
    run, claim = await play.claimed(concurrency_key="key")
    usual = await play.start(concurrency_key="key")
    urgent = await play.start(concurrency_key="key", priority=5)
    await play.end(run, claim)

    run, claim = await play.claim()
    assert run.id == urgent.id
    await play.end(run, claim)
    assert await play.next_ready() == usual.id


async def test_a_key_held_by_none_is_taken_by_the_first_claimed_not_the_first_made(
    play: Play,
) -> None:
    await play.start(concurrency_key="key")
    urgent = await play.start(concurrency_key="key", priority=5)

    assert await play.next_ready() == urgent.id
    assert await play.next_ready() is None


async def test_a_run_cancelled_in_the_queue_lets_the_others_of_its_key_go_on(play: Play) -> None:
    holder, claim = await play.claimed(concurrency_key="key")
    cancelled = await play.start(concurrency_key="key")
    last = await play.start(concurrency_key="key")
    await play.end(holder, claim)
    await play.commit(make_ended(cancelled, RunStatus.CANCELLED))

    assert await play.next_ready() == last.id


async def test_a_run_cancelled_behind_a_held_key_does_not_free_it(play: Play) -> None:
    await play.claimed(concurrency_key="key")
    behind = await play.start(concurrency_key="key")
    await play.start(concurrency_key="key")
    await play.commit(make_ended(behind, RunStatus.CANCELLED))

    assert await play.next_ready() is None


async def test_a_run_that_waits_without_ever_being_claimed_does_not_have_the_key(
    play: Play,
) -> None:
    holder, claim = await play.claimed(concurrency_key="key")
    next_in_turn = await play.start(concurrency_key="key")
    last = await play.start(concurrency_key="key")
    await play.end(holder, claim)
    parked = make_parked(next_in_turn)
    await play.commit(parked, opened=parked.tickets)

    run, claim = await play.claim()
    assert run.id == last.id
    answered = make_next(parked, status=RunStatus.QUEUED, tickets=())
    await play.commit(answered, closed=(make_closed(parked.tickets[0]),))
    assert await play.next_ready() is None
    await play.end(run, claim)
    assert await play.next_ready() == parked.id


async def test_different_keys_and_no_key_do_not_hold_each_other_up(play: Play) -> None:
    made = [(await play.start(concurrency_key=key)).id for key in ("one", "two", "", "")]

    assert [await play.next_ready() for _ in made] == made
