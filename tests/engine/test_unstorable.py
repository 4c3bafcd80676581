"""What user code and models say may be unfit to be stored, or endless: it settles at once."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai import ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart

from engine import Agent, Run, ToolOptions
from engine.gate import MAX_CALLS
from engine.guard import MAX_TEXT_CHARS
from engine.model import MAX_CALLS_EVER, MAX_OUTPUT_CHARS, MAX_REPLY_BYTES, MAX_TOOL_NAME
from engine.runs import Replay, RunStatus
from tests.engine.scripted import ALICE, Call, Stage, repeat_results, returns, script, stage

LARGE = 1_000_000
ENDLESS = 50_000_000
ROOM = 2 * MAX_TEXT_CHARS


class UnreadableError(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise SystemExit(4)


def rows() -> Iterator[int]:
    yield 1
    raise SystemExit(5)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def raised(error: Exception) -> Any:
    raise error


async def play(*lines: Any, **fields: Any) -> tuple[Stage, Run]:
    """Run a script to its end, in one go: nothing may have to wait for a lease to end."""
    on = stage(lambda _: Agent(name="a", model=script(*lines), **fields))
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(started.run)


async def largest(on: Stage, run: Run) -> int:
    """Return the size of the largest record or event of a run, apart from the model's replies."""
    records = await on.store.records(run.id)
    events = await on.engine.events(run.id)
    return max(
        *(len(record.body) for record in records if record.kind != "response"),
        *(len(event.model_dump_json()) for event in events),
    )


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (lambda: "a\ud800", "failed:the tool ran, but its result is not JSON"),
        (lambda: {"\udfff": 1}, "failed:the tool ran, but its result is not JSON"),
        (rows, "failed:the tool ran, but its result is not JSON: SystemExit: 5"),
        (lambda: nested(230), "failed:the tool ran, but its result is not JSON"),
        (lambda: 10**5000, "failed:the tool ran, but its result is not JSON"),
        (lambda: raised(UnreadableError()), "failed:UnreadableError: its text cannot be read"),
        (lambda: raised(ValueError("a\ud800")), "failed:ValueError: a\\ud800"),
        (lambda: raised(ModelRetry("b\ud800")), "retried:b\\ud800"),
    ],
)
async def test_a_result_that_cannot_be_stored_is_a_call_that_failed_once(
    result: Any, told: str
) -> None:
    ran: list[int] = []

    def tool() -> Any:
        """Return or raise it."""
        ran.append(1)
        return result()

    safe = {"tool": ToolOptions(replay=Replay.SAFE)}
    _, run = await play([("tool", {})], repeat_results, tools=[tool], options=safe)

    assert run.output is not None
    assert run.output.startswith(f"tool={told}")
    assert len(ran) == 1


@pytest.mark.parametrize(
    "parts",
    [
        [TextPart("hi\ud800")],
        [ToolCallPart("tool", {"x": "\ud800"})],
        [ToolCallPart("t\ud800", {})],
        [ToolCallPart("tool", {}, tool_call_id="\ud800")],
        [ToolCallPart("tool", {"x": nested(230)})],
        [object()],
        None,
    ],
)
async def test_a_reply_that_cannot_be_stored_fails_the_run_after_one_request(parts: Any) -> None:
    asked: list[int] = []

    def reply(_messages: list[ModelMessage]) -> ModelResponse:
        asked.append(1)
        return ModelResponse(parts=parts)

    _, run = await play(reply)

    assert run.failure is not None
    assert (run.failure.code, len(asked)) == ("model_failed", 1)


