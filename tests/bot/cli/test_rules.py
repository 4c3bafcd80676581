"""The rules in the terminal: listed, and held against a call."""

from pathlib import Path

import pytest

from tests.bot.cli.conftest import Terminal

RULES = """\
default = "ask"

[[rule]]
id = "no-prod"
verdict = "deny"
tool = "delete_*"
when = ['env = "prod"']
reason = "never there"

[[rule]]
verdict = "allow"
tool = "look_up"

[[rule]]
verdict = "deny"
tool = "shell"
"""
AGENTS = """
from engine import Agent, Rule

def drop(values, context):
    return "ask"

def look_up(who: str) -> str:
    return who

def delete_x(env: str) -> str:
    return env

agent = Agent(
    name="keeper",
    model="openai:gpt-5",
    tools=[look_up, delete_x],
    approvals={"look_up": "deny", "delete_x": drop},
    rules=[Rule(id="mine", verdict="ask", tool="look_up", when=('who =~ /\\x1b/',))],
)
"""


@pytest.fixture
def rules(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of rules that the settings name; no other setting is there."""
    for name in ("STORE_URL", "RESUME_SECRETS", "AGENTS"):
        monkeypatch.delenv(f"HOLDSHORT_{name}")
    file = path.with_name("rules.toml")
    file.write_text(RULES)
    monkeypatch.setenv("HOLDSHORT_RULES", str(file))
    return file


@pytest.fixture
def keeper(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules.with_name("keepers_of_this_test.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(rules.parent)
    monkeypatch.setenv("HOLDSHORT_AGENTS", "keepers_of_this_test:agent")


@pytest.mark.parametrize(
    ("words", "status", "first"),
    [
        (["look_up"], 0, "allow, by rules.toml:10"),
        (["other"], 3, "ask, by rules.toml:default"),
        (["delete_x", '{"env": "prod"}'], 4, "deny, by no-prod (never there)"),
        (["delete_x", '{"env": "dev"}'], 3, "ask, by rules.toml:default"),
    ],
)
def test_a_check_tells_the_word_and_ends_with_its_status(
    words: list[str], status: int, first: str, terminal: Terminal, rules: Path
) -> None:
    said = terminal("rules", "check", *words)
    assert (said.status, said.err) == (status, "")
    assert said.out.splitlines()[0] == first


def test_a_check_tells_how_each_rule_stands_to_the_call(terminal: Terminal, rules: Path) -> None:
    said = terminal("rules", "check", "delete_x", '{"env": "dev"}')
    assert said.out.splitlines()[1:] == [
        '  deny no-prod (rules.toml:3) misses: env = "prod"',
        "  allow rules.toml:10 misses: tool look_up",
        "  deny rules.toml:14 misses: tool shell",
        "  agents have rules and approvals of their own: see --agent",
    ]


FOR_ONE = """
[[rule]]
id = "for-one"
verdict = "{verdict}"
tool = "*"
agent = "support"
when = ['n > 1']
"""


@pytest.mark.parametrize(
    ("default", "verdict", "words", "status"),
    [
        ("allow", "ask", ["refund", '{"n": 2}'], 5),
        ("allow", "deny", ["refund", '{"n": 2}'], 5),
        ("deny", "allow", ["refund", '{"n": 2}'], 5),
        ("ask", "allow", ["refund", '{"n": 2}'], 5),
        ("allow", "ask", ["refund", '{"n": 1}'], 0),
        ("ask", "ask", ["refund", '{"n": 2}'], 3),
        # A rule for all spoke: one that allows changes nothing, one that denies does.
        ("ask", "allow", ["look_up", '{"n": 2}'], 0),
        ("ask", "deny", ["look_up", '{"n": 2}'], 5),
        ("allow", "ask", ["shell", '{"n": 2}'], 4),
    ],
)
def test_what_depends_on_the_agent_is_undecided_without_one(
    default: str, verdict: str, words: list[str], status: int, terminal: Terminal, rules: Path
) -> None:
    book = RULES.replace('default = "ask"', f'default = "{default}"')
    rules.write_text(book + FOR_ONE.format(verdict=verdict))

    said = terminal("rules", "check", *words)

    assert said.status == status
    assert said.out.startswith("undecided; else ") == (status == 5)
    assert (f"  of an agent support: {verdict}, by for-one" in said.out) == (status == 5)


@pytest.mark.usefixtures("keeper")
def test_what_a_function_decides_is_undecided_unless_a_rule_denies_it(terminal: Terminal) -> None:
    dev, prod = (
        terminal("rules", "check", "delete_x", f'{{"env": "{env}"}}', "--agent", "keeper")
        for env in ("dev", "prod")
    )

    assert dev.status == 5
    assert dev.out.startswith("undecided; else ask, by rules.toml:default\n")
    assert "the agent's own policy is a function" in dev.out
    assert prod.status == 4
    assert "function" not in prod.out


def test_a_check_tells_that_a_tool_is_not_even_offered(terminal: Terminal, rules: Path) -> None:
    assert "the model is not offered it" in terminal("rules", "check", "shell").out
    assert "offered" not in terminal("rules", "check", "delete_x").out


@pytest.mark.usefixtures("keeper")
def test_a_check_for_an_agent_adds_its_own_rules_and_policies(terminal: Terminal) -> None:
    said = terminal("rules", "check", "look_up", "--agent", "keeper")
    assert said.status == 4
    assert said.out.splitlines()[0] == "deny, by the agent's own policy"
    assert "  allow rules.toml:10 matches" in said.out
    assert "  ask mine misses: who =~ /" in said.out
    assert "\x1b" not in said.out


@pytest.mark.usefixtures("keeper")
def test_a_tool_that_the_agent_has_not_is_no_call_to_check(terminal: Terminal) -> None:
    said = terminal("rules", "check", "delete_y", "--agent", "keeper")
    assert said.status == 2
    assert "its tools are" in said.err


@pytest.mark.usefixtures("keeper")
def test_the_list_shows_every_rule_and_default(terminal: Terminal) -> None:
    said = terminal("rules")
    assert said.status == 0
    for word in ("no-prod", "delete_*", 'env = "prod"', "rules.toml:10", "look_up", "mine"):
        assert word in said.out
    assert "Whatever no rule of rules.toml matches: ask." in said.out
    assert "Whatever no rule of agent keeper matches: allow." in said.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rules", "check", "x", "{"], "arguments are not valid JSON"),
        (["rules", "check", "x", "[]"], "one JSON object"),
        (["rules", "check", "x", "--agent", "nobody"], "nobody"),
    ],
)
def test_what_cannot_be_checked_is_one_line(
    words: list[str], told: str, terminal: Terminal, rules: Path
) -> None:
    said = terminal(*words)
    assert said.status == 2
    assert told in said.err


def test_without_rules_there_is_nothing_to_check_by(
    terminal: Terminal, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDSHORT_RULES")
    assert terminal("rules").out == "No rules.\n"
    said = terminal("rules", "check", "x")
    assert (said.status, "HOLDSHORT_RULES is not set" in said.err) == (2, True)


def test_a_malformed_file_is_told_with_line_and_column(terminal: Terminal, rules: Path) -> None:
    rules.write_text('[[rule]]\nverdict = "ask"\ntool = "/(/"\n')
    for words in (("rules",), ("rules", "check", "x"), ("serve",)):
        said = terminal(*words)
        assert said.status == 2
        if words != ("serve",):  # which misses other settings first
            assert "rules.toml:3:10: " in said.err


def test_a_file_that_is_not_there_is_told(terminal: Terminal, rules: Path) -> None:
    rules.unlink()
    said = terminal("rules")
    assert said.status == 2
    assert "HOLDSHORT_RULES: " in said.err
    assert "No such file" in said.err


def test_a_file_that_is_no_text_is_told(terminal: Terminal, rules: Path) -> None:
    rules.write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in terminal("rules").err
