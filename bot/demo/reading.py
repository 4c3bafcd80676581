"""Slack's texts as people read them: names for ids, words for links, the time of day for dates."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

_TOKEN = re.compile(r"<([^<>]*)>")
_DATE = re.compile(r"!date\^(\d+)\^")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

Json = Mapping[str, Any]


def read_text(text: str, names: Mapping[str, str]) -> str:
    """Return mrkdwn as it reads on the screen, with people by their names."""
    shown = _TOKEN.sub(lambda token: _read_token(token[1], names), text)
    for entity, character in _ENTITIES:
        shown = shown.replace(entity, character)
    return shown


def _read_token(token: str, names: Mapping[str, str]) -> str:
    date = _DATE.match(token)
    if date:
        return f"{datetime.fromtimestamp(int(date[1])).astimezone():%H:%M}"
    if token.startswith("@"):
        return names.get(token[1:], token[1:])
    return token.partition("|")[2] or token


def buttons_of(blocks: list[Json]) -> Iterator[Json]:
    """Yield the buttons of a message or a view, in order."""
    for block in blocks:
        elements = [*block.get("elements", ()), block.get("accessory") or {}]
        yield from (one for one in elements if one.get("type") == "button")
