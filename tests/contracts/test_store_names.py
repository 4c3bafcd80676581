"""What a commit is known by afterwards: the caller's key, and the refs that people type."""

from dataclasses import replace

import pytest

from engine.errors import RefTakenError
from engine.ids import RunId
from engine.runs import Run, RunStatus
from engine.store import Done, KeyRecord, Store
from tests.contracts.play import Play, keyed
from tests.factories import (
    make_closed,
    make_ended,
    make_next,
    make_parked,
    make_ref,
    make_ticket,
)

# Keys.


async def test_a_repeated_key_is_told_the_first_outcome(play: Play, store: Store) -> None:
    run = await play.start()
    answered = make_next(run)
    first = await play.commit(answered, key=keyed(answered))
    await play.commit(make_next(answered))

    again = await play.commit(make_next(run), key=keyed(make_next(answered)))

    assert again == replace(first, replayed=True)
    assert (await store.load(run.id)).run.version == 3


async def test_a_repeated_start_is_told_of_the_first_run(play: Play, store: Store) -> None:
    first, second = play.run(), play.run()
    key = KeyRecord("start:deployer:", "key", "body", "outcome")
    await play.commit(first, key=key)

    again = await play.commit(second, key=replace(key, outcome="of the second"))

    assert again == Done(first.id, 1, "outcome", replayed=True)
    assert await store.find(second.ref) is None


async def test_keys_of_different_scopes_are_different(play: Play) -> None:
    one = KeyRecord("start:one:", "key", "body", "outcome")
    await play.commit(play.run(), key=one)

    done = await play.commit(play.run(), key=replace(one, scope="start:two:", body="other"))

    assert not done.replayed


async def test_a_key_is_read_in_the_scope_of_the_run(play: Play, store: Store) -> None:
    run, other = await play.start(), await play.start()
    later = make_next(run)
    await play.commit(later, key=keyed(later))

    assert (await store.load(run.id, key="key")).recorded == keyed(later)
    assert (await store.load(other.id, key="key")).recorded is None
    assert (await store.load(run.id)).recorded is None


# Refs.


async def test_a_new_run_needs_a_ref_of_its_own(play: Play, store: Store) -> None:
    run = await play.start()
    other = play.run(ref=run.ref)

    with pytest.raises(RefTakenError):
        await play.commit(other)

    found = await store.find(run.ref)
    assert found is not None
    assert (found.run, found.approval) == (run.id, None)


async def test_a_ref_names_one_open_ticket(play: Play) -> None:
    ref = play.ref()
    await play.parked(make_ticket(play.run(), ref=ref))
    run = await play.start()
    ticket = make_ticket(run, ref=ref)

    with pytest.raises(RefTakenError):
        await play.commit(make_parked(run, ticket), opened=(ticket,))


async def test_two_tickets_of_one_change_need_two_refs(play: Play) -> None:
    run = await play.start()
    one = make_ticket(run)
    two = make_ticket(run, ref=one.ref)

    with pytest.raises(RefTakenError):
        await play.commit(make_parked(run, one, two), opened=(one, two))


async def test_the_ref_of_an_ended_run_points_at_it_until_another_takes_it(
    play: Play, store: Store
) -> None:
    run = await play.start()
    await play.commit(make_ended(run))
    assert await ref_points_at(store, run) == run.id

    other = await play.start(ref=run.ref)

    assert await ref_points_at(store, run) == other.id


async def test_the_ref_of_a_closed_ticket_points_at_it_until_another_takes_it(
    play: Play, store: Store
) -> None:
    run = await play.parked()
    ticket = run.tickets[0]
    went_on = make_next(run, status=RunStatus.QUEUED, tickets=())
    await play.commit(went_on, closed=(make_closed(ticket),))
    found = await store.find(ticket.ref)
    assert found is not None
    assert found.approval == ticket.approval

    again = make_ticket(run, ref=ticket.ref)
    await play.commit(make_parked(went_on, again), opened=(again,))

    found = await store.find(ticket.ref)
    assert found is not None
    assert found.approval == again.approval


async def test_a_ref_that_nobody_had_points_at_nothing(store: Store) -> None:
    assert await store.find(make_ref()) is None


async def ref_points_at(store: Store, run: Run) -> RunId | None:
    found = await store.find(run.ref)
    return None if found is None else found.run
