"""A call's arguments as a person reads them: every value shown, or counted as not shown.

Values that are short go on one line each, ``name = value``. A line cannot be forged: its value is
a plain word, a number, or text in quotes, and has no line break. Any other value is put in a box
of its own under its name, and nothing inside a box can end it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal
from unicodedata import bidirectional

from engine.redaction import HIDDEN, escape_step
from engine.schema import Json, canonical_json
from engine.tickets import Default
from notifiers import limits
from notifiers.text import Style, alphabets, clip, inert, units

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]*\Z")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_INDEX = re.compile(r"[0-9]{1,9}\Z")
_LITERALS = frozenset({"true", "false", "null"})
_FORGES = re.compile(r"\n|\s=\s")
"""What could pass for the next line, where a narrow screen wraps this one."""
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_DOT = " \u00b7 "
DEFAULT = " (default)"
"""Follows a value that the call leaves out. A value that holds blanks stands in quotes."""


@dataclass(frozen=True, slots=True)
class Secret:
    """What arguments do not say by themselves.

    Attributes:
        hidden: Where secrets were taken out of them: JSON pointers to whole values.
        masked: The same, to parts of texts.
        defaults: What those are that the call leaves out; these are read after the others.
        more_defaults: How many values more these have than is known.

    """

    hidden: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    defaults: tuple[Default, ...] = ()
    more_defaults: int = 0

    @property
    def untold(self) -> str:
        """Say how many defaults are not known; empty if all are."""
        number = self.more_defaults
        if not number:
            return ""
        told = "1 more default is" if number == 1 else f"{number:,} more defaults are"
        return f"{told} too large to show anywhere."


NO_SECRET = Secret()


@dataclass(frozen=True, slots=True)
class Row:
    """One value.

    Attributes:
        name: The way to it (``items[0].name``), inert.
        raw: The value's text as it is: for a string its characters, otherwise its JSON.
        line: How it reads on a line; empty if it needs a box.
        withheld: Empty, or how much of it is kept secret.
        pointer: The way to it as a JSON pointer.
        default: Whether the call leaves it out, and this is the tool's default.

    """

    name: str
    raw: str
    line: str = ""
    withheld: Literal["", "whole", "part"] = ""
    pointer: str = ""
    default: bool = False

    @property
    def size(self) -> str:
        """Say how long the value is."""
        return f"{len(self.raw):,} characters"

    @property
    def note(self) -> str:
        """Say what the eye may miss: how long it is, that its letters are mixed, a default."""
        mixed = alphabets(self.raw)
        said = [] if self.withheld == "whole" else [self.size]
        said += [f"mixes {' and '.join(mixed)} letters"] if mixed else []
        return "; ".join([*said, "default"] if self.default else said)


@dataclass(frozen=True, slots=True)
class Box:
    """A value that stands by itself: its name, what to know of it, and what is shown of it."""

    name: str
    note: str
    text: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a card shows of some arguments.

    Attributes:
        cut: Values of which only the beginning is shown.
        missing: Values of which nothing is shown.
        size: Bytes of the canonical JSON.
        secrets: The names of the values that are hidden, in whole or in part.
        untold: How many defaults are not known; empty if all are.

    """

    lines: tuple[str, ...]
    boxes: tuple[Box, ...]
    values: int
    cut: int
    missing: int
    size: int
    secrets: tuple[str, ...]
    untold: str = ""

    @property
    def complete(self) -> bool:
        """Tell whether all that may be shown is, so that it can be approved without a review."""
        return not self.cut and not self.missing

    @property
    def withheld(self) -> str:
        """Say which values are secret; empty if none is."""
        return _tell_names(self.secrets)

    @property
    def hidden(self) -> str:
        """Say what does not fit; empty if all does."""
        told = [_count(self.cut, "cut short"), _count(self.missing, "not shown")]
        said = " and ".join(part for part in told if part)
        return f"{said}, of {self.values:,} ({self.size:,} bytes in all)" if said else ""


