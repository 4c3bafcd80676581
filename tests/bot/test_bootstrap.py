"""Wiring: what is wrong is told before anything runs, and a terminal needs no Slack."""

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.bootstrap import load_agents, open_runtime
from bot.local_slack import Fault, FaultKind, LocalSlack
from bot.settings import Purpose, SettingsError, given_settings
from engine import Agent, Allow, InvalidAgentDefinitionError
from engine.errors import (
    DeliveryError,
    DirectoryUnavailableError,
    InvalidRuleError,
    NotAllowedError,
    Refusal,
    StoreVersionError,
)
from engine.identity import Actor, Via
from engine.ids import PersonId
from tests.bot.stage import BOB, GONE, GUEST, RESUME_SECRET, deployer, on_stage, settings_for
from tests.engine.scripted import Ledger

AGENTS = """
from tests.bot.stage import deployer
from tests.engine.scripted import Ledger
from engine.errors import InvalidAgentDefinitionError

one = deployer(Ledger())
several = [one, deployer(Ledger(), name="second")]

def made():
    return [deployer(Ledger(), name="third")]

def failing():
    raise RuntimeError("no model library")

def ill_defined():
    return deployer(Ledger(), approvals={"deploi": "user"})

something = {"not": "an agent"}
nothing = []
def exiting():
    raise SystemExit(7)
class Speechless(RuntimeError):
    def __str__(self):
        raise ValueError
Speechless.__name__ = "RuntimeError"
def speechless():
    raise Speechless
"""


@pytest.fixture
def agents_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "agents_of_this_test.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path)])
    monkeypatch.delitem(sys.modules, "agents_of_this_test", raising=False)
    return "agents_of_this_test"


@pytest.mark.parametrize(
    ("attributes", "names"),
    [
        (["one"], ["deployer"]),
        (["several"], ["deployer", "second"]),
        (["made"], ["third"]),
        (["one", "made"], ["deployer", "third"]),
    ],
)
def test_agents_are_found_beside_the_operator_in_every_form(
    agents_module: str, attributes: list[str], names: list[str]
) -> None:
    loaded = load_agents([f"{agents_module}:{attribute}" for attribute in attributes])
    assert [agent.name for agent in loaded] == names


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module_here:x", "cannot be loaded: ModuleNotFoundError"),
        ("agents_of_this_test:absent", "cannot be loaded: AttributeError"),
        ("agents_of_this_test:failing", "cannot be loaded: RuntimeError: no model library"),
        ("agents_of_this_test:something", "is neither an Agent"),
        ("agents_of_this_test:nothing", "holds no Agent"),
        ("agents_of_this_test:exiting", "cannot be loaded: SystemExit: 7"),
        ("agents_of_this_test:speechless", "RuntimeError: its text cannot be read"),
    ],
)
def test_what_leads_to_no_agent_is_one_line(agents_module: str, name: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_agents([name])
    (said,) = refused.value.problems
    assert said.startswith(f"HOLDSHORT_AGENTS: {name} ")
    assert why in said


def test_an_agent_that_is_defined_wrongly_says_so_itself(agents_module: str) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="deploi"):
        load_agents([f"{agents_module}:ill_defined"])


def terminal(**more: Any) -> Any:
    return given_settings(
        Purpose.TERMINAL, **{"store_url": "memory:", "resume_secrets": RESUME_SECRET, **more}
    )


async def test_a_terminal_needs_no_slack_and_delivers_nothing() -> None:
    async with open_runtime(terminal(), agents=[deployer(Ledger())]) as runtime:
        started = await runtime.engine.start("deployer", "go", owner=BOB)
        run = await runtime.engine.get_run(started.run)

        assert runtime.slack is None
        assert run.notify == "slack"
        with pytest.raises(DeliveryError):
            await runtime.engine.courier._notifiers["slack"].show(None, None)  # type: ignore[arg-type]


