"""Permission rules in a TOML file: every fault is told with its line and column."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import InvalidRuleError
from engine.policy import Verdict
from engine.rules import Rule, RuleBook

_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*rule[ \t]*\]\]", re.MULTILINE)
_AT = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)$")
_WORDS = frozenset({"id", "verdict", "agent", "tool", "when", "reason"})
_VERDICTS = tuple(Verdict)


def read_rules(text: str, name: str) -> RuleBook:
    """Return the rules of a file's text; ``name`` is what the file goes by in messages and events.

    Raises:
        InvalidRuleError: not TOML, a word that is unknown, of the wrong kind or missing, or a
            malformed pattern; with line and column.

    """
    page = _Page(text, name)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise page.unreadable(error) from error
    default = found.pop("default", "allow")
    if default not in _VERDICTS:
        raise page.fault(page.at_top("default"), _wanted_verdict("default", default))
    tables = found.pop("rule", [])
    if found:
        word = next(iter(found))
        raise page.fault(
            page.at_top(word), f"unknown word {word!r}; there are default and [[rule]]"
        )
    starts = page.headers()
    if not isinstance(tables, list) or len(starts) != len(tables):
        raise page.fault(0, "write each rule as a [[rule]] of its own")
    rules = tuple(_read_rule(page, at, table) for at, table in zip(starts, tables, strict=True))
    try:
        return RuleBook(rules, Verdict(default), name)
    except InvalidRuleError as error:
        raise page.placed(error, rules) from error


@dataclass(frozen=True, slots=True)
class _Page:
    """The text of a file, to find places in it."""

    text: str
    name: str

    def headers(self) -> list[int]:
        """Return where each ``[[rule]]`` stands."""
        return [found.end() - len(found[0].lstrip()) for found in _HEADER.finditer(self.text)]

    def at_top(self, key: str) -> int:
        """Return where a word outside the rules stands."""
        return self._key(key, 0)

    def key(self, header: int, key: str) -> int:
        """Return where a word of a rule stands; the rule's header where it is not found."""
        return self._key(key, header)

    def fault(self, at: int, problem: str) -> InvalidRuleError:
        """Return an error that names a place."""
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return InvalidRuleError(problem, rule=self.name, line=line, column=column)

    def unreadable(self, error: tomllib.TOMLDecodeError) -> InvalidRuleError:
        """Return the TOML reader's complaint with its place apart."""
        told = str(error)
        found = _AT.search(told)
        problem = f"not TOML: {told[: found.start()].strip() if found else told}"
        if found is None or found[1] is None:
            return self.fault(len(self.text), problem)
        return InvalidRuleError(problem, rule=self.name, line=int(found[1]), column=int(found[2]))

    def placed(self, error: InvalidRuleError, rules: tuple[Rule, ...]) -> InvalidRuleError:
        """Return what is wrong with a rule, with the place of the very character if it is plain."""
        number = next((n for n, rule in enumerate(rules) if rule.name == error.rule), 0)
        at = self.key(self.headers()[number], error.key)
        value = getattr(rules[number], error.key)
        wanted = value[error.index] if isinstance(value, tuple) else value
        found = self.text.find(wanted, at + len(error.key)) if wanted else -1
        return self.fault(at if found < 0 else found + max(0, error.column - 1), error.problem)

    def _key(self, key: str, start: int) -> int:
        after = _HEADER.search(self.text, start + 1)
        end = after.start() if after else len(self.text)
        found = re.compile(rf'^[ \t]*"?{re.escape(key)}"?[ \t]*[=.]', re.MULTILINE).search(
            self.text, start, end
        )
        return start if found is None else found.end() - len(found[0].lstrip())


def _read_rule(page: _Page, header: int, table: Mapping[str, Any]) -> Rule:
    unknown = sorted(table.keys() - _WORDS)
    if unknown:
        told = f"unknown word {unknown[0]!r}; a rule has {', '.join(sorted(_WORDS))}"
        raise page.fault(page.key(header, unknown[0]), told)
    if table.get("verdict") not in _VERDICTS:
        told = _wanted_verdict("verdict", table.get("verdict"))
        raise page.fault(page.key(header, "verdict"), told)
    if "tool" not in table:
        raise page.fault(header, 'this rule has no tool; for every tool write tool = "*"')
    for key in _WORDS & table.keys() - {"when"}:
        if not isinstance(table[key], str):
            raise page.fault(page.key(header, key), f"{key} wants a text")
    when = table.get("when", [])
    if not isinstance(when, list) or not all(isinstance(one, str) for one in when):
        raise page.fault(page.key(header, "when"), "when wants a list of texts")
    line = page.text.count("\n", 0, header) + 1
    return Rule(**{**table, "when": tuple(when), "where": f"{page.name}:{line}"})


def _wanted_verdict(key: str, found: object) -> str:
    said = "is missing" if found is None else f"is {found!r}"
    return f"{key} {said}; use one of: allow, ask, deny"