def tell_secrets(rows: Iterable[Row]) -> str:
    """Say which values are hidden; empty if none is."""
    return _tell_names([_secret_name(row) for row in rows if row.withheld])


def _tell_names(names: Sequence[str]) -> str:
    if not names:
        return ""
    rest = len(names) - limits.PEOPLE
    listed = ", ".join([*names[: limits.PEOPLE], *([f"{rest:,} more"] if rest > 0 else [])])
    if len(names) == 1:
        return f"1 value hidden: {listed}. The call gets the real one."
    return f"{len(names):,} values hidden: {listed}. The call gets the real ones."


def _secret_name(row: Row) -> str:
    name = clip(row.name, limits.QUOTED_NAME, Style.MADE)
    shown = name.text if name.complete else f"{name.text}\u2026"
    return shown if row.withheld == "whole" else f"{shown} (in part)"


def _count(number: int, what: str) -> str:
    if not number:
        return ""
    return f"1 value is {what}" if number == 1 else f"{number:,} values are {what}"


def read_rows(arguments: Json, secret: Secret = NO_SECRET) -> Iterator[Row]:
    """Yield a row for every value in the arguments, in their own order."""
    if arguments is not None and arguments != {}:
        yield from _rows("", "", arguments, secret)
    for default in secret.defaults:
        path = _path_to(arguments, default.at)
        own = Secret(default.hidden, default.masked)
        for row in _rows(path, default.at, default.value, own):
            yield replace(row, line=row.line and row.line + DEFAULT, default=True)


def _rows(path: str, pointer: str, value: Json, secret: Secret) -> Iterator[Row]:
    hidden, masked = frozenset(secret.hidden), frozenset(secret.masked)
    for path_, at, leaf in _walk(path, pointer, value):
        name = path_ or "value"
        if at in hidden:
            line = f"{name} = {HIDDEN}" if _fits_a_line(name) else ""
            yield Row(name, HIDDEN, line, "whole", at)
        else:
            raw = _raw(leaf)
            line = _line(name, raw, leaf)
            yield Row(name, raw, line, "part" if at in masked else "", at)


def _path_to(arguments: Json, pointer: str) -> str:
    """Return the name of what is left out of some arguments, as that of what is there."""
    path, value = "", arguments
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            path = f"{path}[{name}]"
            value = value[int(name)] if int(name) < len(value) else None
        else:
            path = _join(path, name)
            value = value.get(name) if isinstance(value, dict) else None
    return path


def count_values(arguments: Json, secret: Secret = NO_SECRET) -> int:
    """Return how many rows there are, without making them."""
    given = 0 if arguments is None or arguments == {} else _count_leaves(arguments)
    return given + sum(_count_leaves(default.value) for default in secret.defaults)


def _count_leaves(value: Json) -> int:
    if isinstance(value, dict) and value:
        return sum(map(_count_leaves, value.values()))
    if isinstance(value, list) and value:
        return sum(map(_count_leaves, value))
    return 1


