"""Verdicts, and the policies that give them: the machine's word on one tool call."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin, get_type_hints

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
    """Refuse a policy that is neither a known word nor a function, or a function of other words.

    What a function says is known before a run only where its annotation lists the words.

    Raises:
        InvalidAgentDefinitionError: naming the tool and the word.

    """
    if callable(policy):
        unknown = sorted(repr(word) for word in _promised(policy) if word not in _WORDS)
        if unknown:
            raise InvalidAgentDefinitionError(
                f"approvals[{tool!r}] is a function that may say {', '.join(unknown)};"
                " let it say user (or ask), allow or deny"
            )
        return
    if isinstance(policy, str) and policy in _WORDS:
        return
    raise InvalidAgentDefinitionError(
        f"approvals[{tool!r}] is {policy!r}; use 'user', 'allow', 'deny' or a function"
    )


def _promised(policy: object) -> tuple[object, ...]:
    try:
        hint = get_type_hints(policy).get("return")
    except Exception:  # noqa: BLE001 - an annotation may name what is not there, or be of any kind
        return ()
    return get_args(hint) if get_origin(hint) is Literal else ()


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
