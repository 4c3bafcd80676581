"""A commit checks in the promised order, writes all of a change or nothing, and happens once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.entries import RecordKind
from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    DeadlineNotReachedError,
    DeadlinePassedError,
    IdempotencyConflictError,
    RefTakenError,
    StoreError,
)
from engine.ids import CommitId
from engine.runs import Run, RunStatus
from engine.store import Change, Claim, ClaimEffect, Done, Store
from tests.contracts.play import LEASE, Play, keyed
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_closed,
    make_ended,
    make_event,
    make_next,
    make_parked,
    make_record,
    make_ticket,
)

MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)


async def test_a_created_run_reads_as_it_was_committed(play: Play, store: Store) -> None:
    run = play.run(context={"note": "é\u0000\U0001f6a6", "list": [1, None]}, priority=3)

    done = await play.commit(run)

    assert done == Done(run.id, 1)
    assert (await store.load(run.id)).run == run


async def test_every_part_of_a_change_is_written(play: Play, store: Store) -> None:
    run = await play.start()
    ticket, card = make_ticket(run), make_card_key(run)
    asked = make_parked(
        run, ticket, updated_at=play.clock.now + MICROSECOND, event_count=2, event_head="head"
    )
    records = (make_record(0), make_record(1, RecordKind.RESPONSE))
    events = (make_event(1), make_event(2))
    key = keyed(asked)

    done = await play.commit(
        asked, records=records, events=events, opened=(ticket,), raised=(card,), key=key
    )

    loaded = await store.load(run.id, key="key")
    assert done == Done(run.id, 2, key.outcome)
    assert loaded.run == asked
    assert loaded.recorded == key
    assert await store.records(run.id) == records
    assert await store.events(run.id) == events
    assert [known.key for known in await store.cards(run.id)] == [card]
    found = await store.find(ticket.ref)
    assert found is not None
    assert (found.run, found.approval) == (run.id, ticket.approval)


async def test_a_closed_ticket_stays_readable(play: Play, store: Store) -> None:
    ticket = make_ticket(run := await play.start())
    parked = make_parked(run, ticket)
    await play.commit(parked, opened=(ticket,))
    closed = make_closed(ticket)

    await play.commit(make_next(parked, status=RunStatus.QUEUED, tickets=()), closed=(closed,))

    assert (await store.load(run.id, approval=ticket.approval)).closed == closed


async def test_an_open_ticket_is_not_a_closed_one(play: Play, store: Store) -> None:
    run = await play.parked()

    loaded = await store.load(run.id, approval=run.tickets[0].approval)

    assert loaded.closed is None


async def test_a_closed_ticket_is_found_under_its_own_run_only(play: Play, store: Store) -> None:
    run = await play.parked()
    await play.commit(make_ended(run), closed=(make_closed(run.tickets[0]),))
    other = await play.start()

    assert (await store.load(other.id, approval=run.tickets[0].approval)).closed is None


async def test_a_run_of_that_id_is_created_once(play: Play) -> None:
    run = await play.start()

    with pytest.raises(CommitConflictError):
        await play.commit(run.model_copy(update={"ref": play.ref()}))


async def test_a_run_that_is_not_there_cannot_change(play: Play) -> None:
    with pytest.raises(CommitConflictError):
        await play.commit(make_next(play.run()))


@pytest.mark.parametrize("expected", [1, 3])
async def test_another_version_than_expected_is_a_conflict(play: Play, expected: int) -> None:
    run = await play.start()
    await play.commit(make_next(run))

    with pytest.raises(CommitConflictError):
        await play.commit(make_next(run, version=expected + 1))


# The order of the checks. Each change here fails every check from its own on.


def refused(run: Run, taken: Run, clock: HeldClock) -> Change:
    """Return a change that is too late, too early, and opens a ticket under a ref in use."""
    ticket = make_ticket(run, ref=taken.ref)
    return make_change(
        make_parked(run, ticket),
        opened=(ticket,),
        not_after=clock.now - SECOND,
        not_before=clock.now + SECOND,
    )


def lost(claim: Claim) -> Claim:
    return replace(claim, fence=claim.fence - 1)


async def test_the_key_is_looked_at_before_the_version(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    later = make_next(run)
    await play.commit(later, claim, key=keyed(later), claim=ClaimEffect.KEEP)
    change = refused(run, later, clock)

    again = await store.commit(replace(change, key=keyed(run)), lost(claim))

    assert again == Done(run.id, 2, keyed(later).outcome, replayed=True)
    with pytest.raises(IdempotencyConflictError):
        await store.commit(replace(change, key=keyed(run, body="other")), lost(claim))


async def test_the_version_is_looked_at_before_the_fence(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    await play.commit(make_next(run), claim, claim=ClaimEffect.KEEP)

    with pytest.raises(CommitConflictError):
        await store.commit(refused(run, run, clock), lost(claim))


async def test_the_fence_is_looked_at_before_the_clock(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()

    with pytest.raises(ClaimLostError):
        await store.commit(refused(run, run, clock), lost(claim))


async def test_lateness_is_looked_at_before_earliness(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()

    with pytest.raises(DeadlinePassedError):
        await store.commit(refused(run, run, clock), claim)


async def test_the_clock_is_looked_at_before_the_refs(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()

    with pytest.raises(DeadlineNotReachedError):
        await store.commit(replace(refused(run, run, clock), not_after=None), claim)


async def test_a_ref_in_use_refuses_the_change(play: Play, store: Store, clock: HeldClock) -> None:
    run, claim = await play.claimed()
    change = replace(refused(run, run, clock), not_after=None, not_before=None)

    with pytest.raises(RefTakenError):
        await store.commit(change, claim)


# A refused change leaves nothing behind.


@pytest.mark.parametrize(
    "fault", ["conflict", "version", "fence", "late", "early", "ref", "record"]
)
async def test_a_refused_change_writes_nothing(
    play: Play, store: Store, clock: HeldClock, fault: str
) -> None:
    run, claim = await play.claimed()
    seen = make_next(run)
    await play.commit(seen, claim, key=keyed(seen), records=(make_record(0),))
    ticket, other = make_ticket(run), make_ticket(run)
    whole = make_change(
        make_parked(seen, ticket, other),
        records=(make_record(1), make_record(2)),
        events=(make_event(1),),
        opened=(ticket, other),
        closed=(make_closed(make_ticket(run)),),
        raised=(make_card_key(run),),
        key=keyed(run, key="new"),
        claim=ClaimEffect.RELEASE,
    )
    faulty = {
        "conflict": replace(whole, key=keyed(run, body="other")),
        "version": replace(whole, expected=7),
        "fence": whole,
        "late": replace(whole, not_after=clock.now - MICROSECOND),
        "early": replace(whole, not_before=clock.now),
        "ref": replace(whole, opened=(ticket, other.model_copy(update={"ref": run.ref}))),
        "record": replace(whole, records=(make_record(1), make_record(0))),
    }[fault]
    before = await play.reading(whole)

    with pytest.raises((StoreError, IdempotencyConflictError)):
        await store.commit(faulty, lost(claim) if fault == "fence" else claim)

    loaded = await store.load(run.id, key="new", approval=whole.closed[0].approval)
    assert await play.reading(whole) == before
    assert (loaded.recorded, loaded.closed, loaded.running) == (None, None, True)
    assert (await store.commit(whole, claim)).version == 3


async def test_records_are_write_once(play: Play, store: Store) -> None:
    run = await play.start()
    later = make_next(run)
    await play.commit(later, records=(make_record(0),))
    rewritten = replace(make_record(0), body="other")

    with pytest.raises(StoreError):
        await play.commit(make_next(later), records=(rewritten,))

    assert await store.records(run.id) == (make_record(0),)


# Deadlines, to the microsecond.


async def test_a_change_is_taken_up_to_not_after_and_no_later(play: Play, clock: HeldClock) -> None:
    run = await play.start()
    late = make_next(run)
    deadline = clock.now + SECOND

    clock.now = deadline + MICROSECOND
    with pytest.raises(DeadlinePassedError):
        await play.commit(late, not_after=deadline)
    clock.now = deadline
    done = await play.commit(late, not_after=deadline)

    assert done.version == 2


async def test_a_change_is_taken_past_not_before_and_no_earlier(
    play: Play, clock: HeldClock
) -> None:
    run = await play.start()
    timed_out = make_next(run)
    deadline = clock.now + SECOND

    clock.now = deadline
    with pytest.raises(DeadlineNotReachedError):
        await play.commit(timed_out, not_before=deadline)
    clock.now = deadline + MICROSECOND
    done = await play.commit(timed_out, not_before=deadline)

    assert done.version == 2


async def test_moments_come_back_to_the_microsecond(play: Play, store: Store) -> None:
    odd = play.clock.move(microseconds=987_654)
    run = play.run(created_at=odd, updated_at=odd)

    await play.commit(run)

    assert (await store.load(run.id)).run.created_at == odd


async def test_a_reading_carries_the_clock_of_the_store(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.start()
    moved = clock.move(microseconds=1)

    assert (await store.load(run.id)).now == moved


# The same commit again.


async def test_a_repeated_commit_returns_its_first_outcome(play: Play, store: Store) -> None:
    change = make_change(play.run())
    await store.commit(change)

    assert await store.commit(change) == Done(change.run.id, 1, replayed=True)


async def test_a_repeated_commit_is_known_after_other_commits(play: Play, store: Store) -> None:
    run, claim = await play.claimed()
    change = make_change(make_next(run), records=(make_record(0),), claim=ClaimEffect.KEEP)
    await store.commit(change, claim)
    ended = make_ended(make_next(change.run))
    await play.commit(make_next(change.run), claim)
    await play.commit(ended, claim, claim=ClaimEffect.RELEASE)

    again = await store.commit(change, claim)

    assert again == Done(run.id, 2, replayed=True)
    assert (await store.load(run.id)).run == ended
    assert len(await store.records(run.id)) == 1


async def test_a_repeated_commit_is_known_under_a_claim_lost_since(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    change = make_change(make_next(run), claim=ClaimEffect.KEEP)
    await store.commit(change, claim)
    clock.now += LEASE
    await play.claim("another")

    assert (await store.commit(change, claim)).replayed


async def test_a_repeated_commit_is_known_past_its_deadline(
    play: Play, store: Store, clock: HeldClock
) -> None:
    change = make_change(make_next(await play.start()), not_after=clock.now)
    await store.commit(change)
    clock.move(hours=1)

    assert (await store.commit(change)).replayed


async def test_another_commit_for_the_same_version_is_not_a_repeat(
    play: Play, store: Store
) -> None:
    run = await play.start()
    first = make_change(make_next(run))
    await store.commit(first)
    await play.commit(make_next(first.run))

    with pytest.raises(CommitConflictError):
        await store.commit(replace(first, commit=CommitId("another")))
