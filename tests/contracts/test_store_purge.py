"""Retention removes what ended long ago, with all that was kept of it, and nothing else."""

from datetime import timedelta
from typing import Any

import pytest

from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    RunNotFoundError,
    UndecodableRecordError,
)
from engine.runs import Run, RunStatus
from engine.store import CARDS_KEEP_FOR, Change, KeyRecord, RunFilter, Store
from tests.contracts.play import LEASE, Play, due, keyed
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_closed,
    make_ended,
    make_event,
    make_newer,
    make_next,
    make_parked,
    make_receipt,
    make_record,
    make_ticket,
)

MICROSECOND = timedelta(microseconds=1)
MONTHS = timedelta(days=90)
MANY = 1000


def start_key(run: Run, key: str = "") -> KeyRecord:
    scope = f"start:{run.agent}:{run.concurrency_key}"
    return KeyRecord(scope, key or run.id, "body", f'{{"started": "{run.id}"}}')


async def lived(play: Play, **given: Any) -> tuple[Run, Change]:
    """Take a run from its start to its end, with something of all that can be kept of one."""
    run = play.run(**given)
    await play.commit(run, key=start_key(run), records=(make_record(0),), events=(make_event(1),))
    ticket = make_ticket(run)
    parked = make_parked(run, ticket)
    await play.commit(parked, opened=(ticket,), raised=(make_card_key(run),))
    change = make_change(
        make_ended(parked),
        closed=(make_closed(ticket),),
        key=keyed(parked, key="answer"),
        events=(make_event(2),),
        opened=(ticket,),
    )
    await play.store.commit(change)
    await show_all(play)
    return change.run, change


async def show_all(play: Play) -> None:
    for card in await due(play.store):
        await play.store.card_shown(card, card.wanted, make_receipt())


async def listed(store: Store) -> set[str]:
    return {run.id for run in (await store.list_runs(RunFilter(), MANY)).runs}


async def test_a_run_that_ended_before_the_moment_goes(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, _ = await lived(play)
    ended = clock.now
    clock.now += MONTHS

    assert await store.purge(ended, MANY) == 0
    assert await store.purge(ended + MICROSECOND, MANY) == 1

    with pytest.raises(RunNotFoundError):
        await store.load(run.id)
    assert await listed(store) == set()
    assert await store.purge(clock.now, MANY) == 0


async def test_nothing_is_left_of_a_run_that_went(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, change = await lived(play, concurrency_key="mine")
    approval = change.closed[0].approval
    clock.now += MONTHS
    await store.purge(clock.now, MANY)
    reading = await play.reading(change)
    again = run.model_copy(update={"version": 1, "status": RunStatus.QUEUED})

    assert (reading.run, reading.records, reading.events, reading.cards) == (None, (), (), ())
    assert reading.found == (None, None)
    done = await play.commit(again, key=start_key(again))
    assert (done.version, done.replayed) == (1, False)
    loaded = await store.load(run.id, key="answer", approval=approval)
    assert (loaded.recorded, loaded.closed) == (None, None)
    assert await store.records(run.id) == ()
    assert await store.events(run.id) == ()
    assert await store.cards(run.id) == ()


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED])
async def test_however_a_run_ended_it_goes(
    play: Play, store: Store, clock: HeldClock, status: RunStatus
) -> None:
    await play.commit(make_ended(await play.start(), status))

    assert await store.purge(clock.now + MICROSECOND, MANY) == 1


async def test_a_run_that_cannot_be_read_goes_and_is_reported(
    play: Play, store: Store, clock: HeldClock, reported: list[UndecodableRecordError]
) -> None:
    run = await play.start()
    await play.commit(make_newer(make_ended(run)))
    await play.commit(make_ended(await play.start()))
    older = clock.now + MICROSECOND

    assert await store.purge(older, MANY, dry_run=True) == 2
    assert await store.purge(older, MANY) == 2

    assert len(reported) == 2
    assert all(run.id in str(error) for error in reported)


async def test_a_live_run_stays_however_old_it_is(
    play: Play, store: Store, clock: HeldClock
) -> None:
    lives = {(await play.parked()).id, (await play.claimed())[0].id, (await play.start()).id}
    clock.now += MONTHS * 100

    assert await store.purge(clock.now, MANY) == 0
    assert await listed(store) == lives


async def test_a_run_that_stays_keeps_all_that_was_kept_of_it(
    play: Play, store: Store, clock: HeldClock
) -> None:
    await lived(play)
    clock.now += MONTHS
    cut = clock.now
    run, change = await lived(play)
    before = await play.reading(change)

    assert await store.purge(cut, MANY) == 1

    assert await play.reading(change) == before
    approval = change.closed[0].approval
    loaded = await store.load(run.id, key="answer", approval=approval)
    assert loaded.recorded == change.key
    assert loaded.closed == change.closed[0]
    repeated = play.run()
    assert (await play.commit(repeated, key=start_key(repeated, run.id))).run == run.id


