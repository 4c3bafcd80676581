"""Everything that changes while the fake runs, and the few ways in which it changes.

Web API methods, response URLs and people's acts all go through here, so that each change is also
told to the feed.
"""

from __future__ import annotations

from typing import Any

from bot.local_slack.changes import ChangeKind, Feed, Notice
from bot.local_slack.ids import Mint
from bot.local_slack.messages import Message, MessageLog
from bot.local_slack.passes import ResponsePasses, Triggers
from bot.local_slack.views import Screens, View
from bot.local_slack.world import World


class Workspace:
    """The world, its messages and views, and the passes given out."""

    def __init__(self, world: World, mint: Mint) -> None:
        self.world = world
        self.mint = mint
        self.feed = Feed()
        self.messages = MessageLog()
        self.screens = Screens(mint)
        self.triggers = Triggers(mint)
        self.passes = ResponsePasses(mint)
        self.notices: list[Notice] = []

    def post(
        self,
        channel: str,
        user: str,
        text: str,
        *,
        blocks: list[dict[str, Any]] | None = None,
        thread_ts: str | None = None,
        metadata: dict[str, Any] | None = None,
        ephemeral_to: str | None = None,
    ) -> Message:
        """Add a message, with block and action ids filled in where the sender left them out."""
        message = self.messages.add(
            Message(
                ts=self.mint.ts(),
                channel=channel,
                user=user,
                text=text,
                blocks=self.with_ids(blocks or []),
                thread_ts=thread_ts,
                metadata=metadata or {},
                ephemeral_to=ephemeral_to,
            )
        )
        self._tell_message(
            ChangeKind.EPHEMERAL if ephemeral_to else ChangeKind.MESSAGE_POSTED, message
        )
        return message

    def edit(
        self,
        message: Message,
        *,
        text: str,
        blocks: list[dict[str, Any]],
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Change a message in place; what people had entered in it is forgotten."""
        message.text, message.blocks = text, self.with_ids(blocks)
        message.edited_ts, message.entered = self.mint.ts(), {}
        if metadata is not None:
            message.metadata = metadata
        self._tell_message(ChangeKind.MESSAGE_UPDATED, message)

    def delete(self, message: Message) -> None:
        """Remove a message for everyone."""
        self.messages.remove(message)
        self._tell_message(ChangeKind.MESSAGE_DELETED, message)

    def notify(self, user: str, text: str, *, detail: str = "", channel: str | None = None) -> None:
        """Show a private notice, as Slack's client does when an app fails.

        `detail` is for the developer: Slack itself would not say it.
        """
        self.notices.append(
            Notice(at=self.mint.now(), user=user, text=text, detail=detail, channel=channel)
        )
        self.feed.tell(ChangeKind.NOTICE, user=user, channel=channel)

    def tell_view(self, kind: ChangeKind, view: View) -> None:
        """Tell the feed that a person's view opened, changed or closed."""
        self.feed.tell(kind, user=view.user, view_id=view.id)

    def content(self, view: dict[str, Any]) -> dict[str, Any]:
        """Return what a view shows, with its block and action ids filled in."""
        return {**view, "blocks": self.with_ids(view["blocks"])}

    def with_ids(self, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the blocks with a block_id each and an action_id for each element in need."""
        return [self._block_with_ids(block) for block in blocks]

    def _block_with_ids(self, block: dict[str, Any]) -> dict[str, Any]:
        filled = {**block, "block_id": block.get("block_id") or self.mint.word("", 5)}
        if block["type"] == "actions":
            filled["elements"] = [self._element_with_id(one) for one in block["elements"]]
        for place in ("accessory", "element"):
            if place in block:
                filled[place] = self._element_with_id(block[place])
        return filled

    def _element_with_id(self, element: dict[str, Any]) -> dict[str, Any]:
        if element["type"] == "image" or element.get("action_id"):
            return element
        return {**element, "action_id": self.mint.word("", 5)}

    def _tell_message(self, kind: ChangeKind, message: Message) -> None:
        self.feed.tell(kind, user=message.ephemeral_to, channel=message.channel, ts=message.ts)
