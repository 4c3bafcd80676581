"""The gate: every proposed call is parsed, validated, hashed and judged, once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from engine.agents import Agent
from engine.arguments import canonical_arguments
from engine.errors import ToolCallError
from engine.fields import FIELDS, read_fields
from engine.guard import clip, contained, kind_of
from engine.ids import CallId
from engine.lifecycle.propose import Gated, permission_digest
from engine.model import ProposedCall
from engine.patterns import HIDDEN
from engine.policy import PolicyContext, Verdict, evaluate
from engine.redaction import marked_secrets, mask, redact
from engine.remembered import RememberedRule
from engine.rules import RuleBook, Ruling, judge, strictest
from engine.runs import CallState, Run, ToolCall
from engine.schema import Json
from engine.settling import Settling
from engine.tickets import Declared
from engine.tools import Toolbox

MAX_TITLE = 300
_MAY_RUN_YET = frozenset({CallState.REQUESTED, CallState.AWAITING, CallState.ALLOWED})
MAX_CALLS = 64
_ONE_TOO_MANY = f"not looked at: one step may hold {MAX_CALLS} calls"


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges the calls of one model step of one run.

    Without ``settling``, what was remembered of approvals counts for nothing.
    """

    run: Run
    agent: Agent
    toolbox: Toolbox
    settling: Settling | None = None

    async def judge(self, proposed: Sequence[ProposedCall]) -> tuple[Gated, ...]:
        """Return the calls, in the model's order, each rejected, asking, or with its verdict.

        Calls after the 64th are rejected unseen.

        Raises:
            InvalidAgentDefinitionError: a policy answered with an unknown word.
            Exception: whatever a policy raised. The caller fails the run: no policy, no call.

        """
        seen: set[str] = set()
        gated = []
        for index, call in enumerate(proposed):
            repeated = call.provider_id in seen
            seen.add(call.provider_id)
            gated.append(await self._judge_one(index, call, repeated=repeated))
        return tuple(gated)

    async def _judge_one(self, index: int, proposed: ProposedCall, *, repeated: bool) -> Gated:
        call = ToolCall(
            id=CallId(f"{self.run.entry_count}.{index}"),
            provider_id=f"{proposed.provider_id}#{index}" if repeated else proposed.provider_id,
            tool=proposed.tool,
            digest="",
        )
        arguments = "{}"
        if index >= MAX_CALLS:
            return Gated(call=call, arguments=arguments, rejected=_ONE_TOO_MANY)
        try:
            arguments = canonical_arguments(proposed.arguments)
            values = await self.toolbox.check(proposed.tool, arguments)
        except ToolCallError as error:
            return Gated(call=call, arguments=arguments, rejected=clip(str(error)))
        call = self.described(call, arguments, values)
        ruling = await self.ruling(call.tool, values)
        if self.toolbox.asks(call.tool) and ruling.verdict is not Verdict.DENY:
            return Gated(call=call, arguments=arguments, asks=question_in(arguments))
        if ruling.verdict is Verdict.ASK:
            return await self._asked(call, arguments, ruling)
        said = {"verdict": ruling.verdict, "because": ruling.reason}
        judged = call.model_copy(update=said)
        return Gated(call=judged, arguments=arguments, rule=ruling.rule)

    async def _asked(self, call: ToolCall, arguments: str, ruling: Ruling) -> Gated:
        """Return a call that people are to be asked for, unless they have settled such calls."""
        rule = await self._settled_by(call, arguments)
        if rule is None:
            asks = call.model_copy(update={"verdict": Verdict.ASK, "because": ruling.reason})
            fields = self._fields(call.tool, arguments)
            return Gated(call=asks, arguments=arguments, rule=ruling.rule, fields=fields)
        settled = call.model_copy(update={"verdict": Verdict.ALLOW, "settled": rule.id})
        return Gated(call=settled, arguments=arguments, rule=rule.id, granted_by=rule.granted_by)

    async def _settled_by(self, call: ToolCall, arguments: str) -> RememberedRule | None:
        if self.settling is None:
            return None
        return await self.settling.rule_for(self.run, self.agent, call, arguments)

    def _fields(self, tool: str, arguments: str) -> str:
        """Return what of a call may be edited, as JSON; empty where nothing may."""
        if not self.agent.option(tool).editable:
            return ""
        fields = read_fields(self.toolbox.schema(tool), json.loads(arguments))
        return FIELDS.dump_json(fields, exclude_defaults=True).decode() if fields else ""

    def described(self, call: ToolCall, arguments: str, values: dict[str, Any]) -> ToolCall:
        """Return a call with its digest and all that its tool declares of these arguments."""
        option = self.agent.option(call.tool)
        return call.model_copy(
            update={
                "digest": permission_digest(call.tool, arguments),
                "fingerprint": self.toolbox.fingerprint(call.tool, option.version),
                "replay": option.replay,
                "timeout_s": option.timeout.total_seconds(),
                "declared": self._declared(call.tool, arguments, values),
            }
        )

    def _declared(self, tool: str, arguments: str, values: dict[str, Any]) -> Declared:
        option = self.agent.option(tool)
        marked = marked_secrets(self.toolbox.schema(tool), json.loads(arguments))
        said = Declared(risk=option.danger, secrets=marked)
        if option.describe is None:
            return said
        try:
            with contained():
                title = str(option.describe(values))
        except Exception as error:  # noqa: BLE001 - a card without a title beats no card
            return said.model_copy(update={"untitled": kind_of(error)})
        hidden = redact(json.loads(arguments), marked).secrets
        return said.model_copy(update={"title": clip(mask(title, hidden)[:MAX_TITLE])})

    async def ruling(self, tool: str, values: dict[str, Any]) -> Ruling:
        """Return the strictest word of rules and policy on these validated arguments.

        A policy is not asked about what a rule denies.

        Raises:
            InvalidAgentDefinitionError: the policy answered with an unknown word.
            Exception: whatever the policy raised.

        """
        books = rule_books(self.agent, self.run)
        ruling = judge(books, self.agent.name, tool, plain(values))
        if ruling.verdict is Verdict.DENY:
            return ruling
        return strictest([ruling, Ruling(await self._policy(tool, values))])

    async def _policy(self, tool: str, values: dict[str, Any]) -> Verdict:
        """Return what the tool's policy says of these validated arguments.

        Raises:
            InvalidAgentDefinitionError: the policy answered with an unknown word.
            Exception: whatever the policy raised.

        """
        policy = self.agent.approvals.get(tool)
        if policy is None:
            return Verdict.ALLOW
        context = PolicyContext(
            run=self.run.id,
            agent=self.agent.name,
            tool=tool,
            owner=self.run.owner,
            requester=self.run.requester,
            context=self.run.context,
        )
        return await evaluate(policy, values, context)


