"""What cannot be moved is refused, and nothing changes on either side."""

import pytest

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
from engine.store import RunFilter, Store
from engine.stores import MemoryStore
from tests.contracts.conftest import SERVERS, Running, Where
from tests.contracts.moving import lived, move
from tests.contracts.play import Play
from tests.contracts.redis_stores import open_redis_store
from tests.factories import (
    HeldClock,
    NewerTicket,
    make_closed,
    make_ended,
    make_newer,
    make_next,
    make_run,
)


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
