"""Tools: listing them for a run, checking one call's arguments, and running one call."""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic_core
from pydantic_ai import exceptions
from pydantic_ai.messages import ToolReturn
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool
from pydantic_ai.usage import RunUsage

from engine.agents import Agent, RunScope, ToolItem, asks_a_person, check_names
from engine.entries import CallOutcome
from engine.errors import InvalidAgentDefinitionError, ToolCallError
from engine.schema import Json, canonical_json, digest_of

MAX_RESULT_CHARS = 256 * 1024
_TOOL_RETRIES = 0
# The engine makes model requests itself; a tool that reads ctx.model gets this inert one.
_INERT = TestModel()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a tool's run ended, as the model is told."""

    outcome: CallOutcome
    content: Json


class Toolbox:
    """The tools of one agent for one run."""

    def __init__(
        self, tools: Mapping[str, ToolsetTool[RunScope]], asking: frozenset[str], scope: RunScope
    ) -> None:
        """Take the listed tools and the names of those that ask a person."""
        self._tools = dict(tools)
        self._asking = asking
        self._scope = scope

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tools."""
        return tuple(self._tools)

    @property
    def definitions(self) -> list[ToolDefinition]:
        """Return what the model is shown."""
        return [tool.tool_def for tool in self._tools.values()]

    def asks(self, name: str) -> bool:
        """Tell whether this tool's result is a person's answer."""
        return name in self._asking

    def schema(self, name: str) -> Mapping[str, Any]:
        """Return the JSON schema of a tool's arguments."""
        return self._tools[name].tool_def.parameters_json_schema

    def fingerprint(self, name: str, version: str) -> str:
        """Return what an approval of this tool holds for: name, argument schema, version."""
        return digest_of("tool", name, canonical_json(self.schema(name)), version)[:32]

    async def check(self, name: str, arguments: str) -> dict[str, Any]:
        """Return the validated values of a call's canonical arguments.

        Raises:
            ToolCallError: unknown tool, or the arguments do not fit; the text is for the model.

        """
        tool = self._find(name)
        try:
            values = tool.args_validator.validate_json(arguments)
            await self._check_further(tool, values)
        except pydantic_core.ValidationError as error:
            details = error.json(include_url=False, include_input=False)
            raise ToolCallError(f"arguments do not fit {name}: {details}") from error
        except exceptions.ModelRetry as error:
            raise ToolCallError(str(error)) from error
        return dict(values)

    async def run(self, name: str, arguments: str, scope: RunScope, timeout_s: float) -> Ending:
        """Run one call. Whatever the tool does, how it ended is a value for the model."""
        try:
            values = await self.check(name, arguments)
        except ToolCallError as error:
            return Ending(CallOutcome.RETRY, str(error))
        tool = self._find(name)
        context = _context(scope)
        work = asyncio.ensure_future(tool.toolset.call_tool(name, values, context, tool))
        try:
            # wait() and not timeout(): a synchronous tool's thread cannot be interrupted, and
            # must not hold the run beyond its time.
            done, _ = await asyncio.wait({work}, timeout=timeout_s)
        except asyncio.CancelledError:
            work.cancel()
            raise
        if not done:
            work.cancel()
            return Ending(CallOutcome.FAILED, _timed_out(timeout_s))
        return _ending(work)

    def _find(self, name: str) -> ToolsetTool[RunScope]:
        if name not in self._tools:
            listed = ", ".join(sorted(self._tools)) or "none"
            raise ToolCallError(f"there is no tool named {name!r}; the tools are: {listed}")
        return self._tools[name]

    async def _check_further(self, tool: ToolsetTool[RunScope], values: dict[str, Any]) -> None:
        if tool.args_validator_func is not None:
            answer = tool.args_validator_func(_context(self._scope), **values)
            if inspect.isawaitable(answer):
                await answer


class _Functions(FunctionToolset[RunScope]):
    """An agent's functions. They are listed once, unless one is prepared anew for each run."""

    _listed: dict[str, ToolsetTool[RunScope]] | None = None

    async def get_tools(self, ctx: RunContext[RunScope]) -> dict[str, ToolsetTool[RunScope]]:
        """Return the tools by their names."""
        if any(tool.prepare is not None for tool in self.tools.values()):
            return await super().get_tools(ctx)
        if self._listed is None:
            self._listed = await super().get_tools(ctx)
        return self._listed


