"""The step loop: what the model is told of each call, and what ends a run."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from engine import Agent, Allow, RunScope, ToolOptions
from engine.agents import DEFAULT_MAX_STEPS
from engine.runs import RunStatus
from tests.engine.scripted import (
    ALICE,
    BOB,
    Call,
    Ledger,
    Line,
    Stage,
    person,
    repeat_results,
    script,
    stage,
)


def fail_badly() -> str:
    """Fail."""
    raise RuntimeError("the disk is full")


def try_again(name: str) -> str:
    """Ask for another name."""
    raise ModelRetry(f"there is no {name}; use 'api'")


async def never_ends() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


def not_json() -> object:
    """Return something that no model can be told."""
    return object()


def large() -> str:
    """Return a lot."""
    return "x" * 300_000


async def run_to_end(*lines: Line, tools: Sequence[Any], **fields: Any) -> tuple[Stage, str]:
    """Run a script to its end and return what the model said last."""

    def agent(_: Ledger) -> Agent:
        return Agent(name="a", model=script(*lines), tools=tools, **fields)

    on = stage(agent)
    started = await on.engine.start("a", "go", owner=ALICE, requester=BOB, context={"env": "prod"})
    await on.settle()
    run = await on.engine.get_run(started.run)
    return on, run.output or f"{run.status}: {run.failure and run.failure.code}"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("deplyo", {}), "retried:there is no tool named 'deplyo'; the tools are: "),
        (("try_again", {"name": 5}), "retried:arguments do not fit try_again"),
        (("try_again", {"name": "web"}), "retried:there is no web; use 'api'"),
        (("fail_badly", {}), "failed:RuntimeError: the disk is full"),
        (("never_ends", {}), "failed:timed out after 0.05 s; it is not known whether"),
        (("not_json", {}), "failed:the tool ran, but its result is not JSON"),
        (("large", {}), "(300,002 characters, clipped)"),
        (("large", {"x": "y" * 300_000}), "retried:arguments are larger than 256 KiB"),
    ],
)
async def test_whatever_goes_wrong_with_a_call_is_a_result_that_the_model_sees(
    call: tuple[str, dict[str, Any]], told: str
) -> None:
    _, output = await run_to_end(
        [call],
        repeat_results,
        tools=[fail_badly, try_again, never_ends, not_json, large],
        options={"never_ends": ToolOptions(timeout=timedelta(milliseconds=50))},
    )

    assert told in output


async def test_a_synchronous_tool_that_hangs_does_not_hold_the_run() -> None:
    let_go = threading.Event()

    def hang() -> str:
        """Hang in a thread, which nothing can interrupt."""
        let_go.wait()
        return "late"

    options = {"hang": ToolOptions(timeout=timedelta(milliseconds=50))}
    _, output = await run_to_end([("hang", {})], repeat_results, tools=[hang], options=options)
    let_go.set()

    assert "timed out" in output


async def test_calls_of_one_step_run_in_the_models_order_and_each_has_one_result() -> None:
    def agent(ledger: Ledger) -> Agent:
        calls: list[Call] = [("refund", {"order": n}) for n in range(3)]
        return Agent(name="a", model=script(calls, repeat_results), tools=[ledger.refund])

    on = stage(agent)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()

    run = await on.engine.get_run(started.run)
    assert on.ledger.effects == ["refund 0", "refund 1", "refund 2"]
    assert run.output == " | ".join(f"refund=success:refunded {n}" for n in range(3))


async def test_an_allowed_call_waits_for_the_asks_of_its_step() -> None:
    def agent(ledger: Ledger) -> Agent:
        calls: list[Call] = [("refund", {"order": 1}), ("deploy", {"version": "2"})]
        return Agent(
            name="a",
            model=script(calls, repeat_results),
            tools=[ledger.refund, ledger.deploy],
            approvals={"deploy": "user"},
        )

    on = stage(agent)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    assert on.ledger.effects == []

    run = await on.engine.get_run(started.run)
    assert run.waiting is not None
    await on.engine.resume(on.token(run.id, run.waiting.approval), Allow(), actor=person(ALICE))
    await on.settle()

    assert on.ledger.effects == ["refund 1", "deploy 2 prod"]


async def test_a_call_that_policy_denies_is_blocked_without_asking() -> None:
    on, output = await run_to_end(
        [("fail_badly", {})], repeat_results, tools=[fail_badly], approvals={"fail_badly": "deny"}
    )

    assert output == "fail_badly=denied:blocked: policy does not allow this call"
    assert not on.inbox.tokens


async def test_arguments_are_validated_before_the_policy_sees_them() -> None:
    seen: list[Any] = []

    def policy(values: Any, _: Any) -> str:
        seen.append(values)
        return "allow"

    await run_to_end(
        [("try_again", {"name": 5}), ("try_again", {"name": "x"})],
        repeat_results,
        tools=[try_again],
        approvals={"try_again": policy},
    )

    assert seen == [{"name": "x"}]


@pytest.mark.parametrize("answer", [None, True, "yes"])
async def test_a_policy_that_fails_or_answers_nonsense_fails_the_run_and_runs_nothing(
    answer: Any,
) -> None:
    def agent(ledger: Ledger) -> Agent:
        return Agent(
            name="a",
            model=script([("refund", {"order": 1})], "done"),
            tools=[ledger.refund],
            approvals={"refund": lambda _values, _context: answer},
        )

    on = stage(agent)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()

    run = await on.engine.get_run(started.run)
    assert run.failure is not None
    assert run.failure.code == "policy_failed"
    assert on.ledger.effects == []


async def test_a_tool_knows_its_run_and_the_name_of_its_effect() -> None:
    seen: list[RunScope] = []

    def note(ctx: RunContext[RunScope]) -> str:
        """Note who calls."""
        seen.append(ctx.deps)
        return "noted"

    await run_to_end([("note", {})], "done", tools=[note])

    (scope,) = seen
    assert scope.op == f"{scope.run}:1.0"
    assert (scope.owner, scope.requester, scope.context) == (ALICE, BOB, {"env": "prod"})


async def test_a_model_that_never_gets_a_call_right_is_stopped() -> None:
    _, output = await run_to_end([("deplyo", {})], tools=[fail_badly])

    assert output == "failed: too_many_retries"


async def test_a_model_that_never_ends_is_stopped() -> None:
    _, output = await run_to_end([("fail_badly", {})], tools=[fail_badly], max_steps=7)

    assert output == "failed: max_steps"
    assert DEFAULT_MAX_STEPS == 50


async def test_two_calls_under_one_provider_id_are_kept_apart() -> None:
    def twice(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return repeat_results(messages)
        response = script([("refund", {"order": 1}), ("refund", {"order": 2})])
        assert response.function is not None
        made = response.function(messages, _)
        assert isinstance(made, ModelResponse)
        for part in made.tool_calls:
            part.tool_call_id = "same"
        return made

    def agent(ledger: Ledger) -> Agent:
        return Agent(name="a", model=FunctionModel(twice), tools=[ledger.refund])

    on = stage(agent)
    await on.engine.start("a", "go", owner=ALICE)
    await on.settle()

    assert on.ledger.effects == ["refund 1", "refund 2"]


async def test_a_model_that_cannot_be_reached_is_tried_again_later() -> None:
    tries: list[int] = []

    def flaky(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        tries.append(1)
        if len(tries) < 3:
            raise ModelHTTPError(503, "m")
        return ModelResponse(parts=[TextPart("done")])

    on = stage(lambda _: Agent(name="a", model=FunctionModel(flaky)))
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    assert len(tries) == 1
    for _ in range(2):
        on.clock.move(timedelta(minutes=1))
        await on.settle()

    assert (await on.engine.get_run(started.run)).status is RunStatus.SUCCEEDED


async def test_a_model_that_stays_away_fails_the_run_in_the_end() -> None:
    def down(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(503, "m")

    on = stage(lambda _: Agent(name="a", model=FunctionModel(down)))
    started = await on.engine.start("a", "go", owner=ALICE)
    for _ in range(12):
        await on.settle()
        on.clock.move(timedelta(minutes=10))

    run = await on.engine.get_run(started.run)
    assert run.failure is not None
    assert run.failure.code == "gave_up"


async def test_a_model_that_refuses_the_request_fails_the_run_at_once() -> None:
    def refuses(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(400, "m")

    on = stage(lambda _: Agent(name="a", model=FunctionModel(refuses)))
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()

    run = await on.engine.get_run(started.run)
    assert run.failure is not None
    assert run.failure.code == "model_failed"
