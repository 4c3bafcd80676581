"""The form for edits: what stands in it, what comes back, and when no form holds a call."""

import json
from datetime import date
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from pydantic import BaseModel
from pydantic_ai import Tool

from bot.gallery.samples import ticket
from engine.cards import TicketNotice
from engine.errors import InvalidArgumentsError
from engine.fields import FieldKind, read_fields
from engine.redaction import marked_secrets, redact
from engine.schema import Json
from notifiers import can_edit, edit_form, inputs_of, read_inputs
from notifiers.inputs import Input
from tests.notifiers.judge import check_view, shown
from tests.notifiers.trees import trees


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Deep(BaseModel):
    path: str


def every_kind(  # noqa: PLR0917 - a tool is called with names
    text: str,
    whole: int,
    number: float,
    flag: bool,  # noqa: FBT001 - a tool is called with names
    colour: Colour,
    day: date,
    deep: Deep,
    several: list[str],
    either: int | str,
    maybe: str | None = None,
    size: Literal[1, 2] = 1,
) -> None:
    """Take one of each.

    Args:
        text: A few words.
        whole: How many.
        number: How much.
        flag: Whether.
        colour: Which.
        day: When.
        deep: Where.
        several: Which ones.
        either: One or the other.
        maybe: Perhaps.
        size: How large.
    """


EVERY: dict[str, Json] = {
    "text": "ab",
    "whole": 3,
    "number": 0.5,
    "flag": True,
    "colour": "red",
    "day": "2026-03-06",
    "deep": {"path": "/tmp"},  # noqa: S108 - a value
    "several": ["a"],
    "either": 1,
}


def schema_of(function: Any) -> dict[str, Any]:
    return Tool(function).function_schema.json_schema


def asked(arguments: dict[str, Json], function: Any = every_kind, **more: Any) -> TicketNotice:
    """Return the notice of a call of a function, redacted as the engine does."""
    schema = schema_of(function)
    hidden = redact(arguments, marked_secrets(schema, arguments))
    fields = read_fields(schema, arguments)
    return ticket(
        arguments=hidden.arguments,
        hidden=hidden.hidden,
        masked=hidden.masked,
        fields=fields,
        **more,
    )


def untyped(arguments: dict[str, Json], **more: Any) -> TicketNotice:
    """Return the notice of a call whose schema says nothing of its arguments."""
    return ticket(arguments=arguments, fields=read_fields({}, arguments), **more)


def read(notice: TicketNotice, arguments: dict[str, Json], **typed: str) -> dict[str, Json]:
    """Return what comes of a form in which these inputs, by argument, were changed."""
    found = inputs_of(notice)
    blocks = {one.block: typed.get(one.field.name, one.initial) for one in found}
    return read_inputs(found, arguments, blocks)


def of(notice: TicketNotice, name: str) -> Input:
    return next(one for one in inputs_of(notice) if one.field.name == name)


def faults(notice: TicketNotice, arguments: dict[str, Json], **typed: str) -> dict[str, str]:
    with pytest.raises(InvalidArgumentsError) as refused:
        read(notice, arguments, **typed)
    return dict(refused.value.faults)


def test_every_kind_of_argument_has_its_input() -> None:
    view: Any = edit_form(asked(EVERY))

    check_view(view)
    kinds = [
        (block["label"]["text"], block["element"]["type"])
        for block in view["blocks"]
        if block["type"] == "input"
    ]
    assert kinds == [
        ("text", "plain_text_input"),
        ("whole", "number_input"),
        ("number", "number_input"),
        ("flag", "static_select"),
        ("colour", "static_select"),
        ("day", "datepicker"),
        ("deep", "plain_text_input"),
        ("several", "plain_text_input"),
        ("either", "plain_text_input"),
        ("maybe", "plain_text_input"),
        ("size", "static_select"),
    ]
    assert "A few words." in json.dumps(view)


def test_each_input_holds_its_value_and_gives_back_what_is_put_in() -> None:
    notice = asked(EVERY)

    edited = read(
        notice,
        EVERY,
        text="cd",
        whole="-4",
        number="7",
        flag="v1",
        colour="v1",
        day="2026-04-01",
        deep='{"path": "/x"}',
        several="[]",
        either='"one"',
        maybe="yes",
        size="v1",
    )

    assert edited == {
        "text": "cd",
        "whole": -4,
        "number": 7,
        "flag": False,
        "colour": "blue",
        "day": "2026-04-01",
        "deep": {"path": "/x"},
        "several": [],
        "either": "one",
        "maybe": "yes",
        "size": 2,
    }


