"""Remembered rules in the terminal: made, listed, taken into account, revoked, removed."""

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine import Approvers, RememberedRule, Run
from engine.ids import PersonId
from engine.stores import SqliteStore
from examples.deployer import deployer
from tests.bot.cli.conftest import ALICE, BOB, CAROL, Serving, Terminal
from tests.factories import make_rule


def ref_of(run: Run) -> str:
    assert run.waiting is not None
    return run.waiting.ref


def squeezed(text: str) -> str:
    return " ".join(text.split())


def remembered(terminal: Terminal, serving: Serving, *more: str) -> str:
    """Have Bob approve and remember a deploy; return the rule's id."""
    run = serving.start()
    said = terminal("approve", ref_of(run), "--remember", "8h", *more, operator=BOB)
    assert said.out == f"Recorded: approved ({ref_of(run)}). To be remembered for 8 hours.\n"
    serving.serve(run.id)
    listed = terminal("rules").out
    return next(word for line in listed.splitlines() for word in line.split() if _is_id(word))


def _is_id(word: str) -> bool:
    return len(word) == 10 and word.startswith("R") and word.isupper()


def test_exactly_these_arguments_are_remembered_unless_one_may_be_anything(
    terminal: Terminal, serving: Serving
) -> None:
    rule = remembered(terminal, serving, "--any", "version")
    listed = squeezed(terminal("rules").out)
    assert f"{rule} deployer may run deploy" in listed
    assert 'version: anything \u00b7 env = "prod"' in listed
    assert f"for runs of {ALICE}" in listed
    assert f"by {BOB}, until " in listed


def test_the_next_call_like_it_is_not_asked(terminal: Terminal, serving: Serving) -> None:
    rule = remembered(terminal, serving)
    run = serving.start()
    shown = squeezed(terminal("runs", "show", run.id).out)
    assert f"deploy is allowed by {BOB}'s rule {rule} (args " in shown


def test_what_happened_tells_of_the_wish_and_of_the_rule(
    terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()
    terminal("approve", ref_of(run), "--remember", "7d", "--conversation", operator=BOB)
    serving.serve(run.id)
    shown = squeezed(terminal("runs", "show", run.id).out)
    assert f"{BOB} (terminal) asks to remember it for 7 days" in shown
    assert "is remembered as the rule R" in shown
    assert "in one conversation" in squeezed(terminal("rules").out)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--remember", "9h"), 2, "--remember 9h: choose one of 1h, 8h, 1d, 7d"),
        (
            ("--remember", "8h", "--with", '{"env": "staging"}'),
            2,
            "--remember: edited arguments are approved once",
        ),
        (("--once", "--agree"), 2, "say one of --once, --agree, --remember"),
        (("--remember", "8h", "--once"), 2, "say one of --once, --agree, --remember"),
        (("--remember", "8h", "--agree"), 2, "say one of --once, --agree, --remember"),
        (
            ("--with", '{"env": "staging"}', "--agree"),
            2,
            "--agree: edited arguments are approved once",
        ),
        (("--any", "version"), 2, "--any: goes with --remember"),
        (("--conversation",), 2, "--conversation: goes with --remember"),
        (("--remember", "8h", "--any", "colour"), 1, "the call has no argument /colour"),
        (
            ("--remember", "8h", "--any", "env", "--any", "/version", "--any", "notes"),
            1,
            "cannot be remembered",
        ),
    ],
)
def test_what_cannot_be_remembered_is_refused_in_one_line(
    terminal: Terminal, serving: Serving, words: tuple[str, ...], status: int, said: str
) -> None:
    run = serving.start()
    refused = terminal("approve", ref_of(run), *words, operator=BOB)
    assert (refused.status, refused.err.count("\n")) == (status, 1)
    assert said in refused.err
    assert serving.serve(run.id) == run


@pytest.mark.parametrize(("word", "rules"), [("--agree", 1), ("--once", 0)])
def test_what_others_want_remembered_is_agreed_to_in_so_many_words_or_not(
    terminal: Terminal, serving: Serving, ledger: Path, word: str, rules: int
) -> None:
    who = Approvers(people=(PersonId(BOB), PersonId(CAROL)), quorum=2)
    serving.agent = replace(deployer(ledger), approvers=who)
    run = serving.start()
    terminal("approve", ref_of(run), "--remember", "8h", "--any", "version", operator=BOB)

    unsaid = terminal("approve", ref_of(run), operator=CAROL)
    said = terminal("approve", ref_of(run), word)
    serving.serve(run.id)

    assert unsaid.status == 2
    assert (
        f'{BOB} asks to remember this for 8 hours (version: anything \u00b7 env = "prod"'
        in unsaid.err
    )
    assert said.out.startswith("Recorded: approved")
    assert terminal("rules").out.count("may run deploy") == rules


def test_whoever_may_not_decide_remembers_nothing(terminal: Terminal, serving: Serving) -> None:
    run = serving.start(requester=BOB)
    refused = terminal("approve", ref_of(run), "--remember", "8h", operator=BOB)
    assert "You started this run" in refused.err
    assert serving.serve(run.id).waiting == run.waiting


def test_the_operator_revokes_one_and_it_is_kept_who_did(
    terminal: Terminal, serving: Serving
) -> None:
    rule = remembered(terminal, serving)

    revoked = terminal("rules", "revoke", rule, operator=CAROL)
    again = terminal("rules", "revoke", rule.lower(), operator=ALICE)

    assert (
        revoked.out
        == f"Revoked: {rule}. Calls like it are asked for again, but for one that is starting this very moment.\n"
    )
    assert again.out.startswith(f"{rule} was revoked already, by {CAROL}, ")
    assert f"revoked by {CAROL}, " in squeezed(terminal("rules").out)
    assert serving.start().waiting is not None


