"""A call, or a tool, that people keep denying is not asked about for ever."""

from datetime import timedelta
from typing import Any

import pytest

from engine import Agent, Allow, Answer, Approvers, Deny, Run, RunStatus, ask_human
from engine.errors import InvalidAgentDefinitionError
from engine.events import CallNotAsked
from engine.tickets import Decision
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

A: Call = ("deploy", {"version": "A"})
B: Call = ("deploy", {"version": "B"})
QUESTION: Call = ("ask_human", {"question": "Which?"})


def agent(ledger: Ledger, *steps: Any, **given: Any) -> Agent:
    approvals: Any = {"deploy": "user"}
    return Agent(
        name="a",
        model=script(*steps, repeat_results),
        tools=[ledger.deploy, ledger.refund, ask_human],
        approvals=approvals,
        approval_timeout=timedelta(hours=1),
        **given,
    )


async def started(*steps: Any, **given: Any) -> tuple[Stage, Run]:
    on = stage(lambda ledger: agent(ledger, *steps, **given))
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(begun.run)


async def say(on: Stage, run: Run, decision: Decision) -> Run:
    """Answer the first open ticket, and go on as far as it goes."""
    token = on.token(run.id, run.tickets[0].approval)
    await on.engine.resume(token, decision, actor=person(ALICE))
    await on.settle()
    return await on.engine.get_run(run.id)


async def not_asked(on: Stage, run: Run) -> list[tuple[str, int]]:
    facts = [event.fact for event in await on.engine.events(run.id)]
    return [(one.tool, one.denials) for one in facts if isinstance(one, CallNotAsked)]


async def test_a_call_denied_twice_is_not_asked_a_third_time_and_the_model_is_told() -> None:
    on, run = await started([A], [A], [A])
    run = await say(on, run, Deny(reason="no"))
    assert run.status is RunStatus.WAITING
    run = await say(on, run, Deny())

    assert run.status is RunStatus.SUCCEEDED
    assert (run.output or "").split(" | ")[2] == (
        "deploy=denied:blocked: people have denied this very call 2 times; it will not be asked"
        " again in this run: do something else, or say what you could not do"
    )
    assert await not_asked(on, run) == [("deploy", 2)]
    assert len(on.inbox.tokens) == 2


async def test_an_edited_call_that_is_denied_counts_as_the_one_the_model_proposed() -> None:
    who = Approvers(people=(BOB, CAROL), quorum=2)
    on, run = await started([A], [A], deny_limit=1, approvers=who)
    token = on.token(run.id, run.tickets[0].approval)
    await on.engine.resume(token, Allow(arguments={"version": "B"}), actor=person(BOB))
    await on.settle()
    run = await on.engine.get_run(run.id)
    token = on.token(run.id, run.tickets[0].approval)
    await on.engine.resume(token, Deny(), actor=person(CAROL))
    await on.settle()

    run = await on.engine.get_run(run.id)
    assert run.status is RunStatus.SUCCEEDED
    assert await not_asked(on, run) == [("deploy", 1)]


async def test_other_arguments_are_another_call() -> None:
    on, run = await started([A], [B], [A], [B], deny_limit=1)
    run = await say(on, run, Deny())
    run = await say(on, run, Deny())
    assert run.status is RunStatus.SUCCEEDED
    assert await not_asked(on, run) == [("deploy", 1), ("deploy", 1)]


async def test_a_tool_denied_often_enough_is_not_asked_about_whatever_its_arguments() -> None:
    on, run = await started([A], [B], [("deploy", {"version": "C"})], tool_deny_limit=2)
    run = await say(on, run, Deny())
    run = await say(on, run, Deny())
    assert run.status is RunStatus.SUCCEEDED
    assert "people have denied calls of deploy 2 times" in (run.output or "")
    assert await not_asked(on, run) == [("deploy", 2)]


async def test_silence_counts_as_a_denial() -> None:
    on, run = await started([A], [A], deny_limit=1)
    on.clock.move(timedelta(hours=1, seconds=1))
    await on.settle()
    run = await on.engine.get_run(run.id)
    assert run.status is RunStatus.SUCCEEDED
    assert "people have denied this very call once" in (run.output or "")


async def test_an_approval_is_no_denial_and_takes_none_back() -> None:
    on, run = await started([A], [A], [A], [A])
    for decision in (Deny(), Allow(), Deny()):
        run = await say(on, run, decision)
    assert run.status is RunStatus.SUCCEEDED
    assert await not_asked(on, run) == [("deploy", 2)]
    assert on.ledger.effects == ["deploy A prod"]


async def test_a_question_that_was_declined_is_not_put_again() -> None:
    on, run = await started([QUESTION], [QUESTION], deny_limit=1)
    run = await say(on, run, Deny())
    assert run.status is RunStatus.SUCCEEDED
    assert await not_asked(on, run) == [("ask_human", 1)]


async def test_a_call_whose_turn_comes_after_the_denial_is_not_asked_either() -> None:
    on, run = await started([A, A], asks="one_by_one", deny_limit=1)
    run = await say(on, run, Deny())
    assert run.status is RunStatus.SUCCEEDED
    assert await not_asked(on, run) == [("deploy", 1)]


async def test_a_call_that_is_not_asked_takes_no_turn_from_one_that_is() -> None:
    on, run = await started([A], [A, B], asks="first_only", deny_limit=1)
    run = await say(on, run, Deny())
    run = await say(on, run, Allow())
    assert on.ledger.effects == ["deploy B prod"]
    assert await not_asked(on, run) == [("deploy", 1)]


async def test_without_limits_people_are_asked_for_as_long_as_the_model_asks() -> None:
    on, run = await started(*[[A]] * 7, deny_limit=None, tool_deny_limit=None)
    for _ in range(7):
        run = await say(on, run, Deny())
    assert run.status is RunStatus.SUCCEEDED
    assert await not_asked(on, run) == []


async def test_an_answer_to_a_question_is_no_denial() -> None:
    on, run = await started([QUESTION], [QUESTION], deny_limit=1)
    run = await say(on, run, Answer(value="this"))
    assert run.status is RunStatus.WAITING
    assert run.denials == ()


@pytest.mark.parametrize("limit", ["deny_limit", "tool_deny_limit"])
def test_a_limit_below_one_is_refused(limit: str) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="a deny limit is at least 1"):
        agent(Ledger(), "x", **{limit: 0})
