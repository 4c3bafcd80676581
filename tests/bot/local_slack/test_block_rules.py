"""Every length and count of Block Kit: accepted at the limit, refused one past it."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.local_slack import SlackError
from bot.local_slack.rules import check_blocks, check_metadata
from tests.bot.local_slack.peers import Json, actions, button, plain, section, text_input

CONFIRM: Json = {
    "title": plain("t"),
    "text": plain("t"),
    "confirm": plain("y"),
    "deny": plain("n"),
}


def option(text: str = "o", value: str = "v") -> Json:
    return {"text": plain(text), "value": value}


def options(count: int) -> list[Json]:
    return [option(value=str(number)) for number in range(count)]


def select(**more: Any) -> Json:
    return {"type": "static_select", "options": options(1), **more}


def confirming(**more: Any) -> list[Json]:
    return [actions(button(confirm={**CONFIRM, **more}))]


def accessory(element: Json) -> list[Json]:
    return [section(accessory=element)]


def fields(count: int, length: int = 1) -> list[Json]:
    return [{"type": "section", "fields": [plain("x" * length)] * count}]


def context(count: int) -> list[Json]:
    return [{"type": "context", "elements": [plain("x")] * count}]


def header(length: int) -> list[Json]:
    return [{"type": "header", "text": plain("x" * length)}]


def buttons(count: int) -> list[Json]:
    return [actions(*(button(f"a{number}") for number in range(count)))]


def labelled(length: int) -> list[Json]:
    return [{**text_input(), "label": plain("x" * length)}]


def hinted(length: int) -> list[Json]:
    return [{**text_input(), "hint": plain("x" * length)}]


def typed(**more: Any) -> list[Json]:
    return [{**text_input(), "element": {"type": "plain_text_input", **more}}]


def radios(count: int) -> list[Json]:
    return accessory({"type": "radio_buttons", "options": options(count)})


def boxes(count: int) -> list[Json]:
    return accessory({"type": "checkboxes", "options": options(count)})


def overflow(count: int) -> list[Json]:
    return accessory({"type": "overflow", "options": options(count)})


def groups(count: int) -> list[Json]:
    group = {"label": plain("g"), "options": options(1)}
    return accessory({"type": "static_select", "option_groups": [group] * count})


LIMITS: dict[str, tuple[Callable[[int], list[Json]], int]] = {
    "blocks in a message": (lambda n: [{"type": "divider"}] * n, 50),
    "section text": (lambda n: [section("x" * n)], 3000),
    "section fields": (fields, 10),
    "text of a section field": (lambda n: fields(1, n), 2000),
    "header text": (header, 150),
    "context elements": (context, 10),
    "elements of an actions block": (buttons, 25),
    "button text": (lambda n: [actions(button(text="x" * n))], 75),
    "button value": (lambda n: [actions(button(value="x" * n))], 2000),
    "button url": (lambda n: [actions(button(url="x" * n))], 3000),
    "accessibility label": (lambda n: [actions(button(accessibility_label="x" * n))], 75),
    "action_id": (lambda n: [actions(button("x" * n))], 255),
    "block_id": (lambda n: [section(block_id="x" * n)], 255),
    "confirm title": (lambda n: confirming(title=plain("x" * n)), 100),
    "confirm text": (lambda n: confirming(text=plain("x" * n)), 300),
    "confirm button": (lambda n: confirming(confirm=plain("x" * n)), 30),
    "deny button": (lambda n: confirming(deny=plain("x" * n)), 30),
    "select options": (lambda n: accessory(select(options=options(n))), 100),
    "option groups": (groups, 100),
    "option text": (lambda n: accessory(select(options=[option("x" * n)])), 75),
    "option value": (lambda n: accessory(select(options=[option(value="x" * n)])), 150),
    "placeholder": (lambda n: accessory(select(placeholder=plain("x" * n))), 150),
    "radio buttons": (radios, 10),
    "checkboxes": (boxes, 10),
    "overflow options": (overflow, 5),
    "input label": (labelled, 2000),
    "input hint": (hinted, 2000),
    "min_length of an input": (lambda n: typed(min_length=n), 3000),
    "max_length of an input": (lambda n: typed(max_length=n), 3000),
    "image alt text": (
        lambda n: [{"type": "image", "image_url": "http://x", "alt_text": "x" * n}],
        2000,
    ),
    "markdown text": (lambda n: [{"type": "markdown", "text": "x" * n}], 12_000),
}


def problems(blocks: Any) -> str:
    with pytest.raises(SlackError) as caught:
        check_blocks(blocks)
    assert caught.value.code == "invalid_blocks"
    return "\n".join(caught.value.messages)


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_may_be_reached_but_not_passed(name: str) -> None:
    make, limit = LIMITS[name]

    check_blocks(make(limit))

    assert "[json-pointer:/blocks" in problems(make(limit + 1))


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ([section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
        (
            [section("x" * 3001)],
            "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
        ),
        (fields(11), "no more than 10 items allowed [json-pointer:/blocks/0/fields]"),
        ([actions()], "must provide at least 1 items [json-pointer:/blocks/0/elements]"),
        (
            accessory(select(options=[])),
            "at least 1 items [json-pointer:/blocks/0/accessory/options]",
        ),
        ([{"type": "carousel"}], "unsupported type: carousel [json-pointer:/blocks/0/type]"),
        ([actions({"type": "plain_text_input"})], "unsupported type: plain_text_input"),
        ([{"type": "input", "label": plain("l"), "element": button()}], "unsupported type: button"),
        ([{"type": "section", "text": {"type": "html", "text": "x"}}], "unsupported type: html"),
        (
            [{"type": "section"}],
            "must define either `text` or `fields` [json-pointer:/blocks/0/type]",
        ),
        ([{}], "missing required field: type [json-pointer:/blocks/0]"),
        ([{"type": "header"}], "missing required field: text [json-pointer:/blocks/0]"),
        (
            [section(colour="red")],
            "invalid additional property: colour [json-pointer:/blocks/0/colour]",
        ),
        (
            [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}],
            "must be a valid enum value",
        ),
        (
            [actions(button(style="pretty"))],
            "valid enum value [json-pointer:/blocks/0/elements/0/style]",
        ),
        ([section(expand="yes")], "must provide a boolean"),
        (typed(min_length="1"), "must provide an integer"),
        (["words"], "must provide an object [json-pointer:/blocks/0]"),
        ([{"type": "header", "text": "words"}], "must provide an object"),
        ([{"type": "header", "text": plain(7)}], "must provide a string"),  # type: ignore[arg-type]
        ([{"type": "context", "elements": "words"}], "must provide an array"),
        (accessory({"type": "static_select"}), "must define either `options` or `option_groups`"),
        ([section(block_id="a"), section(block_id="a")], '`block_id` "a" already exists'),
        (
            [actions(button("a"), button("a"))],
            '`action_id` "a" already exists [json-pointer:/blocks/0/elements/1/action_id]',
        ),
        ([actions({"type": "multi_users_select"})], "unsupported type: multi_users_select"),
    ],
)
def test_a_fault_is_named_in_slacks_words_with_its_place(blocks: list[Any], said: str) -> None:
    assert said in problems(blocks)


def test_the_same_action_id_may_stand_in_two_blocks() -> None:
    check_blocks([actions(button("a")), actions(button("a"))])


def test_lengths_are_counted_in_utf16_units_so_an_emoji_counts_twice() -> None:
    check_blocks([section("😀" * 1500)])

    assert "less than 3001" in problems([section("😀" * 1501)])


def test_all_text_of_the_blocks_together_has_a_limit() -> None:
    full = [section("x" * 3000) for _ in range(4)]
    check_blocks([*full, section("x" * 1000)])

    with pytest.raises(SlackError, match="msg_blocks_too_long"):
        check_blocks([*full, section("x" * 1001)])


@pytest.mark.parametrize(
    "block",
    [
        {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": []}]},
        {
            "type": "context",
            "elements": [{"type": "image", "image_url": "http://x", "alt_text": ""}],
        },
        section(accessory={"type": "datepicker", "initial_date": "2026-01-01"}),
        section(accessory={"type": "multi_static_select", "options": options(2)}),
        actions({"type": "conversations_select", "default_to_current_conversation": True}),
        {**text_input(), "element": {"type": "number_input", "is_decimal_allowed": False}},
    ],
)
def test_the_usual_blocks_are_accepted(block: Json) -> None:
    check_blocks([block])


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ("words", "invalid_metadata_format"),
        ({"event_type": "x"}, "invalid_metadata_schema"),
        ({"event_type": "", "event_payload": {}}, "invalid_metadata_schema"),
        ({"event_type": "x", "event_payload": {"a": "x" * 8000}}, "metadata_too_large"),
    ],
)
def test_metadata_that_slack_would_refuse_is_refused(metadata: object, code: str) -> None:
    with pytest.raises(SlackError, match=code):
        check_metadata(metadata)
