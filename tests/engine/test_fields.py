"""What a form needs to know of arguments, read from any schema."""

from typing import Any

import pytest
from pydantic import Field as Described
from pydantic_ai import Tool

from engine.fields import Field, FieldKind, read_fields


def schema_of(function: Any) -> dict[str, Any]:
    return Tool(function).function_schema.json_schema


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, FieldKind.TEXT),
        ({"type": ["string", "null"]}, FieldKind.TEXT),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, FieldKind.INTEGER),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, FieldKind.JSON),
        ({"allOf": [{"$ref": "#/$defs/E"}]}, FieldKind.CHOICE),
        ({"$ref": "#/$defs/loop"}, FieldKind.JSON),
        ({"$ref": "#/elsewhere"}, FieldKind.JSON),
        ({"$ref": "#/$defs/nowhere"}, FieldKind.JSON),
        ({"const": "x"}, FieldKind.CHOICE),
        ({"enum": ["a", None]}, FieldKind.CHOICE),
        ({"enum": [{"a": 1}]}, FieldKind.JSON),
        ({"type": "string", "format": "date-time"}, FieldKind.TEXT),
        ({"type": "string", "format": "date"}, FieldKind.DATE),
        ({"type": "object"}, FieldKind.JSON),
        (True, FieldKind.JSON),
        ({"anyOf": "nonsense", "type": 7}, FieldKind.JSON),
    ],
)
def test_a_schema_is_read_one_level_deep(schema: Any, kind: FieldKind) -> None:
    root = {
        "properties": {"a": schema},
        "$defs": {"E": {"enum": [1, 2]}, "loop": {"$ref": "#/$defs/loop"}},
    }

    (field,) = read_fields(root, {})

    assert field.kind is kind


def test_what_the_schema_does_not_name_is_json() -> None:
    assert read_fields({"required": "nonsense"}, {"b": 1}) == (
        Field(name="b", kind=FieldKind.JSON),
    )


def test_a_description_is_clipped_where_it_is_read() -> None:
    def tool(a: str = Described(description="x" * 5000)) -> None: ...

    (field,) = read_fields(schema_of(tool), {})

    assert len(field.about) == 300
