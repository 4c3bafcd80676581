"""The names that an argument goes by: its own, and the aliases under which its tool takes it too."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, get_type_hints

from pydantic import AliasChoices, BaseModel
from pydantic.dataclasses import is_pydantic_dataclass
from pydantic.fields import FieldInfo

from engine.schema import Json

Fields = Mapping[str, FieldInfo]
_KEPT = 1024


def with_aliases(looked: Json, values: object, fields: Fields | None = None) -> Json:
    """Return a call's values as JSON, each under all the names that it goes by.

    A name that is there already stays what it is.

    Args:
        looked: The values as JSON.
        values: The same, validated.
        fields: What pydantic is told of them, by their own names; a model's own unless given.

    """
    if isinstance(looked, list) and isinstance(values, list | tuple):
        same = len(looked) == len(values)
        pairs = zip(looked, values, strict=True) if same else ()
        return [with_aliases(*pair) for pair in pairs] or looked
    if not isinstance(looked, dict):
        return looked
    held = values if isinstance(values, Mapping) else getattr(values, "__dict__", {})
    known = _fields_of(values) if fields is None else fields
    named = dict(looked)
    for own, inner in held.items():
        names = list(_names(own, known.get(own)))
        at = next((name for name in names if name in looked), None)
        if at is not None:
            named[at] = with_aliases(looked[at], inner)
            named = {**dict.fromkeys(names, named[at]), **named}
    return named


@lru_cache(maxsize=_KEPT)
def fields_of_function(function: Callable[..., Any]) -> Fields:
    """Return what pydantic is told of a function's parameters: as the model layer reads them."""
    hints = get_type_hints(function, include_extras=True)
    return {
        name: _field(hints.get(name, Any), parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
    }


def _field(hint: Any, default: object) -> FieldInfo:  # noqa: ANN401 - any annotation
    if isinstance(default, FieldInfo):
        return FieldInfo.from_annotated_attribute(hint, default)
    return FieldInfo.from_annotation(hint)


def _fields_of(value: object) -> Fields:
    if isinstance(value, BaseModel):
        return type(value).model_fields
    kind = type(value)
    return kind.__pydantic_fields__ if is_pydantic_dataclass(kind) else {}


def _names(own: str, field: FieldInfo | None) -> Iterator[str]:
    """Yield the name that it has in JSON first, where it has another there."""
    if field is not None and field.serialization_alias:
        yield field.serialization_alias
    yield own
    taken = field.validation_alias if field is not None else None
    choices = taken.choices if isinstance(taken, AliasChoices) else [taken]
    yield from (one for one in choices if isinstance(one, str))
