"""Tools: listing them for a run, checking one call's arguments, and running one call."""

import asyncio
import contextlib
import inspect
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic_core
from pydantic_ai import exceptions
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.messages import ToolReturn
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool
from pydantic_ai.usage import RunUsage

from engine.agents import Agent, RunScope, ToolItem, asks_a_person, check_names
from engine.aliases import Fields, fields_of_function
from engine.entries import CallOutcome
from engine.errors import InvalidAgentDefinitionError, ToolCallError, ToolHangsError
from engine.guard import clip, contained, describe_error, text_of
from engine.schema import Json, canonical_json, digest_of
from engine.threads import Seat, ToolThreads

MAX_RESULT_CHARS = 256 * 1024
_TOOL_RETRIES = 0
_NOT_CHECKED = "the tool did not run, as its arguments could not be checked"
_NOT_JSON = "the tool ran, but its result is not JSON"
# The engine makes model requests itself; a tool that reads ctx.model gets this inert one.
_INERT = TestModel()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a tool's run ended, as the model is told; ``hangs`` says so of its thread, if it does."""

    outcome: CallOutcome
    content: Json
    hangs: str = ""


class Toolbox:
    """The tools of one agent for one run."""

    def __init__(
        self,
        tools: Mapping[str, ToolsetTool[RunScope]],
        asking: frozenset[str],
        scope: RunScope,
        threads: ToolThreads,
    ) -> None:
        """Take the listed tools, the names of those that ask a person, and threads to run them."""
        self.threads = threads
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

    def sole(self, name: str) -> str:
        """Return the parameter whose fields are a tool's arguments; empty where there is no such.

        For a function of one model, ``def deploy(order: Order)``, the model is shown the fields of
        ``Order`` and not ``order``.
        """
        return getattr(self._of_function(name), "single_arg_name", None) or ""

    def fields(self, name: str) -> Fields:
        """Return what pydantic is told of the parameters of a tool that is a function here."""
        function = getattr(self._of_function(name), "function", None)
        if function is None:
            return {}
        try:
            return fields_of_function(function)
        except Exception:  # noqa: BLE001 - whatever an author's annotations raise
            return {}

    def _of_function(self, name: str) -> object:
        """Return what the model layer read of a tool's function; None where it is none."""
        return getattr(getattr(self._tools[name], "call_func", None), "__self__", None)

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
            with contained():
                values = tool.args_validator.validate_json(arguments)
                self._refuse_wrapped(name, arguments)
                await self._check_further(tool, values)
        except pydantic_core.ValidationError as error:
            details = error.json(include_url=False, include_input=False)
            raise ToolCallError(clip(f"arguments do not fit {name}: {details}")) from error
        except exceptions.ModelRetry as error:
            raise ToolCallError(text_of(error)) from error
        return dict(values)

    async def run(self, name: str, arguments: str, scope: RunScope, timeout_s: float) -> Ending:
        """Run one call. Whatever the tool does, how it ended is a value for the model."""
        try:
            values = await self.check(name, arguments)
        except ToolCallError as error:
            return Ending(CallOutcome.RETRY, str(error))
        except Exception as error:  # noqa: BLE001 - a validator's own fault
            return Ending(CallOutcome.FAILED, f"{_NOT_CHECKED}: {describe_error(error)}")
        tool = self._find(name)
        seat = Seat(name)
        work = asyncio.ensure_future(self._call(tool, seat, values, _context(scope)))
        try:
            # wait() and not timeout(): a synchronous tool's thread cannot be interrupted, and
            # must not hold the run beyond its time.
            done, _ = await asyncio.wait({work}, timeout=timeout_s)
        except asyncio.CancelledError:
            work.cancel()
            raise
        if not done:
            work.cancel()
            hangs = f"it is not done after {timeout_s:g} s" if seat.busy else ""
            return Ending(CallOutcome.FAILED, _timed_out(timeout_s), hangs)
        if work.cancelled():
            return Ending(CallOutcome.FAILED, "the tool cancelled itself")
        return work.result()

    async def _call(
        self,
        tool: ToolsetTool[RunScope],
        seat: Seat,
        values: dict[str, Any],
        context: RunContext[RunScope],
    ) -> Ending:
        try:
            with (
                contained(),
                self.threads.under(seat),
                AbstractAgent.using_thread_executor(self.threads),
            ):
                value = await tool.toolset.call_tool(seat.tool, values, context, tool)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its result
            return _failure(error)
        return _success(value)

    def _find(self, name: str) -> ToolsetTool[RunScope]:
        if name not in self._tools:
            listed = ", ".join(sorted(self._tools)) or "none"
            raise ToolCallError(clip(f"there is no tool named {name!r}; the tools are: {listed}"))
        return self._tools[name]

    def _refuse_wrapped(self, name: str, arguments: str) -> None:
        """Refuse the fields of a tool's one model in an object under its parameter's name.

        The validator would take them, and then no schema says what is in there: what is secret, what
        a rule is about, what may be edited.
        """
        sole = self.sole(name)
        named = self.schema(name).get("properties", {})
        if sole and sole not in named and list(json.loads(arguments)) == [sole]:
            raise ToolCallError(
                f"arguments do not fit {name}: give the fields of {sole} themselves"
            )

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

    def __init__(self, most_threads: int = 0) -> None:
        """Start empty, with so many threads for tools; where none is run, none is needed."""
        self.threads = ToolThreads(most_threads)
        # Reading functions' signatures and docstrings took half of an engine cycle.
        self._kept: dict[str, list[AbstractToolset[RunScope]]] = {}

    @contextlib.asynccontextmanager
    async def open(self, agent: Agent, scope: RunScope) -> AsyncIterator[Toolbox]:
        """List the agent's tools for one run, with their toolsets entered.

        Raises:
            InvalidAgentDefinitionError: approvals or options name no tool, or two tools share a
                name.

        """
        async with contextlib.AsyncExitStack() as stack:
            # Around everything: toolsets have their own code that enters and leaves them.
            stack.enter_context(contained())
            items = await _items(agent, scope)
            tools: dict[str, ToolsetTool[RunScope]] = {}
            for toolset in self._toolsets(agent, items):
                await stack.enter_async_context(toolset)
                _merge(agent, tools, await toolset.get_tools(_context(scope)))
            check_names(agent, frozenset(tools))
            yield Toolbox(tools, _asking(items), scope, self.threads)

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


