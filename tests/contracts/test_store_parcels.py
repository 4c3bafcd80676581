"""A run moves from any kind of store to any other, and goes on there as if nothing had been."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.cards import Role
from engine.entries import RecordKind
from engine.errors import (
    CommitConflictError,
    IdempotencyConflictError,
    RefTakenError,
    RunClaimedError,
    RunNotFoundError,
    StoreError,
    UndecodableRecordError,
)
from engine.ids import Ref, RunId
from engine.runs import Run, RunStatus
from engine.store import KeyRecord, Parcel, RunFilter, Store
from engine.stores import MemoryStore, SqliteStore
from tests.contracts.conftest import SERVERS, Running, Where
from tests.contracts.play import LEASE, Play, due, keyed
from tests.contracts.redis_audit import check_indexes
from tests.contracts.redis_stores import open_redis_store
from tests.factories import (
    HeldClock,
    NewerTicket,
    make_card_key,
    make_change,
    make_closed,
    make_ended,
    make_event,
    make_newer,
    make_next,
    make_receipt,
    make_record,
    make_run,
)

HOUR = timedelta(hours=1)
BACK_OFF = timedelta(seconds=7)


def _targets() -> list[Any]:
    embedded = [pytest.param(None, id="to-memory"), pytest.param("other.db", id="to-sqlite")]
    return embedded + [pytest.param(where, id=f"to-{where.name}") for where in SERVERS]


@pytest.fixture(params=_targets())
async def target(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    clock: HeldClock,
    beside: Running,
) -> AsyncIterator[Store]:
    """Return a store to move to; servers here are others than those that are moved from."""
    where = request.param
    if isinstance(where, Where):
        server = beside(where)
        served = open_redis_store(server.url, clock=clock)
        yield served
        await served.close()
        check_indexes(server)
        return
    made = SqliteStore(tmp_path / where, clock=clock) if where else MemoryStore(clock=clock)
    yield made
    await made.close()


@pytest.fixture
def there(target: Store, clock: HeldClock) -> Play:
    return Play(target, clock)


async def move(store: Store, target: Store, run: RunId) -> Parcel:
    parcel = await store.pack(run)
    await target.unpack(parcel)
    assert await target.pack(run) == parcel
    return parcel


async def lived(play: Play) -> Run:
    """Take a run to a wait, with something of all that can be kept of one."""
    run = play.run()
    start = KeyRecord(f"start:{run.agent}:{run.concurrency_key}", "a start", "body", "{}")
    facts: dict[str, Any] = {
        "records": (make_record(0), make_record(1, RecordKind.RESULT, 1)),
        "events": (make_event(1), make_event(2)),
    }
    asks = make_card_key(run)
    await play.commit(run, key=start, raised=(asks, make_card_key(run, role=Role.ASKED)), **facts)
    first = await play.park(*await play.claim())
    answered = make_next(first, status=RunStatus.QUEUED, tickets=())
    closed = (make_closed(first.tickets[0]),)
    await play.commit(answered, closed=closed, key=keyed(answered, key="an answer"), raised=(asks,))
    card, other = await due(play.store)
    await play.store.card_shown(card, card.wanted, make_receipt(link="https://slack/1", note="n"))
    await play.store.card_failed(other, play.clock.now + HOUR)
    await play.store.adopt_card(asks, make_receipt(link="https://slack/2"))
    resumed, claim = await play.claim()
    later = make_next(resumed)
    await play.commit(later, claim, events=(make_event(3),))
    return await play.park(later, claim)


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


async def test_a_run_that_is_there_is_left_as_it_is(play: Play, store: Store, there: Play) -> None:
    run = await play.parked()
    parcel = await move(store, there.store, run.id)
    later = make_next(run)
    await there.commit(later)
    before = await there.store.pack(run.id)

    with pytest.raises(CommitConflictError, match=run.id):
        await there.store.unpack(parcel)

    assert await there.store.pack(run.id) == before


async def test_a_run_whose_key_another_holds_is_refused(
    play: Play, store: Store, there: Play
) -> None:
    moved = await play.parked(concurrency_key="key")
    holder, _ = await there.claimed(concurrency_key="key")

    with pytest.raises(CommitConflictError, match=holder.id):
        await there.store.unpack(await store.pack(moved.id))

    with pytest.raises(RunNotFoundError):
        await there.store.load(moved.id)


async def test_a_run_whose_ref_is_in_use_is_refused(play: Play, store: Store, there: Play) -> None:
    run = await play.parked()
    user = await there.start(ref=run.tickets[0].ref)

    with pytest.raises(RefTakenError, match=user.ref):
        await there.store.unpack(await store.pack(run.id))

    with pytest.raises(RunNotFoundError):
        await there.store.load(run.id)


async def test_a_run_whose_start_key_stands_for_another_is_refused(
    play: Play, store: Store, there: Play
) -> None:
    run = await lived(play)
    start = (await store.pack(run.id)).keys[1][0]
    await there.commit(there.run(), key=start)

    with pytest.raises(IdempotencyConflictError):
        await there.store.unpack(await store.pack(run.id))

    with pytest.raises(RunNotFoundError):
        await there.store.load(run.id)


async def test_a_run_that_is_worked_on_is_not_packed(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    with pytest.raises(RunClaimedError, match="stop the processes"):
        await store.pack(run.id)
    await store.release(claim)
    assert (await store.pack(run.id)).since == clock.now


async def test_a_run_that_is_not_there_is_not_packed(store: Store) -> None:
    for name in ("0run_none", "run_none", ""):
        with pytest.raises(RunNotFoundError):
            await store.pack(RunId(name))


async def test_what_a_later_version_wrote_is_not_packed(play: Play, store: Store) -> None:
    run = await play.start()
    await play.commit(make_next(make_newer(run)))
    other = await play.parked()
    closed = make_closed(NewerTicket(**dict(other.tickets[0])))
    await play.commit(make_ended(other), closed=(closed,))

    for name in (run.id, other.id):
        with pytest.raises(UndecodableRecordError):
            await store.pack(name)


@pytest.mark.parametrize("where", SERVERS, ids=lambda where: where.name)
async def test_a_run_whose_id_names_no_place_stays_where_it_is(
    where: Where, clock: HeldClock, running: Running
) -> None:
    old, target = MemoryStore(clock=clock), open_redis_store(running(where).url, clock=clock)
    run = make_run()
    await Play(old, clock).commit(run)

    with pytest.raises(StoreError, match=f"{run.id} .*no place"):
        await target.unpack(await old.pack(run.id))

    placed = await Play(old, clock).start(ref=Ref("Z00001"))
    with pytest.raises(StoreError, match="Z00001"):
        await target.unpack(await old.pack(placed.id))
    assert (await target.list_runs(RunFilter(), 5)).runs == ()
    await old.close()
    await target.close()
