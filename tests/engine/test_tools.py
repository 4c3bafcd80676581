"""Tools beyond plain functions: their own validators, toolsets, and what they may not do."""

from typing import Any

import pytest
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.tools import Tool, ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from engine import Agent, RunScope
from engine.runs import RunStatus
from tests.engine.scripted import ALICE, Call, Stage, repeat_results, script, stage

DEPLOY: Call = ("deploy", {"version": "1.4.2"})


async def play(tool: Any, *more: Any) -> tuple[Stage, str]:
    """Have a model call deploy once; return what it was told, or how the run failed."""
    tools = [tool, *more]
    on = stage(lambda _: Agent(name="a", model=script([DEPLOY], repeat_results), tools=tools))
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    return on, run.output or f"{run.status}: {run.failure and run.failure.message}"


class Guarded:
    """A deploy whose arguments are judged further, by a function of the test's."""

    def __init__(self, judge: Any) -> None:
        self.ran: list[str] = []

        def deploy(version: str) -> str:
            """Deploy a version."""
            self.ran.append(version)
            return "live"

        self.tool = Tool[RunScope](deploy, takes_ctx=False, args_validator=judge)


async def test_what_a_tools_own_validator_refuses_never_runs_and_the_model_is_told_why() -> None:
    async def judge(_context: RunContext[RunScope], version: str) -> None:
        raise ModelRetry(f"{version} was withdrawn; use 1.4.3")

    guarded = Guarded(judge)

    _, told = await play(guarded.tool)

    assert told == "deploy=retried:1.4.2 was withdrawn; use 1.4.3"
    assert guarded.ran == []


async def test_arguments_that_no_longer_pass_when_it_would_run_do_not_run() -> None:
    judged: list[str] = []

    def judge(_context: RunContext[RunScope], version: str) -> None:
        judged.append(version)
        if len(judged) > 1:
            raise ModelRetry("withdrawn in the meantime")

    guarded = Guarded(judge)

    _, told = await play(guarded.tool)

    assert told == "deploy=retried:withdrawn in the meantime"
    assert (len(judged), guarded.ran) == (2, [])


async def test_two_tools_of_one_name_fail_the_run_with_what_to_do() -> None:
    def deploy(version: str) -> str:
        """Deploy a version."""
        return version

    _, told = await play(deploy, FunctionToolset[RunScope]([deploy]))

    assert told.startswith(RunStatus.FAILED)
    assert "two tools are named deploy; rename one" in told


async def test_a_tool_that_asks_for_approval_by_itself_is_told_where_approvals_belong() -> None:
    def deploy(version: str) -> str:
        """Deploy a version."""
        raise ApprovalRequired

    on, told = await play(deploy)

    assert told.startswith("deploy=failed:this tool asks for approval by itself")
    assert not on.inbox.tokens


@pytest.mark.parametrize("tools", [[], [FunctionToolset[RunScope]([])]])
async def test_an_agent_without_tools_can_still_talk(tools: list[Any]) -> None:
    on = stage(lambda _: Agent(name="a", model=script("hello"), tools=tools))
    started = await on.engine.start("a", "go", owner=ALICE)

    await on.settle()

    assert (await on.engine.get_run(started.run)).output == "hello"


async def test_a_tool_that_is_prepared_is_prepared_for_each_run() -> None:
    runs: list[str] = []

    async def prepare(context: RunContext[RunScope], definition: ToolDefinition) -> ToolDefinition:
        runs.append(context.deps.run)
        return definition

    def deploy(version: str) -> str:
        """Deploy a version."""
        return f"{version} live"

    tool = Tool[RunScope](deploy, takes_ctx=False, prepare=prepare)
    on, _ = await play(tool)
    second = await on.engine.start("a", "again", owner=ALICE)
    await on.settle()

    assert second.run in runs
    assert len(set(runs)) == 2
