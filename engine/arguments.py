"""A model's arguments: parsed strictly, bounded, and brought into their one canonical text."""

import json
from typing import Any, NoReturn

from engine.errors import ToolCallError
from engine.schema import canonical_json

MAX_BYTES = 256 * 1024
MAX_DEPTH = 32


def canonical_arguments(raw: str | dict[str, Any] | None) -> str:
    """Return the canonical JSON text of a call's arguments (an object; nothing is an empty one).

    Raises:
        ToolCallError: not one JSON object, a key given twice, a number that is not finite, larger
            than 256 KiB, or nested deeper than 32. The text is for the model.

    """
    value = strict_json(raw if isinstance(raw, str) else _dump(raw or {}))
    if not isinstance(value, dict):
        raise ToolCallError("arguments must be one JSON object")
    if _depth(value) > MAX_DEPTH:
        raise ToolCallError(f"arguments are nested deeper than {MAX_DEPTH}")
    return _dump(value)


def strict_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text as strictly as arguments are read; an empty one is an object.

    Raises:
        ToolCallError: as for ``canonical_arguments``.

    """
    if len(text) > MAX_BYTES:
        raise ToolCallError(f"arguments are larger than {MAX_BYTES // 1024} KiB")
    try:
        return json.loads(
            text.strip() or "{}", object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise ToolCallError(f"arguments are not valid JSON: {error}") from error


def _dump(value: dict[str, Any]) -> str:
    try:
        text = canonical_json(value)
        size = len(text.encode())
    except (ValueError, TypeError, RecursionError) as error:
        raise ToolCallError(f"arguments are not valid JSON: {error}") from error
    if size > MAX_BYTES:
        raise ToolCallError(f"arguments are larger than {MAX_BYTES // 1024} KiB")
    return text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ToolCallError(f"arguments give the key {name!r} twice")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ToolCallError(f"arguments hold {name}, which is not JSON")


def _depth(value: object) -> int:
    deepest, layer = 0, [value]
    while layer:
        deepest += 1
        layer = [
            child
            for item in layer
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return deepest - 1