@dataclass(slots=True)
class LastLook:
    """Holds allowed calls against the rules as they are now; it can only tighten.

    ``holding`` is the call whose remembered rule was found to hold just now.

    Policies that are functions are not asked again: they were, once, about the call as it was then.
    """

    agent: str
    books: tuple[RuleBook, ...]
    toolbox: Toolbox
    holding: CallId | None = None
    _values: dict[tuple[CallId, str], Json] = field(default_factory=dict)

    async def load(self, call: ToolCall, arguments: str | None) -> None:
        """Validate the arguments of a call that may run yet, for its rules to look at."""
        if (
            not self.books
            or (call.id, call.digest) in self._values
            or call.state not in _MAY_RUN_YET
        ):
            return
        try:
            self._values[call.id, call.digest] = plain(
                await self.toolbox.check(call.tool, arguments or "{}")
            )
        except ToolCallError:
            # They will not fit the tool either, which then says so itself.
            self._values[call.id, call.digest] = json.loads(arguments or "{}")

    def tightened(self, call: ToolCall) -> Ruling | None:
        """Return the ruling that stops an allowed call; None where it may go on.

        A person's approval satisfies a rule that asks, never one that denies; so does one that was
        remembered, for as long as it holds.
        """
        values = self._values.get((call.id, call.digest), HIDDEN)
        ruling = judge(self.books, self.agent, call.tool, values)
        if call.settled and call.id != self.holding and ruling.verdict is not Verdict.DENY:
            return Ruling(Verdict.ASK, call.settled)
        approved = call.approval is not None or call.settled
        let = {Verdict.ALLOW, Verdict.ASK} if approved else {Verdict.ALLOW}
        return None if ruling.verdict in let else ruling


def rule_books(agent: Agent, run: Run) -> tuple[RuleBook, ...]:
    """Return all the rules that a run of an agent is under."""
    return (*agent.books, RuleBook(run.rules, name="run")) if run.rules else agent.books


def plain(values: dict[str, Any]) -> Json:
    """Return a call's validated input as JSON, for rules to look at: defaults are filled in.

    What is secret, or has no JSON form, is hidden; rules then err towards stopping the call.
    """
    try:
        text = pydantic_core.to_json(values, fallback=lambda _: HIDDEN, inf_nan_mode="strings")
    except ValueError:
        return HIDDEN
    looked_at: Json = pydantic_core.from_json(text)
    return looked_at


def question_in(arguments: str) -> str:
    """Return the question in the canonical arguments of a tool that asks a person."""
    return str(json.loads(arguments).get("question", ""))
