"""The rules file: what it says, and that every fault is told with its line and column."""

import pytest

from engine.errors import InvalidRuleError
from engine.policy import Verdict
from engine.rulefile import read_rules
from engine.rules import Rule

PAGE = """\
default = "ask"

[[rule]]
id = "no-prod"
verdict = "deny"
tool = "delete_*"
when = ['env = "prod"', "count > 3"]
reason = "never there"

  [[ rule ]]   # a comment
verdict = "allow"
agent = "support"
tool = "look_up"
"""


def test_a_file_says_rules_and_a_default() -> None:
    book = read_rules(PAGE, "rules.toml")
    assert book.rules == (
        Rule(
            id="no-prod",
            verdict="deny",
            tool="delete_*",
            when=('env = "prod"', "count > 3"),
            reason="never there",
            where="rules.toml:3",
        ),
        Rule(verdict="allow", agent="support", tool="look_up", where="rules.toml:10"),
    )
    assert (book.default, book.name) == (Verdict.ASK, "rules.toml")
    assert [rule.name for rule in book.rules] == ["no-prod", "rules.toml:10"]


def test_an_empty_file_has_no_rules_and_allows() -> None:
    book = read_rules("", "r")
    assert (book.rules, book.default) == ((), Verdict.ALLOW)


HEAD = '[[rule]]\nverdict = "ask"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[rule]]\nverdict = ask\n", r"r:2:11: not TOML: "),
        ("[[rule]]\nverdict = '", r"r:\d:\d+: not TOML: "),
        ("x = 1", r"r:1:1: unknown word 'x'"),
        ('\ndefault = "perhaps"', r"r:2:1: default is 'perhaps'; use one of: allow, ask, deny"),
        ("default = 1", r"r:1:1: default is 1"),
        ("default = []", r"r:1:1: default is \[\]"),
        ("rule = [{tool = 'x'}]", r"r:1:1: write each rule as a \[\[rule\]\]"),
        ("[rule]\ntool = 'x'", r"r:1:1: write each rule as a \[\[rule\]\]"),
        ("[[rule]]\ntool = '*'", r"r:1:1: verdict is missing"),
        ("[[rule]]\ntool = '*'\nverdict = 'user'", r"r:3:1: verdict is 'user'"),
        (HEAD, r"r:1:1: this rule has no tool"),
        (HEAD + "tool = 3", r"r:3:1: tool wants a text"),
        (HEAD + "tool = '*'\n  tools = 'x'", r"r:4:3: unknown word 'tools'"),
        (HEAD + "tool = '*'\nwhen = 'env = 1'", r"r:4:1: when wants a list"),
        (HEAD + "tool = '*'\nwhen = [1]", r"r:4:1: when wants a list"),
        (HEAD + "tool = '/a(b/'", r"r:3:11: .*unclosed"),
        (HEAD + "tool = '*'\nagent = 'a[b'", r"r:4:11: \[ is not closed"),
        (HEAD + "tool = '*'\nwhen = [\n  'a = 1',\n  'b = x',\n]", r"r:6:8: expected a JSON"),
        (HEAD + 'tool = "*"\nwhen = ["a = \\"x"]', r"r:4:1: expected a JSON"),
        (f"{HEAD}tool = '*'\n{HEAD}tool = '['", r"r:6:9: \[ is not closed"),
        (f"{HEAD}tool='*'\nid='x'\n{HEAD}tool='*'\nid='x'", r"r:4:5: two rules have the id"),
        (HEAD + f"tool = '*'\nreason = '{'x' * 301}'", r"r:4:11: too long"),
    ],
)
def test_a_fault_is_told_with_line_and_column(text: str, told: str) -> None:
    with pytest.raises(InvalidRuleError, match=f"^{told}"):
        read_rules(text, "r")
