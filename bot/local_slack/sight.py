"""What one person sees: their channels with the messages in them, their modals, their Home tab."""

from __future__ import annotations

from typing import Any

from bot.local_slack import inputs
from bot.local_slack.messages import Message, as_slack
from bot.local_slack.methods.conversations import channel_as_slack
from bot.local_slack.methods.people import user_as_slack
from bot.local_slack.views import View, view_as_slack
from bot.local_slack.workspace import Workspace

Json = dict[str, Any]


def seen_by(space: Workspace, user_id: str) -> Json:
    """Return everything on a person's screen. Raises KeyError if there is no such user."""
    world = space.world
    user = world.users[user_id]
    channels = [one for one in world.channels.values() if user_id in one.members]
    home = space.screens.home(user_id)
    return {
        "seq": space.feed.seq,
        "user": user_as_slack(user, world),
        "channels": [
            channel_as_slack(channel, world)
            | {
                "messages": [
                    _message(space, m, user_id) for m in _messages(space, channel.id, user_id)
                ]
            }
            for channel in channels
        ],
        "views": [_view(space, view) for view in space.screens.modals(user_id)],
        "home": _view(space, home) if home else None,
        "notices": [n.model_dump(mode="json") for n in space.notices if n.user == user_id],
    }


def _messages(space: Workspace, channel: str, viewer: str) -> list[Message]:
    return list(space.messages.in_channel(channel, viewer))


def _message(space: Workspace, message: Message, viewer: str) -> Json:
    body = as_slack(message, space.world, space.messages, with_metadata=True)
    values = inputs.current(message.blocks, message.entered.get(viewer, {}))
    return body | {"is_ephemeral": message.ephemeral_to is not None, "state": {"values": values}}


def _view(space: Workspace, view: View) -> Json:
    values = inputs.current(view.content["blocks"], view.entered)
    return view_as_slack(view, space.world, values) | {"errors": view.errors}