@pytest.mark.parametrize(
    ("name", "typed", "told"),
    [
        ("whole", "4.5", "this is not a whole number"),
        ("whole", "four", "this is not a whole number"),
        ("whole", "", "it needs a value"),
        ("number", "much", "this is not a number"),
        ("number", "nan", "this is not a number"),
        ("number", "1e999", "this is not a number"),
        ("flag", "", "choose one of these"),
        ("colour", "red", "choose one of these"),
        ("deep", "{", "as JSON, arguments are not valid JSON"),
        ("deep", '{"a": NaN}', "as JSON, arguments hold NaN, which is not JSON"),
        ("deep", '{"a": 1, "a": 2}', "as JSON, arguments give the key 'a' twice"),
        ("deep", "  ", "it needs a value"),
        ("several", "[" * 2000, "as JSON, arguments are not valid JSON"),
    ],
)
def test_what_is_no_value_of_its_kind_is_told_of_that_argument(
    name: str, typed: str, told: str
) -> None:
    found = faults(asked(EVERY), EVERY, **{name: typed})

    assert list(found) == [name]
    assert found[name].startswith(told)


def test_every_mistake_is_told_at_once() -> None:
    found = faults(asked(EVERY), EVERY, whole="x", deep="x", text="fine")

    assert sorted(found) == ["deep", "whole"]


def test_what_is_emptied_is_not_given_unless_the_schema_wants_it() -> None:
    def tool(must: str, may: str = "x", none: str | None = "y") -> None: ...

    arguments: dict[str, Json] = {"must": "a", "may": "b", "none": "c"}
    notice = asked(arguments, tool)

    assert read(notice, arguments, must="", may="", none="") == {"must": ""}


def test_a_required_argument_that_may_be_null_is_null_when_it_is_emptied() -> None:
    def tool(a: str | None, b: int | None) -> None: ...

    arguments: dict[str, Json] = {"a": "x", "b": None}

    assert read(asked(arguments, tool), arguments, a="") == {"a": None, "b": None}


def test_an_empty_text_that_nobody_touched_stays() -> None:
    def tool(a: str = "x") -> None: ...

    assert read(asked({"a": ""}, tool), {"a": ""}) == {"a": ""}


def test_a_choice_that_need_not_be_given_can_be_left_out() -> None:
    notice = asked(EVERY)
    assert of(notice, "size").initial == "absent"

    with_size: dict[str, Json] = {**EVERY, "size": 2}
    assert "size" not in read(asked(with_size), with_size, size="absent")


def test_true_and_one_are_two_choices() -> None:
    def tool(flag: bool, size: Literal[1, 2]) -> None: ...  # noqa: FBT001 - a tool's

    arguments: dict[str, Json] = {"flag": 1, "size": True}

    assert [one.kind for one in inputs_of(asked(arguments, tool))] == [FieldKind.JSON] * 2
    assert read(asked(arguments, tool), arguments) == arguments


@pytest.mark.parametrize(
    "hostile",
    [
        "\u202egnirts",
        "zero\u200bwidth",
        "blanks at the end  ",
        "\u05e9\u05dc\u05d5\u05dd",
        "nul\x00",
        "carriage\r\nreturn",
        "nbsp\u00a0",
        "a" + " " * 60 + "b",
    ],
)
def test_a_text_that_would_not_show_as_it_is_stands_there_spelled_out(hostile: str) -> None:
    def tool(a: str) -> None: ...

    notice = asked({"a": hostile}, tool)
    one = of(notice, "a")

    assert one.kind is FieldKind.JSON
    assert json.loads(one.initial) == hostile
    assert one.initial.isascii()
    check_view(edit_form(notice))
    assert read(notice, {"a": hostile}) == {"a": hostile}


@pytest.mark.parametrize("number", [10**20, -(10**15), 1e300, 5e-324])
def test_a_number_that_an_input_might_change_stands_there_as_json(number: float) -> None:
    def tool(a: float) -> None: ...

    notice = asked({"a": number}, tool)

    assert of(notice, "a").kind is FieldKind.JSON
    assert read(notice, {"a": number}) == {"a": number}


def test_lookalike_letters_are_told_under_the_input() -> None:
    def tool(a: str) -> None: ...

    assert "Mixes Cyrillic and Latin letters" in json.dumps(
        edit_form(asked({"a": "pr\u043ed"}, tool))
    )


@given(trees)
@settings(max_examples=500, deadline=None)
def test_a_form_that_nobody_touched_gives_back_exactly_the_arguments(
    arguments: dict[str, Json],
) -> None:
    notice = untyped(arguments)
    found = inputs_of(notice)

    edited = read_inputs(found, arguments, {one.block: one.initial for one in found})

    assert json.dumps(edited, sort_keys=True) == json.dumps(arguments, sort_keys=True)
    if can_edit(notice):
        check_view(edit_form(notice))


def test_several_approvers_are_told_that_votes_will_not_count() -> None:
    notice = asked(EVERY, needed=2)

    assert "Approvals so far will not count" in shown(edit_form(notice))
    assert "runs exactly what stands here" in shown(edit_form(asked(EVERY)))
