"""Slack's HTTP requests: proven to be Slack's before they are read, then read by key.

Bolt parses before it verifies, so that garbage from anyone is a 500; it stumbles over malformed
headers; and it takes every form that contains the word ``payload`` for an interaction
(slack_bolt/request/internals.py, parse_body).
"""

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any, Self
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.request.async_internals import build_async_context
from slack_bolt.request.async_request import AsyncBoltRequest

MAX_BODY_BYTES = 1024 * 1024
WINDOW_S = 300
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)
_OURS = "x-slack-bolt-"
"""Headers by which Bolt talks to itself; no signature covers them."""


class Proof(StrEnum):
    """What a request's signature came to."""

    GENUINE = "genuine"
    MALFORMED = "malformed"
    FORGED = "forged"
    OUT_OF_TIME = "out_of_time"


class MalformedRequestError(ValueError):
    """Slack signed it, yet it is nothing that Slack documents."""


class SignatureCheck:
    """Checks the signature over the raw bytes of a body, with any of several secrets.

    https://docs.slack.dev/authentication/verifying-requests-from-slack
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        """Take the signing secrets; several while one replaces another.

        Raises:
            ValueError: there is none, or one is empty.

        """
        if not secrets or not all(secrets):
            raise ValueError("a signing secret must not be empty")
        self._keys = [secret.encode() for secret in secrets]

    def check(self, headers: Mapping[str, str], body: bytes, now: float) -> Proof:
        """Tell whether Slack sent this just now."""
        timestamp = headers.get("X-Slack-Request-Timestamp", "")
        signature = headers.get("X-Slack-Signature", "")
        if not _TIMESTAMP.fullmatch(timestamp) or not signature.isascii():
            return Proof.MALFORMED
        base = b"v0:" + timestamp.encode() + b":" + body
        matches = [
            hmac.compare_digest(f"v0={hmac.new(key, base, sha256).hexdigest()}", signature)
            for key in self._keys
        ]
        if not any(matches):
            return Proof.FORGED
        return Proof.GENUINE if abs(now - int(timestamp)) <= WINDOW_S else Proof.OUT_OF_TIME


class _Thing(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Named(_Thing):
    id: str | None = None


class _View(_Thing):
    type: str


class _Action(_Thing):
    action_id: str
    block_id: str | None = None


class _Shape(_Thing):
    """What Bolt reaches for in any request before a listener of ours is chosen."""

    type: str | None = None
    callback_id: str | None = None
    user: str | _Named | None = None
    team: _Named | None = None
    enterprise: _Named | None = None
    channel: str | _Named | None = None
    container: _Thing | None = None
    message: _Thing | None = None
    event: _Thing | None = None
    view: _View | None = None
    actions: list[_Action] | None = Field(default=None, min_length=1)
    authorizations: list[_Thing] | None = None

    @model_validator(mode="after")
    def _has_what_its_kind_is_about(self) -> Self:
        needed = {"block_actions": self.actions, "event_callback": self.event}
        needed |= dict.fromkeys(("view_submission", "view_closed"), self.view)
        if self.type in needed and needed[self.type] is None:
            raise ValueError("it is about nothing")
        return self


def check_shape(body: dict[str, Any]) -> None:
    """Check that a verified request is of the shape that Slack documents; an empty view is none.

    https://docs.slack.dev/reference/interaction-payloads. Bolt's matchers index without looking.

    Raises:
        MalformedRequestError: it is not.

    """
    try:
        _Shape.model_validate(body)
    except ValidationError as error:
        raise MalformedRequestError("the body is of no shape that Slack sends") from error
    if "view" in body and body["view"] is None:
        del body["view"]


def to_bolt(headers: Mapping[str, str], body: bytes) -> AsyncBoltRequest:
    """Return a verified request as Bolt wants it.

    Raises:
        MalformedRequestError: the body cannot be read.

    """
    kept = {name: value for name, value in headers.items() if not name.lower().startswith(_OURS)}
    try:
        text = body.decode("utf-8")
        parsed = _parse(text, is_json="json" in headers.get("Content-Type", ""))
    except (ValueError, RecursionError) as error:
        raise MalformedRequestError("the body cannot be read") from error
    check_shape(parsed)
    # An empty body keeps Bolt's own parser from looking at it.
    request = AsyncBoltRequest(body="", headers={**kept})
    request.raw_body, request.body = text, parsed
    request.context = build_async_context(AsyncBoltContext({}), parsed)
    return request


def _parse(text: str, *, is_json: bool) -> dict[str, Any]:
    if is_json:
        return _object(text)
    fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    return _object(fields["payload"]) if "payload" in fields else fields


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - a value's fault, not a type's
    return value
