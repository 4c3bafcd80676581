"""The gate: every proposed call is parsed, validated, hashed and judged, once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from engine.agents import Agent
from engine.arguments import canonical_arguments
from engine.errors import ToolCallError
from engine.ids import CallId
from engine.lifecycle.propose import Gated, permission_digest
from engine.model import ProposedCall
from engine.policy import PolicyContext, Verdict, evaluate
from engine.runs import Run, ToolCall
from engine.tools import Toolbox


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges the calls of one model step of one run."""

    run: Run
    agent: Agent
    toolbox: Toolbox

    async def judge(self, proposed: Sequence[ProposedCall]) -> tuple[Gated, ...]:
        """Return the calls, in the model's order, each rejected, asking, or with its verdict.

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
        try:
            arguments = canonical_arguments(proposed.arguments)
            values = await self.toolbox.check(proposed.tool, arguments)
        except ToolCallError as error:
            return Gated(call=call, arguments=arguments, rejected=str(error))
        call = self._described(call, arguments)
        if self.toolbox.asks(call.tool):
            return Gated(call=call, arguments=arguments, asks=question_in(arguments))
        verdict = await self._verdict(call.tool, values)
        return Gated(call=call.model_copy(update={"verdict": verdict}), arguments=arguments)

    def _described(self, call: ToolCall, arguments: str) -> ToolCall:
        option = self.agent.option(call.tool)
        return call.model_copy(
            update={
                "digest": permission_digest(call.tool, arguments),
                "fingerprint": self.toolbox.fingerprint(call.tool, option.version),
                "replay": option.replay,
                "timeout_s": option.timeout.total_seconds(),
            }
        )

    async def _verdict(self, tool: str, values: dict[str, object]) -> Verdict:
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
