"""Modals and Home tabs: limits, and what makes a view invalid."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.local_slack import SlackError
from bot.local_slack.rules import check_view
from tests.bot.local_slack.peers import Json, modal, plain, section, text_input


def many(count: int) -> Json:
    return modal(*([section()] * count)) if count else modal() | {"blocks": []}


LIMITS: dict[str, tuple[Callable[[int], Json], int]] = {
    "title": (lambda n: modal(title=plain("x" * n)), 24),
    "submit": (lambda n: modal(submit=plain("x" * n)), 24),
    "close": (lambda n: modal(close=plain("x" * n)), 24),
    "private_metadata": (lambda n: modal(private_metadata="x" * n), 3000),
    "callback_id": (lambda n: modal(callback_id="x" * n), 255),
    "external_id": (lambda n: modal(external_id="x" * n), 255),
    "blocks": (many, 100),
}


def problems(view: Any, kind: str = "modal") -> str:
    with pytest.raises(SlackError) as caught:
        check_view(view, kind)
    assert caught.value.code == "invalid_arguments"
    return "\n".join(caught.value.messages)


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_may_be_reached_but_not_passed(name: str) -> None:
    make, limit = LIMITS[name]

    check_view(make(limit), "modal")

    assert f"[json-pointer:/view/{name}" in problems(make(limit + 1))


def test_a_modal_with_an_input_needs_a_submit_button() -> None:
    view = modal(section(), text_input())
    del view["submit"]

    said = (
        "must define `submit` to use an `input` block in modals [json-pointer:/view/blocks/1/input]"
    )
    assert said in problems(view)


def test_a_home_tab_may_have_inputs_and_no_title() -> None:
    check_view({"type": "home", "blocks": [text_input()]}, "home")

    assert "title" in problems({"type": "home", "title": plain("x"), "blocks": []}, "home")


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (many(0), "at least 1 items [json-pointer:/view/blocks]"),
        ({"type": "modal"}, "missing required field: title [json-pointer:/view]"),
        ({"type": "card", "blocks": []}, "unsupported type: card [json-pointer:/view/type]"),
        ("words", "must provide an object [json-pointer:/view]"),
        ({"type": "home", "blocks": []}, "must be a modal view"),
    ],
)
def test_a_view_of_the_wrong_shape_is_refused(view: Any, said: str) -> None:
    assert said in problems(view)


def test_a_view_of_more_than_250_kilobytes_is_too_large() -> None:
    check_view(modal(*[section("x" * 2400)] * 100), "modal")

    with pytest.raises(SlackError, match="view_too_large"):
        check_view(modal(*[section("x" * 2500)] * 100), "modal")