async def test_every_agent_is_under_the_rules_of_the_house(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text('[[rule]]\nid = "never"\nverdict = "deny"\ntool = "*"\n')
    settings = terminal(rules=str(file))
    async with open_runtime(settings, agents=[deployer(Ledger())]) as runtime:
        (agent,) = runtime.engine.agents
        assert [rule.name for book in agent.books for rule in book.rules] == ["never"]

    file.write_text("rule = 1")
    with pytest.raises(InvalidRuleError, match=r"^house.toml:1:1: "):
        await open_runtime(settings, agents=[deployer(Ledger())]).__aenter__()
    async with open_runtime(settings, agents=()) as runtime:
        assert list(runtime.engine.agents) == []


async def test_a_limit_of_the_house_is_every_agents() -> None:
    settings = terminal(max_open_asks_per_approver=7)
    async with open_runtime(settings, agents=[deployer(Ledger())]) as runtime:
        assert [agent.max_open_asks_per_approver for agent in runtime.engine.agents] == [7]


async def test_what_is_answered_in_a_terminal_is_served_by_the_other_process(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'holdshort.db'}"
    async with on_stage(store_url=url) as on:
        run, _ = await on.park()
        async with open_runtime(terminal(store_url=url), agents=()) as other:
            operator = Actor(id=PersonId(BOB), via=Via.TERMINAL)
            token = await other.engine.token_for(run.tickets[0].ref, Via.TERMINAL)
            await other.engine.resume(token, Allow(), actor=operator)

        ended = await on.until_run(run.id, lambda now: not now.live)

        assert ended.output == "deploy=success:release 1.4.2 live in prod"


@pytest.mark.parametrize("code", ["invalid_auth", "account_inactive", "token_revoked"])
async def test_a_token_that_slack_refuses_is_told_at_once(code: str) -> None:
    async with LocalSlack() as slack:
        slack.faults.plant(Fault(kind=FaultKind.ERROR, method="auth.test", error=code, times=None))
        with pytest.raises(SettingsError, match=f"SLACK_BOT_TOKEN is refused by Slack: {code}"):
            await open_runtime(settings_for(slack), agents=()).__aenter__()
        assert len(slack.calls.select("auth.test")) == 1


async def test_an_app_token_that_slack_refuses_is_told_at_once() -> None:
    async with LocalSlack() as slack:
        settings = settings_for(slack, "socket", slack_app_token="xapp-1-A0WRONG-33-f00dfacade")
        refusal = "SLACK_APP_TOKEN is refused by Slack: invalid_auth"
        with pytest.raises(SettingsError, match=refusal):
            await open_runtime(settings, agents=(), pauses=()).__aenter__()


@pytest.mark.parametrize(
    "kind", [FaultKind.SERVER_ERROR, FaultKind.DROP_BEFORE, FaultKind.HTML, FaultKind.RATELIMITED]
)
async def test_a_slack_that_is_away_for_a_moment_is_asked_again(kind: FaultKind) -> None:
    async with LocalSlack() as slack:
        slack.faults.plant(Fault(kind=kind, method="auth.test", times=2))
        async with open_runtime(settings_for(slack), agents=(), pauses=(0, 0)) as runtime:
            assert runtime.slack is not None
            assert runtime.slack.identity.team == "T0LOCAL"


async def test_a_slack_that_stays_away_is_told() -> None:
    async with LocalSlack() as slack:
        settings = settings_for(slack, slack_api_url="http://127.0.0.1:9/api/")
        with pytest.raises(SettingsError, match=r"HOLDSHORT_SLACK_API_URL: no answer from http"):
            await open_runtime(settings, agents=(), pauses=(0,)).__aenter__()


async def test_a_store_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path / "file" / "holdshort.db", tmp_path):
        settings = terminal(store_url=f"sqlite:///{path}")
        with pytest.raises(SettingsError, match="HOLDSHORT_STORE_URL names a store"):
            await open_runtime(settings, agents=()).__aenter__()


async def test_a_store_of_a_newer_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "holdshort.db"
    async with open_runtime(terminal(store_url=f"sqlite:///{path}"), agents=()):
        pass
    monkeypatch.setattr("engine.stores.sqlite_database.SCHEMA_VERSION", 0)
    with pytest.raises(StoreVersionError):
        await open_runtime(terminal(store_url=f"sqlite:///{path}"), agents=()).__aenter__()


