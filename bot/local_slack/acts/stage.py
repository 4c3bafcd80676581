"""What every act needs: the person, what they can see, and a way to reach the app."""

from __future__ import annotations

from dataclasses import dataclass

from bot.local_slack.dispatch import Delivery, Dispatcher
from bot.local_slack.errors import ControlError
from bot.local_slack.payloads import Payloads
from bot.local_slack.workspace import Workspace
from bot.local_slack.world import Channel, User


@dataclass(frozen=True, slots=True)
class Stage:
    """The workspace as people act in it."""

    space: Workspace
    payloads: Payloads
    dispatcher: Dispatcher

    def actor(self, user_id: str) -> User:
        """Return a person who can act. Raises ControlError `no_such_user` or `deactivated`."""
        user = self.space.world.users.get(user_id)
        if user is None:
            raise ControlError("no_such_user", f"nobody has the id {user_id!r}")
        if user.deleted:
            raise ControlError("deactivated", f"{user_id!r} can no longer sign in")
        return user

    def channel(self, user: User, channel_id: str) -> Channel:
        """Return a channel the person is in. Raises ControlError `not_visible`."""
        channel = self.space.world.channels.get(channel_id)
        if channel is None or user.id not in channel.members:
            raise ControlError("not_visible", f"{user.id!r} sees no channel {channel_id!r}")
        return channel

    def show_failure(
        self, delivery: Delivery, user: User, what: str, channel: str | None = None
    ) -> None:
        """Tell the person, as Slack's client does, when the app did not ack."""
        answer = delivery.answer
        if answer.failure:
            detail = f"status {answer.status}" if answer.status else f"via {answer.via}"
            text = f'{what} failed with the error "{answer.failure}"'
            self.space.notify(user.id, text, detail=detail, channel=channel)
