"""Tickets that share a card: which do, decided once, and what becomes of the card."""

from datetime import timedelta
from typing import Any

import pytest

from engine import Agent, Allow, Approvers, Deny, Rule, Run, Via, ask_human
from engine.cards import BatchNotice, Receipt, Role, TicketNotice
from engine.errors import DeliveryError, InvalidResumeTokenError
from engine.ids import ApprovalId, CallId, PersonId
from engine.lifecycle.draft import subject_of
from engine.lifecycle.propose import CARD_TICKETS
from engine.runs import ToolCall
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    Call,
    Ledger,
    Stage,
    person,
    repeat_results,
    script,
    stage,
)

DEPLOY: Call = ("deploy", {"version": "A"})
REFUND: Call = ("refund", {"order": 2})
QUESTION: Call = ("ask_human", {"question": "Which ticket?"})
HOUR = timedelta(hours=1)
ELSEWHERE = Receipt(place="C0", id="9.9")


def asking(
    ledger: Ledger, *calls: Call, then: Any = (), asks: Any = "together", **more: Any
) -> Agent:
    approvals: Any = {"deploy": "user", "refund": "user"}
    steps = [calls, then] if then else [calls]
    return Agent(
        name="a",
        model=script(*steps, repeat_results),
        tools=[ledger.deploy, ledger.refund, ask_human],
        approvals=approvals,
        approval_timeout=HOUR,
        asks=asks,
        **more,
    )


async def parked(*calls: Call, **more: Any) -> tuple[Stage, Run]:
    on = stage(lambda ledger: asking(ledger, *calls, **more))
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(begun.run)


def shared(on: Stage, role: Role = Role.ASK) -> list[BatchNotice]:
    """Return what the shared cards say now."""
    latest = on.inbox.latest.values()
    return [one for one in latest if isinstance(one, BatchNotice) and one.role is role]


def alone(on: Stage, role: Role = Role.ASK) -> list[TicketNotice]:
    latest = on.inbox.latest.values()
    return [one for one in latest if isinstance(one, TicketNotice) and one.role is role]


async def answer(
    on: Stage, run: Run, index: int, decision: Allow | Deny, who: PersonId = ALICE
) -> None:
    token = on.token(run.id, run.tickets[index].approval)
    await on.engine.resume(token, decision, actor=person(who))


@pytest.mark.parametrize(
    ("calls", "sizes"), [(1, []), (2, [2]), (4, [4]), (5, [3, 2]), (9, [3, 3, 3]), (64, [4] * 16)]
)
async def test_as_many_as_fit_share_a_card_and_the_rest_the_next(
    calls: int, sizes: list[int]
) -> None:
    on, run = await parked(*[DEPLOY] * calls, max_open_asks=None, max_open_asks_per_approver=None)

    assert [len(card.tickets) for card in shared(on)] == sizes
    assert all(size <= CARD_TICKETS for size in sizes)
    seen = [one.approval for card in shared(on) for one in card.tickets]
    seen += [one.approval for one in alone(on)]
    assert seen == [ticket.approval for ticket in run.tickets]


async def test_a_question_keeps_a_card_of_its_own() -> None:
    on, _ = await parked(DEPLOY, QUESTION, REFUND)

    assert [len(card.tickets) for card in shared(on)] == [2]
    assert [one.target.kind for one in alone(on)] == ["remote_input"]


async def test_calls_that_take_turns_share_none() -> None:
    on, run = await parked(DEPLOY, REFUND, asks="one_by_one")
    await answer(on, run, 0, Allow())
    await on.settle()

    assert shared(on) == []
    assert len(alone(on)) == 2


async def test_one_card_shows_every_decision_and_what_became_of_each_call() -> None:
    on, run = await parked(DEPLOY, REFUND, DEPLOY)
    await answer(on, run, 1, Deny(reason="no"))
    await on.settle()
    (card,) = shared(on)

    assert [one.resolution is None for one in card.tickets] == [True, False, True]
    assert [one.token is None for one in card.tickets] == [False, True, False]
    assert card.resolution is None

    await answer(on, run, 0, Allow())
    await answer(on, run, 2, Allow())
    await on.settle()
    (card,) = shared(on)
    assert card.resolution is not None
    assert [one.effect.text if one.effect else "" for one in card.tickets] == [
        "release A live in prod",
        "",
        "release A live in prod",
    ]


