"""User code that tries to end the process ends its call or its run, and nothing else."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import Tool

from engine import Agent, Allow, Approvers, RunScope, ToolOptions
from engine.errors import DirectoryUnavailableError, EditFault, EditRefusedError
from tests.engine.deciding import decide, parked
from tests.engine.scripted import ALICE, BOB, Stage, repeat_results, script, stage


def leave() -> Any:
    sys.exit(3)


def interrupt() -> Any:
    raise KeyboardInterrupt


def give_up() -> Any:
    raise asyncio.CancelledError


def close() -> Any:
    raise GeneratorExit


def raise_many() -> Any:
    raise BaseExceptionGroup("both", [SystemExit(1), ValueError("x")])


ESCAPES = [leave, interrupt, give_up, close, raise_many]
KINDS = ["SystemExit", "KeyboardInterrupt", "CancelledError", "GeneratorExit", "BaseExceptionGroup"]
each_escape = pytest.mark.parametrize(("escape", "kind"), list(zip(ESCAPES, KINDS, strict=True)))
both_colours = pytest.mark.parametrize("colour", ["sync", "async"])


def coloured(escape: Callable[[], Any], colour: str) -> Any:
    """Return a tool that escapes, as a plain function or as a coroutine function."""

    async def tool() -> str:
        """Escape."""
        return str(escape())

    def plain() -> str:
        """Escape."""
        return str(escape())

    plain.__name__ = "tool"
    return tool if colour == "async" else plain


async def play(**fields: Any) -> tuple[Stage, Any]:
    """Run an agent to its end; its worker must outlive it."""
    usual: dict[str, Any] = {"model": script([("refund", {"order": 1})], repeat_results)}
    on = stage(lambda ledger: Agent(name="a", **{"tools": [ledger.refund], **usual, **fields}))
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(started.run)


@both_colours
@each_escape
async def test_a_tool_that_tries_to_end_the_process_is_a_call_that_failed(
    escape: Callable[[], Any], kind: str, colour: str
) -> None:
    _, run = await play(
        model=script([("tool", {})], repeat_results), tools=[coloured(escape, colour)]
    )

    assert run.output.startswith(f"tool=failed:{kind}")


@each_escape
async def test_a_tools_own_validator_that_tries_to_end_the_process_lets_no_call_through(
    escape: Callable[[], Any], kind: str
) -> None:
    def refund(order: int) -> str:
        """Refund an order."""
        raise AssertionError(order)

    tool = Tool[RunScope](
        refund, takes_ctx=False, args_validator=lambda _context, **_values: escape()
    )

    _, run = await play(tools=[tool])

    assert run.failure.code == "policy_failed"
    assert run.failure.message.startswith(kind)


async def test_a_validator_that_breaks_once_the_call_has_begun_is_a_call_that_failed() -> None:
    judged: list[int] = []

    def judge(_context: Any, order: int) -> None:
        judged.append(order)
        if len(judged) > 1:
            raise KeyError("rates")

    def refund(order: int) -> str:
        """Refund an order."""
        raise AssertionError(order)

    _, run = await play(tools=[Tool[RunScope](refund, takes_ctx=False, args_validator=judge)])

    told = "the tool did not run, as its arguments could not be checked: KeyError: 'rates'"
    assert run.output == f"refund=failed:{told}"


@both_colours
@each_escape
async def test_a_policy_that_tries_to_end_the_process_fails_its_run_and_runs_nothing(
    escape: Callable[[], Any], kind: str, colour: str
) -> None:
    async def asynchronous(_values: Any, _context: Any) -> Any:
        return escape()

    policy = asynchronous if colour == "async" else lambda _values, _context: escape()

    on, run = await play(approvals={"refund": policy})

    assert run.failure.code == "policy_failed"
    assert run.failure.message.startswith(kind)
    assert on.ledger.effects == []


@each_escape
async def test_a_title_that_tries_to_end_the_process_is_a_card_without_one(
    escape: Callable[[], Any], kind: str
) -> None:
    option = ToolOptions(describe=lambda _values: escape())

    _, run = await play(approvals={"refund": "user"}, options={"refund": option})

    assert run.tickets[0].declared.untitled == kind


class Odd:
    """A title whose text cannot be had."""

    def __str__(self) -> str:
        raise SystemExit(4)


@pytest.mark.parametrize(("title", "shown"), [(Odd(), ""), ("a\ud800", "a\\ud800")])
async def test_a_title_that_cannot_be_kept_does_not_keep_the_card_away(
    title: Any, shown: str
) -> None:
    option = ToolOptions(describe=lambda _values: title)

    _, run = await play(approvals={"refund": "user"}, options={"refund": option})

    assert run.tickets[0].declared.title == shown


@both_colours
@each_escape
async def test_a_model_that_tries_to_end_the_process_fails_its_run(
    escape: Callable[[], Any], kind: str, colour: str
) -> None:
    async def asynchronous(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return escape()  # type: ignore[no-any-return]

    def plain(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return escape()  # type: ignore[no-any-return]

    _, run = await play(model=FunctionModel(asynchronous if colour == "async" else plain))

    assert run.failure.code == "model_failed"
    assert kind in run.failure.message


@both_colours
@each_escape
async def test_a_tool_factory_that_tries_to_end_the_process_is_a_fault_that_the_worker_survives(
    escape: Callable[[], Any], kind: str, colour: str
) -> None:
    async def asynchronous(_scope: RunScope) -> Any:
        return escape()

    def plain(_scope: RunScope) -> Any:
        return escape()

    faults: list[str] = []
    on = stage(
        lambda _: Agent(
            name="a", model=script("x"), tools=asynchronous if colour == "async" else plain
        )
    )
    object.__setattr__(on.engine.surroundings, "report", lambda _, error: faults.append(str(error)))
    await on.engine.start("a", "go", owner=ALICE)
    await on.advance()

    assert [fault.split(":")[0].split("(")[0] for fault in faults] == [kind]


@both_colours
@each_escape
async def test_an_on_call_function_that_tries_to_end_the_process_lets_nobody_through(
    escape: Callable[[], Any], kind: str, colour: str
) -> None:
    async def asynchronous(_facts: Any) -> Any:
        return escape()

    def plain(_facts: Any) -> Any:
        return escape()

    on_call = asynchronous if colour == "async" else plain
    on, run = await parked(Approvers(on_call=True), on_call=on_call)

    with pytest.raises(DirectoryUnavailableError, match=kind):
        await decide(on, run, BOB)


async def test_someone_on_call_whose_name_cannot_be_written_lets_nobody_through() -> None:
    on, run = await parked(Approvers(on_call=True), on_call=lambda _facts: ["a\ud800@example.com"])

    with pytest.raises(DirectoryUnavailableError, match="TypeError"):
        await decide(on, run, BOB)


@each_escape
async def test_a_policy_that_tries_to_end_the_process_lets_no_edit_through(
    escape: Callable[[], Any], kind: str
) -> None:
    def policy(values: Any, _context: Any) -> Any:
        return escape() if values["version"] == "2" else "user"

    on, run = await parked(
        Approvers(),
        approvals={"deploy": policy},
        options={"deploy": ToolOptions(editable=True)},
    )

    with pytest.raises(EditRefusedError, match=kind) as refused:
        await decide(on, run, ALICE, Allow(arguments={"version": "2"}))
    assert refused.value.fault is EditFault.UNCHECKED
