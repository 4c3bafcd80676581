"""What a commit opens takes its berths, or nothing is written; what it closes leaves them."""

import pytest

from engine.berths import Ask, Berth, BerthState, Count, Held
from engine.errors import CommitConflictError, NoBerthError
from engine.ids import ApprovalId
from engine.store import Store
from tests.contracts.play import LONG, Play
from tests.factories import HeldClock, make_ask, make_change, make_closed, make_parked, make_ticket

FIRST, SECOND, THIRD = (make_ask(f"apr_{number}") for number in range(3))


async def stands(store: Store) -> list[tuple[str, str]]:
    """Return how each ask stands."""
    return [(one.approval, one.state.value) for one in await store.berths.known(0, 99)]


async def test_a_park_takes_berths_and_its_end_leaves_them(play: Play, store: Store) -> None:
    run = await play.start()
    ticket = make_ticket(run)
    parked = make_parked(run, ticket)
    ask = make_ask(ticket.approval)
    await play.commit(parked, opened=(ticket,), asks=(ask,))
    assert await stands(store) == [(ticket.approval, "open")]
    await store.berths.take([SECOND])

    later = parked.model_copy(update={"version": parked.version + 1})
    await play.commit(later, closed=(make_closed(ticket),))

    assert await stands(store) == [(SECOND.approval, "called")]


async def test_a_park_without_a_berth_is_refused_and_nothing_is_written(
    play: Play, store: Store
) -> None:
    await store.berths.take([FIRST])
    run = await play.start()
    ticket = make_ticket(run)
    change = make_change(
        make_parked(run, ticket), opened=(ticket,), asks=(make_ask(ticket.approval),)
    )
    before = await play.reading(change)

    with pytest.raises(NoBerthError):
        await store.commit(change)

    assert await play.reading(change) == before
    assert await store.berths.count(["agent:a"]) in [(Count(1, 0),), (Count(1, 1),)]


async def test_a_refused_park_leaves_no_berth_taken(play: Play, store: Store) -> None:
    run = await play.start()
    ticket = make_ticket(run)
    parked = make_parked(run, ticket)
    stale = make_change(parked, opened=(ticket,), asks=(make_ask(ticket.approval),))
    await play.commit(parked)

    with pytest.raises(CommitConflictError):
        await store.commit(stale)

    assert await stands(store) == []


async def test_a_park_that_is_made_again_takes_nothing_more(play: Play, store: Store) -> None:
    run = await play.start()
    ticket = make_ticket(run)
    change = make_change(
        make_parked(run, ticket), opened=(ticket,), asks=(make_ask(ticket.approval),)
    )
    await store.commit(change)
    assert (await store.commit(change)).replayed
    assert await stands(store) == [(ticket.approval, "open")]


async def test_an_ask_knows_its_run_and_since_when(store: Store, clock: HeldClock) -> None:
    await store.berths.take([FIRST])
    (known,) = await store.berths.known(0, 9)
    assert known == Berth(known.number, FIRST.approval, FIRST.run, BerthState.OPEN, clock.now)
    assert await store.berths.known(known.number, 9) == ()


async def test_only_the_first_that_waits_is_news(store: Store) -> None:
    await store.berths.take([FIRST])
    told = await store.berths.take([SECOND, THIRD])
    names = ("agent:a", "person:U1")
    assert told == (
        Held(SECOND.approval, names, ("owner:a:UOWNER",)),
        Held(THIRD.approval, names, ()),
    )
    assert await store.berths.take([SECOND, THIRD]) == told
    assert (await store.gauges()).held == 2


async def test_nobody_takes_the_last_room_that_the_first_in_line_waits_for(store: Store) -> None:
    busy = make_ask("apr_busy", within=(("person:U1", 1),))
    first = make_ask("apr_first", within=(("agent:a", 2), ("person:U1", 1)))
    others = [make_ask(f"apr_other_{n}", within=(("agent:a", 2),)) for n in range(2)]
    await store.berths.take([busy, first, *others])
    assert [state for _, state in await stands(store)] == ["open", "waiting", "open", "waiting"]

    await store.berths.leave([busy.approval])

    assert [state for _, state in await stands(store)] == ["called", "open", "waiting"]


async def test_who_is_called_is_woken_for(store: Store) -> None:
    await store.berths.take([FIRST, SECOND])
    mark = store.mark()
    await store.berths.leave([FIRST.approval])
    await store.wait(LONG, mark)
    assert [one.approval for one in await store.berths.called(9)] == [SECOND.approval]
    await store.berths.settle([ApprovalId("apr_1")])
    assert await store.berths.called(9) == ()


async def test_what_waits_for_no_room_any_more_is_called_at_once(store: Store) -> None:
    await store.berths.take([FIRST, SECOND])
    free = Ask(THIRD.approval, THIRD.run, (), ("agent:b",))

    assert await store.berths.restore((), [free]) == (free.approval,)

    assert [one.approval for one in await store.berths.called(9)] == [free.approval]
    await store.berths.leave([free.approval])
    assert await store.berths.count(["agent:b"]) == (Count(0, 0),)
    assert await stands(store) == [(FIRST.approval, "open"), (SECOND.approval, "waiting")]
