"""A flood of asks: as many are open as may be, the others wait, and none is lost."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine import Agent, Allow, Approvers, Deny, InvalidAgentDefinitionError, RunEngine
from engine.cards import BatchNotice, HeldNotice, Role, TicketNotice
from engine.errors import NotAllowedError
from engine.events import CallNotAsked, TicketHeld, TicketOpened, TicketReleased, link_event
from engine.identity import Via
from engine.ids import RunId, Surroundings
from engine.runs import RunStatus
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    SECRET,
    Ledger,
    Stage,
    person,
    repeat_results,
    script,
    stage,
)

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def deployer(ledger: Ledger, name: str = "deployer", calls: int = 1, **more: Any) -> Agent:
    step = [("deploy", {"version": str(n)}) for n in range(calls)]
    usual: dict[str, Any] = {
        "model": script(step, repeat_results),
        "tools": [ledger.deploy],
        "approvals": {"deploy": "user"},
        "approvers": Approvers(people=(BOB,)),
        "approval_timeout": HOUR,
    }
    return Agent(name=name, **(usual | more))


async def flood(on: Stage, runs: int, agent: str = "deployer") -> list[RunId]:
    begun = [await on.engine.start(agent, "go", owner=ALICE) for _ in range(runs)]
    await settle(on)
    return [one.run for one in begun]


async def settle(on: Stage) -> None:
    """Tick until every card shows what it should."""
    for _ in range(3):
        await on.engine.tick()
        while await on.engine.courier.deliver():
            pass


def cards(on: Stage) -> list[TicketNotice]:
    """Return the cards that can be answered now."""
    asked: list[TicketNotice] = []
    for one in on.inbox.latest.values():
        if isinstance(one, TicketNotice | BatchNotice) and one.role is Role.ASK:
            asked += one.open if isinstance(one, BatchNotice) else [one]
    return [one for one in asked if one.resolution is None]


def told(on: Stage) -> list[HeldNotice]:
    return [one for one in on.inbox.notices if isinstance(one, HeldNotice)]


async def allow(on: Stage, notice: TicketNotice, who: Any = BOB) -> None:
    await on.engine.resume(on.token(notice.run, notice.approval), Allow(), actor=person(who))


async def test_of_a_thousand_asks_no_more_are_open_than_may_be_and_none_is_lost() -> None:
    on = stage(lambda ledger: deployer(ledger, calls=10))
    runs = await flood(on, 100)
    answered = 0
    while shown := cards(on):
        assert await counted(on, "agent:deployer") == (20, 1_000 - answered - 20)
        assert len(shown) == 20
        for notice in shown:
            assert notice.deadline == on.clock.now + HOUR
            await allow(on, notice)
        answered += 20
        on.clock.move(MINUTE)
        await settle(on)

    assert answered == len(on.ledger.effects) == 1_000
    ended = [await on.engine.get_run(run) for run in runs]
    assert {run.status for run in ended} == {RunStatus.SUCCEEDED}
    assert await on.store.berths.known(0, 9) == ()


async def test_what_is_held_back_has_no_card_no_deadline_and_no_notice() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    first, second = await flood(on, 2)

    back = (await on.engine.get_run(second)).tickets[0]
    assert back.held is not None
    assert (back.deadline, back.held.timeout, back.held.full) == (None, HOUR, ("agent:deployer",))
    asked = [one for one in on.inbox.notices if isinstance(one, TicketNotice)]
    assert {one.run for one in asked} == {first}
    assert {one.role for one in asked} == {Role.ASK, Role.ASKED}
    facts = [event.fact for event in await on.engine.events(second)]
    (opened,) = [fact for fact in facts if isinstance(fact, TicketOpened)]
    (hold,) = [fact for fact in facts if isinstance(fact, TicketHeld)]
    assert (opened.deadline, hold.ref, hold.full) == (None, back.ref, ("agent:deployer",))


async def test_the_deadline_counts_from_the_release() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    _, second = await flood(on, 2)
    on.clock.move(10 * HOUR)
    await settle(on)

    (card,) = cards(on)
    assert card.run == second
    assert card.deadline == on.clock.now + HOUR
    (released,) = [
        event.fact
        for event in await on.engine.events(second)
        if isinstance(event.fact, TicketReleased)
    ]
    assert released.deadline == card.deadline
    on.clock.move(HOUR + MINUTE)
    await settle(on)
    assert (await on.engine.get_run(second)).status is RunStatus.SUCCEEDED


async def test_the_links_of_events_hold_where_asks_are_held_back() -> None:
    on = stage(lambda ledger: deployer(ledger, calls=3, max_open_asks=1))
    (run,) = await flood(on, 1)
    while shown := cards(on):
        await allow(on, shown[0])
        await settle(on)

    events = await on.engine.events(run)
    head = ""
    for number, event in enumerate(events, start=1):
        assert event == link_event(head, number, event.at, event.fact)
        head = event.link
    assert sum(isinstance(event.fact, TicketHeld) for event in events) == 2
    assert (await on.engine.get_run(run)).event_head == head


async def test_people_are_told_once_in_a_flood_and_again_in_the_next() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=2))
    await flood(on, 9)
    assert [one.role for one in told(on)] == [Role.HELD, Role.HELD_OWNER]
    assert {(one.opened, one.full, one.agent) for one in told(on)} == {(2, "agent", "deployer")}
    while shown := cards(on):
        await allow(on, shown[0])
        await settle(on)
    assert len({one.idempotency for one in told(on)}) == 2

    await flood(on, 3)

    assert len({one.idempotency for one in told(on)}) == 4


async def test_the_first_that_is_released_brings_the_count_up_to_date() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=2))
    await flood(on, 9)
    await allow(on, cards(on)[0])
    await settle(on)
    assert [(one.opened, one.waiting) for one in told(on)[-2:]] == [(2, 6), (2, 6)]


async def test_a_flood_of_one_agent_does_not_hold_back_another() -> None:
    on = two_agents(max_open_asks_per_approver=None)
    await flood(on, 25)
    (run,) = await flood(on, 1, "refunder")
    assert [one.held for one in (await on.engine.get_run(run)).tickets] == [None]


async def test_two_agents_share_the_limit_of_an_approver() -> None:
    on = two_agents(max_open_asks=None, max_open_asks_per_approver=3)
    await flood(on, 2)
    await flood(on, 2, "refunder")
    assert await counted(on, "person:UBOB") == (3, 1)
    assert await counted(on, "agent:refunder") == (1, 1)
    assert {(one.full, one.opened, one.waiting) for one in told(on)} == {("approver", 3, 1)}

    await allow(on, next(one for one in cards(on) if one.agent == "deployer"))
    await settle(on)

    assert sorted(one.agent for one in cards(on)) == ["deployer", "refunder", "refunder"]


@pytest.mark.parametrize(
    ("more", "name"),
    [({"groups": ("S1",)}, "user group:S1"), ({"channels": ("C1",)}, "channel:C1")],
)
async def test_a_group_and_a_channel_are_approvers_too(more: dict[str, Any], name: str) -> None:
    who = Approvers(**more)
    on = stage(lambda ledger: deployer(ledger, approvers=who, max_open_asks_per_approver=1))
    await flood(on, 3)
    assert await counted(on, name) == (1, 2)


async def test_the_owner_is_the_approver_where_nobody_is_named() -> None:
    on = stage(lambda ledger: deployer(ledger, approvers=Approvers(), max_open_asks_per_approver=1))
    await flood(on, 2)
    other = await on.engine.start("deployer", "go", owner=CAROL)
    await settle(on)
    assert await counted(on, "person:UALICE") == (1, 1)
    assert (await on.engine.get_run(other.run)).tickets[0].held is None


@pytest.mark.parametrize("asks", ["one_by_one", "first_only"])
async def test_calls_that_take_turns_are_held_back_in_their_turn(asks: str) -> None:
    on = stage(lambda ledger: deployer(ledger, calls=2, asks=asks, max_open_asks=1))
    runs = await flood(on, 3)
    for _ in range(6):
        shown = cards(on)
        assert len(shown) <= 1
        for notice in shown:
            await allow(on, notice)
        await settle(on)
    ended = {(await on.engine.get_run(run)).status for run in runs}
    assert ended == {RunStatus.SUCCEEDED}
    assert len(on.ledger.effects) == (6 if asks == "one_by_one" else 3)


async def test_a_step_with_more_calls_than_the_limit_asks_them_as_others_are_answered() -> None:
    on = stage(lambda ledger: deployer(ledger, calls=5, max_open_asks=2))
    (run,) = await flood(on, 1)
    seen: list[Any] = []
    while shown := cards(on):
        assert len(shown) == min(2, 5 - len(seen))
        seen += [one.arguments for one in shown]
        for notice in shown:
            await allow(on, notice)
        await settle(on)
    assert seen == [{"version": str(number)} for number in range(5)]
    assert (await on.engine.get_run(run)).status is RunStatus.SUCCEEDED


async def test_a_held_ticket_can_be_decided_by_its_ref_and_only_by_who_may() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    _, second, third = await flood(on, 3)
    ref = (await on.engine.get_run(second)).tickets[0].ref
    token = await on.engine.token_for(ref, Via.TERMINAL)
    with pytest.raises(NotAllowedError):
        await on.engine.resume(token, Allow(), actor=person(CAROL, Via.TERMINAL))

    await on.engine.resume(token, Deny(reason="no"), actor=person(BOB, Via.TERMINAL))
    await settle(on)

    assert (await on.engine.get_run(second)).status is RunStatus.SUCCEEDED
    assert await counted(on, "agent:deployer") == (1, 1)
    asks = [n for n in on.inbox.notices if isinstance(n, TicketNotice) and n.role is Role.ASK]
    assert second not in {one.run for one in asks}
    await allow(on, cards(on)[0])
    await settle(on)
    assert [one.run for one in cards(on)] == [third]


async def test_a_held_run_can_be_cancelled_and_leaves_the_line() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    first, second, third = await flood(on, 3)
    await on.engine.cancel(second, actor=person(ALICE))
    await settle(on)
    assert await counted(on, "agent:deployer") == (1, 1)
    assert {one.run for one in on.inbox.latest.values() if one.kind == "ticket"} == {first}

    await on.engine.cancel(first, actor=person(ALICE))
    await settle(on)

    assert [one.run for one in cards(on)] == [third]
    on.clock.move(HOUR)
    assert await on.store.purge(on.clock.now, 9) == 2


async def test_a_released_ticket_takes_votes_and_edits_as_any_other() -> None:
    both = Approvers(people=(BOB, CAROL), quorum=2)
    on = stage(lambda ledger: deployer(ledger, approvers=both, max_open_asks=1))
    first, second = await flood(on, 2)
    await on.engine.cancel(first, actor=person(ALICE))
    await settle(on)
    (card,) = cards(on)
    edited = Allow(arguments={"version": "9"})
    await on.engine.resume(on.token(second, card.approval), edited, actor=person(BOB))
    await settle(on)
    await allow(on, cards(on)[0], CAROL)
    await settle(on)
    assert on.ledger.effects == ["deploy 9 prod"]


async def test_without_limits_nothing_is_held_back_and_nothing_counted() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=None, max_open_asks_per_approver=None))
    await flood(on, 60)
    assert len(cards(on)) == 60
    assert await on.store.berths.known(0, 9) == ()


@pytest.mark.parametrize("field", ["max_open_asks", "max_open_asks_per_approver"])
def test_a_limit_of_no_asks_is_refused(field: str) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="at least 1"):
        deployer(Ledger(), "deployer", 1, **{field: 0})


async def counted(on: Stage, name: str) -> tuple[int, int]:
    (count,) = await on.store.berths.count([name])
    return count.open, count.waiting


def two_agents(**more: Any) -> Stage:
    on = stage(deployer)
    agents = [deployer(on.ledger, **more), deployer(on.ledger, "refunder", **more)]
    engine = RunEngine(
        store=on.store,
        agents=agents,
        notifiers={"owner": on.inbox},
        resume_secret=SECRET,
        surroundings=Surroundings(clock=on.clock),
    )
    return replace(on, engine=engine)


@pytest.mark.parametrize(
    ("more", "versions"), [({"deny_limit": 2}, "11111"), ({"tool_deny_limit": 2}, "12345")]
)
async def test_what_was_denied_often_enough_meanwhile_is_not_asked_when_its_turn_comes(
    more: dict[str, Any], versions: str
) -> None:
    step = [("deploy", {"version": version}) for version in versions]
    usual = {"deny_limit": None, "tool_deny_limit": None}
    on = stage(
        lambda ledger: deployer(
            ledger, model=script(step, repeat_results), max_open_asks=1, **(usual | more)
        )
    )
    (run,) = await flood(on, 1)
    denied = 0
    while shown := cards(on):
        await on.engine.resume(on.token(run, shown[0].approval), Deny(), actor=person(BOB))
        denied += 1
        await settle(on)

    assert denied == 2
    await settle(on)
    ended = await on.engine.get_run(run)
    assert ended.status is RunStatus.SUCCEEDED
    assert str(ended.output).count("it will not be asked again") == 3
    facts = [event.fact for event in await on.engine.events(run)]
    assert sum(isinstance(fact, CallNotAsked) for fact in facts) == 3
    assert await on.store.berths.known(0, 9) == ()


async def test_what_people_have_taken_up_already_is_asked_all_the_same() -> None:
    both = Approvers(people=(BOB, CAROL), quorum=2)
    step = [("deploy", {"version": "1"})] * 3
    on = stage(
        lambda ledger: deployer(
            ledger,
            model=script(step, repeat_results),
            approvers=both,
            max_open_asks=1,
            deny_limit=1,
        )
    )
    (run,) = await flood(on, 1)
    last = (await on.engine.get_run(run)).tickets[2]
    token = await on.engine.token_for(last.ref, Via.TERMINAL)
    await on.engine.resume(token, Allow(), actor=person(CAROL, Via.TERMINAL))
    await on.engine.resume(on.token(run, cards(on)[0].approval), Deny(), actor=person(BOB))
    await settle(on)
    assert [one.approval for one in cards(on)] == [last.approval]


@pytest.mark.parametrize("end", ["answered", "cancelled", "released"])
async def test_the_rest_of_a_flood_is_told_though_its_first_did_not_wait_for_that(
    end: str,
) -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    begun = [(await on.engine.start("deployer", "go", owner=ALICE)).run for _ in range(4)]
    await on.advance()
    runs = [await on.engine.get_run(run) for run in begun]
    first = next(run for run in runs if run.tickets[0].held and run.tickets[0].held.news)
    asked = next(run for run in runs if not run.tickets[0].held)
    if end == "cancelled":
        await on.engine.cancel(first.id, actor=person(ALICE))
    else:
        one = first if end == "answered" else asked
        token = await on.engine.token_for(one.tickets[0].ref, Via.TERMINAL)
        await on.engine.resume(token, Allow(), actor=person(BOB, Via.TERMINAL))
        await on.engine.usher.release()

    await settle(on)

    assert {(one.role, one.waiting) for one in told(on)} >= {
        (Role.HELD, 2),
        (Role.HELD_OWNER, 2),
    }
