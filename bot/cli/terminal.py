"""What every terminal command does first and last: settings, an engine, one clear line on failure.

Only commands that need an engine import this module: it takes half a second.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.bootstrap import open_runtime
from bot.logs import report_fault
from bot.settings import Purpose, Settings, SettingsError, read_settings
from bot.stores import check_there
from engine import Actor, Allow, Decision, RunEngine, Via
from engine.cards import TicketNotice
from engine.ids import PersonId, Report, Surroundings
from engine.lifecycle.answer import Recorded
from engine.schema import Json

Review = Callable[[TicketNotice], None]
"""Has the operator go through a call; raises where they did not."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """An engine, and the operator who sits in front of it."""

    engine: RunEngine
    settings: Settings

    @property
    def operator(self) -> Actor:
        """Return who acts in this terminal.

        Raises:
            SettingsError: ``HOLDSHORT_OPERATOR`` is not set, so nobody knows.

        """
        if not self.settings.operator:
            raise SettingsError(
                ["HOLDSHORT_OPERATOR is not set: say who you are (your Slack user id, U...)"]
            )
        return Actor(id=PersonId(self.settings.operator), via=Via.TERMINAL)

    async def decide(self, ref: str, decision: Decision) -> Recorded:
        """Answer the ticket that goes by this ref, as the operator.

        Raises:
            HoldshortError: refused, or it is not known whether it was recorded.

        """
        operator = self.operator
        return await self._record(ref, await self._token(ref), decision, operator)

    async def approve(self, ref: str, decision: Allow, review: Review) -> Recorded:
        """Approve the call of this ref, once it is reviewed, as the operator.

        Raises:
            HoldshortError: refused, or it is not known whether it was recorded.

        """
        operator = self.operator
        token = await self._token(ref)
        review(await self.engine.notice(token, Via.TERMINAL))
        # With the same token: should the call be edited meanwhile, it is superseded.
        return await self._record(ref, token, decision, operator)

    async def _token(self, ref: str) -> str:
        return await self.engine.token_for(ref, Via.TERMINAL)

    async def _record(self, ref: str, token: str, decision: Decision, operator: Actor) -> Recorded:
        _, ticket = await self.engine.answers.find(ref)
        if not ticket.approvers.on_call:
            return await _record(self.engine, token, decision, operator)
        # Only the agent's own function knows who is on call.
        _check_has_agents(self.settings)
        async with open_runtime(self.settings) as runtime:
            return await _record(runtime.engine, token, decision, operator)

    async def edit(self, ref: str, edits: dict[str, Json], review: Review) -> Recorded:
        """Approve the call of this ref with these arguments changed, as the operator.

        Raises:
            HoldshortError: refused, or it is not known whether it was recorded.

        """
        operator = self.operator
        token = await self._token(ref)
        editing = await self.engine.answers.editing(token, Via.TERMINAL)
        review(editing.notice)
        decision = Allow(arguments=editing.arguments | edits)
        return await _record(self.engine, token, decision, operator)


async def _record(engine: RunEngine, token: str, decision: Decision, operator: Actor) -> Recorded:
    key = engine.answers.key(token, decision, operator)
    return await engine.resume(token, decision, actor=operator, idempotency_key=key)


def _check_has_agents(settings: Settings) -> None:
    if not settings.agents:
        raise SettingsError(["HOLDSHORT_AGENTS is not set: name your agents as module:attribute"])


@asynccontextmanager
async def open_terminal(
    purpose: Purpose = Purpose.TERMINAL,
    *,
    with_agents: bool = False,
    makes: bool = False,
    report: Report = report_fault,
) -> AsyncIterator[Terminal]:
    """Open the store of the settings; the agents are loaded only where one is to be started.

    ``makes``: the command may be the first to use the store. ``report``: what is told of faults.

    Raises:
        ConfigurationError: something must be put right first; the text says what.

    """
    settings = read_settings(purpose)
    if with_agents:
        _check_has_agents(settings)
    if not makes:
        check_there(settings)
    agents = None if with_agents else ()
    around = Surroundings(report=report)
    async with open_runtime(settings, agents=agents, surroundings=around) as runtime:
        yield Terminal(runtime.engine, settings)


def at_terminal(
    work: Callable[[Terminal], Awaitable[None]],
    purpose: Purpose = Purpose.TERMINAL,
    *,
    with_agents: bool = False,
    makes: bool = False,
    report: Report = report_fault,
) -> None:
    """Do the work of a command."""

    async def run() -> None:
        opening = open_terminal(purpose, with_agents=with_agents, makes=makes, report=report)
        async with opening as terminal:
            await work(terminal)

    asyncio.run(run())
