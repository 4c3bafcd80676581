"""Block elements: everything a person can press, pick or type into.

Limits: docs.slack.dev/reference/block-kit/block-elements and `@slack/types`. Elements that are
not here (workflow buttons, feedback buttons, ...) are refused as an unsupported type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bot.local_slack.rules.checks import (
    Check,
    an_object,
    anything,
    boolean,
    every,
    integer,
    one_of,
    problem,
    sequence,
    string,
    tagged,
)
from bot.local_slack.rules.composition import (
    MAX_ACTION_ID,
    MAX_OPTION_TEXT,
    MAX_OPTIONS,
    MAX_URL,
    any_text,
    confirm,
    option,
    option_groups,
    options,
    plain_text,
)

MAX_ALT_TEXT = 2000
MAX_BUTTON_TEXT = 75
MAX_BUTTON_VALUE = 2000
MAX_CHOICES = 10
MAX_INPUT_LENGTH = 3000
MAX_LABEL = 75
MAX_OVERFLOW = 5
MAX_PLACEHOLDER = 150

_ACTION: Mapping[str, Check] = {"action_id": string(least=1, most=MAX_ACTION_ID)}
_ASKS: Mapping[str, Check] = {**_ACTION, "confirm": confirm, "focus_on_load": boolean}
_HINTED: Mapping[str, Check] = {**_ASKS, "placeholder": plain_text(MAX_PLACEHOLDER)}
_TYPED: Mapping[str, Check] = {
    **_ACTION,
    "placeholder": plain_text(MAX_PLACEHOLDER),
    "focus_on_load": boolean,
    "dispatch_action_config": an_object,
    "initial_value": string(most=MAX_INPUT_LENGTH),
}
_RICH_OPTION = any_text(MAX_OPTION_TEXT)


def _either_options(value: object, at: str) -> Iterator[str]:
    if isinstance(value, dict) and ("options" in value) == ("option_groups" in value):
        yield problem("must define either `options` or `option_groups`", at)


def _select(kind: str, *, initial: Mapping[str, Check]) -> Check:
    return tagged(kind, {}, {**_HINTED, **initial})


def _static(kind: str, initial: Mapping[str, Check]) -> Check:
    listed = {"options": options(MAX_OPTIONS), "option_groups": option_groups}
    return every(_select(kind, initial={**listed, **initial}), _either_options)


_MANY: Mapping[str, Check] = {"max_selected_items": integer(1, MAX_OPTIONS)}
_IDS = sequence(string(least=1), most=MAX_OPTIONS)
_CONVERSATION: Mapping[str, Check] = {
    "default_to_current_conversation": boolean,
    "filter": an_object,
}
_RESPONSE_URL: Mapping[str, Check] = {"response_url_enabled": boolean}

BUTTON = tagged(
    "button",
    {"text": plain_text(MAX_BUTTON_TEXT)},
    {
        **_ACTION,
        "value": string(most=MAX_BUTTON_VALUE),
        "url": string(most=MAX_URL),
        "style": one_of("primary", "danger"),
        "confirm": confirm,
        "accessibility_label": string(most=MAX_LABEL),
    },
)

IMAGE = tagged(
    "image",
    {"alt_text": string(most=MAX_ALT_TEXT)},
    {"image_url": string(least=1, most=MAX_URL), "slack_file": an_object},
)

SELECTS: Mapping[str, Check] = {
    "static_select": _static("static_select", {"initial_option": option()}),
    "external_select": _select(
        "external_select",
        initial={"initial_option": option(), "min_query_length": integer(0, MAX_OPTIONS)},
    ),
    "users_select": _select("users_select", initial={"initial_user": string(least=1)}),
    "conversations_select": _select(
        "conversations_select",
        initial={
            "initial_conversation": string(least=1),
            **_CONVERSATION,
            **_RESPONSE_URL,
        },
    ),
    "channels_select": _select(
        "channels_select", initial={"initial_channel": string(least=1), **_RESPONSE_URL}
    ),
}

MULTI_SELECTS: Mapping[str, Check] = {
    "multi_static_select": _static(
        "multi_static_select", {"initial_options": options(MAX_OPTIONS), **_MANY}
    ),
    "multi_external_select": _select(
        "multi_external_select",
        initial={
            "initial_options": options(MAX_OPTIONS),
            "min_query_length": integer(0, MAX_OPTIONS),
            **_MANY,
        },
    ),
    "multi_users_select": _select("multi_users_select", initial={"initial_users": _IDS, **_MANY}),
    "multi_conversations_select": _select(
        "multi_conversations_select",
        initial={"initial_conversations": _IDS, **_CONVERSATION, **_MANY},
    ),
    "multi_channels_select": _select(
        "multi_channels_select", initial={"initial_channels": _IDS, **_MANY}
    ),
}

CHOICES: Mapping[str, Check] = {
    "checkboxes": tagged(
        "checkboxes",
        {"options": options(MAX_CHOICES, _RICH_OPTION)},
        {**_ASKS, "initial_options": options(MAX_CHOICES, _RICH_OPTION)},
    ),
    "radio_buttons": tagged(
        "radio_buttons",
        {"options": options(MAX_CHOICES, _RICH_OPTION)},
        {**_ASKS, "initial_option": option(_RICH_OPTION)},
    ),
}

PICKERS: Mapping[str, Check] = {
    "datepicker": tagged("datepicker", {}, {**_HINTED, "initial_date": string(least=1)}),
    "timepicker": tagged(
        "timepicker",
        {},
        {**_HINTED, "initial_time": string(least=1), "timezone": string(least=1)},
    ),
    "datetimepicker": tagged("datetimepicker", {}, {**_ASKS, "initial_date_time": anything}),
}

OVERFLOW = tagged("overflow", {"options": options(MAX_OVERFLOW)}, {**_ACTION, "confirm": confirm})

_LENGTHS: Mapping[str, Check] = {
    "min_length": integer(0, MAX_INPUT_LENGTH),
    "max_length": integer(1, MAX_INPUT_LENGTH),
}

TYPED: Mapping[str, Check] = {
    "plain_text_input": tagged(
        "plain_text_input", {}, {**_TYPED, **_LENGTHS, "multiline": boolean}
    ),
    "email_text_input": tagged("email_text_input", {}, _TYPED),
    "url_text_input": tagged("url_text_input", {}, _TYPED),
    "number_input": tagged(
        "number_input",
        {"is_decimal_allowed": boolean},
        {**_TYPED, "min_value": string(least=1), "max_value": string(least=1)},
    ),
    "rich_text_input": tagged("rich_text_input", {}, {**_TYPED, "initial_value": an_object}),
}
