"""A run moves from any kind of store to any other, and goes on there as if nothing had been."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.errors import (
    IdempotencyConflictError,
)
from engine.runs import RunStatus
from engine.store import RunFilter, Store
from tests.contracts.moving import lived, move
from tests.contracts.play import LEASE, Play, due, keyed
from tests.factories import (
    HeldClock,
    make_change,
    make_closed,
    make_ended,
    make_next,
    make_receipt,
)

HOUR = timedelta(hours=1)
BACK_OFF = timedelta(seconds=7)


async def test_all_that_is_kept_of_a_run_moves(
    play: Play, store: Store, target: Store, clock: HeldClock
) -> None:
    run = await lived(play)
    clock.now += HOUR

    parcel = await move(store, target, run.id)

    assert len(parcel.commits) == run.version
    assert [len(part) for part in (parcel.records, parcel.closed, parcel.keys)] == [2, 1, 2]
    assert [len(part) for part in (parcel.refs, parcel.cards)] == [3, 3]
    assert (await target.load(run.id)).run == run
    assert await target.records(run.id) == await store.records(run.id)
    assert await target.events(run.id) == await store.events(run.id)
    assert await target.cards(run.id) == await store.cards(run.id)
    for ref, _ in parcel.refs:
        assert await target.find(ref) == await store.find(ref)
    assert (await store.load(run.id)).run == run


async def test_a_run_that_waits_is_answered_where_it_went(
    play: Play, store: Store, there: Play, clock: HeldClock
) -> None:
    run = await lived(play)
    since = (await store.gauges()).waiting_since
    clock.now += timedelta(minutes=1)
    await move(store, there.store, run.id)
    assert (await there.store.gauges()).waiting_since == since
    (ticket,) = run.tickets
    answered = make_next(run, status=RunStatus.QUEUED, tickets=())
    closed = (make_closed(ticket),)

    await there.commit(answered, closed=closed, not_after=ticket.deadline, key=keyed(answered))

    taken, claim = await there.claim()
    assert taken == answered
    await there.end(taken, claim)
    loaded = await there.store.load(run.id, key="key", approval=ticket.approval)
    assert loaded.closed == closed[0]
    assert loaded.recorded == keyed(answered)


async def test_a_deadline_passes_where_the_run_went(
    play: Play, store: Store, target: Store, clock: HeldClock
) -> None:
    run = await play.parked()
    await move(store, target, run.id)
    deadline = run.deadline
    assert deadline is not None
    clock.now = deadline
    assert await target.due(5) == ()
    clock.now += timedelta(microseconds=1)

    assert await target.due(5) == (run.id,)
    assert await target.next_due() == clock.now


async def test_keys_tell_again_what_they_told(play: Play, store: Store, there: Play) -> None:
    run = await lived(play)
    parcel = await move(store, there.store, run.id)
    answer, start = (key for key, _ in parcel.keys)
    loaded = await there.store.load(run.id, key=answer.key)
    assert loaded.recorded == answer

    repeated = await there.commit(there.run(), key=start)

    assert (repeated.run, repeated.version, repeated.replayed) == (run.id, 1, True)
    with pytest.raises(IdempotencyConflictError):
        await there.commit(there.run(), key=replace(start, body="another"))


async def test_a_commit_that_is_made_again_finds_its_first_outcome(
    play: Play, store: Store, target: Store
) -> None:
    run, claim = await play.claimed()
    change = make_change(make_next(run))
    await store.commit(change, claim)
    await store.release(claim)
    await move(store, target, run.id)

    again = await target.commit(change, claim)

    assert (again.version, again.replayed) == (2, True)


async def test_cards_are_brought_up_to_date_where_the_run_went(
    play: Play, store: Store, target: Store
) -> None:
    run = await lived(play)
    parcel = await move(store, target, run.id)
    behind = [card for card in parcel.cards if card.wanted > card.shown]
    assert len(behind) == 2

    taken = await due(target)

    assert {card.key: card.receipt for card in taken} == {card.key: card.receipt for card in behind}
    for card in taken:
        await target.card_shown(card, card.wanted, card.receipt or make_receipt())
    assert await due(target) == []
    assert await target.next_due() is not None


async def test_a_message_found_later_is_one_more_post_of_a_moved_card(
    play: Play, store: Store, there: Play
) -> None:
    run = await lived(play)
    parcel = await move(store, there.store, run.id)
    known = parcel.cards[0]
    assert known.receipt is not None

    await there.store.adopt_card(known.key, known.receipt)
    assert len(await there.store.cards(run.id)) == 3
    await there.store.adopt_card(known.key, make_receipt())
    await there.raised(known.key, run=run)

    cards = await there.store.cards(run.id)
    assert [card.wanted for card in cards] == [run.version + 1, 1, run.version + 1, run.version + 1]


async def test_a_queued_run_is_claimed_where_it_went(
    play: Play, store: Store, target: Store
) -> None:
    run, claim = await play.claimed()
    await store.release(claim)
    await move(store, target, run.id)

    taken = await target.claim("worker", LEASE)

    assert taken is not None
    assert taken[0] == run
    assert taken[1].fence == claim.fence + 1


async def test_a_run_that_was_put_off_is_put_off_where_it_went(
    play: Play, store: Store, there: Play, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    await store.release(claim, clock.now + BACK_OFF)
    parcel = await move(store, there.store, run.id)
    assert (parcel.since, parcel.losses) == (clock.now + BACK_OFF, 1)
    assert await there.next_ready() is None
    clock.now += BACK_OFF

    assert await there.next_ready() == run.id


async def test_a_claim_that_was_lost_is_among_the_losses(
    play: Play, store: Store, there: Play, clock: HeldClock
) -> None:
    run, _ = await play.claimed()
    clock.now += LEASE
    await move(store, there.store, run.id)

    _, claim = await there.claim()

    assert claim.losses == 1


async def test_a_key_that_is_held_keeps_others_out_where_the_runs_went(
    play: Play, store: Store, there: Play
) -> None:
    holder = await play.parked(concurrency_key="key")
    behind = await play.start(concurrency_key="key")
    for run in (behind, holder):
        await move(store, there.store, run.id)
    assert await there.next_ready() is None
    third = await there.start(concurrency_key="key")
    assert await there.next_ready() is None

    await there.end(holder)

    assert await there.next_ready() == behind.id
    assert await there.next_ready() is None
    assert (await there.store.load(third.id)).run == third


async def test_runs_behind_a_key_go_in_their_order_where_they_went(
    play: Play, store: Store, there: Play, clock: HeldClock
) -> None:
    runs = []
    for _ in range(3):
        runs.append(await play.start(concurrency_key="key"))
        clock.move(seconds=1)
    for run in reversed(runs):
        await move(store, there.store, run.id)

    for run in runs:
        taken, claim = await there.claim()
        assert taken == run
        await there.end(taken, claim)


async def test_runs_that_come_oldest_first_are_listed_as_before(
    play: Play, store: Store, target: Store
) -> None:
    runs = [await play.start() for _ in range(5)]
    for run in runs:
        await move(store, target, run.id)

    before = await store.list_runs(RunFilter(), 9)
    after = await target.list_runs(RunFilter(), 9)

    assert [run.id for run in after.runs] == [run.id for run in before.runs]


async def test_an_ended_run_goes_when_it_would_have_gone(
    play: Play, store: Store, target: Store, clock: HeldClock
) -> None:
    ended = clock.now
    run = await play.end(await play.start())
    clock.now += HOUR
    await move(store, target, run.id)

    assert await target.purge(ended, 5) == 0
    assert await target.purge(ended + timedelta(microseconds=1), 5) == 1


async def test_a_purge_removes_all_of_a_moved_run(
    play: Play, store: Store, there: Play, clock: HeldClock
) -> None:
    run = await lived(play)
    await play.commit(make_ended(run), closed=(make_closed(run.tickets[0]),))
    parcel = await move(store, there.store, run.id)
    clock.now += timedelta(days=100)
    assert await there.store.purge(clock.now, 5) == 1

    await there.store.unpack(parcel)

    assert await there.store.pack(run.id) == parcel


async def test_a_ref_that_went_to_another_run_moves_with_that(
    play: Play, store: Store, target: Store
) -> None:
    gone = await play.end(await play.start())
    taker = await play.start(ref=gone.ref)

    assert (await move(store, target, gone.id)).refs == ()
    assert (await move(store, target, taker.id)).refs == ((taker.ref, None),)
    found = await target.find(gone.ref)
    assert found is not None
    assert found.run == taker.id