def test_a_rule_that_is_not_there_is_said_not_to_be(terminal: Terminal, serving: Serving) -> None:
    serving.start()
    said = terminal("rules", "revoke", "R00000000X", operator=BOB)
    assert said.status == 1
    assert "Nothing here goes by R00000000X. See `holdshort rules`" in said.err


AGENTS = """
from engine import Agent, Approvers, Rule, ToolOptions

def deploy(env: str, version: str) -> str:
    return env

def agent_named(name, **more):
    owner = Approvers(people=("UOWNER",), four_eyes=False)
    usual = {"approvals": {"deploy": "user"}, "approvers": owner}
    return Agent(name=name, model="openai:gpt-5", tools=[deploy], **{**usual, **more})

agents = [
    agent_named("asks"),
    agent_named("decides", approvals={"deploy": lambda values, context: "ask"}),
    agent_named("risky", options={"deploy": ToolOptions(risk="high")}),
    agent_named("denies", rules=[Rule(id="never", verdict="deny", tool="deploy")]),
    agent_named("others", approvers=Approvers(people=("UOTHER",))),
]
"""
LIKE = '{"env": "prod", "version": "9"}'


@pytest.fixture
def kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, RememberedRule]:
    """Return a rule for each of these agents, in the store of the settings."""
    path.with_name("asking_agents.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.delitem(sys.modules, "asking_agents", raising=False)
    monkeypatch.setenv("HOLDSHORT_AGENTS", "asking_agents:agents")
    now = datetime.now(UTC)
    names = ("asks", "decides", "risky", "denies", "others")
    rules = {
        name: make_rule(agent=name, granted_at=now, expires_at=now + timedelta(hours=1))
        for name in names
    }
    keep(path, *rules.values())
    return rules


def keep(path: Path, *rules: RememberedRule) -> None:
    async def work() -> None:
        store = SqliteStore(path)
        for rule in rules:
            await store.rules.keep(rule)
        await store.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("agent", "owner", "call", "status", "listed"),
    [
        ("asks", "UOWNER", LIKE, 0, True),
        ("asks", "", LIKE, 3, True),
        ("asks", "UOTHER", LIKE, 3, True),
        ("asks", "UOWNER", '{"env": "dev", "version": "9"}', 3, False),
        ("decides", "UOWNER", LIKE, 5, True),
        ("risky", "UOWNER", LIKE, 3, False),
        ("denies", "UOWNER", LIKE, 4, False),
        ("others", "UOWNER", LIKE, 3, False),
    ],
)
def test_check_takes_what_is_remembered_into_account(  # noqa: PLR0917 - a table
    terminal: Terminal,
    kept: dict[str, RememberedRule],
    agent: str,
    owner: str,
    call: str,
    status: int,
    listed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    said = terminal("rules", "check", "deploy", call, "--agent", agent, "--owner", owner)
    assert said.status == status
    assert (f"allow {kept[agent].id} matches, for runs of UOWNER" in said.out) == listed
    if status == 0 and agent == "asks":
        assert said.out.startswith(f"allow, by the remembered rule {kept[agent].id}\n")


def test_a_rule_of_one_conversation_does_not_answer_for_all(
    terminal: Terminal, kept: dict[str, RememberedRule], path: Path
) -> None:
    terminal("rules", "revoke", kept["asks"].id, operator=BOB)
    now = datetime.now(UTC)
    keep(path, make_rule(agent="asks", conversation="c", expires_at=now + timedelta(hours=1)))
    said = terminal("rules", "check", "deploy", LIKE, "--agent", "asks", "--owner", "UOWNER")
    assert said.status == 3


def test_what_ended_long_ago_is_removed_with_the_runs(terminal: Terminal, path: Path) -> None:
    now = datetime.now(UTC)
    old = make_rule(expires_at=now - timedelta(days=8))
    recent = make_rule(expires_at=now - timedelta(days=6))
    keep(path, old, recent)

    would = terminal("purge", "--older-than", "7d", "--dry-run").out.splitlines()[1]
    done = terminal("purge", "--older-than", "7d").out.splitlines()[1]

    assert would == "Would remove 1 remembered rule that ended more than 7d ago."
    assert done == "Removed 1 remembered rule that ended more than 7d ago."
    listed = terminal("rules").out
    assert old.id not in listed
    assert recent.id in listed
    assert "rule" not in terminal("purge", "--older-than", "7d").out


def test_a_copy_takes_the_rules_along_and_what_was_revoked_stays_revoked(
    terminal: Terminal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [make_rule(expires_at=datetime.now(UTC) + timedelta(hours=1)) for _ in range(2)]
    keep(path, *rules)
    other = f"sqlite:///{path.with_name('other.db')}"

    first = terminal("store", "copy", f"sqlite:///{path}", other)
    terminal("rules", "revoke", rules[0].id, operator=BOB)
    again = terminal("store", "copy", f"sqlite:///{path}", other)

    assert first.out.splitlines()[1] == "Copied 2 remembered rules; verified."
    assert again.status == 0
    monkeypatch.setenv("HOLDSHORT_STORE_URL", other)
    listed = squeezed(terminal("rules").out)
    assert listed.count(f"revoked by {BOB}") == 1
    assert all(rule.id in listed for rule in rules)
