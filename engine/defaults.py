"""Defaults: what a tool's JSON schema states for arguments that a call leaves out.

Only what the schema states is told: a default that is made anew for each call
(``default_factory``), or that a remote server keeps to itself, is known to nobody here. Where a
value may have several forms, the one it has must be plain from the schema; what stands behind
conditions (``if``, ``dependentSchemas``) is left alone.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.redaction import (
    escape_step,
    list_items,
    marked_secrets,
    mask,
    redact_part,
    resolve,
    value_at,
)
from engine.schema import Json
from engine.tickets import Default

MAX_DEFAULTS = 32
MAX_CHARACTERS = 2_000
"""Of all defaults of one call, names and values as JSON: they are kept with its ticket."""

_DEPTH = 32
_OTHERS = "additionalProperties"
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a call leaves out and its tool's schema has defaults for.

    ``defaults`` are as they may be shown; ``more`` are those beyond the bounds, only counted.
    """

    defaults: tuple[Default, ...] = ()
    more: int = 0


def left_out(schema: Mapping[str, Any], arguments: Json, told: Callable[[], Json]) -> LeftOut:
    """Return the defaults that a schema states and that hold for a call's arguments.

    Args:
        schema: The JSON schema of the tool's arguments.
        arguments: What the call gives.
        told: Returns the arguments as the tool gets them, by every name that each goes by. It is
            asked only where names are given that the schema does not tell: one of them may be
            another name of what seems left out.

    """
    work = _Defaults(schema, told)
    full = work.fill(schema, arguments, "")
    if not work.found:
        return LeftOut(more=work.too_deep)
    marked = marked_secrets(schema, full)
    # What is there matters more than what is not, where there is not room for all.
    found = sorted(work.found, key=lambda one: one[1] is None)
    return _bounded(found, marked, work.too_deep)


class _Defaults:
    """Walks a schema along a value, filling in what is left out of it."""

    def __init__(self, root: Mapping[str, Any], told: Callable[[], Json]) -> None:
        self._root = root
        self._told = told
        self.found: list[tuple[str, Json]] = []
        self.too_deep = 0

    def fill(self, schema: object, value: Json, at: str) -> Json:
        """Return the value with its defaults, and keep each with the way to it."""
        if isinstance(value, list):
            forms = self._forms(schema, value)
            items = (list_items(form, len(value)) for form in forms if _of_list(form))
            parts = next(items, [None] * len(value))
            pairs = zip(parts, value, strict=True)
            return [self.fill(*pair, f"{at}/{place}") for place, pair in enumerate(pairs)]
        return self._fill_object(schema, value, at) if isinstance(value, dict) else value

    def _fill_object(self, schema: object, value: dict[str, Json], at: str) -> Json:
        named = self._properties(schema, value)
        forms = self._forms(schema, value)
        others = next((form[_OTHERS] for form in forms if _OTHERS in form), None)
        full = {
            name: self.fill(named.get(name, others), inner, f"{at}/{escape_step(name)}")
            for name, inner in value.items()
        }
        strange = bool(value.keys() - named.keys())
        for name in [name for name in named if name not in value]:
            default = self._default(named[name])
            if default is _ABSENT or (strange and self._is_given(at, name, default)):
                continue
            if not _leaves(default):
                self.too_deep += 1
                continue
            full[name] = default
            self.found.append((f"{at}/{escape_step(name)}", default))
        return full

    def _is_given(self, at: str, name: str, default: object) -> bool:
        """Tell whether a value that seems left out was given, under another name."""
        now = value_at(self._told(), at)
        return isinstance(now, dict) and name in now and now[name] != default

    def _default(self, schema: object) -> Any:  # noqa: ANN401 - any JSON value, or nothing
        stated = (form["default"] for form in self._forms(schema) if "default" in form)
        return next(stated, _ABSENT)

    def _properties(self, schema: object, value: Json) -> dict[str, object]:
        found: dict[str, object] = {}
        for form in self._forms(schema, value):
            found = {**_mapping(form.get("properties")), **found}
        return found

    def _forms(self, schema: object, value: Any = _ABSENT) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401
        """Yield every schema that holds for a value; without one, those that hold for any."""
        ahead, seen = [schema], set[str]()
        while ahead:
            form = ahead.pop(0)
            if not isinstance(form, Mapping):
                continue
            yield form
            ref = form.get("$ref")
            if isinstance(ref, str) and ref not in seen:
                seen.add(ref)
                ahead.append(resolve(self._root, ref))
            ahead += _list(form.get("allOf"))
            if value is not _ABSENT:
                ahead += self._sole(form, value)

    def _sole(self, schema: Mapping[str, Any], value: Json) -> list[object]:
        """Return the one of several forms that a value has; nothing where that is not plain."""
        several = [*_list(schema.get("anyOf")), *_list(schema.get("oneOf"))]
        fitting = [one for one in several if self._fits(one, value)]
        return fitting if len(fitting) == 1 else []

    def _fits(self, schema: object, value: Json) -> bool:
        return all(_may_be(form, value) for form in self._forms(schema))


def _may_be(form: Mapping[str, Any], value: Json) -> bool:
    """Tell whether nothing plain speaks against a value's having a form."""
    kind = form.get("type")
    if isinstance(kind, str) and kind != ("array" if isinstance(value, list) else "object"):
        return False
    if not isinstance(value, dict):
        return True
    fixed = {
        name: part["const"]
        for name, part in _mapping(form.get("properties")).items()
        if isinstance(part, Mapping) and "const" in part
    }
    needed = [name for name in _list(form.get("required")) if isinstance(name, str)]
    return all(value.get(name, word) == word for name, word in fixed.items()) and all(
        name in value for name in needed
    )


def _of_list(form: Mapping[str, Any]) -> bool:
    return "items" in form or "prefixItems" in form


def _bounded(found: Sequence[tuple[str, Json]], marked: tuple[str, ...], more: int) -> LeftOut:
    kept: list[Default] = []
    room = MAX_CHARACTERS
    for at, value in found:
        size = len(at) + len(json.dumps(value))
        if len(kept) == MAX_DEFAULTS or size > room:
            more += _leaves(value)
            continue
        kept.append(_default(at, value, marked))
        room -= size
    return LeftOut(tuple(kept), more)


def _default(at: str, value: Json, marked: tuple[str, ...]) -> Default:
    shown, way = redact_part(value, at, marked), mask(at)
    hidden = tuple(f"{way}{pointer}" for pointer in shown.hidden)
    masked = tuple(f"{way}{pointer}" for pointer in shown.masked)
    return Default(at=way, value=shown.arguments, hidden=hidden, masked=masked)


def _leaves(value: Json, depth: int = _DEPTH) -> int:
    """Return how many values there are; 0 where they lie too deep to look at."""
    if not value or not isinstance(value, dict | list):
        return 1
    inside = list(value.values()) if isinstance(value, dict) else value
    counts = [_leaves(one, depth - 1) if depth else 0 for one in inside]
    return sum(counts) if all(counts) else 0


def _list(found: object) -> list[object]:
    return found if isinstance(found, list) else []


def _mapping(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}