async def test_it_is_one_card_for_the_courier_with_one_key_from_first_to_last() -> None:
    on, run = await parked(DEPLOY, REFUND)
    before = [card.key for card in await on.store.cards(run.id)]
    await answer(on, run, 0, Allow())
    await answer(on, run, 1, Allow())
    await on.settle()

    cards = [card.key for card in await on.store.cards(run.id)]
    subject = "+".join(ticket.approval for ticket in run.tickets)
    assert [key for key in cards if key.role is Role.ASK] == [
        key for key in before if key.role is Role.ASK
    ]
    assert {key.subject for key in before} == {subject}


async def test_an_edited_call_is_shown_where_it_was_and_its_votes_are_void() -> None:
    two = Approvers(people=(ALICE, BOB), quorum=2, four_eyes=False)
    on, run = await parked(DEPLOY, REFUND, approvers=two)
    first, second = run.tickets
    await answer(on, run, 0, Allow(), BOB)
    stale = on.token(run.id, first.approval)

    await answer(on, run, 0, Allow(arguments={"version": "B"}))
    await on.settle()

    (card,) = shared(on)
    edited, other = card.tickets
    assert edited.arguments == {"version": "B"}
    assert [vote.person for vote in edited.votes] == [ALICE]
    assert other.arguments == {"order": 2}
    assert other.digest == second.digest
    assert alone(on) == []
    with pytest.raises(InvalidResumeTokenError, match="superseded"):
        await on.engine.resume(stale, Allow(), actor=person(BOB))
    subjects = {one.key.subject for one in await on.store.cards(run.id)}
    assert subjects == {f"{first.approval}+{second.approval}"}

    await answer(on, run, 0, Allow(), BOB)
    await answer(on, run, 1, Deny())
    await on.settle()
    assert alone(on) == []
    assert on.ledger.effects == ["deploy B prod"]


async def test_a_call_that_a_rule_denies_is_on_no_card() -> None:
    staging: Call = ("deploy", {"version": "A", "env": "staging"})
    never = Rule(verdict="deny", tool="deploy", when=('env = "staging"',))
    on, run = await parked(DEPLOY, staging, REFUND, rules=[never])

    (card,) = shared(on)
    assert [one.target.call for one in card.tickets] == ["1.0", "1.2"]
    assert alone(on) == []
    assert len(run.tickets) == len(card.tickets)


async def test_a_call_that_was_denied_often_enough_is_on_no_card() -> None:
    again = [DEPLOY, REFUND, ("refund", {"order": 3})]
    on, run = await parked(DEPLOY, REFUND, then=again, deny_limit=1)
    await answer(on, run, 0, Deny())
    await answer(on, run, 1, Allow())
    await on.settle()

    now = await on.engine.get_run(run.id)
    card = next(one for one in shared(on) if one.resolution is None)
    assert [one.arguments for one in card.tickets] == [{"order": 2}, {"order": 3}]
    assert [one.approval for one in card.tickets] == [ticket.approval for ticket in now.tickets]


async def test_no_secret_is_on_a_shared_card() -> None:
    secret = "sk-live-4eC39HqLyjWDarjtT1zdp7dc"
    on, _ = await parked(("deploy", {"version": f"token={secret}"}), REFUND)

    (card,) = shared(on)
    assert secret not in card.model_dump_json()
    assert card.tickets[0].masked == ("/version",)


async def test_silence_closes_all_of_it() -> None:
    on, _ = await parked(DEPLOY, REFUND)
    on.clock.move(HOUR + timedelta(seconds=1))
    await on.settle()

    (card,) = shared(on)
    assert [one.resolution and one.resolution.timed_out for one in card.tickets] == [True, True]


async def test_the_owner_is_told_once_and_of_each_decision_by_another() -> None:
    on, run = await parked(DEPLOY, REFUND)

    (asked,) = shared(on, Role.ASKED)
    assert asked.ask is not None
    assert alone(on, Role.ASKED) == []
    on.clock.move(HOUR + timedelta(seconds=1))
    await on.settle()
    assert len(alone(on, Role.DECIDED)) == len(run.tickets)