async def test_two_agents_of_one_name_are_refused() -> None:
    agents: list[Agent] = [deployer(Ledger()), deployer(Ledger())]
    with pytest.raises(InvalidAgentDefinitionError, match="two agents"):
        await open_runtime(terminal(), agents=agents).__aenter__()


@pytest.mark.parametrize(
    ("operator", "refusal"), [(GUEST, Refusal.GUEST), (GONE, Refusal.DEACTIVATED)]
)
async def test_where_slack_is_set_a_terminal_judges_its_operator_by_slack(
    tmp_path: Path, operator: str, refusal: Refusal
) -> None:
    store_url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    async with on_stage(store_url=store_url) as on:
        run, _ = await on.park(owner=operator)
        settings = given_settings(
            Purpose.TERMINAL,
            slack_bot_token=on.slack.bot_token,
            slack_api_url=on.slack.api_url,
            store_url=store_url,
            resume_secrets=RESUME_SECRET,
        )
        async with open_runtime(settings, agents=()) as terminal:
            assert run.waiting is not None
            token = await terminal.engine.token_for(run.waiting.ref, Via.TERMINAL)
            actor = Actor(id=PersonId(operator), via=Via.TERMINAL)

            with pytest.raises(NotAllowedError) as refused:
                await terminal.engine.resume(token, Allow(), actor=actor)

        assert refused.value.refusal is refusal
        assert await on.unchanged(run)


async def test_a_terminal_that_cannot_ask_slack_lets_nobody_through(tmp_path: Path) -> None:
    store_url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    async with on_stage(store_url=store_url) as on:
        run, _ = await on.park()
        on.slack.faults.plant(Fault(kind=FaultKind.ERROR, method="auth.test", error="fatal_error"))
        settings = given_settings(
            Purpose.TERMINAL,
            slack_bot_token=on.slack.bot_token,
            slack_api_url=on.slack.api_url,
            store_url=store_url,
            resume_secrets=RESUME_SECRET,
        )
        async with open_runtime(settings, agents=()) as terminal:
            assert run.waiting is not None
            token = await terminal.engine.token_for(run.waiting.ref, Via.TERMINAL)

            with pytest.raises(DirectoryUnavailableError):
                await terminal.engine.resume(
                    token, Allow(), actor=Actor(id=PersonId(BOB), via=Via.TERMINAL)
                )

        assert await on.unchanged(run)


async def test_serving_says_which_store_it_opened_and_what_is_in_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'holdshort.db'}"
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            async with on_stage(store_url=url) as on:
                await on.park()

    said = [one.msg for one in caplog.records if isinstance(one.msg, dict)]
    opened = [one for one in said if one["event"] == "store opened"]
    assert [(one["url"], one["new"], one["live_runs"]) for one in opened] == [
        (url, True, 0),
        (url, False, 1),
    ]


async def test_models_that_cannot_be_asked_are_told_at_the_start_one_line_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    ledger = Ledger()
    agents = [
        deployer(ledger),
        deployer(ledger, name="second", model="openai:gpt-5"),
        deployer(ledger, name="third", model="nosuch:model"),
    ]
    async with LocalSlack() as slack:
        with pytest.raises(SettingsError) as refused:
            await open_runtime(settings_for(slack), agents=agents).__aenter__()

    second, third = refused.value.problems
    assert second.startswith("agent second: the model 'openai:gpt-5' cannot be asked: ")
    assert "pydantic-ai-slim[openai]" in second
    assert third == (
        "agent third: the model 'nosuch:model' cannot be asked: Unknown model: nosuch:model"
    )


async def test_tools_have_as_many_threads_as_the_settings_say() -> None:
    async with LocalSlack() as slack:
        settings = settings_for(slack, tool_threads=3)
        async with open_runtime(settings, agents=()) as runtime:
            assert runtime.engine.surroundings.tool_threads == 3


async def test_a_terminal_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    settings = given_settings(Purpose.TERMINAL, store_url="memory:", resume_secrets=RESUME_SECRET)
    agents = [deployer(Ledger(), model="openai:gpt-5")]
    async with open_runtime(settings, agents=agents) as runtime:
        assert [agent.name for agent in runtime.engine.agents] == ["deployer"]
