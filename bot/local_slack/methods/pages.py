"""Cursor pagination, as the list methods share it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TypeVar

from bot.local_slack.errors import SlackError
from bot.local_slack.methods.call import Call

T = TypeVar("T")

MAX_LIMIT = 1000


def page(call: Call, items: Sequence[T], *, default: int) -> tuple[list[T], str]:
    """Return one page of the items and the cursor of the next page, empty at the end.

    Raises SlackError `invalid_cursor` or `invalid_limit` (1 to 1000).
    """
    start, limit = _start(call.text("cursor"), len(items)), _limit(call, default)
    end = start + limit
    following = base64.b64encode(f"next:{end}".encode()).decode() if end < len(items) else ""
    return list(items[start:end]), following


def _limit(call: Call, default: int) -> int:
    text = call.text("limit")
    if text in ("", "0"):
        return default
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LIMIT:
        raise SlackError("invalid_limit")
    return int(text)


def _start(cursor: str, count: int) -> int:
    if not cursor:
        return 0
    try:
        word, _, number = base64.b64decode(cursor, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise SlackError("invalid_cursor") from None
    if word != "next" or not number.isdecimal() or int(number) > count:
        raise SlackError("invalid_cursor")
    return int(number)
