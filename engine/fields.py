"""The fields of a tool's arguments, read from their JSON schema: what a form for them is made of.

One level only: whatever is deeper, or of several kinds, is a field of JSON. The fields say how a
value may be put in; whether it fits is for the tool's own validator to say.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from engine.schema import Frozen, Json
from engine.shapes import whole_secrets

MAX_ABOUT = 300
_DEFS = "#/$defs/"
_MAX_HOPS = 8


class FieldKind(StrEnum):
    """How a value is put in."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    DATE = "date"
    JSON = "json"


class Field(Frozen):
    """One argument, by its name.

    Attributes:
        required: The schema wants it.
        nullable: It may be null.
        choices: All that it may be, for a choice.
        about: What the tool's author says of it: untrusted, clipped.

    """

    name: str
    kind: FieldKind
    required: bool = False
    nullable: bool = False
    choices: tuple[Json, ...] = ()
    about: str = ""


FIELDS: TypeAdapter[tuple[Field, ...]] = TypeAdapter(tuple[Field, ...])

_KINDS = {
    "string": FieldKind.TEXT,
    "integer": FieldKind.INTEGER,
    "number": FieldKind.NUMBER,
    "boolean": FieldKind.BOOLEAN,
}


def read_fields(schema: Mapping[str, Any], arguments: Mapping[str, Json]) -> tuple[Field, ...]:
    """Return a field for each argument that the schema names, and for each other that is there."""
    named = _mapping(schema.get("properties"))
    required = frozenset(_strings(schema.get("required")))
    fields = [_field(schema, name, part, name in required) for name, part in named.items()]
    others = [Field(name=name, kind=FieldKind.JSON) for name in arguments if name not in named]
    return (*fields, *others)


def _field(root: Mapping[str, Any], name: str, part: object, required: bool) -> Field:  # noqa: FBT001 - read once
    said = _mapping(part)
    forms = list(_forms(root, said))
    nullable = len(forms) > 1 and any(_is_null(form) for form in forms)
    real = [form for form in forms if not _is_null(form)]
    kind, choices, or_null = _kind(real[0]) if len(real) == 1 else (FieldKind.JSON, (), False)
    about = said.get("description", "")
    return Field(
        name=name,
        kind=kind,
        required=required,
        nullable=nullable or or_null,
        choices=choices,
        about=about[: whole_secrets(about, MAX_ABOUT)] if isinstance(about, str) else "",
    )


def _forms(
    root: Mapping[str, Any], part: Mapping[str, Any], hops: int = 0
) -> Iterator[Mapping[str, Any]]:
    """Yield the forms that a value may have; one that cannot be followed is left as it is."""
    several = part.get("anyOf") or part.get("oneOf")
    all_of = part.get("allOf")
    ref = part.get("$ref")
    if hops < _MAX_HOPS and isinstance(several, list):
        for one in several:
            yield from _forms(root, _mapping(one), hops + 1)
    elif hops < _MAX_HOPS and isinstance(all_of, list) and len(all_of) == 1:
        yield from _forms(root, _mapping(all_of[0]), hops + 1)
    elif hops < _MAX_HOPS and isinstance(ref, str) and ref.startswith(_DEFS):
        defined = _mapping(root.get("$defs")).get(ref.removeprefix(_DEFS))
        yield from _forms(root, _mapping(defined), hops + 1)
    elif isinstance(part.get("type"), list):
        yield from ({**part, "type": one} for one in part["type"])
    else:
        yield part


def _kind(form: Mapping[str, Any]) -> tuple[FieldKind, tuple[Json, ...], bool]:
    """Return the kind of a form, its choices, and whether null is one of them."""
    listed = [form["const"]] if "const" in form else form.get("enum")
    if isinstance(listed, list) and all(_is_scalar(one) for one in listed):
        choices = tuple(one for one in listed if one is not None)
        return FieldKind.CHOICE, choices, len(choices) < len(listed)
    kind = _KINDS.get(str(form.get("type")), FieldKind.JSON)
    if kind is FieldKind.TEXT and form.get("format") == "date":
        return FieldKind.DATE, (), False
    return kind, (), False


def _is_null(form: Mapping[str, Any]) -> bool:
    return form.get("type") == "null"


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _strings(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
