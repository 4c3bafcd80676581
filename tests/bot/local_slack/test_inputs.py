"""What each kind of input says about itself in `state.values`."""

import pytest

from bot.local_slack import ControlError, inputs
from tests.bot.local_slack.peers import Json, plain

PROD = {"text": plain("Prod"), "value": "prod"}
TEST = {"text": plain("Test"), "value": "test"}


def block(element: Json) -> list[Json]:
    return [
        {
            "type": "input",
            "block_id": "b",
            "label": plain("l"),
            "element": {"action_id": "a", **element},
        }
    ]


def state(blocks: list[Json], entered: inputs.Values) -> Json:
    found: Json = inputs.current(blocks, entered)["b"]["a"]
    return found


@pytest.mark.parametrize(
    ("element", "value", "empty", "filled"),
    [
        ({"type": "plain_text_input"}, "x", {"value": None}, {"value": "x"}),
        ({"type": "number_input"}, "3", {"value": None}, {"value": "3"}),
        (
            {"type": "static_select", "options": [PROD, TEST]},
            "test",
            {"selected_option": None},
            {"selected_option": TEST},
        ),
        (
            {"type": "static_select", "option_groups": [{"label": plain("g"), "options": [PROD]}]},
            "prod",
            {"selected_option": None},
            {"selected_option": PROD},
        ),
        (
            {"type": "multi_static_select", "options": [PROD, TEST]},
            ["prod", "test"],
            {"selected_options": []},
            {"selected_options": [PROD, TEST]},
        ),
        (
            {"type": "checkboxes", "options": [PROD, TEST]},
            ["prod"],
            {"selected_options": []},
            {"selected_options": [PROD]},
        ),
        (
            {"type": "radio_buttons", "options": [PROD]},
            "prod",
            {"selected_option": None},
            {"selected_option": PROD},
        ),
        ({"type": "external_select"}, PROD, {"selected_option": None}, {"selected_option": PROD}),
        ({"type": "users_select"}, "U1", {"selected_user": None}, {"selected_user": "U1"}),
        (
            {"type": "multi_users_select"},
            ["U1"],
            {"selected_users": []},
            {"selected_users": ["U1"]},
        ),
        (
            {"type": "datepicker"},
            "2026-01-01",
            {"selected_date": None},
            {"selected_date": "2026-01-01"},
        ),
        ({"type": "datetimepicker"}, 7, {"selected_date_time": None}, {"selected_date_time": 7}),
    ],
)
def test_an_input_says_what_was_entered(
    element: Json, value: object, empty: Json, filled: Json
) -> None:
    blocks = block(element)
    entered = inputs.enter(
        blocks, {}, {"b": value if not isinstance(value, dict) else {"a": value}}
    )

    assert state(blocks, {}) == {"type": element["type"], **empty}
    assert state(blocks, entered) == {"type": element["type"], **filled}


def test_an_input_nobody_touched_says_its_initial_value() -> None:
    blocks = block({"type": "static_select", "options": [PROD], "initial_option": PROD})

    assert state(blocks, {})["selected_option"] == PROD


def test_a_choice_can_be_taken_back() -> None:
    blocks = block({"type": "static_select", "options": [PROD], "initial_option": PROD})
    entered = inputs.enter(blocks, {}, {"b": None})

    assert state(blocks, entered)["selected_option"] is None


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"b": "other"}, "no_such_option"),
        ({"b": {"other": "prod"}}, "no_such_input"),
        ({"elsewhere": "prod"}, "no_such_input"),
    ],
)
def test_what_is_not_offered_cannot_be_entered(values: Json, code: str) -> None:
    blocks = block({"type": "static_select", "options": [PROD]})

    with pytest.raises(ControlError, match=code):
        inputs.enter(blocks, {}, values)


def test_a_required_choice_has_to_be_made() -> None:
    blocks = block({"type": "checkboxes", "options": [PROD]})
    chosen = inputs.enter(blocks, {}, {"b": ["prod"]})

    with pytest.raises(ControlError, match="required"):
        inputs.refuse_incomplete(blocks, inputs.current(blocks, {}))
    inputs.refuse_incomplete(blocks, inputs.current(blocks, chosen))
