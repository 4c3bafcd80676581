"""The check of edited arguments: all that a model's own go through, once more. Loads the model layer."""

import asyncio
from typing import Any

import pydantic_core

from engine.agents import AgentRegistry, RunScope
from engine.arguments import canonical_arguments
from engine.errors import (
    EditFault,
    EditRefusedError,
    HoldshortError,
    InvalidArgumentsError,
    TicketMismatchError,
    ToolCallError,
)
from engine.gate import Gate
from engine.guard import kind_of
from engine.lifecycle.edit import Edit
from engine.policy import Verdict
from engine.runs import Run, ToolCall
from engine.schema import Json
from engine.tickets import ResumeTicket
from engine.tools import ToolShelf

CHECK_TIMEOUT_S = 10.0
_MAX_FAULTS = 20


class Recheck:
    """Checks edited arguments with the tools and the policies of the run's agent as they are now."""

    def __init__(self, agents: AgentRegistry) -> None:
        """Take the agents that this process knows."""
        self._agents = agents
        self._shelf = ToolShelf()

    async def check(self, run: Run, ticket: ResumeTicket, arguments: dict[str, Json]) -> Edit:
        """Return the arguments in their canonical form, once nothing speaks against them.

        Raises:
            InvalidArgumentsError: they do not fit the tool.
            EditRefusedError: the tool's arguments are not to be edited, policy or a rule denies the
                call with these, or that could not be found out.
            TicketMismatchError: the tool is not any more what was asked for.
            UnknownAgentError: this process does not know the run's agent.

        """
        tool = ticket.target.tool
        if not self._agents.get(run.agent).option(tool).editable:
            raise EditRefusedError(EditFault.NOT_EDITABLE, tool)
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                return await self._check(run, ticket, arguments)
        except HoldshortError:
            raise
        except Exception as error:
            # Its text is a tool's or a policy's own and may hold anything.
            raise EditRefusedError(EditFault.UNCHECKED, tool, kind_of(error)) from error

    async def _check(self, run: Run, ticket: ResumeTicket, arguments: dict[str, Json]) -> Edit:
        tool, agent = ticket.target.tool, self._agents.get(run.agent)
        async with self._shelf.open(agent, RunScope.of(run)) as toolbox:
            gate = Gate(run, agent, toolbox)
            if tool not in toolbox.names:
                raise TicketMismatchError("fingerprint")
            text, values = await _read(gate, tool, arguments)
            call = await gate.described(_call(run, ticket), text, values)
            if call.fingerprint != ticket.fingerprint:
                raise TicketMismatchError("fingerprint")
            if (await gate.ruling(tool, text, values)).verdict is Verdict.DENY:
                raise EditRefusedError(EditFault.POLICY, tool)
            return Edit(text, call.digest, call.declared)


async def _read(gate: Gate, tool: str, arguments: dict[str, Json]) -> tuple[str, dict[str, Any]]:
    try:
        text = canonical_arguments(arguments)
        return text, await gate.toolbox.check(tool, text)
    except ToolCallError as error:
        raise InvalidArgumentsError(_faults(error)) from error


def _faults(error: ToolCallError) -> list[tuple[str, str]]:
    cause = error.__cause__
    if not isinstance(cause, pydantic_core.ValidationError):
        return [("", str(error))]
    details = cause.errors(include_url=False, include_context=False, include_input=False)
    return [_fault(one["loc"], one["msg"]) for one in details[:_MAX_FAULTS]]


def _fault(at: tuple[int | str, ...], what: str) -> tuple[str, str]:
    name, *inside = [str(step) for step in at] or [""]
    return name, f"{'.'.join(inside)}: {what}" if inside else what


def _call(run: Run, ticket: ResumeTicket) -> ToolCall:
    if run.batch is None:
        raise TicketMismatchError("call")
    return run.batch.call(ticket.target.call)