class ToolShelf:
    """Opens agents' toolboxes; keeps what need not be made anew for each run."""

    def __init__(self) -> None:
        """Start empty."""
        # Reading functions' signatures and docstrings took half of an engine cycle.
        self._kept: dict[str, list[AbstractToolset[RunScope]]] = {}

    @contextlib.asynccontextmanager
    async def open(self, agent: Agent, scope: RunScope) -> AsyncIterator[Toolbox]:
        """List the agent's tools for one run, with their toolsets entered.

        Raises:
            InvalidAgentDefinitionError: approvals or options name no tool, or two tools share a
                name.

        """
        items = await _items(agent, scope)
        async with contextlib.AsyncExitStack() as stack:
            tools: dict[str, ToolsetTool[RunScope]] = {}
            for toolset in self._toolsets(agent, items):
                await stack.enter_async_context(toolset)
                _merge(agent, tools, await toolset.get_tools(_context(scope)))
            check_names(agent, frozenset(tools))
            yield Toolbox(tools, _asking(items), scope)

    def _toolsets(self, agent: Agent, items: Sequence[ToolItem]) -> list[AbstractToolset[RunScope]]:
        if callable(agent.tools):
            return _toolsets(items)
        if agent.name not in self._kept:
            self._kept[agent.name] = _toolsets(items)
        return self._kept[agent.name]


async def _items(agent: Agent, scope: RunScope) -> Sequence[ToolItem]:
    if not callable(agent.tools):
        return agent.tools
    made = agent.tools(scope)
    return await made if inspect.isawaitable(made) else made


def _toolsets(items: Sequence[ToolItem]) -> list[AbstractToolset[RunScope]]:
    functions = [item for item in items if not isinstance(item, AbstractToolset)]
    toolsets = [item for item in items if isinstance(item, AbstractToolset)]
    own = _Functions(functions, max_retries=_TOOL_RETRIES)
    return [own, *toolsets]


def _merge(
    agent: Agent,
    tools: dict[str, ToolsetTool[RunScope]],
    listed: Mapping[str, ToolsetTool[RunScope]],
) -> None:
    shared = sorted(tools.keys() & listed.keys())
    if shared:
        raise InvalidAgentDefinitionError(
            f"agent {agent.name!r}: two tools are named {', '.join(shared)}; rename one"
        )
    tools.update(listed)


def _asking(items: Sequence[ToolItem]) -> frozenset[str]:
    return frozenset(item.__name__ for item in items if asks_a_person(item))


def _context(scope: RunScope) -> RunContext[RunScope]:
    return RunContext(
        deps=scope, model=_INERT, usage=RunUsage(), run_id=scope.run, tool_call_approved=True
    )


def _ending(work: "asyncio.Future[Any]") -> Ending:
    error = work.exception() if not work.cancelled() else asyncio.CancelledError()
    match error:
        case None:
            return _success(work.result())
        case exceptions.ModelRetry() | exceptions.ToolRetryError():
            return Ending(CallOutcome.RETRY, str(error))
        case exceptions.ApprovalRequired() | exceptions.CallDeferred():
            text = "this tool asks for approval by itself; name it in the agent's approvals instead"
            return Ending(CallOutcome.FAILED, text)
        case _:
            return Ending(CallOutcome.FAILED, f"{type(error).__name__}: {error}")


def _success(value: object) -> Ending:
    plain = value.return_value if isinstance(value, ToolReturn) else value
    try:
        content = pydantic_core.to_jsonable_python(plain)
        text = canonical_json(content)
    except (ValueError, TypeError) as error:
        return Ending(CallOutcome.FAILED, f"the tool ran, but its result is not JSON: {error}")
    if len(text) > MAX_RESULT_CHARS:
        clipped = f"{text[:MAX_RESULT_CHARS]} … ({len(text):,} characters, clipped)"
        return Ending(CallOutcome.SUCCEEDED, clipped)
    return Ending(CallOutcome.SUCCEEDED, content)


def _timed_out(timeout_s: float) -> str:
    return f"timed out after {timeout_s:g} s; it is not known whether it took effect"
