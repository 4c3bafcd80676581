"""Blocks, and which elements each may hold.

Limits: docs.slack.dev/reference/block-kit/blocks and `@slack/types` blocks.d.ts. Multi-selects in
an actions block are refused: Slack's pages disagree, and a fake errs on the strict side. Blocks
that are not here (video, table, card, ...) are refused as an unsupported type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.local_slack.rules.checks import (
    Check,
    an_object,
    boolean,
    every,
    problem,
    sequence,
    string,
    tagged,
    variant,
)
from bot.local_slack.rules.composition import MAX_ACTION_ID, MAX_URL, any_text, plain_text
from bot.local_slack.rules.elements import (
    BUTTON,
    CHOICES,
    IMAGE,
    MAX_ALT_TEXT,
    MULTI_SELECTS,
    OVERFLOW,
    PICKERS,
    SELECTS,
    TYPED,
)

MAX_ACTIONS = 25
MAX_CONTEXT = 10
MAX_CONTEXT_TEXT = 3000
MAX_FIELDS = 10
MAX_FIELD_TEXT = 2000
MAX_HEADER_TEXT = 150
MAX_IMAGE_TITLE = 2000
MAX_INPUT_TEXT = 2000
MAX_MARKDOWN_TEXT = 12_000
MAX_RICH_ELEMENTS = 1000
MAX_SECTION_TEXT = 3000

_ID: Mapping[str, Check] = {"block_id": string(least=1, most=MAX_ACTION_ID)}

_ACCESSORIES = variant(
    {
        "button": BUTTON,
        "image": IMAGE,
        "overflow": OVERFLOW,
        **SELECTS,
        **MULTI_SELECTS,
        **CHOICES,
        **PICKERS,
    }
)
_ACTION_ELEMENTS = variant(
    {"button": BUTTON, "overflow": OVERFLOW, **SELECTS, **CHOICES, **PICKERS}
)
_INPUT_ELEMENTS = variant({**TYPED, **SELECTS, **MULTI_SELECTS, **CHOICES, **PICKERS})
_CONTEXT_TEXTS = variant(
    {
        "image": IMAGE,
        "plain_text": any_text(MAX_CONTEXT_TEXT),
        "mrkdwn": any_text(MAX_CONTEXT_TEXT),
    }
)
_RICH_KINDS = (
    "rich_text_section",
    "rich_text_list",
    "rich_text_preformatted",
    "rich_text_quote",
)
_RICH_ELEMENTS = variant(dict.fromkeys(_RICH_KINDS, an_object))


def _text_or_fields(value: object, at: str) -> Iterator[str]:
    if isinstance(value, dict) and "text" not in value and "fields" not in value:
        yield problem("must define either `text` or `fields`", f"{at}/type")


SECTION = every(
    tagged(
        "section",
        {},
        {
            **_ID,
            "text": any_text(MAX_SECTION_TEXT),
            "fields": sequence(any_text(MAX_FIELD_TEXT), least=1, most=MAX_FIELDS),
            "accessory": _ACCESSORIES,
            "expand": boolean,
        },
    ),
    _text_or_fields,
)

BLOCK = variant(
    {
        "section": SECTION,
        "header": tagged("header", {"text": plain_text(MAX_HEADER_TEXT)}, _ID),
        "divider": tagged("divider", {}, _ID),
        "image": tagged(
            "image",
            {"alt_text": string(least=1, most=MAX_ALT_TEXT)},
            {
                **_ID,
                "image_url": string(least=1, most=MAX_URL),
                "slack_file": an_object,
                "title": plain_text(MAX_IMAGE_TITLE),
            },
        ),
        "context": tagged(
            "context", {"elements": sequence(_CONTEXT_TEXTS, least=1, most=MAX_CONTEXT)}, _ID
        ),
        "actions": tagged(
            "actions", {"elements": sequence(_ACTION_ELEMENTS, least=1, most=MAX_ACTIONS)}, _ID
        ),
        "input": tagged(
            "input",
            {"label": plain_text(MAX_INPUT_TEXT), "element": _INPUT_ELEMENTS},
            {
                **_ID,
                "hint": plain_text(MAX_INPUT_TEXT),
                "optional": boolean,
                "dispatch_action": boolean,
            },
        ),
        "rich_text": tagged(
            "rich_text", {"elements": sequence(_RICH_ELEMENTS, most=MAX_RICH_ELEMENTS)}, _ID
        ),
        "markdown": tagged("markdown", {"text": string(least=1, most=MAX_MARKDOWN_TEXT)}, _ID),
    }
)


def blocks(most: int, *, least: int = 0) -> Check:
    """Check a list of blocks, and that no block_id and no action_id of a block comes twice."""
    return every(sequence(BLOCK, least=least, most=most), _unique_ids)


def _unique_ids(value: object, at: str) -> Iterator[str]:
    if not isinstance(value, list):
        return
    yield from _repeats("block_id", [(block, f"{at}/{n}") for n, block in enumerate(value)])
    for index, block in enumerate(value):
        elements = block.get("elements") if isinstance(block, dict) else None
        if isinstance(elements, list):
            below = f"{at}/{index}/elements"
            yield from _repeats(
                "action_id", [(one, f"{below}/{n}") for n, one in enumerate(elements)]
            )


def _repeats(name: str, found: list[tuple[Any, str]]) -> Iterator[str]:
    seen: set[str] = set()
    for value, at in found:
        known = value.get(name) if isinstance(value, dict) else None
        if not isinstance(known, str):
            continue
        if known in seen:
            yield problem(f'`{name}` "{known}" already exists', f"{at}/{name}")
        seen.add(known)
