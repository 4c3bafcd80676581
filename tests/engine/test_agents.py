"""An Agent that could not be run safely is refused where it is defined, saying what to do."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai.toolsets import FunctionToolset

from engine import Agent, Approvers, InvalidAgentDefinitionError, RunEngine, RunStatus
from engine.agents import AgentRegistry
from engine.errors import UnknownAgentError
from engine.stores.sqlite import MemoryStore
from notifiers.inbox import InboxNotifier
from tests.engine.scripted import ALICE, SECRET, Ledger, script, stage


def deploy(version: str) -> str:
    """Deploy a version."""
    return version


def agent(**changes: Any) -> Agent:
    return Agent(**{"name": "a", "model": script("done"), "tools": [deploy], **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "agent name"),
        ({"name": "a b"}, "agent name"),
        ({"name": "x" * 65}, "agent name"),
        ({"approvals": {"deploy": "usr"}}, "'user', 'allow', 'deny' or a function"),
        ({"approvals": {"deplyo": "user"}}, "name no tool: deplyo; its tools are: deploy"),
        ({"options": {"deplyo": None}}, "options name no tool: deplyo"),
        ({"approvers": []}, "non-empty list"),
        ({"approvers": "UALICE"}, "non-empty list"),
        ({"approvers": ["UALICE", ""]}, "non-empty list"),
        ({"approval_timeout": timedelta(0)}, "approval_timeout must be positive"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_a_wrong_definition_is_refused_when_it_is_made(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match=words):
        agent(**changes)


def test_people_given_by_id_become_approvers_under_four_eyes() -> None:
    assert agent(approvers=["UBOB"]).who == Approvers(people=("UBOB",), four_eyes=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"resume_secret": ""}, "at least 32 bytes"),
        ({"resume_secret": "short"}, "at least 32 bytes"),
        ({"resume_secret": []}, "anyone could mint"),
        ({"resume_secret": [SECRET, "short"]}, "at least 32 bytes"),
        ({"agents": [agent(notify="nobody")]}, "notify='nobody' names no notifier"),
        (
            {"agents": [agent()], "notifiers": {"a": InboxNotifier(), "b": InboxNotifier()}},
            "set notify to one of: a, b",
        ),
        ({"agents": [agent(), agent()]}, "two agents are named 'a'"),
    ],
)
def test_an_engine_refuses_what_it_could_not_run_safely(
    arguments: dict[str, Any], words: str
) -> None:
    usual: dict[str, Any] = {"store": MemoryStore(), "agents": [], "resume_secret": SECRET}

    with pytest.raises(InvalidAgentDefinitionError, match=words):
        RunEngine(**{**usual, **arguments})


def test_an_unknown_agent_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownAgentError, match="this engine knows: a"):
        AgentRegistry([agent()]).get("b")


@pytest.mark.parametrize("made_by", ["toolset", "factory", "async factory"])
async def test_an_approval_that_names_no_tool_of_a_late_listed_set_fails_the_run(
    made_by: str,
) -> None:
    async def later(_scope: object) -> list[Any]:
        return [deploy]

    tools: Any = {
        "toolset": [FunctionToolset([deploy])],
        "factory": lambda _scope: [deploy],
        "async factory": later,
    }[made_by]

    def mistyped(_: Ledger) -> Agent:
        return agent(tools=tools, approvals={"deplyo": "user"}, model=script([("deploy", {})]))

    on = stage(mistyped)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()

    run = await on.engine.get_run(started.run)
    assert run.status is RunStatus.FAILED
    assert run.failure is not None
    assert "name no tool: deplyo; its tools are: deploy" in run.failure.message
