"""Patterns of permission rules: for a name, and for a field of a call's arguments.

Regular expressions are matched by the engine that pydantic has (Rust's ``regex`` crate): its time
grows with the length of the text and never explodes. It knows no look-around and no back-references.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from engine.arguments import canonical_arguments, strict_json
from engine.errors import InvalidRuleError, ToolCallError
from engine.schema import Json, canonical_json

MAX_PATTERN = 1_000
"""Characters of one pattern or condition."""
HIDDEN = "**********"
"""What stands for a value that rules cannot look at (pydantic's mask of a secret)."""

_ABSENT = object()
_ANYTHING = "*"
_KEPT = 4096
_MAX_DIGITS = 400
_OPERATORS = ("!=~", "!=", "!~", "=~", "<=", ">=", "=", "~", "<", ">")
_NUMERIC = ("<=", ">=", "<", ">")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_PLACE = re.compile(r"\[(\*|[0-9]{1,9})\]")

Step = str | int | None
"""A field's name, a place in a list, or None for each of them."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A pattern for a text: exact, a glob (``*``, ``?``, ``[a-z]``), or ``/a regex/`` (``/i``)."""

    text: str
    anywhere: SchemaValidator | None
    whole: SchemaValidator | None
    """None for an exact text, and for the glob that matches all."""

    def matches(self, text: str, *, sure: bool) -> bool:
        """Tell whether a text matches; a regex has to match all of it where it must be ``sure``."""
        kind = self.whole if sure else self.anywhere
        if kind is None:
            return self.text in {text, _ANYTHING}
        if not text.isascii():
            # A lone surrogate is no text to the matcher.
            text = text.encode("utf-8", "replace").decode()
        return kind.isinstance_python(text)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a rule wants of one field: ``path operator value``.

    A rule that allows has to be ``sure``: the field is there, every element that the path leads to
    fits, and a regex matches the whole value. For a rule that asks or denies one element, or a part
    of the value, is enough, and what cannot be told counts as fitting.
    """

    text: str
    path: tuple[Step, ...]
    operator: str
    value: Json
    pattern: TextPattern | None

    def holds(self, arguments: Json, *, sure: bool) -> bool:
        """Tell whether a call's arguments fit."""
        each = not isinstance(self.value, list | dict)
        leaves = _leaves(arguments, self.path, each=each, sure=sure)
        fits = (self._fits(leaf, sure=sure) for leaf in leaves)
        return next(fits, False) and all(fits) if sure else any(fits)

    @property
    def _negated(self) -> bool:
        return self.operator.startswith("!")

    def _fits(self, leaf: object, *, sure: bool) -> bool:
        if leaf is _ABSENT or (leaf is None and self.value is not None):
            return self._negated and not sure
        found = None if leaf == HIDDEN else self._compare(leaf, whole=sure != self._negated)
        return not sure if found is None else found != self._negated

    def _compare(self, leaf: object, *, whole: bool) -> bool | None:
        """Return whether a value is what the operator wants; None where that cannot be told."""
        if self.pattern is not None:
            return self.pattern.matches(_text_of(leaf), sure=whole)
        if self.operator in _NUMERIC:
            number, limit = _number(leaf), _number(self.value)
            return (
                None if number is None or limit is None else _within(self.operator, number, limit)
            )
        return _same(leaf, self.value)


@lru_cache(_KEPT)
def read_pattern(text: str) -> TextPattern:
    """Return the pattern that a text stands for.

    Raises:
        InvalidRuleError: it is empty, too long, or malformed; with the column.

    """
    if not text or len(text) > MAX_PATTERN:
        raise InvalidRuleError(f"a pattern has 1 to {MAX_PATTERN:,} characters")
    if text.startswith("/"):
        return _regex(text)
    if text == _ANYTHING or not set(text) & set("*?["):
        return TextPattern(text, None, None)
    whole = _compile(rf"\A(?s:{_glob(text)})\z", text)
    return TextPattern(text, whole, whole)


@lru_cache(_KEPT)
def read_condition(text: str) -> Condition:
    """Return the condition that a text stands for, such as ``env = "prod"``.

    Raises:
        InvalidRuleError: it is too long, or malformed; with the column.

    """
    if len(text) > MAX_PATTERN:
        raise InvalidRuleError(f"a condition has at most {MAX_PATTERN:,} characters")
    path, at = _read_path(text, _spaces(text, 0))
    at = _spaces(text, at)
    operator = next((one for one in _OPERATORS if text.startswith(one, at)), None)
    if operator is None:
        raise InvalidRuleError(f"expected one of: {' '.join(sorted(_OPERATORS))}", column=at + 1)
    start = _spaces(text, at + len(operator))
    raw = text[start:].rstrip()
    if operator.endswith("=~"):
        return Condition(text, path, operator, raw, _placed(raw, start, regex=True))
    value = _read_value(raw, start)
    if operator.endswith("~"):
        if not isinstance(value, str):
            raise InvalidRuleError(f'{operator} wants a glob in "quotes"', column=start + 1)
        return Condition(text, path, operator, value, _placed(value, start + 1, regex=False))
    if operator in _NUMERIC and (isinstance(value, str) or _number(value) is None):
        raise InvalidRuleError(f"{operator} wants a number", column=start + 1)
    return Condition(text, path, operator, value, None)


def _placed(text: str, start: int, *, regex: bool) -> TextPattern:
    """Read a pattern that begins at ``start`` of a condition."""
    if regex != text.startswith("/"):
        wanted = "a regex between slashes: /.../" if regex else "a glob; for a regex write =~ /.../"
        raise InvalidRuleError(f"expected {wanted}", column=start + 1)
    try:
        return read_pattern(text)
    except InvalidRuleError as error:
        raise InvalidRuleError(error.problem, column=start + error.column) from error


def _read_path(text: str, at: int) -> tuple[tuple[Step, ...], int]:
    steps: list[Step] = []
    while True:
        name, at = _read_name(text, at)
        steps.append(name)
        while place := _PLACE.match(text, at):
            steps.append(None if place[1] == "*" else int(place[1]))
            at = place.end()
        if not text.startswith(".", at):
            return tuple(steps), at
        at += 1


def _read_name(text: str, at: int) -> tuple[str, int]:
    if quoted := _TEXT.match(text, at):
        return str(_read_value(quoted[0], at)), quoted.end()
    if bare := _NAME.match(text, at):
        return bare[0], bare.end()
    raise InvalidRuleError("expected the name of a field", column=at + 1)


def _read_value(raw: str, start: int) -> Json:
    try:
        value: Json = json.loads(raw)
        canonical_json(value)
    except ValueError as error:
        place = getattr(error, "pos", 0)
        told = 'expected a JSON value; a text wants "double quotes"'
        raise InvalidRuleError(told, column=start + place + 1) from error
    return value


def _spaces(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip())


def _regex(text: str) -> TextPattern:
    end = text.rfind("/")
    flags = text[end + 1 :]
    if end == 0 or flags not in {"", "i"}:
        raise InvalidRuleError("a regex ends with / or /i", column=len(text))
    body = text[1:end]
    prefix = "(?i)" if flags else ""
    # On its own first, so that no bracket of it can close one of ours.
    _compile(body, body, offset=1)
    return TextPattern(
        text, _compile(prefix + body, body), _compile(rf"{prefix}\A(?:{body})\z", body)
    )


def _glob(text: str) -> str:
    parts, at = [], 0
    while at < len(text):
        if text[at] == "[":
            part, at = _glob_set(text, at)
        else:
            part = {"*": ".*", "?": "."}.get(text[at]) or _literal(text[at])
            at += 1
        parts.append(part)
    return "".join(parts)


def _glob_set(text: str, at: int) -> tuple[str, int]:
    start = at + 2 if text.startswith("[!", at) else at + 1
    end = text.find("]", start + 1)
    if end < 0:
        raise InvalidRuleError("[ is not closed; for the character itself write [[]", column=at + 1)
    inner = text[start:end]
    last = len(inner) - 1
    body = "".join(
        "-" if one == "-" and 0 < place < last else _literal(one) for place, one in enumerate(inner)
    )
    return f"[{'^' if start == at + 2 else ''}{body}]", end + 1


def _literal(text: str) -> str:
    return "".join(
        one if one.isascii() and one.isalnum() else f"\\x{{{ord(one):x}}}" for one in text
    )


def _compile(regex: str, shown: str, offset: int = 0) -> SchemaValidator:
    try:
        return SchemaValidator(
            core_schema.str_schema(pattern=regex, regex_engine="rust-regex", strict=True)
        )
    except SchemaError as error:
        lines = str(error).splitlines()
        marks = [line for line in lines if line.strip() and set(line) <= {" ", "^"}]
        column = marks[0].index("^") - 4 if marks and regex == shown else 0
        why = lines[-1].removeprefix("error: ").strip()
        raise InvalidRuleError(
            f"{shown!r} is no pattern: {why}", column=offset + max(0, column) + 1
        ) from error


def _leaves(
    value: Any,  # noqa: ANN401 - any JSON value
    path: tuple[Step, ...],
    *,
    each: bool,
    sure: bool,
) -> Iterator[object]:
    """Yield what a path leads to; of a list at its end, with ``each``, the elements as well.

    Unless it has to be ``sure``, a text that is JSON is also taken for what is in it: a remote tool
    may read it so (the server of the MCP SDK for Python does).
    """
    opened = value if sure else _opened(value)
    if opened is not value:
        yield from _leaves(opened, path, each=each, sure=sure)
    for part, rest in _ways(value, path) if path else _elements(value, each=each):
        yield from _leaves(part, rest, each=each, sure=sure)
    if not path:
        yield value


Way = tuple[Any, tuple[Step, ...]]


def _elements(value: Any, *, each: bool) -> Iterator[Way]:  # noqa: ANN401 - any JSON value
    yield from ((item, ()) for item in value) if each and isinstance(value, list) else ()


def _ways(value: Any, path: tuple[Step, ...]) -> Iterator[Way]:  # noqa: ANN401 - any JSON value
    """Yield where the first step of a path leads, and what is left of the path there."""
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and step is None:
        yield from ((item, rest) for item in value.values())
        # An object where the author of the rule expected a list of such.
        if rest and rest[0] in value:
            yield value, rest
    elif isinstance(value, list) and not isinstance(step, int):
        # A name leads into each element: a forgotten [*] must not let a rule pass by.
        onward = rest if step is None else path
        yield from ((item, onward) for item in value)
    else:
        yield _step_into(value, step), rest


def _opened(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the list or object that a text is the JSON of; HIDDEN where readers may differ."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        inner = strict_json(value)
        canonical_arguments({"inner": inner})
    except ToolCallError as error:
        return value if isinstance(error.__cause__, json.JSONDecodeError) else HIDDEN
    return inner


def _step_into(value: Any, step: Step) -> Any:  # noqa: ANN401 - any JSON value, or none at all
    match value, step:
        case dict(), str():
            return value.get(step, _ABSENT)
        case list(), int():
            return value[step] if step < len(value) else _ABSENT
        case _, None:
            return value
        case _:
            return HIDDEN if value == HIDDEN else _ABSENT


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > _MAX_DIGITS:
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _within(operator: str, number: Decimal, limit: Decimal) -> bool:
    match operator:
        case "<":
            return number < limit
        case "<=":
            return number <= limit
        case ">":
            return number > limit
        case _:
            return number >= limit


def _same(leaf: object, value: Json) -> bool | None:
    """Tell whether a value is this one; None where a tool may make this one of it."""
    if isinstance(value, str):
        return _text_of(leaf) == value
    if isinstance(value, bool):
        return leaf is value if isinstance(leaf, bool | list | dict) else None
    if isinstance(value, int | float):
        number = _number(leaf)
        unlike = number is None and isinstance(leaf, bool | str)
        return None if unlike else number == _number(value)
    return canonical_json(leaf) == canonical_json(value)
