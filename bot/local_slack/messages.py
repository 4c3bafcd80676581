"""Messages, and who can see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bot.local_slack.world import World


@dataclass(slots=True)
class Message:
    """One message in one channel.

    `ephemeral_to` names the only person who sees it; such a message is in no history and no API
    call can change it. `entered` is what each person has put into its inputs so far.
    """

    ts: str
    channel: str
    user: str
    text: str
    blocks: list[dict[str, Any]] = field(default_factory=list)
    thread_ts: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    edited_ts: str | None = None
    ephemeral_to: str | None = None
    entered: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)


class MessageLog:
    """All messages, oldest first."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str], Message] = {}

    def add(self, message: Message) -> Message:
        """Keep a message."""
        self._messages[message.channel, message.ts] = message
        return message

    def find(self, channel: str, ts: str) -> Message | None:
        """Return a message, ephemeral or not."""
        return self._messages.get((channel, ts))

    def remove(self, message: Message) -> None:
        """Forget a message; nothing happens if it is gone already."""
        self._messages.pop((message.channel, message.ts), None)

    def in_channel(self, channel: str, viewer: str | None = None) -> Iterator[Message]:
        """Yield a channel's messages; the ephemeral ones only if they are the viewer's own."""
        for message in self._messages.values():
            if message.channel == channel and message.ephemeral_to in (None, viewer):
                yield message

    def thread(self, channel: str, ts: str) -> list[Message]:
        """Return the message with this ts and its replies."""
        return [m for m in self.in_channel(channel) if ts in (m.ts, m.thread_ts)]


def as_slack(
    message: Message, world: World, log: MessageLog, *, with_metadata: bool = False
) -> dict[str, Any]:
    """Render a message as Slack's history and interaction payloads do."""
    body: dict[str, Any] = {
        "type": "message",
        "user": message.user,
        "ts": message.ts,
        "text": message.text,
        "team": world.team.id,
    }
    if message.user == world.app.bot_user:
        body |= {"bot_id": world.app.bot_id, "app_id": world.app.id}
    if message.blocks:
        body["blocks"] = message.blocks
    if message.edited_ts:
        body["edited"] = {"user": message.user, "ts": message.edited_ts}
    if with_metadata and message.metadata:
        body["metadata"] = message.metadata
    return body | _thread_fields(message, log)


def _thread_fields(message: Message, log: MessageLog) -> dict[str, Any]:
    if message.thread_ts and message.thread_ts != message.ts:
        return {"thread_ts": message.thread_ts}
    if message.ephemeral_to:
        return {}
    replies = log.thread(message.channel, message.ts)[1:]
    if not replies:
        return {}
    return {
        "thread_ts": message.ts,
        "reply_count": len(replies),
        "latest_reply": replies[-1].ts,
    }
