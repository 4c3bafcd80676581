"""Verdicts, and the policies that give them: the machine's word on one tool call."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from engine.errors import InvalidAgentDefinitionError
from engine.guard import contained
from engine.ids import PersonId, RunId
from engine.schema import Json


class Verdict(StrEnum):
    """What a policy says of one call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


PolicyWord = Literal["user", "ask", "allow", "deny"]
_WORDS = {
    "user": Verdict.ASK,
    "ask": Verdict.ASK,
    "allow": Verdict.ALLOW,
    "deny": Verdict.DENY,
}


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What a policy may look at besides the call's validated input, and what an on-call function may."""

    run: RunId
    agent: str
    tool: str
    owner: PersonId
    requester: PersonId
    context: Json


PolicyAnswer = Verdict | PolicyWord
PolicyFunction = Callable[
    [Mapping[str, Any], PolicyContext], PolicyAnswer | Awaitable[PolicyAnswer]
]
Policy = PolicyWord | Verdict | PolicyFunction


def read_verdict(word: object) -> Verdict:
    """Return the Verdict that a policy's word stands for.

    Raises:
        InvalidAgentDefinitionError: the word is not one of ask (or user), allow, deny. Truthiness
            never counts: a policy that answers ``True`` or ``None`` is a mistake.

    """
    if isinstance(word, str) and word in _WORDS:
        return _WORDS[word]
    raise InvalidAgentDefinitionError(
        f"a policy said {word!r}; say one of: user (or ask), allow, deny"
    )


def check_policy(tool: str, policy: object) -> None:
    """Refuse a policy that is neither a known word nor a function.

    Raises:
        InvalidAgentDefinitionError: naming the tool and the word.

    """
    if callable(policy) or (isinstance(policy, str) and policy in _WORDS):
        return
    raise InvalidAgentDefinitionError(
        f"approvals[{tool!r}] is {policy!r}; use 'user', 'allow', 'deny' or a function"
    )


async def evaluate(policy: Policy, values: Mapping[str, Any], context: PolicyContext) -> Verdict:
    """Ask a policy about one call, with its validated input.

    Raises:
        InvalidAgentDefinitionError: the function answered with an unknown word.
        Exception: whatever the function raised; the caller fails closed. An EscapeError stands
            for what would have ended the process.

    """
    if isinstance(policy, str):
        return read_verdict(policy)
    with contained():
        answer = policy(values, context)
        if inspect.isawaitable(answer):
            answer = await answer
        return read_verdict(answer)
