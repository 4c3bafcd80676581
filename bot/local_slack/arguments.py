"""Reading what an app sent: JSON, form, multipart or query, and the token with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bot.local_slack.errors import SlackError


@dataclass(frozen=True, slots=True)
class Sent:
    """The arguments of a request without the token, and the token (empty if there was none)."""

    arguments: dict[str, Any]
    token: str


async def read(request: web.Request) -> Sent:
    """Read a request to the Web API.

    The token comes in the Authorization header or as an argument. Raises SlackError
    `invalid_json` or `json_not_object`.
    """
    arguments: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        arguments |= await _json(request)
    elif request.can_read_body:
        arguments |= {name: _text(value) for name, value in (await request.post()).items()}
    named = str(arguments.pop("token", "") or "")
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else ""
    return Sent(arguments, token or named)


def _text(value: str | bytes | bytearray | web.FileField) -> str:
    return value if isinstance(value, str) else "(a file)"


async def _json(request: web.Request) -> dict[str, Any]:
    try:
        value = await request.json()
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(value, dict):
        raise SlackError("json_not_object")
    return value
