"""What can be asked of a store: records, events, lists of runs."""

import pytest

from engine.entries import Record, RecordKind
from engine.errors import RunNotFoundError, UndecodableRecordError
from engine.ids import PersonId, RunId
from engine.runs import Run, RunStatus
from engine.store import Page, RunFilter, Store
from tests.contracts.play import LEASE, Play
from tests.factories import (
    HeldClock,
    NewerTicket,
    make_change,
    make_closed,
    make_ended,
    make_event,
    make_newer,
    make_next,
    make_record,
)

NOBODY = RunId("run_nobody")


async def test_an_unknown_run_is_not_found(store: Store) -> None:
    with pytest.raises(RunNotFoundError):
        await store.load(NOBODY)


async def test_an_unknown_run_has_nothing(store: Store) -> None:
    assert await store.records(NOBODY) == ()
    assert await store.events(NOBODY) == ()
    assert await store.cards(NOBODY) == ()


async def test_a_closed_ticket_that_cannot_be_read_is_named_by_its_run(
    play: Play, store: Store
) -> None:
    run = await play.parked()
    ticket = make_closed(run.tickets[0])
    newer = NewerTicket(**{name: getattr(ticket, name) for name in type(ticket).model_fields})
    await play.commit(make_ended(run), closed=(newer,))

    with pytest.raises(UndecodableRecordError, match=run.id):
        await store.load(run.id, approval=ticket.approval)
    assert (await store.load(run.id)).closed is None


# Records.


async def test_records_come_in_the_order_of_entry_kind_and_index(play: Play, store: Store) -> None:
    first = (make_record(0), make_record(1, RecordKind.RESPONSE))
    second = tuple(make_record(1, RecordKind.RESULT, index) for index in (10, 2))
    run = play.run()
    await store.commit(make_change(run, records=first))
    await play.commit(make_next(run), records=(make_record(2), *second))

    read = await store.records(run.id)

    assert read == (*first, second[1], second[0], make_record(2))
    assert await store.records(run.id, 2) == (make_record(2),)
    assert await store.records(run.id, 3) == ()


async def test_records_of_other_runs_are_not_mixed_in(play: Play, store: Store) -> None:
    one, two = play.run(), play.run()
    await store.commit(make_change(one, records=(make_record(0),)))
    await store.commit(make_change(two, records=(make_record(0), make_record(1))))

    assert len(await store.records(one.id)) == 1


async def test_a_record_keeps_any_text(play: Play, store: Store) -> None:
    run = play.run()
    odd = Record(0, RecordKind.INPUT, 0, "{'\0\U0001f6a6\n" + "x" * 300_000)
    await store.commit(make_change(run, records=(odd,)))

    assert await store.records(run.id) == (odd,)


# Events.


async def with_events(play: Play) -> Run:
    """Return a run of five events, made in commits of 1, 0, 2, 2 and 0 of them."""
    run, seq = play.run(), 0
    for number in (1, 0, 2, 2, 0):
        events = tuple(make_event(seq + 1 + index) for index in range(number))
        await play.commit(run, events=events)
        run, seq = make_next(run), seq + number
    return run


@pytest.mark.parametrize("after", range(6))
async def test_events_after_a_number_are_read_in_order(
    play: Play, store: Store, after: int
) -> None:
    run = await with_events(play)
    await with_events(play)

    events = await store.events(run.id, after)

    assert [event.seq for event in events] == list(range(after + 1, 6))
    assert events == tuple(make_event(seq) for seq in range(after + 1, 6))


# Lists.


def ids(page: Page) -> list[RunId]:
    return [run.id for run in page.runs]


async def test_runs_are_listed_newest_first(play: Play, store: Store) -> None:
    made = [(await play.start(created_at=play.clock.move(seconds=1))).id for _ in range(4)]

    assert ids(await store.list_runs(RunFilter(), 10)) == made[::-1]


async def test_pages_follow_each_other_until_the_cursor_is_empty(play: Play, store: Store) -> None:
    made = [(await play.start(created_at=play.clock.move(seconds=1))).id for _ in range(5)]
    listed: list[RunId] = []
    cursor, pages = "", 0
    while cursor or not pages:
        page = await store.list_runs(RunFilter(), 2, cursor)
        listed, cursor, pages = [*listed, *ids(page)], page.cursor, pages + 1

    assert listed == made[::-1]
    assert pages == 3


async def test_a_full_last_page_has_no_cursor(play: Play, store: Store) -> None:
    for _ in range(2):
        await play.start()

    assert (await store.list_runs(RunFilter(), 2)).cursor == ""