def _walk(path: str, pointer: str, value: Json) -> Iterator[tuple[str, str, Json]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _walk(_join(path, name), f"{pointer}/{escape_step(name)}", inner)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _walk(f"{path}[{index}]", f"{pointer}/{index}", inner)
    else:
        yield path, pointer, value


def name_of(pointer: str) -> str:
    """Return the name of the value that a JSON pointer leads to, inert, as rows have it."""
    path = ""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        path = f"{path}[{name}]" if path and _INDEX.match(name) else _join(path, name)
    return path


def _join(path: str, name: str) -> str:
    shown = name if _PLAIN_NAME.match(name) else _quoted(name)
    return f"{path}.{shown}" if path else shown


def _raw(value: Json) -> str:
    if isinstance(value, str):
        return value
    # Most values of large arguments are whole numbers, for which this is ten times as fast.
    return str(value) if type(value) is int else json.dumps(value)


def _line(name: str, raw: str, value: Json) -> str:
    if not _fits_a_line(name) or len(raw) > limits.LINE_VALUE:
        return ""
    shown = _on_a_line(raw) if isinstance(value, str) else raw
    return shown and f"{name} = {shown}"


def _fits_a_line(name: str) -> bool:
    longest = limits.QUOTED_NAME if '"' in name else limits.NAME
    return units(name) <= longest and not _reorders(name)


def _reorders(text: str) -> bool:
    if text.isascii():
        return False
    return any(bidirectional(letter) in _RIGHT_TO_LEFT for letter in text)


def _on_a_line(text: str) -> str:
    if _PLAIN_WORD.match(text) and not _NUMBER.match(text) and text not in _LITERALS:
        return text
    if _FORGES.search(text) or _reorders(text) or alphabets(text):
        return ""
    shown = _quoted(text)
    return shown if units(shown) <= limits.LINE_VALUE else ""


def _quoted(text: str) -> str:
    return f'"{inert(text, Style.QUOTED)}"'


def on_card(arguments: Json, secret: Secret = NO_SECRET) -> Sheet:
    """Return what fits a card."""
    tally = _Tally()
    rows = read_rows(arguments, secret)
    for row in islice(rows, limits.VALUES_LOOKED_AT):
        tally.add(row)
    if secret != NO_SECRET:
        tally.secrets += [_secret_name(row) for row in rows if row.withheld]
    tally.pass_over(count_values(arguments, secret) - tally.values)
    size = len(canonical_json(arguments).encode("utf-8", "surrogatepass"))
    return Sheet(
        lines=tuple(tally.lines),
        boxes=tuple(tally.boxes),
        values=tally.values,
        cut=tally.cut,
        missing=tally.missing,
        size=size,
        secrets=tuple(tally.secrets),
        untold=secret.untold,
    )


class _Tally:
    """Fills a card, value by value."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.boxes: list[Box] = []
        self.secrets: list[str] = []
        self.values = self.cut = self.missing = 0
        self._units = limits.CARD_UNITS
        self._breaks = limits.CARD_BREAKS

    def add(self, row: Row) -> None:
        """Show a value, or its beginning, or count it as missing."""
        self.values += 1
        if row.withheld:
            self.secrets.append(_secret_name(row))
        shown = self._add_line(row) if row.line else self._add_box(row)
        self.missing += not shown

    def pass_over(self, values: int) -> None:
        """Count values of which nothing is shown."""
        self.values += values
        self.missing += values

    def _add_line(self, row: Row) -> bool:
        cost = units(row.line) + 1
        if len(self.lines) == limits.CARD_LINES or cost > self._units:
            return False
        self.lines.append(row.line)
        self._units -= cost
        return True

    def _add_box(self, row: Row) -> bool:
        if len(self.boxes) == limits.CARD_BOXES or units(row.name) > limits.NAME:
            return False
        cost = units(row.name) + units(row.note)
        part = clip(row.raw, max(0, self._units - cost), Style.BOX, breaks=self._breaks)
        note = row.note
        if not part.complete:
            preview = min(limits.PREVIEW_CHARACTERS, self._units - cost)
            part = clip(row.raw, max(0, preview), Style.BOX, breaks=limits.PREVIEW_BREAKS)
            note = f"{part.note}{row.note.removeprefix(row.size)}"
        if not part.text:
            return False
        self.cut += not part.complete
        self.boxes.append(Box(row.name, note, part.text))
        self._units -= cost + units(part.text)
        self._breaks -= part.text.count("\n") + 2
        return True


def summary(arguments: Json, secret: Secret = NO_SECRET, limit: int = limits.SUMMARY) -> str:
    """Return the arguments on one line of at most about ``limit`` units, telling what is left out."""
    shown: list[str] = []
    left = limit
    for row in islice(read_rows(arguments, secret), limits.VALUES_LOOKED_AT):
        cost = units(row.line) + len(_DOT)
        if row.line and cost <= left:
            shown.append(row.line)
            left -= cost
    missing = count_values(arguments, secret) + secret.more_defaults - len(shown)
    if missing:
        shown.append(f"{missing:,} more" if shown else f"{missing:,} not shown here")
    return _DOT.join(shown)
