"""What Slack refuses about a modal or a Home tab.

Sources: docs.slack.dev/reference/views, `@slack/types` views.d.ts. Slack answers every fault in a
view with `invalid_arguments` and a pointer below `/view`, never with `invalid_blocks`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bot.local_slack.errors import SlackError
from bot.local_slack.rules.blocks import blocks
from bot.local_slack.rules.checks import (
    Check,
    boolean,
    every,
    problem,
    string,
    tagged,
    variant,
)
from bot.local_slack.rules.composition import plain_text

MAX_VIEW_BLOCKS = 100
MAX_VIEW_BYTES = 250_000
MAX_PRIVATE_METADATA = 3000
MAX_TITLE = 24
MAX_ID = 255

_COMMON: Mapping[str, Check] = {
    "private_metadata": string(most=MAX_PRIVATE_METADATA),
    "callback_id": string(most=MAX_ID),
    "external_id": string(most=MAX_ID),
}


def _submit_for_inputs(value: object, at: str) -> Iterator[str]:
    if not isinstance(value, dict) or "submit" in value:
        return
    listed = value.get("blocks")
    if not isinstance(listed, list):
        return
    for index, block in enumerate(listed):
        if isinstance(block, dict) and block.get("type") == "input":
            where = f"{at}/blocks/{index}/input"
            yield problem("must define `submit` to use an `input` block in modals", where)


_VIEW = variant(
    {
        "modal": every(
            tagged(
                "modal",
                {"title": plain_text(MAX_TITLE), "blocks": blocks(MAX_VIEW_BLOCKS, least=1)},
                {
                    **_COMMON,
                    "close": plain_text(MAX_TITLE),
                    "submit": plain_text(MAX_TITLE),
                    "clear_on_close": boolean,
                    "notify_on_close": boolean,
                    "submit_disabled": boolean,
                },
            ),
            _submit_for_inputs,
        ),
        "home": tagged("home", {"blocks": blocks(MAX_VIEW_BLOCKS)}, _COMMON),
    }
)


def check_view(view: object, kind: str) -> dict[str, Any]:
    """Return a valid view of this kind (`modal` or `home`).

    Raises SlackError `view_too_large` (more than 250 KB of JSON) or `invalid_arguments`.
    """
    problems = list(_VIEW(view, "/view"))
    if problems or not isinstance(view, dict):
        raise SlackError("invalid_arguments", *problems)
    if view["type"] != kind:
        raise SlackError("invalid_arguments", problem(f"must be a {kind} view", "/view/type"))
    if len(json.dumps(view, ensure_ascii=False).encode()) > MAX_VIEW_BYTES:
        raise SlackError("view_too_large")
    return view
