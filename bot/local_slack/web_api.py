"""The Web API door: token, scope, fault, record, and only then the method."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from bot.local_slack import arguments
from bot.local_slack.arguments import Sent
from bot.local_slack.calls import CUT, Calls, RecordedCall
from bot.local_slack.credentials import Credentials
from bot.local_slack.errors import SlackError
from bot.local_slack.faults import Faults, Sleep, misbehave
from bot.local_slack.methods import Call, Method
from bot.local_slack.workspace import Workspace

Json = dict[str, Any]


class WebApi:
    """Answers `POST` and `GET /api/<method>`."""

    def __init__(
        self,
        workspace: Workspace,
        credentials: Credentials,
        methods: Mapping[str, Method],
        calls: Calls,
        faults: Faults,
        sleep: Sleep,
    ) -> None:
        self._workspace = workspace
        self._credentials = credentials
        self._methods = methods
        self._calls = calls
        self._faults = faults
        self._sleep = sleep

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one call, or misbehave if a fault was planted for it."""
        name = request.match_info["method"]
        try:
            sent = await arguments.read(request)
        except SlackError as refusal:
            record = self._calls.begin(name, {}, "none")
            return self._end(record, refusal.body(), refusal.status)
        record = self._calls.begin(name, sent.arguments, self._token_name(sent))
        planted = self._faults.take(name, sent.arguments.get("channel"))
        if planted is None:
            return self._answer(record, sent)
        record.fault = planted.fault.kind
        self._calls.tell()
        try:
            response = await misbehave(
                planted, request, lambda: self._answer(record, sent), self._sleep
            )
        except asyncio.CancelledError:
            self._calls.end(record, CUT, response=record.response)
            raise
        return self._as_faulty(record, request, response)

    def _as_faulty(
        self, record: RecordedCall, request: web.Request, response: web.Response
    ) -> web.Response:
        if request.transport is None or request.transport.is_closing():
            self._calls.end(record, CUT, response=record.response)
        elif record.response is None:
            self._calls.end(record, str(record.fault), status=response.status)
        return response

    def _answer(self, record: RecordedCall, sent: Sent) -> web.Response:
        try:
            body = {"ok": True, **self._run(record.method, sent)}
        except SlackError as refusal:
            return self._end(record, refusal.body(), refusal.status)
        return self._end(record, body, 200)

    def _end(self, record: RecordedCall, body: Json, status: int) -> web.Response:
        outcome = "ok" if body["ok"] else str(body["error"])
        self._calls.end(record, outcome, status=status, response=body)
        scopes = ",".join(sorted(self._workspace.world.app.scopes))
        return web.json_response(body, status=status, headers={"X-OAuth-Scopes": scopes})

    def _run(self, name: str, sent: Sent) -> Json:
        method = self._methods.get(name)
        if method is None:
            raise SlackError("unknown_method", more={"req_method": name})
        self._authorize(method, sent.token)
        return method.run(Call(sent.arguments, self._workspace))

    def _authorize(self, method: Method, token: str) -> None:
        if not token:
            raise SlackError("not_authed")
        kind = self._credentials.kind_of(token)
        if kind is None:
            raise SlackError("invalid_auth")
        if kind is not method.token:
            raise SlackError("not_allowed_token_type")
        granted = self._workspace.world.app.scopes
        if method.scopes and granted.isdisjoint(method.scopes):
            more = {"needed": ",".join(method.scopes), "provided": ",".join(sorted(granted))}
            raise SlackError("missing_scope", more=more)

    def _token_name(self, sent: Sent) -> str:
        if not sent.token:
            return "none"
        return self._credentials.kind_of(sent.token) or "unknown"
