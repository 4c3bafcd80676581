"""Edit and approve: what a person made of a call's arguments is what is asked, and what runs."""

import json
import subprocess
import sys
from datetime import timedelta
from random import Random
from typing import Any

import pydantic
import pytest

from engine import (
    Agent,
    Allow,
    Answer,
    Deny,
    PolicyContext,
    Run,
    Settle,
    ToolOptions,
    ask_human,
)
from engine.arguments import canonical_arguments
from engine.entries import RecordKind
from engine.errors import (
    EditFault,
    EditRefusedError,
    InvalidArgumentsError,
    InvalidResumeTokenError,
    NotAllowedError,
    Refusal,
    TicketMismatchError,
    ToolCallError,
    UnknownAgentError,
    WrongDecisionError,
)
from engine.events import ArgumentsEdited, TicketClosed
from engine.identity import Via
from engine.lifecycle.answer import Judgement, answer
from engine.lifecycle.edit import Edit, arguments_of
from engine.lifecycle.execute import begin
from engine.lifecycle.propose import Gated, permission_digest
from engine.model import EDITED_NOTE
from engine.policy import Verdict
from engine.schema import canonical_json
from engine.tickets import UNDECLARED, ResumeCommand
from tests.engine.deciding import (
    DAVE,
    TWO_OF_THREE,
    decide,
    deployer,
    facts,
    named,
    parked,
    refusal,
)
from tests.engine.scripted import (
    BOB,
    CAROL,
    Ledger,
    Stage,
    person,
    repeat_results,
    returns,
    script,
    stage,
)
from tests.engine.steps import NOON, at, call, claimant, proposed
from tests.engine.town import but_for_attempts
from tests.notifiers.trees import grow_object

ONE = named(BOB)
EDIT = Allow(arguments={"version": "2"})
STAGING = Allow(arguments={"version": "1", "env": "staging"})


async def unchanged(on: Stage, run: Run) -> bool:
    return but_for_attempts(await on.engine.get_run(run.id)) == but_for_attempts(run)


async def test_the_edited_arguments_run_and_not_the_models() -> None:
    on, run = await parked(ONE)

    assert await decide(on, run, BOB, EDIT) == "approved with edits 1/1"
    await on.settle()

    assert on.ledger.effects == ["deploy 2 prod"]


async def test_the_model_is_told_what_really_ran() -> None:
    told: list[Any] = []

    def listen(messages: Any) -> Any:
        told.extend(returns(messages))
        return repeat_results(messages)

    model = script([("deploy", {"version": "1"}), ("deploy", {"version": "9"})], listen)
    on, run = await parked(ONE, model=model)

    await decide(on, run, BOB, EDIT)
    await decide(on, await on.engine.get_run(run.id), BOB)
    await on.settle()

    assert [part.content for part in told] == [
        {"note": EDITED_NOTE, "arguments": {"version": "2"}, "result": "release 2 live in prod"},
        "release 9 live in prod",
    ]


async def test_the_model_is_told_of_the_edit_too_where_a_person_had_to_say_that_it_happened() -> (
    None
):
    on, run = await parked(ONE)
    await decide(on, run, BOB, EDIT)
    taken = await on.store.claim("doomed", timedelta(seconds=10))
    assert taken is not None
    change = begin(taken[0], run.tickets[0].target.call, on.engine.surroundings.moment())
    await on.store.commit(change, taken[1])
    on.clock.move(timedelta(seconds=11))
    await on.engine.tick()

    await decide(on, await on.engine.get_run(run.id), BOB, Settle(outcome="happened"))
    await on.settle()

    output = (await on.engine.get_run(run.id)).output or ""
    assert "'arguments': {'version': '2'}" in output


async def test_a_denial_after_an_edit_tells_the_model_of_no_edit() -> None:
    on, run = await parked(TWO_OF_THREE)
    await decide(on, run, BOB, EDIT)
    await decide(on, await on.engine.get_run(run.id), CAROL, Deny(reason="no"))
    await on.settle()

    assert (await on.engine.get_run(run.id)).output == "deploy=denied:blocked: no"


async def test_both_forms_are_kept_the_digests_in_the_events_and_the_arguments_as_records() -> None:
    on, run = await parked(ONE)
    before = run.tickets[0].digest

    await decide(on, run, BOB, EDIT)

    (edited,) = await facts(on, run, ArgumentsEdited)
    assert (edited.before, edited.after) == (before, permission_digest("deploy", '{"version":"2"}'))
    assert (edited.actor.id, edited.voided) == (BOB, 0)
    kept = {record.kind: record.body for record in await on.store.records(run.id)}
    assert kept[RecordKind.ARGUMENTS] == '{"version":"1"}'
    assert json.loads(kept[RecordKind.EDIT])["arguments"] == '{"version":"2"}'
    (closed,) = await facts(on, run, TicketClosed)
    assert closed.resolution.decision == Allow()
    assert closed.resolution.edited


