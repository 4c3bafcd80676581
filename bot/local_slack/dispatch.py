"""Sending payloads to the app: signed over HTTP, or through one socket if any is connected.

The app has `ack_timeout_s` to answer (3 s at Slack). A later or a wrong answer is a failure that
the person sees: `operation_timeout` or `dispatch_failed`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, assert_never
from urllib.parse import urlencode

import aiohttp
from pydantic import BaseModel, ConfigDict

from bot.local_slack.changes import ChangeKind
from bot.local_slack.credentials import Credentials, sign
from bot.local_slack.forgery import Forgery
from bot.local_slack.sockets import SocketHub
from bot.local_slack.workspace import Workspace

Json = dict[str, Any]

USER_AGENT = "Slackbot 1.0 (+https://api.slack.com/robots)"


class Kind(StrEnum):
    """The three kinds of things Slack sends, named as the envelopes of Socket Mode name them."""

    INTERACTIVE = "interactive"
    SLASH = "slash_commands"
    EVENT = "events_api"


class Answer(BaseModel):
    """What came back.

    `delivered`: the app got it. `acked`: it said so in time (HTTP 200, or an ack frame). `status`
    is None for sockets and when nothing came back. `body` is parsed if it was JSON. `failure` is
    empty, `operation_timeout` or `dispatch_failed`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    delivered: bool
    acked: bool
    via: Literal["http", "socket", "nothing"]
    status: int | None = None
    body: Any = None
    elapsed_ms: float = 0.0
    failure: str = ""


class Delivery(BaseModel):
    """One thing sent, exactly as it was sent, so that it can be sent again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    kind: Kind
    payload: Json
    body: str
    headers: dict[str, str]
    answer: Answer


class Dispatcher:
    """Sends, waits for the ack, and remembers."""

    def __init__(
        self,
        workspace: Workspace,
        credentials: Credentials,
        sockets: SocketHub,
        *,
        ack_timeout_s: float,
    ) -> None:
        self._space = workspace
        self._credentials = credentials
        self._sockets = sockets
        self._ack_timeout_s = ack_timeout_s
        self._session: aiohttp.ClientSession | None = None
        self.request_url: str | None = None
        self.deliveries: list[Delivery] = []

    async def send(self, kind: Kind, payload: Json, forgery: Forgery | None = None) -> Delivery:
        """Deliver a payload, changed and signed as the forgery says."""
        forged = forgery or Forgery()
        changed = forged.apply(payload)
        body = forged.body.encode() if forged.body is not None else encode(kind, changed)
        return await self._deliver(kind, changed, body, self._headers(kind, body, forged))

    async def resend(
        self, delivery_id: int, extra: Mapping[str, str], *, fresh_signature: bool
    ) -> Delivery:
        """Deliver the identical bytes again. Raises KeyError for no such delivery."""
        if not 1 <= delivery_id <= len(self.deliveries):
            raise KeyError(delivery_id)
        old = self.deliveries[delivery_id - 1]
        body = old.body.encode()
        headers = self._headers(old.kind, body, Forgery()) if fresh_signature else old.headers
        return await self._deliver(old.kind, old.payload, body, {**headers, **extra})

    async def close(self) -> None:
        """Close the connections to the app."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A fresh connection each time: an app may have restarted since the last one.
            self._session = aiohttp.ClientSession(
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None),
                connector=aiohttp.TCPConnector(force_close=True),
            )
        return self._session

    async def _deliver(
        self, kind: Kind, payload: Json, body: bytes, headers: dict[str, str]
    ) -> Delivery:
        started = time.monotonic()
        if self._sockets.connected:
            answer = await self._over_socket(kind, payload, headers)
        else:
            answer = await self._over_http(body, headers)
        elapsed = round((time.monotonic() - started) * 1000, 3)
        delivery = Delivery(
            id=len(self.deliveries) + 1,
            kind=kind,
            payload=payload,
            body=body.decode("utf-8", "surrogateescape"),
            headers=headers,
            answer=answer.model_copy(update={"elapsed_ms": elapsed}),
        )
        self.deliveries.append(delivery)
        self._space.feed.tell(ChangeKind.DELIVERY)
        return delivery

    async def _over_socket(self, kind: Kind, payload: Json, headers: Mapping[str, str]) -> Answer:
        envelope: Json = {
            "type": kind.value,
            "payload": payload,
            "accepts_response_payload": kind is not Kind.EVENT,
        }
        if kind is Kind.EVENT:
            envelope["retry_attempt"] = int(headers.get("X-Slack-Retry-Num", "0"))
            envelope["retry_reason"] = headers.get("X-Slack-Retry-Reason", "")
        try:
            reply = await self._sockets.send(envelope, self._ack_timeout_s)
        except TimeoutError:
            return Answer(delivered=True, acked=False, via="socket", failure="operation_timeout")
        return Answer(delivered=True, acked=True, via="socket", body=reply)

    async def _over_http(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        if self.request_url is None:
            return Answer(delivered=False, acked=False, via="nothing", failure="dispatch_failed")
        session = self._open()
        try:
            async with (
                asyncio.timeout(self._ack_timeout_s),
                session.post(
                    self.request_url, data=body, headers=headers, allow_redirects=False
                ) as response,
            ):
                content = _content(await response.text())
        except TimeoutError:
            return Answer(delivered=True, acked=False, via="http", failure="operation_timeout")
        except aiohttp.ClientError as broken:
            sent = not isinstance(broken, aiohttp.ClientConnectorError)
            return Answer(delivered=sent, acked=False, via="http", failure="dispatch_failed")
        acked = response.status == 200  # noqa: PLR2004
        return Answer(
            delivered=True,
            acked=acked,
            via="http",
            status=response.status,
            body=content,
            failure="" if acked else "dispatch_failed",
        )

    def _headers(self, kind: Kind, body: bytes, forged: Forgery) -> dict[str, str]:
        timestamp = forged.timestamp or str(int(self._space.mint.now()))
        secret = forged.signing_secret or self._credentials.signing_secret
        is_json = kind is Kind.EVENT
        headers = {
            "Content-Type": "application/json" if is_json else "application/x-www-form-urlencoded",
            "User-Agent": USER_AGENT,
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": forged.signature or sign(secret, timestamp, body),
            **forged.headers,
        }
        return {name: value for name, value in headers.items() if name not in forged.drop_headers}


def encode(kind: Kind, payload: Json) -> bytes:
    """Return the HTTP body: a form with `payload`, a plain form, or JSON."""
    match kind:
        case Kind.INTERACTIVE:
            return urlencode({"payload": json.dumps(payload)}).encode()
        case Kind.SLASH:
            return urlencode(payload).encode()
        case Kind.EVENT:
            return json.dumps(payload).encode()
        case _:
            assert_never(kind)


def _content(text: str) -> object:
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
