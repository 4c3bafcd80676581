"""The story every seed document tells: ask, park, answer, go on with the same run."""

from datetime import timedelta

import pytest

from engine import Agent, Allow, Answer, Deny, ask_human
from engine.errors import AlreadyDecidedError, InvalidResumeTokenError, InvalidRunStateError
from engine.runs import RunStatus
from tests.engine.scripted import ALICE, BOB, Ledger, Stage, person, repeat_results, script, stage


def deployer(ledger: Ledger) -> Agent:
    """Deploys to production if a person allows it."""
    return Agent(
        name="deployer",
        model=script([("deploy", {"version": "1.4.2"})], repeat_results),
        tools=[ledger.deploy],
        approvals={"deploy": lambda values, _: "user" if values["env"] == "prod" else "allow"},
        approval_timeout=timedelta(hours=1),
        notify="owner",
    )


async def parked() -> tuple[Stage, str, str]:
    """Return a stage with one run parked, its id and its token."""
    on = stage(deployer)
    started = await on.engine.start("deployer", "deploy 1.4.2", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    assert run.waiting is not None
    return on, run.id, on.token(run.id, run.waiting.approval)


async def test_a_run_parks_before_the_tool_and_holds_nothing() -> None:
    on, run_id, _ = await parked()

    run = await on.engine.get_run(run_id)

    assert run.status is RunStatus.WAITING
    assert on.ledger.effects == []
    assert await on.store.claim("anyone", timedelta(seconds=1)) is None


async def test_an_allow_runs_the_tool_once_and_the_same_run_goes_on() -> None:
    on, run_id, token = await parked()

    await on.engine.resume(token, Allow(), actor=person(ALICE))
    assert on.ledger.effects == []
    await on.settle()

    run = await on.engine.get_run(run_id)
    assert on.ledger.effects == ["deploy 1.4.2 prod"]
    assert run.status is RunStatus.SUCCEEDED
    assert run.output == "deploy=success:release 1.4.2 live in prod"


async def test_a_deny_never_runs_the_tool_and_tells_the_model_why() -> None:
    on, run_id, token = await parked()

    await on.engine.resume(token, Deny(reason="Not on a Friday."), actor=person(ALICE))
    await on.settle()

    run = await on.engine.get_run(run_id)
    assert on.ledger.effects == []
    assert run.output == "deploy=denied:blocked: Not on a Friday."


async def test_silence_past_the_timeout_is_a_denial_that_the_model_sees() -> None:
    on, run_id, token = await parked()

    on.clock.move(timedelta(hours=1))
    await on.settle()
    assert (await on.engine.get_run(run_id)).status is RunStatus.WAITING
    on.clock.move(timedelta(microseconds=1))
    await on.settle()

    run = await on.engine.get_run(run_id)
    assert on.ledger.effects == []
    assert run.output == "deploy=denied:blocked: approval timed out"
    with pytest.raises(AlreadyDecidedError, match="timed out"):
        await on.engine.resume(token, Allow(), actor=person(ALICE))


async def test_a_token_answers_once() -> None:
    on, _, token = await parked()

    await on.engine.resume(token, Allow(), actor=person(ALICE))

    with pytest.raises(InvalidRunStateError):
        await on.engine.resume(token, Allow(), actor=person(ALICE))


async def test_a_late_answer_is_refused_and_changes_nothing() -> None:
    on, run_id, token = await parked()
    before = await on.engine.get_run(run_id)
    on.clock.move(timedelta(hours=1, microseconds=1))

    with pytest.raises(InvalidResumeTokenError):
        await on.engine.resume(token, Allow(), actor=person(ALICE))

    assert await on.engine.get_run(run_id) == before


async def test_a_call_that_policy_allows_runs_without_asking() -> None:
    def staging(ledger: Ledger) -> Agent:
        agent = deployer(ledger)
        model = script([("deploy", {"version": "1", "env": "staging"})], repeat_results)
        return Agent(**{**agent.__dict__, "model": model})

    on = stage(staging)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.settle()

    assert on.ledger.effects == ["deploy 1 staging"]
    assert (await on.engine.get_run(started.run)).status is RunStatus.SUCCEEDED
    assert not on.inbox.tokens


async def test_a_question_is_answered_and_the_answer_is_the_result() -> None:
    def curious(_: Ledger) -> Agent:
        return Agent(
            name="curious",
            model=script([("ask_human", {"question": "Which ticket?"})], repeat_results),
            tools=[ask_human],
        )

    on = stage(curious)
    started = await on.engine.start("curious", "go", owner=ALICE, requester=BOB)
    await on.settle()
    run = await on.engine.get_run(started.run)
    assert run.waiting is not None
    token = on.token(run.id, run.waiting.approval)

    await on.engine.resume(token, Answer(value="CHG-7"), actor=person(ALICE))
    await on.settle()

    run = await on.engine.get_run(started.run)
    assert run.output == "ask_human=success:CHG-7"
