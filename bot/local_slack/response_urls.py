"""Response URLs: what an app may say back where a person acted.

Source: docs.slack.dev/interactivity/handling-user-interaction. Private unless `response_type` is
`in_channel`; the only way to change an ephemeral message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bot.local_slack.calls import Calls, RecordedCall
from bot.local_slack.errors import SlackError
from bot.local_slack.faults import Faults, Sleep, misbehave
from bot.local_slack.messages import Message
from bot.local_slack.passes import ResponsePass
from bot.local_slack.rules import check_message
from bot.local_slack.workspace import Workspace

METHOD = "response_url"
"""The name under which posts to response URLs are recorded and faults are planted."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A message an app sends back, not yet placed."""

    text: str
    blocks: list[dict[str, Any]]
    in_channel: bool
    replace_original: bool
    delete_original: bool
    thread_ts: str | None

    @classmethod
    def read(cls, body: dict[str, Any]) -> Reply:
        """Read and check a body. Raises SlackError `no_text`, `invalid_blocks`, ..."""
        text, blocks = str(body.get("text") or ""), body.get("blocks") or []
        if not isinstance(blocks, list):
            raise SlackError("invalid_blocks_format")
        delete = _yes(body.get("delete_original"))
        if not delete:
            check_message(text, blocks)
        return cls(
            text=text,
            blocks=blocks,
            in_channel=body.get("response_type") == "in_channel",
            replace_original=_yes(body.get("replace_original")),
            delete_original=delete,
            thread_ts=body.get("thread_ts"),
        )

    def post(self, space: Workspace, channel: str, user: str) -> Message:
        """Post it as a new message."""
        return space.post(
            channel,
            space.world.app.bot_user,
            self.text,
            blocks=self.blocks,
            thread_ts=self.thread_ts,
            ephemeral_to=None if self.in_channel else user,
        )


class ResponseUrls:
    """Answers `POST /response/<id>`."""

    def __init__(self, workspace: Workspace, calls: Calls, faults: Faults, sleep: Sleep) -> None:
        self._space = workspace
        self._calls = calls
        self._faults = faults
        self._sleep = sleep

    async def handle(self, request: web.Request) -> web.Response:
        """Use a response URL once."""
        pass_id = request.match_info["pass_id"]
        try:
            body = await request.json()
        except ValueError:
            body = None
        arguments = body if isinstance(body, dict) else {}
        record = self._calls.begin(METHOD, arguments, "none")
        planted = self._faults.take(METHOD, None)
        if planted is None:
            return self._answer(record, pass_id, body)
        record.fault = planted.fault.kind
        self._calls.tell()
        return await misbehave(
            planted, request, lambda: self._answer(record, pass_id, body), self._sleep
        )

    def _answer(self, record: RecordedCall, pass_id: str, body: object) -> web.Response:
        try:
            self._use(pass_id, body)
        except SlackError as refusal:
            self._calls.end(record, refusal.code, status=refusal.status, response=refusal.body())
            return web.json_response(refusal.body(), status=refusal.status)
        self._calls.end(record, "ok", status=200, response={"ok": True})
        return web.Response(text="ok")

    def _use(self, pass_id: str, body: object) -> None:
        if not isinstance(body, dict):
            raise SlackError("invalid_payload", status=400)
        try:
            reply = Reply.read(body)
        except SlackError as refusal:
            raise SlackError(refusal.code, *refusal.messages, status=400) from None
        self._place(self._space.passes.use(pass_id), reply)

    def _place(self, found: ResponsePass, reply: Reply) -> None:
        # A command has no message to replace, so there the wish has no effect (bolt-js#2287).
        source = self._source(found)
        if source is not None and reply.delete_original:
            self._space.delete(source)
        elif source is not None and reply.replace_original:
            self._space.edit(source, text=reply.text, blocks=reply.blocks)
        elif not reply.delete_original:
            reply.post(self._space, found.channel, found.user)

    def _source(self, found: ResponsePass) -> Message | None:
        if found.source_ts is None:
            return None
        return self._space.messages.find(found.channel, found.source_ts)


def _yes(value: object) -> bool:
    # Slack's own examples send the word "true".
    return value is True or value == "true"