async def test_keys_of_kept_runs_stay_beside_one_that_went(
    play: Play, store: Store, clock: HeldClock
) -> None:
    gone, kept = play.run(), play.run()
    await play.commit(gone, key=start_key(gone, "one"))
    await play.commit(kept, key=start_key(kept, "other"))
    await play.commit(make_ended(gone))

    assert await store.purge(clock.now + MICROSECOND, MANY) == 1

    repeated = play.run()
    assert (await play.commit(repeated, key=start_key(repeated, "other"))).run == kept.id
    assert (await play.commit(repeated, key=start_key(repeated, "one"))).run == repeated.id


async def test_a_ref_that_went_to_another_run_stays_with_it(
    play: Play, store: Store, clock: HeldClock
) -> None:
    gone = await play.end(await play.start())
    taker = await play.start(ref=gone.ref)

    assert await store.purge(clock.now + MICROSECOND, MANY) == 1

    found = await store.find(gone.ref)
    assert found is not None
    assert found.run == taker.id


async def test_those_that_ended_first_go_first(play: Play, store: Store, clock: HeldClock) -> None:
    runs = [await play.start() for _ in range(5)]
    for run in reversed(runs):
        clock.move(seconds=1)
        await play.end(run)
    clock.now += MONTHS

    assert await store.purge(clock.now, 3) == 3
    assert await listed(store) == {run.id for run in runs[:2]}
    assert await store.purge(clock.now, 3) == 2


async def test_a_dry_run_counts_and_removes_nothing(
    play: Play, store: Store, clock: HeldClock
) -> None:
    _, change = await lived(play)
    await lived(play)
    before = await play.reading(change)
    clock.now += MONTHS

    assert await store.purge(clock.now, MANY, dry_run=True) == 2
    assert await store.purge(clock.now, 1, dry_run=True) == 1
    assert await play.reading(change) == before


async def test_a_card_that_is_behind_keeps_its_run_until_it_is_shown(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.start()
    await play.commit(ended := make_ended(run), raised=(make_card_key(run),))
    clock.now += CARDS_KEEP_FOR

    assert await store.purge(clock.now, MANY) == 0
    await store.card_failed(await play.take(), clock.now)
    assert await store.purge(clock.now, MANY) == 0
    await store.card_shown(await play.take(), ended.version, make_receipt())
    assert await store.purge(clock.now, MANY) == 1


async def test_a_card_that_nobody_could_show_for_so_long_keeps_its_run_no_longer(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.start()
    await play.commit(make_ended(run), raised=(make_card_key(run),))
    ended = clock.now

    assert await store.purge(ended + CARDS_KEEP_FOR, MANY) == 0
    assert await store.purge(ended + CARDS_KEEP_FOR + MICROSECOND, MANY) == 1
    assert await due(store) == []
    assert await store.next_due() is None


async def test_runs_that_cards_keep_do_not_hide_others(
    play: Play, store: Store, clock: HeldClock
) -> None:
    for _ in range(3):
        run = await play.start()
        await play.commit(make_ended(run), raised=(make_card_key(run),))
    last = await play.end(await play.start())

    assert await store.purge(clock.now + MICROSECOND, 1) == 1
    assert last.id not in await listed(store)


async def test_what_comes_late_for_a_run_that_went_changes_nothing(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, claim = await play.claimed()
    await play.commit(make_next(run), claim, raised=(make_card_key(run),))
    card = await play.take()
    ended = await play.end(make_next(run), claim)
    clock.now += CARDS_KEEP_FOR + MONTHS
    await store.purge(clock.now - CARDS_KEEP_FOR, MANY)

    await store.card_shown(card, ended.version, make_receipt())
    await store.card_failed(card, clock.now)
    await store.adopt_card(card.key, make_receipt())
    await store.release(claim)
    with pytest.raises(ClaimLostError):
        await store.heartbeat(claim, LEASE)
    with pytest.raises(CommitConflictError):
        await play.commit(make_next(ended))

    assert await listed(store) == set()
    assert await store.cards(run.id) == ()


async def test_the_next_in_turn_for_a_key_is_not_held_up_by_one_that_went(
    play: Play, store: Store, clock: HeldClock
) -> None:
    await play.end(*await play.claimed(concurrency_key="key"))
    clock.now += MONTHS
    await store.purge(clock.now, MANY)
    following = await play.start(concurrency_key="key")

    assert await play.next_ready() == following.id