async def test_a_card_that_could_not_be_shown_is_shown_whole_later() -> None:
    on = stage(lambda ledger: asking(ledger, DEPLOY, REFUND))
    on.inbox.fail(1, DeliveryError("away"))
    await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    assert shared(on) == []

    on.clock.move(timedelta(minutes=5))
    await on.settle()

    assert [len(card.tickets) for card in shared(on)] == [2]


async def test_a_post_whose_receipt_was_lost_is_adopted_by_any_of_its_rows_and_closed_too() -> None:
    on, run = await parked(DEPLOY, REFUND)
    second = on.token(run.id, run.tickets[1].approval)

    await on.engine.adopt(second, Via.API, "owner", ELSEWHERE)
    await answer(on, run, 0, Allow())
    await answer(on, run, 1, Allow())
    await on.settle()

    posts = [card for card in await on.store.cards(run.id) if card.key.role is Role.ASK]
    assert [one.receipt and one.receipt.id for one in posts].count("9.9") == 1
    assert len(posts) == 2
    assert all(one.shown >= one.wanted for one in posts)


def test_a_ticket_that_came_later_for_a_call_has_a_card_of_its_own() -> None:
    call = ToolCall(
        id=CallId("1.0"),
        provider_id="p",
        tool="deploy",
        digest="d",
        approval=ApprovalId("apr_3"),
        card="apr_1+apr_2",
    )

    assert subject_of(call, ApprovalId("apr_1")) == "apr_1+apr_2"
    assert subject_of(call, ApprovalId("apr_3")) == "apr_3"


async def test_what_is_held_back_has_no_row_and_shares_a_card_once_it_is_asked() -> None:
    calls: list[Call] = [("deploy", {"version": str(n)}) for n in range(4)]
    on, run = await parked(*calls, max_open_asks=2)

    (card,) = shared(on)
    assert [one.arguments for one in card.tickets] == [{"version": "0"}, {"version": "1"}]
    assert [one.needed for one in shared(on, Role.ASKED)[0].tickets] == [1, 1]
    await answer(on, run, 0, Allow())
    await answer(on, run, 1, Deny())
    await on.settle()
    await on.settle()

    first, second = shared(on)
    assert [one.arguments for one in second.tickets] == [{"version": "2"}, {"version": "3"}]
    assert first.resolution is not None
    assert alone(on) == []
    run = await on.engine.get_run(run.id)
    for index in range(2):
        await answer(on, run, index, Allow())
    await on.settle()
    assert on.ledger.effects == [f"deploy {n} prod" for n in (0, 2, 3)]


async def test_one_alone_that_is_not_held_back_has_a_card_of_its_own() -> None:
    on, run = await parked(DEPLOY, REFUND, max_open_asks=1)

    assert shared(on) == []
    assert [one.ref for one in alone(on)] == [run.tickets[0].ref]


@pytest.mark.parametrize("decision", [Allow(), Allow(arguments={"version": "9"})])
async def test_what_is_voted_on_while_it_is_held_back_is_still_on_one_card_alone(
    decision: Allow,
) -> None:
    two = Approvers(people=(BOB, CAROL), quorum=2)
    calls: list[Call] = [("deploy", {"version": str(n)}) for n in range(4)]
    on, run = await parked(*calls, max_open_asks=2, approvers=two)
    held = [ticket for ticket in run.tickets if ticket.held]
    # Nothing is delivered from here until they are released.
    token = await on.engine.token_for(held[0].ref, Via.TERMINAL)
    await on.engine.resume(token, decision, actor=person(BOB, Via.TERMINAL))
    for index in range(2):
        await answer(on, run, index, Deny(), BOB)
    await on.engine.usher.release()
    await on.settle()
    await on.settle()

    assert alone(on) == []
    assert alone(on, Role.ASKED) == []
    approvals = {held[0].approval, held[1].approval}
    (card,) = [one for one in shared(on) if {t.approval for t in one.tickets} & approvals]
    assert [one.approval for one in card.open] == [one.approval for one in held]