def _failure(error: Exception) -> Ending:
    match error:
        case exceptions.ModelRetry() | exceptions.ToolRetryError():
            return Ending(CallOutcome.RETRY, text_of(error))
        case exceptions.ApprovalRequired() | exceptions.CallDeferred():
            text = "this tool asks for approval by itself; name it in the agent's approvals instead"
            return Ending(CallOutcome.FAILED, text)
        case ToolHangsError():
            return Ending(CallOutcome.FAILED, f"the tool did not run: {error}", str(error))
        case _:
            return Ending(CallOutcome.FAILED, describe_error(error))


def _success(value: object) -> Ending:
    plain = value.return_value if isinstance(value, ToolReturn) else value
    try:
        # What is serialised may have code of its own: a generator, a validator's serializer.
        with contained():
            content = pydantic_core.to_jsonable_python(plain)
        text = canonical_json(content)
        text.encode()
        if len(text) > MAX_RESULT_CHARS:
            return Ending(CallOutcome.SUCCEEDED, clip(text, MAX_RESULT_CHARS))
        # It is read back from within a record, by a parser that goes less deep than the writer.
        pydantic_core.from_json(f"[{text}]")
    except Exception as error:  # noqa: BLE001 - the call has run, so it must settle
        return Ending(CallOutcome.FAILED, f"{_NOT_JSON}: {describe_error(error)}")
    return Ending(CallOutcome.SUCCEEDED, content)


def _timed_out(timeout_s: float) -> str:
    return f"timed out after {timeout_s:g} s; it is not known whether it took effect"