async def test_an_edit_to_the_same_arguments_is_an_approval() -> None:
    on, run = await parked(ONE)

    assert await decide(on, run, BOB, Allow(arguments={"version": "1"})) == "approved 1/1"

    assert await facts(on, run, ArgumentsEdited) == []


async def test_an_edit_that_is_put_back_tells_the_model_nothing() -> None:
    on, run = await parked(TWO_OF_THREE)
    await decide(on, run, BOB, EDIT)
    back = Allow(arguments={"version": "1"})
    await decide(on, await on.engine.get_run(run.id), CAROL, back)
    await decide(on, await on.engine.get_run(run.id), DAVE)
    await on.settle()

    assert (await on.engine.get_run(run.id)).output == "deploy=success:release 1 live in prod"


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({}, "version"),
        ({"version": 7}, "version"),
        ({"version": "2", "envy": "x"}, "envy"),
        ({"version": "2", "env": None}, "env"),
        ({"version": float("nan")}, ""),
        ({"version": "x" * 300_000}, ""),
        ({"version": "\ud800"}, ""),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_and_change_nothing(
    arguments: Any, about: str
) -> None:
    on, run = await parked(ONE)

    with pytest.raises(InvalidArgumentsError) as refused:
        await decide(on, run, BOB, Allow(arguments=arguments))

    assert [name for name, _ in refused.value.faults] == [about]
    assert await on.engine.get_run(run.id) == run
    assert await decide(on, run, BOB, EDIT) == "approved with edits 1/1"


async def test_arguments_nested_too_deep_are_refused() -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    on, run = await parked(ONE)

    with pytest.raises(InvalidArgumentsError, match="deeper"):
        await decide(on, run, BOB, Allow(arguments={"version": deep}))


def test_arguments_nested_beyond_reason_are_no_decision_at_all() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(pydantic.ValidationError):
        Allow(arguments={"version": deep})


def not_staging(call: dict[str, Any], _context: PolicyContext) -> str:
    return "deny" if call.get("env") == "staging" else "user"


async def test_a_policy_that_denies_the_edited_call_refuses_the_edit_and_changes_nothing() -> None:
    on, run = await parked(ONE, approvals={"deploy": not_staging})

    with pytest.raises(EditRefusedError) as refused:
        await decide(on, run, BOB, STAGING)

    assert refused.value.fault is EditFault.POLICY
    assert await on.engine.get_run(run.id) == run
    assert await decide(on, run, BOB) == "approved 1/1"


async def test_a_policy_that_fails_lets_no_edit_through() -> None:
    def fail_on_staging(call: dict[str, Any], _context: PolicyContext) -> str:
        if call.get("env") == "staging":
            raise RuntimeError("a secret of the policy's own")
        return "user"

    on, run = await parked(ONE, approvals={"deploy": fail_on_staging})

    with pytest.raises(EditRefusedError) as refused:
        await decide(on, run, BOB, STAGING)

    assert refused.value.fault is EditFault.UNCHECKED
    assert "secret" not in str(refused.value)
    assert await on.engine.get_run(run.id) == run


async def test_a_tool_may_forbid_that_it_is_edited() -> None:
    on, run = await parked(ONE, options={"deploy": ToolOptions(editable=False)})

    with pytest.raises(EditRefusedError) as refused:
        await decide(on, run, BOB, EDIT)

    assert refused.value.fault is EditFault.NOT_EDITABLE
    assert await on.engine.get_run(run.id) == run
    assert (
        await on.engine.notice(on.token(run.id, run.tickets[0].approval), Via.API)
    ).fields is None


async def test_a_question_takes_no_edit() -> None:
    def asking(_ledger: Ledger) -> Agent:
        model = script([("ask_human", {"question": "Which?"})], repeat_results)
        return Agent(name="curious", model=model, tools=[ask_human])

    on = stage(asking)
    started = await on.engine.start("curious", "go", owner=BOB)
    await on.engine.tick()
    run = await on.engine.get_run(started.run)

    with pytest.raises(WrongDecisionError):
        await decide(on, run, BOB, Allow(arguments={"question": "Another?"}))
    assert await decide(on, run, BOB, Answer(value="that")) == "answered 0/1"


