"""Settling: which remembered rule, if any, stands for the people who would be asked for a call."""

import json
from dataclasses import dataclass

from engine.agents import Agent
from engine.deciders import Deciders, Question
from engine.errors import StoreError
from engine.events import ApprovalRemembered
from engine.ids import CallId, Surroundings
from engine.remembered import (
    RememberedRule,
    RememberedRules,
    RememberRefusedError,
    context_digest,
)
from engine.runs import Run, ToolCall
from engine.tickets import Risk


@dataclass(frozen=True, slots=True)
class Settling:
    """Finds and keeps remembered rules. Whatever is unsure about one makes that people are asked."""

    rules: RememberedRules
    deciders: Deciders
    surroundings: Surroundings

    async def rule_for(
        self, run: Run, agent: Agent, call: ToolCall, arguments: str
    ) -> RememberedRule | None:
        """Return a rule that settles a call, if one does.

        Args:
            run: Whose call it is.
            agent: The run's, as it is defined now.
            call: With its tool's fingerprint as it is now.
            arguments: Canonical JSON.

        """
        return await self._first(run, agent, call, arguments)

    async def still(self, run: Run, agent: Agent, call: ToolCall, arguments: str) -> bool:
        """Tell whether the rule that settled a call would do so now."""
        return await self._first(run, agent, call, arguments, call.settled) is not None

    async def keep(self, rule: RememberedRule, call: CallId) -> ApprovalRemembered:
        """Keep the rule that the approval of a call makes; return that as a fact.

        Raises:
            StoreError: it is not known whether it was kept; do it again before the call begins.

        """
        kept = True
        try:
            await self.rules.keep(rule)
        except RememberRefusedError:
            kept = False
        return ApprovalRemembered(
            approval=rule.approval, call=call, rule=rule.id, until=rule.expires_at, kept=kept
        )

    async def _first(
        self, run: Run, agent: Agent, call: ToolCall, arguments: str, only: str = ""
    ) -> RememberedRule | None:
        if Risk.HIGH in {call.declared.risk, agent.option(call.tool).danger}:
            return None
        try:
            live = await self.rules.live(agent.name, run.owner)
        except StoreError as error:
            self.surroundings.report("rules", error)
            return None
        for rule in live:
            named = only in {"", rule.id}
            if (
                named
                and _covers(rule, run, agent, call, arguments)
                and await self._stands(rule, run)
            ):
                return rule
        return None

    async def _stands(self, rule: RememberedRule, run: Run) -> bool:
        """Tell whether those who gave a rule could give it now, for this run, and are enough."""
        asked = Question(rule.approvers, run.requester, rule.tool)
        now = self.surroundings.clock()
        seats = [await self.deciders.seat(run, asked, vote.actor, now) for vote in rule.votes]
        return len({seat for seat in seats if seat is not None}) >= rule.approvers.quorum


def _covers(rule: RememberedRule, run: Run, agent: Agent, call: ToolCall, arguments: str) -> bool:
    """Tell whether a rule is about a call: in every respect but who gave it."""
    return (
        rule.agent == run.agent == agent.name
        and rule.tool == call.tool
        and rule.fingerprint == call.fingerprint
        and rule.owner == run.owner
        and rule.conversation in {"", run.conversation}
        and rule.context == context_digest(run.context)
        and rule.approvers == agent.who.resolve(run.owner)
        and rule.fits(json.loads(arguments))
    )
