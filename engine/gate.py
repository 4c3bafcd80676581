"""The gate: every proposed call is parsed, validated, hashed and judged, once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.agents import Agent
from engine.arguments import canonical_arguments
from engine.errors import ToolCallError
from engine.fields import FIELDS, read_fields
from engine.guard import clip, contained, kind_of
from engine.ids import CallId
from engine.lifecycle.propose import Gated, permission_digest
from engine.model import ProposedCall
from engine.policy import PolicyContext, Verdict, evaluate
from engine.redaction import marked_secrets, mask, redact
from engine.runs import Run, ToolCall
from engine.tickets import Declared
from engine.tools import Toolbox

MAX_TITLE = 300
MAX_CALLS = 64
_ONE_TOO_MANY = f"not looked at: one step may hold {MAX_CALLS} calls"


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges the calls of one model step of one run."""

    run: Run
    agent: Agent
    toolbox: Toolbox

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
        if self.toolbox.asks(call.tool):
            return Gated(call=call, arguments=arguments, asks=question_in(arguments))
        verdict = await self.verdict(call.tool, values)
        judged = call.model_copy(update={"verdict": verdict})
        fields = self._fields(call.tool, arguments) if verdict is Verdict.ASK else ""
        return Gated(call=judged, arguments=arguments, fields=fields)

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

    async def verdict(self, tool: str, values: dict[str, object]) -> Verdict:
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


def question_in(arguments: str) -> str:
    """Return the question in the canonical arguments of a tool that asks a person."""
    return str(json.loads(arguments).get("question", ""))
