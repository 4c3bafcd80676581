"""Secrets kept from what people are shown: found by the tool's schema, or by how they look.

What runs, and what an approval is bound to, is never touched: only what is about to be shown. Only
the secret itself is taken out of a longer text, so that nobody can hide a command beside it.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from engine.guard import split_clipped
from engine.schema import Json
from engine.shapes import SECRET

HIDDEN = "\u2022\u2022\u2022 hidden"
"""Stands for a whole value. In an argument's line it has no quotes, as a value with blanks would."""

MAX_POINTERS = 64
_SHORTEST = 6
_MAX_HALF = 4_096
"""So much of a secret is looked for at a cut; each further character costs as much as all before."""
_ANY = "*"
_REF = "#/"
_UNTOLD = object()


@dataclass(frozen=True, slots=True)
class Redacted:
    """Arguments as they may be shown.

    Attributes:
        arguments: The same values under the same names; a secret one reads ``HIDDEN``.
        hidden: Where a whole value is hidden: JSON pointers (RFC 6901).
        masked: Where a part of a text is.
        secrets: The hidden values, to be kept out of everything that is said beside them.

    """

    arguments: Json
    hidden: tuple[str, ...]
    masked: tuple[str, ...]
    secrets: tuple[str, ...]


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without what looks like a secret, and without these; the rest is as it was."""
    known = {form: one for one in secrets if len(one) >= _SHORTEST for form in _forms(one)}
    for form in sorted(known, key=len, reverse=True):
        text = text.replace(form, _stand_in(len(known[form])))
    text = _mask_cut(text, known)
    return SECRET.sub(lambda found: _stand_in(len(found[0])), text)


def _mask_cut(text: str, known: Mapping[str, str]) -> str:
    """Return a text without what of these was left where the text itself had been cut."""
    kept, mark = split_clipped(text)
    if not mark:
        return text
    for form, secret in known.items():
        begins, reach = form[:_SHORTEST], len(kept) - min(len(form), _MAX_HALF)
        at = kept.rfind(begins, max(0, reach))
        while at >= 0:
            if form.startswith(kept[at:]):
                return f"{kept[:at]}{_stand_in(len(secret))}{mark}"
            at = kept.rfind(begins, max(0, reach), at + _SHORTEST - 1)
    return text


def _forms(secret: str) -> tuple[str, ...]:
    """Return a secret as it may be spelled: as it is, in JSON, and in Python's quotes."""
    spelled = (json.dumps(secret, ensure_ascii=ascii_only) for ascii_only in (False, True))
    return (secret, *(one[1:-1] for one in spelled), repr(secret)[1:-1])


def _stand_in(size: int) -> str:
    return f"{HIDDEN} ({size:,} characters) \u2022\u2022\u2022"


def marked_secrets(schema: Mapping[str, Any], arguments: Json) -> tuple[str, ...]:
    """Return where the schema marks these arguments as secret: JSON pointers, ``*`` for any name.

    A value is marked by ``writeOnly`` or ``format: password``, as pydantic's SecretStr is
    (https://json-schema.org/understanding-json-schema/reference/annotations). In a schema of
    several forms each counts, whichever the value has. If there are too many, all of the
    arguments that hold them are named.
    """
    found = tuple(dict.fromkeys(_Marks(schema).find(schema, arguments, "")))
    if len(found) <= MAX_POINTERS:
        return found
    return tuple(dict.fromkeys(pointer[: (pointer + "/").index("/", 1)] for pointer in found))


