"""Rules: of all that match the strictest is the word, wherever they stand."""

from itertools import permutations
from typing import Any

import pytest

from engine.errors import InvalidRuleError
from engine.policy import Verdict
from engine.rules import MAX_REASON, MAX_RULES, Rule, RuleBook, Ruling, judge, tightening

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
ALLOWS = Rule(id="a", verdict="allow", tool="deploy")
ASKS = Rule(id="b", verdict="ask", tool="dep*")
DENIES = Rule(id="c", verdict="deny", tool="/^d/", when=('env = "prod"',), reason="never there")


def book(*rules: Rule, **given: Any) -> RuleBook:
    return RuleBook(tuple(rules), **given)


@pytest.mark.parametrize("rules", list(permutations([ALLOWS, ASKS, DENIES])))
def test_the_strictest_rule_wins_in_any_order(rules: tuple[Rule, ...]) -> None:
    assert book(*rules).weigh("x", "deploy", {"env": "prod"}) == Ruling(DENY, "c", "never there")
    assert book(*rules).weigh("x", "deploy", {"env": "dev"}) == Ruling(ASK, "b")


def test_all_conditions_of_a_rule_have_to_hold() -> None:
    rule = Rule(verdict="deny", tool="*", when=('env = "prod"', "count > 3"))
    assert book(rule).weigh("x", "t", {"env": "prod", "count": 4}).verdict is DENY
    assert book(rule).weigh("x", "t", {"env": "prod", "count": 3}).verdict is ALLOW


def test_a_rule_may_be_about_one_agent() -> None:
    rule = Rule(verdict="deny", tool="*", agent="dep*")
    assert book(rule).weigh("deployer", "t", {}).verdict is DENY
    assert book(rule).weigh("support", "t", {}).verdict is ALLOW


def test_what_no_rule_matches_is_left_to_the_default() -> None:
    careful = book(ALLOWS, default=ASK, name="house")
    assert careful.weigh("x", "other", {}) == Ruling(ASK, "house:default")
    assert careful.weigh("x", "deploy", {}) == Ruling(ALLOW, "a")
    assert book(ALLOWS).weigh("x", "other", {}) == Ruling(ALLOW)


def test_no_book_can_loosen_the_word_of_another() -> None:
    house, agent = book(default=ASK, name="house"), book(ALLOWS)
    assert judge([house, agent], "x", "deploy", {}).verdict is ASK
    assert judge([agent, book(DENIES)], "x", "deploy", {"env": "prod"}).verdict is DENY
    assert judge([], "x", "deploy", {}) == Ruling(ALLOW)


def test_an_allow_by_a_rule_is_told_of_rather_than_one_by_silence() -> None:
    assert judge([book(), book(ALLOWS)], "x", "deploy", {}) == Ruling(ALLOW, "a")


@pytest.mark.parametrize(
    ("given", "hidden"),
    [
        (book(Rule(verdict="deny", tool="deploy")), True),
        (book(Rule(verdict="deny", tool="*"), ALLOWS), True),
        (book(Rule(verdict="deny", tool="*", agent="other")), False),
        (book(DENIES), False),
        (book(ASKS), False),
        (book(default=DENY), True),
        (book(ALLOWS, default=DENY), False),
        (book(DENIES, default=DENY), True),
        (book(default=ASK), False),
    ],
)
def test_only_what_no_arguments_could_let_through_is_hidden(given: RuleBook, hidden: bool) -> None:  # noqa: FBT001 - a column
    assert given.hides("x", "deploy") is hidden


def test_a_rule_without_id_and_place_goes_by_its_book_and_number() -> None:
    given = book(ALLOWS, Rule(verdict="ask", tool="*"), name="agent deployer")
    assert [rule.name for rule in given.rules] == ["a", "agent deployer:2"]


def test_each_rule_tells_what_of_a_call_it_does_not_match() -> None:
    other = Rule(verdict="ask", tool="other", agent="y", when=("n > 1", "m = 1"))
    findings = book(DENIES, other).explain("x", "deploy", {"env": "prod", "n": 0, "m": 1})
    assert [one.misses for one in findings] == [(), ("agent y", "tool other", "n > 1")]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (Rule(id="r", verdict="ask", tool="/(/"), r"r tool, column 2: .*unclosed"),
        (Rule(id="r", verdict="ask", tool="*", agent=""), r"r agent: "),
        (Rule(id="r", verdict="ask", tool="*", when=("a = 1", "b")), r"r when, column 2: "),
        (Rule(id="r", verdict="deny", tool="*", reason="x" * (MAX_REASON + 1)), r"r reason"),
    ],
)
def test_a_malformed_rule_is_refused_by_name_and_place(rule: Rule, told: str) -> None:
    with pytest.raises(InvalidRuleError, match=told):
        book(rule)


def test_two_rules_of_a_book_share_no_id() -> None:
    with pytest.raises(InvalidRuleError, match="two rules have the id 'a'"):
        book(ALLOWS, ALLOWS)


def test_a_book_has_a_bounded_number_of_rules() -> None:
    with pytest.raises(InvalidRuleError, match="more than 1,000"):
        book(*[Rule(verdict="ask", tool="*")] * (MAX_RULES + 1))


def test_a_runs_own_rules_cannot_allow() -> None:
    assert [rule.name for rule in tightening([ASKS, Rule(verdict="deny", tool="*")])] == [
        "b",
        "run:2",
    ]
    with pytest.raises(InvalidRuleError, match=r"rule a: .* only ask or deny"):
        tightening([ALLOWS])
