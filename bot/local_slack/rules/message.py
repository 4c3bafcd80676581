"""What Slack refuses about a whole message: its text, its blocks together, its metadata.

Sources: SLACK reference 2.1. The sum of all text in blocks is not documented;
`msg_blocks_too_long` was seen from about 13,200 characters (slackapi/bolt-js#2509).
"""

from __future__ import annotations

import json
from typing import Any

from bot.local_slack.errors import SlackError
from bot.local_slack.rules.blocks import blocks as check_list
from bot.local_slack.rules.checks import utf16

MAX_BLOCKS = 50
MAX_BLOCKS_TEXT = 13_000
MAX_METADATA_BYTES = 8_000
MAX_POST_TEXT = 40_000
MAX_UPDATE_TEXT = 4_000

_check_message_blocks = check_list(MAX_BLOCKS)


def check_message(text: str, blocks: list[Any]) -> None:
    """Refuse a message with nothing in it, or with blocks Slack would not take.

    Raises SlackError `no_text`, `invalid_blocks` or `msg_blocks_too_long`.
    """
    if not text and not blocks:
        raise SlackError("no_text")
    check_blocks(blocks)


def check_blocks(blocks: list[Any]) -> None:
    """Raise SlackError `invalid_blocks` or `msg_blocks_too_long` for blocks of a message."""
    problems = list(_check_message_blocks(blocks, "/blocks"))
    if problems:
        raise SlackError("invalid_blocks", *problems)
    if text_in(blocks) > MAX_BLOCKS_TEXT:
        raise SlackError("msg_blocks_too_long")


def text_in(value: object) -> int:
    """Sum the UTF-16 units of every `text` string, however deep it stands."""
    if isinstance(value, list):
        return sum(text_in(one) for one in value)
    if not isinstance(value, dict):
        return 0
    return sum(
        utf16(inner) if name == "text" and isinstance(inner, str) else text_in(inner)
        for name, inner in value.items()
    )


def check_metadata(metadata: object) -> dict[str, Any]:
    """Return valid message metadata.

    Raises SlackError `invalid_metadata_format`, `invalid_metadata_schema` or `metadata_too_large`
    (Slack gives no number for the last; 8,000 bytes of JSON here).
    """
    if not isinstance(metadata, dict):
        raise SlackError("invalid_metadata_format")
    if not metadata:
        return {}
    kind, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not isinstance(kind, str) or not kind or not isinstance(payload, dict):
        raise SlackError("invalid_metadata_schema")
    if len(json.dumps(metadata, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise SlackError("metadata_too_large")
    return metadata