class _Marks:
    """Walks a schema along a value."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def find(
        self, schema: object, value: Json, at: str, seen: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        if not isinstance(schema, Mapping):
            return
        if schema.get("writeOnly") is True or schema.get("format") == "password":
            yield at
            return
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in seen:
            yield from self.find(resolve(self._root, ref), value, at, seen | {ref})
        for form in _all_forms(schema):
            yield from self.find(form, value, at, seen)
        yield from self._inside(schema, value, at)

    def _inside(self, schema: Mapping[str, Any], value: Json, at: str) -> Iterator[str]:
        if isinstance(value, list):
            for inner, part in zip(value, list_items(schema, len(value)), strict=True):
                yield from self.find(part, inner, f"{at}/{_ANY}")
        elif isinstance(value, dict):
            named = _mapping(schema.get("properties"))
            for name, inner in value.items():
                if name in named:
                    yield from self.find(named[name], inner, f"{at}/{escape_step(name)}")
                else:
                    for part in _others(schema):
                        yield from self.find(part, inner, f"{at}/{_ANY}")


def resolve(root: Mapping[str, Any], ref: str) -> object:
    """Return what a reference within a JSON schema leads to; None where it leads nowhere."""
    part: object = root
    for step in ref.removeprefix(_REF).split("/") if ref.startswith(_REF) else ():
        name = step.replace("~1", "/").replace("~0", "~")
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _all_forms(schema: Mapping[str, Any]) -> Iterator[object]:
    """Yield every schema that may hold for the same value."""
    for form in ("anyOf", "oneOf", "allOf"):
        yield from _list(schema.get(form))
    yield from (schema.get(form) for form in ("then", "else"))
    yield from _mapping(schema.get("dependentSchemas")).values()


def list_items(schema: Mapping[str, Any], count: int) -> list[object]:
    """Return the schema of each element; older schemas have a list of them in ``items``."""
    items = schema.get("items")
    older = isinstance(items, list)
    first = (_list(items) if older else _list(schema.get("prefixItems")))[:count]
    rest = schema.get("additionalItems") if older else items
    other = rest if isinstance(rest, Mapping) else schema.get("unevaluatedItems")
    return [*first, *[other] * (count - len(first))]


def _others(schema: Mapping[str, Any]) -> list[object]:
    more = [schema.get("additionalProperties"), schema.get("unevaluatedProperties")]
    return [*more, *_mapping(schema.get("patternProperties")).values()]


def _list(found: object) -> list[object]:
    return found if isinstance(found, list) else []


def _mapping(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def secrets_in(values: object) -> Iterator[str]:
    """Yield what pydantic's secret types hold in a call's validated values."""
    if isinstance(values, SecretStr | SecretBytes | Secret):
        held = values.get_secret_value()
        yield held.decode("utf-8", "replace") if isinstance(held, bytes) else str(held)
    elif isinstance(values, Mapping):
        yield from (one for value in values.values() for one in secrets_in(value))
    elif isinstance(values, list | tuple | set | frozenset):
        yield from (one for value in values for one in secrets_in(value))
    elif isinstance(values, BaseModel) or is_dataclass(values):
        yield from secrets_in({**getattr(values, "__dict__", {})})


def misnamed_secrets(given: Json, values: Json, secrets: Collection[str]) -> tuple[str, ...]:
    """Return where secrets stand under names that no schema tells of: an alias, a field's own name.

    Args:
        given: The arguments.
        values: What the tool made of them, by the names that it tells.
        secrets: What is known to be secret. Under a name that is told, the schema alone decides:
            nothing else is hidden there only because it is the same.

    """
    return tuple(_misnamed(given, values, frozenset(secrets), "")) if secrets else ()


def _misnamed(given: Json, values: object, secrets: frozenset[str], at: str) -> Iterator[str]:
    # What a tool made something else of (a set of a list) was under a name that is told.
    lost = _UNTOLD if values is _UNTOLD else None
    if isinstance(given, dict):
        for name, inner in given.items():
            told = values.get(name, _UNTOLD) if isinstance(values, dict) else lost
            yield from _misnamed(inner, told, secrets, f"{at}/{escape_step(name)}")
    elif isinstance(given, list):
        same = isinstance(values, list) and len(values) == len(given)
        parts = values if isinstance(values, list) and same else [lost] * len(given)
        for place, (inner, told) in enumerate(zip(given, parts, strict=True)):
            yield from _misnamed(inner, told, secrets, f"{at}/{place}")
    elif values is _UNTOLD and str(given) in secrets:
        yield at


def escape_step(name: str) -> str:
    """Return a name as a step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def value_at(arguments: Json, pointer: str) -> Json:
    """Return the value that a JSON pointer (RFC 6901) leads to; None where it leads nowhere."""
    value = arguments
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def redact(arguments: Json, marked: Iterable[str] = ()) -> Redacted:
    """Return the arguments without the values that are marked or that look like secrets."""
    return redact_part(arguments, "", marked)


def redact_part(value: Json, at: str, marked: Iterable[str]) -> Redacted:
    """Return one value of the arguments in the same way; the pointers in the answer start at it.

    Args:
        value: What a JSON pointer leads to.
        at: That pointer.
        marked: What is marked of all the arguments.

    """
    rest = [pointer.split("/")[1:] for pointer in marked]
    for step in at.split("/")[1:]:
        rest = _below(rest, step)
    work = _Redaction()
    shown = work.show(value, "", rest)
    return Redacted(shown, tuple(work.hidden), tuple(work.masked), tuple(work.secrets))


class _Redaction:
    """Copies a value, leaving out what is secret."""

    def __init__(self) -> None:
        self.hidden: list[str] = []
        self.masked: list[str] = []
        self.secrets: list[str] = []

    def show(self, value: Json, at: str, marked: list[list[str]]) -> Json:
        if isinstance(value, dict) and value:
            return self._show_object(value, at, marked)
        if isinstance(value, list) and value:
            return [
                self.show(inner, f"{at}/{number}", _below(marked, str(number)))
                for number, inner in enumerate(value)
            ]
        if any(not rest for rest in marked):
            return self._hide(value, at)
        return self._mask(value, at) if isinstance(value, str) else value

    def _show_object(self, value: dict[str, Json], at: str, marked: list[list[str]]) -> Json:
        shown: dict[str, Json] = {}
        for name, inner in value.items():
            free = _free(mask(name), shown.__contains__)
            below = _below(marked, escape_step(name))
            shown[free] = self.show(inner, f"{at}/{escape_step(free)}", below)
        return shown

    def _mask(self, text: str, at: str) -> Json:
        if SECRET.fullmatch(text):
            return self._hide(text, at)
        shown = mask(text)
        if shown != text:
            self.masked.append(at)
        return shown

    def _hide(self, value: Json, at: str) -> Json:
        self.hidden.append(at)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            self.secrets.append(str(value))
        return HIDDEN


def _below(marked: list[list[str]], step: str) -> list[list[str]]:
    """Return what is marked below one step; all of it, where what holds it is marked."""
    return [rest[1:] for rest in marked if not rest or rest[0] in {step, _ANY}]


def _free(name: str, taken: Callable[[str], bool]) -> str:
    number, free = 1, name
    while taken(free):
        number += 1
        free = f"{name} #{number}"
    return free
