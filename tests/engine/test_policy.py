"""Policies: their words, their functions, and that nothing else counts as a verdict."""

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from engine.errors import InvalidAgentDefinitionError
from engine.ids import PersonId, RunId
from engine.policy import PolicyContext, Verdict, check_policy, evaluate, read_verdict

CONTEXT = PolicyContext(
    run=RunId("run_1"),
    agent="deployer",
    tool="deploy",
    owner=PersonId("U1"),
    requester=PersonId("U2"),
    context={"env": "prod"},
)


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("user", Verdict.ASK),
        ("ask", Verdict.ASK),
        ("allow", Verdict.ALLOW),
        ("deny", Verdict.DENY),
        (Verdict.DENY, Verdict.DENY),
    ],
)
async def test_each_word_is_its_verdict(word: Any, verdict: Verdict) -> None:
    assert await evaluate(word, {}, CONTEXT) is verdict


@pytest.mark.parametrize("word", [True, None, 1, "yes", "ALLOW", "", [], object()])
def test_nothing_else_counts_as_a_verdict(word: object) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="user"):
        read_verdict(word)


async def test_a_function_judges_the_validated_input_and_the_context() -> None:
    def policy(values: Mapping[str, Any], context: PolicyContext) -> str:
        return "user" if values["env"] == context.context["env"] else "allow"  # type: ignore[index,call-overload]

    assert await evaluate(policy, {"env": "prod"}, CONTEXT) is Verdict.ASK  # type: ignore[arg-type]
    assert await evaluate(policy, {"env": "staging"}, CONTEXT) is Verdict.ALLOW  # type: ignore[arg-type]


async def test_a_function_may_be_asynchronous() -> None:
    async def policy(_values: Mapping[str, Any], _context: PolicyContext) -> Verdict:
        return Verdict.DENY

    assert await evaluate(policy, {}, CONTEXT) is Verdict.DENY


@pytest.mark.parametrize("policy", ["usr", None, 3, ["user"]])
def test_a_policy_that_is_no_word_and_no_function_is_refused(policy: object) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match=r"approvals\['deploy'\]"):
        check_policy("deploy", policy)


def mistyped(_values: Mapping[str, Any], _context: PolicyContext) -> Literal["usr", "allow"]:
    return "usr"


async def mistyped_later(
    _values: Mapping[str, Any], _context: PolicyContext
) -> Literal["deny", "yes"]:
    return "yes"


def well_typed(_values: Mapping[str, Any], _context: PolicyContext) -> Literal["user", "deny"]:
    return "user"


def unreadable(_values, _context) -> "NoSuchName":  # type: ignore[no-untyped-def,name-defined] # noqa: ANN001, F821
    return "user"


@pytest.mark.parametrize(("policy", "word"), [(mistyped, "'usr'"), (mistyped_later, "'yes'")])
def test_a_function_that_is_declared_to_say_another_word_is_refused(
    policy: object, word: str
) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match=f"may say {word};"):
        check_policy("deploy", policy)


@pytest.mark.parametrize("policy", [well_typed, unreadable, lambda _values, _context: "x", print])
def test_a_function_whose_words_are_known_or_not_told_is_taken(policy: object) -> None:
    check_policy("deploy", policy)
