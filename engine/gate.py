"""The gate: every proposed call is parsed, validated, hashed and judged, once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from engine.agents import Agent
from engine.aliases import with_aliases
from engine.arguments import canonical_arguments
from engine.defaults import LeftOut, left_out
from engine.errors import ToolCallError
from engine.fields import FIELDS, read_fields
from engine.guard import clip, contained, kind_of
from engine.ids import CallId
from engine.lifecycle.propose import Gated, permission_digest
from engine.model import ProposedCall
from engine.patterns import HIDDEN
from engine.policy import PolicyContext, Verdict, evaluate
from engine.redaction import marked_secrets, mask, misnamed_secrets, redact, secrets_in
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
        call = await self.described(call, arguments, values)
        ruling = await self.ruling(call.tool, arguments, values)
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

    async def described(self, call: ToolCall, arguments: str, values: dict[str, Any]) -> ToolCall:
        """Return a call with its digest and all that its tool declares of these arguments."""
        option = self.agent.option(call.tool)
        return call.model_copy(
            update={
                "digest": permission_digest(call.tool, arguments),
                "fingerprint": self.toolbox.fingerprint(call.tool, option.version),
                "replay": option.replay,
                "timeout_s": option.timeout.total_seconds(),
                "declared": await self._declared(call.tool, arguments, values),
            }
        )

    async def _declared(self, tool: str, arguments: str, values: dict[str, Any]) -> Declared:
        option = self.agent.option(tool)
        marked = self._secrets(tool, arguments, values)
        known = self._left_out(tool, arguments, values)
        said = Declared(
            risk=option.danger,
            secrets=marked,
            defaults=known.defaults,
            more_defaults=known.more,
        )
        if option.describe is None:
            return said
        try:
            # Values of its own: what it does to them must not be seen by rules and policies.
            own = await self.toolbox.check(tool, arguments)
            with contained():
                title = str(option.describe(own))
        except Exception as error:  # noqa: BLE001 - a card without a title beats no card
            return said.model_copy(update={"untitled": kind_of(error)})
        hidden = redact(json.loads(arguments), marked).secrets
        return said.model_copy(update={"title": clip(mask(title, hidden)[:MAX_TITLE])})

    def _secrets(self, tool: str, arguments: str, values: dict[str, Any]) -> tuple[str, ...]:
        """Return where these arguments are secret."""
        given: Json = json.loads(arguments)
        marked = marked_secrets(self.toolbox.schema(tool), given)
        known = set(secrets_in(values))
        if not known:
            return marked
        told = named_values(self.toolbox, tool, values)
        return tuple(dict.fromkeys((*marked, *misnamed_secrets(given, told, known))))

    def _left_out(self, tool: str, arguments: str, values: dict[str, Any]) -> LeftOut:
        """Return what is told of the arguments that the call leaves out."""
        return left_out(
            self.toolbox.schema(tool),
            json.loads(arguments),
            lambda: look_at(self.toolbox, tool, arguments, values).values,
        )

    async def ruling(self, tool: str, arguments: str, values: dict[str, Any]) -> Ruling:
        """Return the strictest word of rules and policy on these arguments and their validated values.

        A policy is not asked about what a rule denies.

        Raises:
            InvalidAgentDefinitionError: the policy answered with an unknown word.
            Exception: whatever the policy raised.

        """
        books = rule_books(self.agent, self.run)
        look = look_at(self.toolbox, tool, arguments, values)
        ruling = judge(books, self.agent.name, tool, look.values, look.given)
        if ruling.verdict is Verdict.DENY:
            return ruling
        return strictest([ruling, Ruling(await self._policy(tool, arguments))])

    async def _policy(self, tool: str, arguments: str) -> Verdict:
        """Return what the tool's policy says of these arguments, validated anew.

        Whoever looked at them before may have used them up: an ``Iterable`` is read once.

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
        values = await self.toolbox.check(tool, arguments) if callable(policy) else {}
        return await evaluate(policy, values, context)