async def test_runs_made_meanwhile_do_not_move_the_next_page(play: Play, store: Store) -> None:
    made = [(await play.start(created_at=play.clock.move(seconds=1))).id for _ in range(3)]
    first = await store.list_runs(RunFilter(), 1)
    await play.start(created_at=play.clock.move(seconds=1))

    assert ids(await store.list_runs(RunFilter(), 9, first.cursor)) == [made[1], made[0]]


async def make_some_of_all(play: Play) -> dict[str, RunId]:
    """Return runs by what they are, oldest first, of two agents and two owners."""
    made: dict[str, Run] = {}

    def next_run() -> Run:
        return play.run(created_at=play.clock.move(seconds=1))

    made["running"] = (await play.claimed(created_at=play.clock.move(seconds=1)))[0]
    made["waiting"] = await play.parked(created_at=play.clock.move(seconds=1))
    for status in (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED):
        made[status.value] = run = next_run()
        await play.commit(run)
        await play.commit(make_ended(run, status))
    for name, given in (
        ("queued", {}),
        ("of another agent", {"agent": "other"}),
        ("of another owner", {"owner": PersonId("UOTHER")}),
        ("of both others", {"agent": "other", "owner": PersonId("UOTHER")}),
    ):
        made[name] = next_run().model_copy(update=given)
        await play.commit(made[name])
    return {name: run.id for name, run in made.items()}


QUEUED = ["queued", "of another agent", "of another owner", "of both others"]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (RunFilter(statuses=(RunStatus.QUEUED,)), QUEUED),
        (RunFilter(statuses=(RunStatus.RUNNING,)), ["running"]),
        (RunFilter(statuses=(RunStatus.WAITING,)), ["waiting"]),
        (RunFilter(statuses=(RunStatus.QUEUED, RunStatus.RUNNING)), ["running", *QUEUED]),
        (
            RunFilter(statuses=(RunStatus.FAILED, RunStatus.WAITING, RunStatus.SUCCEEDED)),
            ["waiting", "succeeded", "failed"],
        ),
        (RunFilter(agent="other"), ["of another agent", "of both others"]),
        (RunFilter(owner="UOTHER"), ["of another owner", "of both others"]),
        (RunFilter(agent="other", owner="UOTHER"), ["of both others"]),
        (RunFilter(statuses=(RunStatus.WAITING,), agent="other"), []),
        (RunFilter(statuses=(RunStatus.CANCELLED,), agent="deployer"), ["cancelled"]),
        (RunFilter(agent="nobody"), []),
    ],
    ids=str,
)
async def test_a_list_holds_what_the_filter_says(
    play: Play, store: Store, wanted: RunFilter, names: list[str]
) -> None:
    made = await make_some_of_all(play)

    listed = ids(await store.list_runs(wanted, 20))

    assert listed == [made[name] for name in reversed(names)]


async def test_a_filtered_list_has_pages_too(play: Play, store: Store) -> None:
    made = await make_some_of_all(play)
    wanted = RunFilter(owner="UOWNER")
    everything = ids(await store.list_runs(wanted, 20))
    listed: list[RunId] = []
    cursor = ""
    for _ in everything:
        page = await store.list_runs(wanted, 1, cursor)
        listed, cursor = [*listed, *ids(page)], page.cursor

    assert (listed, cursor) == (everything, "")
    assert len(everything) == len(made) - 2


async def test_a_run_whose_worker_was_lost_is_listed_as_queued(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run, _ = await play.claimed()
    clock.now += LEASE

    assert ids(await store.list_runs(RunFilter(statuses=(RunStatus.QUEUED,)), 5)) == [run.id]
    assert ids(await store.list_runs(RunFilter(statuses=(RunStatus.RUNNING,)), 5)) == []


async def test_a_run_that_cannot_be_read_leaves_the_others_in_the_list(
    play: Play, store: Store
) -> None:
    first = await play.start(created_at=play.clock.move(seconds=1))
    await play.commit(make_newer(play.run(created_at=play.clock.move(seconds=1))))
    last = await play.start(created_at=play.clock.move(seconds=1))

    assert ids(await store.list_runs(RunFilter(), 5)) == [last.id, first.id]
    page = await store.list_runs(RunFilter(), 2)
    assert ids(page) == [last.id]
    assert ids(await store.list_runs(RunFilter(), 2, page.cursor)) == [first.id]


async def test_a_check_changes_nothing_that_can_be_read(play: Play, store: Store) -> None:
    run = await play.raised()
    before = await store.gauges()

    await store.check()
    await store.check()

    assert await store.gauges() == before
    assert (await store.load(run.id)).run == run