@pytest.mark.parametrize("where", ["tool", "retry", "validator", "policy", "model", "word"])
async def test_an_endless_text_of_user_code_is_cut_and_counted(where: str) -> None:
    large = "A" * LARGE

    def tool(x: int = 0) -> str:
        """Do it."""
        raise ValueError(large) if where == "tool" else ModelRetry(large)

    def policy(_values: Any, _context: Any) -> Any:
        return raised(ValueError(large)) if where == "policy" else large

    def say(_messages: list[ModelMessage]) -> ModelResponse:
        raise KeyError(large)

    on, run = await play(
        *([say] if where == "model" else [[("tool", {"x": 1})], "done"]),
        tools=[tool],
        approvals={"tool": policy} if where in {"policy", "word"} else {},
    )

    told = run.failure.message if run.failure else ""
    results = [r.body for r in await on.store.records(run.id) if r.kind == "result"]
    assert "characters, clipped)" in (told or results[0])
    assert await largest(on, run) < ROOM
    assert len(run.model_dump_json()) < ROOM


async def test_an_endless_name_of_a_tool_is_cut_and_counted() -> None:
    on, run = await play([("t" * LARGE, {})], "done", tools=[])

    assert run.status is RunStatus.SUCCEEDED
    assert await largest(on, run) < ROOM
    (result,) = [json.loads(r.body) for r in await on.store.records(run.id) if r.kind == "result"]
    assert result["tool"] == f"{'t' * MAX_TOOL_NAME} … (1,000,000 characters, clipped)"


async def test_an_endless_key_given_twice_is_named_cut_and_counted() -> None:
    key = "k" * 100_000

    def reply(_messages: list[ModelMessage]) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("tool", f'{{"{key}": 1, "{key}": 2}}')])

    on, run = await play(reply, "done", tools=[])

    assert run.status is RunStatus.SUCCEEDED
    assert await largest(on, run) < ROOM


async def test_calls_beyond_what_one_step_may_hold_are_results_that_the_model_sees() -> None:
    ran: list[int] = []

    def note(n: int) -> str:
        """Note it."""
        ran.append(n)
        return "noted"

    def count(messages: list[ModelMessage]) -> ModelResponse:
        told = [f"{part.outcome}:{part.content}" for part in returns(messages)]
        return ModelResponse(parts=[TextPart(json.dumps(told))])

    calls: list[Call] = [("note", {"n": n}) for n in range(MAX_CALLS + 20)]
    _, run = await play(calls, count, tools=[note])

    told = json.loads(run.output or "[]")
    assert ran == list(range(MAX_CALLS))
    assert told[:MAX_CALLS] == ["success:noted"] * MAX_CALLS
    assert told[MAX_CALLS:] == ["retried:not looked at: one step may hold 64 calls"] * 20


async def test_a_step_of_calls_without_end_fails_the_run() -> None:
    calls: list[Call] = [("note", {})] * (MAX_CALLS_EVER + 1)

    on, run = await play(calls)

    assert run.failure is not None
    assert run.failure.code == "model_failed"
    assert "1,025 calls" in run.failure.message
    on.clock.move(timedelta(hours=1))
    assert await on.advance() == 0


@pytest.mark.parametrize(
    "line",
    ["x" * ENDLESS, [("deploy", {"version": "x" * ENDLESS})]],
    ids=["words", "arguments"],
)
async def test_an_endless_reply_fails_the_run_and_is_not_kept(line: Any) -> None:
    def deploy(version: str) -> str:
        """Deploy."""
        return version

    on, run = await play(line, tools=[deploy])

    assert run.status is RunStatus.FAILED
    assert run.failure is not None
    assert run.failure.code == "model_failed"
    assert f"and at most {MAX_REPLY_BYTES:,} are kept" in run.failure.message
    assert sum(len(record.body) for record in await on.store.records(run.id)) < ROOM
    assert len(run.model_dump_json()) < ROOM


async def test_a_long_answer_is_clipped_in_the_run_with_its_count_and_kept_whole_beside_it() -> (
    None
):
    on, run = await play("x" * LARGE)

    assert run.status is RunStatus.SUCCEEDED
    assert run.output == f"{'x' * MAX_OUTPUT_CHARS} … ({LARGE:,} characters, clipped)"
    (kept,) = [one for one in await on.store.records(run.id) if one.kind == "response"]
    assert "x" * LARGE in kept.body