async def test_a_tool_that_has_changed_since_takes_no_edit() -> None:
    on, run = await parked(ONE)
    newer = stage(
        lambda ledger: deployer(
            ledger, approvers=ONE, options={"deploy": ToolOptions(version="2")}
        ),
        store=lambda _clock: on.store,
    )

    with pytest.raises(TicketMismatchError, match="fingerprint"):
        await decide(newer, run, BOB, EDIT)
    assert await on.engine.get_run(run.id) == run


async def test_a_process_without_the_agent_takes_no_edit() -> None:
    on, run = await parked(ONE)
    other = stage(lambda _ledger: Agent(name="other", model="test"), store=lambda _clock: on.store)

    with pytest.raises(UnknownAgentError):
        await decide(other, run, BOB, EDIT)
    assert await on.engine.get_run(run.id) == run


async def test_whoever_may_not_decide_may_not_edit_and_nothing_of_the_edit_is_looked_at() -> None:
    judged: list[Any] = []

    def watch(call: dict[str, Any], _context: PolicyContext) -> str:
        judged.append(call)
        return "user"

    on, run = await parked(ONE, approvals={"deploy": watch})
    seen = len(judged)

    assert await refusal(on, run, CAROL, decision=EDIT) is Refusal.NOT_AN_APPROVER
    assert len(judged) == seen


async def test_the_requester_may_not_edit() -> None:
    on, run = await parked(named(BOB, CAROL), requester=BOB)

    assert await refusal(on, run, BOB, decision=EDIT) is Refusal.REQUESTER
    assert await decide(on, run, CAROL, EDIT) == "approved with edits 1/1"


async def test_what_an_edit_starts_from_is_told_for_the_present_form_alone() -> None:
    on, run = await parked(TWO_OF_THREE)
    old = on.token(run.id, run.tickets[0].approval)
    await decide(on, run, BOB, EDIT)

    with pytest.raises(InvalidResumeTokenError):
        await on.engine.answers.editing(old, Via.API)
    await on.engine.courier.deliver()
    fresh = await on.engine.answers.editing(on.token(run.id, run.tickets[0].approval), Via.API)
    assert fresh.arguments == {"version": "2"}


async def test_an_edit_of_one_call_leaves_the_others_of_its_step_alone() -> None:
    model = script([("deploy", {"version": "1"}), ("deploy", {"version": "8"})], repeat_results)
    on, run = await parked(ONE, model=model)
    second = run.tickets[1]

    await decide(on, run, BOB, EDIT)

    now = await on.engine.get_run(run.id)
    assert now.tickets == (second,)
    await decide(on, now, BOB)
    await on.settle()
    assert on.ledger.effects == ["deploy 2 prod", "deploy 8 prod"]


def test_the_terminal_loads_no_model_layer_before_an_edit_arrives() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import sys, bot.cli.terminal; print('pydantic_ai' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "False\n"


async def test_refused_edits_are_in_the_events_as_attempts() -> None:
    on, run = await parked(ONE)
    with pytest.raises(NotAllowedError):
        await decide(on, run, CAROL, EDIT)

    kinds = [event.fact.kind for event in await on.engine.events(run.id)]
    assert kinds[-1] == "answer_refused"
    said = canonical_json([e.model_dump(mode="json") for e in await on.engine.events(run.id)])
    assert '"version"' not in said


@pytest.mark.parametrize("many", [500, pytest.param(5_000, marks=pytest.mark.proof)])
def test_of_any_trees_what_runs_has_the_digest_that_was_approved(many: int) -> None:
    for seed in range(many):
        random = Random(seed)  # noqa: S311 - the same trees for the same seed
        try:
            own, mine = (canonical_arguments(grow_object(random)) for _ in range(2))
        except ToolCallError:
            continue
        asked = call(0, verdict=Verdict.ASK, digest=permission_digest("deploy", own))
        change = proposed(Gated(call=asked, arguments=own))
        ticket = change.run.tickets[0]
        edit = Edit(mine, permission_digest("deploy", mine), UNDECLARED)
        actor = person(BOB)
        word = Allow(arguments=json.loads(mine))
        command = ResumeCommand.from_ticket(ticket, word, actor=actor, now=NOON)
        judged = Judgement(command, claimant(ticket, actor), edit)

        decided, _ = answer(change.run, judged, at(), None)

        assert decided.run.batch is not None
        runs = decided.run.batch.call(asked.id)
        records = (*change.records, *decided.records)
        assert arguments_of(records, runs.id, "deploy", runs.digest) == mine
        assert runs.digest == edit.digest == decided.closed[0].digest
        assert arguments_of(records, runs.id, "deploy", asked.digest) == own
