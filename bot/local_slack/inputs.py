"""What people put into interactive elements, in the shape of `state.values`.

Shapes: docs.slack.dev/reference/interaction-payloads/view-interactions-payload and the elements'
own pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.local_slack.errors import ControlError
from bot.local_slack.rules.checks import utf16

Json = dict[str, Any]
Values = dict[str, dict[str, Any]]

_FIELDS = {
    "plain_text_input": ("value", "initial_value"),
    "email_text_input": ("value", "initial_value"),
    "url_text_input": ("value", "initial_value"),
    "number_input": ("value", "initial_value"),
    "rich_text_input": ("rich_text_value", "initial_value"),
    "static_select": ("selected_option", "initial_option"),
    "external_select": ("selected_option", "initial_option"),
    "radio_buttons": ("selected_option", "initial_option"),
    "users_select": ("selected_user", "initial_user"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "channels_select": ("selected_channel", "initial_channel"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
    "multi_static_select": ("selected_options", "initial_options"),
    "multi_external_select": ("selected_options", "initial_options"),
    "checkboxes": ("selected_options", "initial_options"),
    "multi_users_select": ("selected_users", "initial_users"),
    "multi_conversations_select": ("selected_conversations", "initial_conversations"),
    "multi_channels_select": ("selected_channels", "initial_channels"),
}
_OPTION_FIELDS = ("selected_option", "selected_options")


@dataclass(frozen=True, slots=True)
class Placed:
    """An interactive element and the block it stands in."""

    block: Json
    element: Json

    @property
    def block_id(self) -> str:
        """Return the id of the block."""
        return str(self.block["block_id"])

    @property
    def action_id(self) -> str:
        """Return the id of the element."""
        return str(self.element["action_id"])

    @property
    def keeps_state(self) -> bool:
        """Tell whether the element has a value of its own (buttons and overflow menus do not)."""
        return self.element["type"] in _FIELDS


def elements(blocks: list[Json]) -> Iterator[Placed]:
    """Yield every interactive element with its block."""
    for block in blocks:
        inside = block["elements"] if block["type"] == "actions" else []
        for element in (*inside, block.get("accessory"), block.get("element")):
            if element and element["type"] != "image":
                yield Placed(block, element)


def find(blocks: list[Json], action_id: str, block_id: str | None) -> Placed:
    """Return the element a person means.

    Raises ControlError `nothing_there`, or `ambiguous` if several blocks have this action_id.
    """
    found = [
        placed
        for placed in elements(blocks)
        if placed.action_id == action_id and block_id in (None, placed.block_id)
    ]
    if not found:
        shown = [placed.action_id for placed in elements(blocks)]
        raise ControlError("nothing_there", f"no {action_id!r} to press; there is {shown}")
    if len(found) > 1:
        raise ControlError("ambiguous", f"{action_id!r} stands in several blocks; say block_id")
    return found[0]


def current(blocks: list[Json], entered: Values) -> Values:
    """Return `state.values`: what was entered, else the initial value, of every such element."""
    values: Values = {}
    for placed in elements(blocks):
        if placed.keeps_state:
            known = entered.get(placed.block_id, {}).get(placed.action_id)
            values.setdefault(placed.block_id, {})[placed.action_id] = known or initial(placed)
    return values


def initial(placed: Placed) -> Json:
    """Return an element's value before anyone touched it."""
    name, initially = _FIELDS[placed.element["type"]]
    empty: Any = [] if name.endswith("s") else None
    return {"type": placed.element["type"], name: placed.element.get(initially, empty)}


def enter(blocks: list[Json], entered: Values, given: dict[str, Any]) -> Values:
    """Return what is entered after a person put these values in, besides what was there.

    Raises ControlError `no_such_input` or `no_such_option`.
    """
    result = {block_id: dict(inside) for block_id, inside in entered.items()}
    for block_id, value in given.items():
        places = [p for p in elements(blocks) if p.block_id == block_id and p.keeps_state]
        by_action = value if isinstance(value, dict) else {p.action_id: value for p in places[:1]}
        for action_id, one in by_action.items():
            placed = next((p for p in places if p.action_id == action_id), None)
            if placed is None:
                raise ControlError("no_such_input", f"no input {block_id!r}/{action_id!r}")
            result.setdefault(block_id, {})[action_id] = choose(placed, one)
        if not by_action:
            raise ControlError("no_such_input", f"no input in a block {block_id!r}")
    return result


def choose(placed: Placed, value: object) -> Json:
    """Return the state of an element after a person put a plain value in.

    Raises ControlError `no_such_option` for an option that is not offered.
    """
    name, _ = _FIELDS[placed.element["type"]]
    if name in _OPTION_FIELDS:
        value = _options(placed, value)
    return {"type": placed.element["type"], name: value}


def overflow_option(placed: Placed, value: object) -> Json:
    """Return the option of an overflow menu with this value."""
    return _option(placed, value)


def refuse_incomplete(blocks: list[Json], values: Values) -> None:
    """Raise ControlError where Slack's client would not let a person submit.

    `required` for an empty input that is not optional, `bad_length` outside min/max_length.
    """
    for placed in elements(blocks):
        if placed.block["type"] == "input":
            name, _ = _FIELDS[placed.element["type"]]
            _refuse(placed, values[placed.block_id][placed.action_id].get(name))


def _refuse(placed: Placed, value: object) -> None:
    if value in (None, "", []):
        if not placed.block.get("optional", False):
            raise ControlError("required", f"{placed.block_id!r} must be filled in")
        return
    if not isinstance(value, str):
        return
    least, most = placed.element.get("min_length", 0), placed.element.get("max_length")
    length = utf16(value)
    if length < least or (most is not None and length > most):
        raise ControlError("bad_length", f"{placed.block_id!r} takes {least} to {most} characters")


def _options(placed: Placed, value: object) -> object:
    if isinstance(value, list):
        return [_option(placed, one) for one in value]
    return None if value is None else _option(placed, value)


def _option(placed: Placed, value: object) -> Json:
    # What an external select offers is known only to the app, so the test brings it whole.
    if isinstance(value, dict):
        return value
    grouped = [o for group in placed.element.get("option_groups", []) for o in group["options"]]
    offered = [*placed.element.get("options", []), *grouped]
    for option in offered:
        if option.get("value") == value:
            return dict(option)
    names = [option.get("value") for option in offered]
    raise ControlError("no_such_option", f"{value!r} is not offered; there is {names}")
