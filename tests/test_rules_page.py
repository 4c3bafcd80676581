"""What the page on rules shows is what the rules do."""

import re
from pathlib import Path
from typing import Any

import pytest

from engine.policy import Verdict
from engine.rulefile import read_rules
from engine.rules import MAX_REASON, MAX_RULES, RuleBook

PAGE = (Path(__file__).parent.parent / "docs" / "rules.md").read_text("utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.mark.parametrize(
    ("agent", "tool", "arguments", "verdict", "rule"),
    [
        ("x", "delete_user", {"env": "prod"}, Verdict.DENY, "no-prod-deletes"),
        ("x", "delete_user", {"env": "dev"}, Verdict.ALLOW, ""),
        ("support", "refund", {"amount": 500}, Verdict.ASK, "rules.toml:10"),
        ("support", "refund", {"amount": 100}, Verdict.ALLOW, ""),
        ("x", "refund", {"amount": 500}, Verdict.ALLOW, ""),
        ("x", "send_mail", {"to": ["a@example.com"]}, Verdict.ALLOW, ""),
        ("x", "send_mail", {"to": ["a@example.com", "b@c.d"]}, Verdict.ASK, "own-people"),
    ],
)
def test_the_file_on_the_page_does_what_it_says(
    agent: str, tool: str, arguments: Any, verdict: Verdict, rule: str
) -> None:
    ruling = read_rules(block("toml"), "rules.toml").weigh(agent, tool, arguments)
    assert (ruling.verdict, ruling.rule) == (verdict, rule)


def test_the_code_on_the_page_does_what_it_says() -> None:
    names: dict[str, Any] = {}
    exec(block("python"), names)  # noqa: S102 - our own page
    (own,) = names["mailer"].books
    assert own.weigh("mailer", "send_mail", {"to": ["b@c.d"]}).verdict is Verdict.ASK
    narrow = RuleBook(tuple(names["narrow"]))
    assert narrow.hides("mailer", "delete_all")
    assert not narrow.hides("mailer", "read")


def test_the_page_states_the_limits() -> None:
    assert f"at most {MAX_RULES:,} rules, a reason {MAX_REASON} characters" in PAGE
