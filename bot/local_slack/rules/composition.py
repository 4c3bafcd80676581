"""Composition objects: texts, options and confirm dialogs.

Limits: docs.slack.dev/reference/block-kit/composition-objects and `@slack/types`.
"""

from __future__ import annotations

from bot.local_slack.rules.checks import (
    Check,
    boolean,
    one_of,
    sequence,
    shape,
    string,
    tagged,
    variant,
)

MAX_ACTION_ID = 255
MAX_CONFIRM_BUTTON = 30
MAX_CONFIRM_TEXT = 300
MAX_CONFIRM_TITLE = 100
MAX_OPTIONS = 100
MAX_OPTION_TEXT = 75
MAX_OPTION_VALUE = 150
MAX_URL = 3000


def plain_text(most: int) -> Check:
    """Check a `plain_text` object of 1 to `most` UTF-16 units; mrkdwn is refused."""
    return tagged("plain_text", {"text": string(least=1, most=most)}, {"emoji": boolean})


def any_text(most: int) -> Check:
    """Check a `plain_text` or `mrkdwn` object of 1 to `most` UTF-16 units."""
    return variant(
        {
            "plain_text": plain_text(most),
            "mrkdwn": tagged("mrkdwn", {"text": string(least=1, most=most)}, {"verbatim": boolean}),
        }
    )


def option(text: Check | None = None) -> Check:
    """Check one option; `text` says which text it may carry (`plain_text` unless told)."""
    words = text or plain_text(MAX_OPTION_TEXT)
    return shape(
        {"text": words, "value": string(least=1, most=MAX_OPTION_VALUE)},
        {"description": words, "url": string(most=MAX_URL)},
    )


def options(most: int, text: Check | None = None) -> Check:
    """Check a list of 1 to `most` options."""
    return sequence(option(text), least=1, most=most)


option_groups: Check = sequence(
    shape({"label": plain_text(MAX_OPTION_TEXT), "options": options(MAX_OPTIONS)}),
    least=1,
    most=MAX_OPTIONS,
)

confirm: Check = shape(
    {
        "title": plain_text(MAX_CONFIRM_TITLE),
        "text": any_text(MAX_CONFIRM_TEXT),
        "confirm": plain_text(MAX_CONFIRM_BUTTON),
        "deny": plain_text(MAX_CONFIRM_BUTTON),
    },
    {"style": one_of("primary", "danger")},
)