@dataclass(frozen=True, slots=True)
class Look:
    """A call's arguments as rules look at them.

    Attributes:
        values: As the tool gets them: checked, and with its defaults.
        given: The same, and what was given under other names: aliases, fields that the tool drops.

    """

    values: Json
    given: Json = None


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
    _looks: dict[tuple[CallId, str], Look] = field(default_factory=dict)

    async def load(self, call: ToolCall, arguments: str | None) -> None:
        """Validate the arguments of a call that may run yet, for its rules to look at."""
        if (
            not self.books
            or (call.id, call.digest) in self._looks
            or call.state not in _MAY_RUN_YET
        ):
            return
        text = arguments or "{}"
        try:
            values = await self.toolbox.check(call.tool, text)
            look = look_at(self.toolbox, call.tool, text, values)
        except ToolCallError:
            # They will not fit the tool either, which then says so itself.
            look = Look(json.loads(text))
        self._looks[call.id, call.digest] = look

    def tightened(self, call: ToolCall) -> Ruling | None:
        """Return the ruling that stops an allowed call; None where it may go on.

        A person's approval satisfies a rule that asks, never one that denies; so does one that was
        remembered, for as long as it holds.
        """
        look = self._looks.get((call.id, call.digest), Look(HIDDEN))
        ruling = judge(self.books, self.agent, call.tool, look.values, look.given)
        if call.settled and call.id != self.holding and ruling.verdict is not Verdict.DENY:
            return Ruling(Verdict.ASK, call.settled)
        approved = call.approval is not None or call.settled
        let = {Verdict.ALLOW, Verdict.ASK} if approved else {Verdict.ALLOW}
        return None if ruling.verdict in let else ruling


def rule_books(agent: Agent, run: Run) -> tuple[RuleBook, ...]:
    """Return all the rules that a run of an agent is under."""
    return (*agent.books, RuleBook(run.rules, name="run")) if run.rules else agent.books


def look_at(toolbox: Toolbox, tool: str, arguments: str, values: dict[str, Any]) -> Look:
    """Return a call as rules look at it: by all the names that each argument goes by."""
    named = named_values(toolbox, tool, values)
    model, fields = values.get(toolbox.sole(tool)), toolbox.fields(tool)

    def known(looked: Json) -> Json:
        return with_aliases(with_aliases(looked, values, fields), model)

    return Look(known(named), known(_with_given(named, json.loads(arguments))))


def named_values(toolbox: Toolbox, tool: str, values: dict[str, Any]) -> Json:
    """Return a call's values by the names that people and the model are shown."""
    found = plain(values)
    sole = toolbox.sole(tool)
    fields = found.get(sole) if sole and isinstance(found, dict) else None
    # The fields of a function's one model stand on top there; its parameter's name is kept beside.
    return {sole: fields, **fields} if isinstance(fields, dict) else found


def _with_given(values: Json, given: Json) -> Json:
    """Return values with what else was given: under names that the tool knows them not by."""
    if isinstance(values, dict) and isinstance(given, dict):
        shared = {name: _with_given(values[name], given[name]) for name in values.keys() & given}
        return {**given, **values, **shared}
    if isinstance(values, list) and isinstance(given, list) and len(values) == len(given):
        return [_with_given(*pair) for pair in zip(values, given, strict=True)]
    return values


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


def still_secret(anew: ToolCall, before: ToolCall) -> ToolCall:
    """Return a call as it is described by now, with what was secret of it before still so."""
    secrets = tuple(dict.fromkeys((*before.declared.secrets, *anew.declared.secrets)))
    declared = anew.declared.model_copy(update={"secrets": secrets})
    return anew.model_copy(update={"declared": declared})


def question_in(arguments: str) -> str:
    """Return the question in the canonical arguments of a tool that asks a person."""
    return str(json.loads(arguments).get("question", ""))
