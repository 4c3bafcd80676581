"""The conversations.* methods."""

from __future__ import annotations

from typing import Any

from bot.local_slack.errors import SlackError
from bot.local_slack.messages import Message, as_slack
from bot.local_slack.methods import find
from bot.local_slack.methods.call import Call, Json, Method
from bot.local_slack.methods.pages import page
from bot.local_slack.world import Channel, World

MAX_GROUP_DM = 8
PAGE = 100


def open_dm(call: Call) -> Json:
    """conversations.open: the DM with one person, or the group DM with up to eight.

    It says so if the conversation was open before (`@slack/web-api`, ConversationsOpenResponse).
    """
    world = call.workspace.world
    open_before = set(world.channels)
    if call.has("channel"):
        channel = find.channel(call)
        if not (channel.is_im or channel.is_mpim):
            raise SlackError("method_not_supported_for_channel_type")
    else:
        channel = _direct(world, _users(call))
    body = channel_as_slack(channel, world) if call.flag("return_im") else {"id": channel.id}
    known = {"no_op": True, "already_open": True} if channel.id in open_before else {}
    return {**known, "channel": body}


def info(call: Call) -> Json:
    """conversations.info."""
    channel = find.channel(call)
    body = channel_as_slack(channel, call.workspace.world)
    if call.flag("include_num_members"):
        body["num_members"] = len(channel.members)
    return {"channel": body}


def members(call: Call) -> Json:
    """conversations.members: user ids, bots and guests and outsiders included."""
    channel = find.channel(call)
    found, cursor = page(call, channel.members, default=PAGE)
    return {"members": found, "response_metadata": {"next_cursor": cursor}}


def list_channels(call: Call) -> Json:
    """conversations.list: public channels unless `types` says otherwise."""
    world = call.workspace.world
    types = call.text("types", "public_channel").replace(" ", "").split(",")
    shown = [
        channel_as_slack(channel, world)
        for channel in world.channels.values()
        if _kind(channel) in types
        and not (channel.is_archived and call.flag("exclude_archived"))
        and (not channel.is_private or world.app.bot_user in channel.members)
    ]
    found, cursor = page(call, shown, default=PAGE)
    return {"channels": found, "response_metadata": {"next_cursor": cursor}}


def history(call: Call) -> Json:
    """conversations.history: newest first, without replies and without ephemeral messages."""
    channel = _readable(call)
    top = [
        message
        for message in call.workspace.messages.in_channel(channel.id)
        if message.thread_ts in (None, message.ts)
    ]
    return _listed(call, list(reversed(top)))


def replies(call: Call) -> Json:
    """conversations.replies: a message and its replies, oldest first."""
    channel = _readable(call)
    ts = call.required("ts")
    if call.workspace.messages.find(channel.id, ts) is None:
        raise SlackError("thread_not_found")
    return _listed(call, call.workspace.messages.thread(channel.id, ts))


def channel_as_slack(channel: Channel, world: World) -> dict[str, Any]:
    """Render a conversation object."""
    body: dict[str, Any] = {
        "id": channel.id,
        "is_channel": not (channel.is_im or channel.is_mpim),
        "is_group": channel.is_private and not channel.is_im,
        "is_im": channel.is_im,
        "is_mpim": channel.is_mpim,
        "is_private": channel.is_private or channel.is_im,
        "is_archived": channel.is_archived,
        "is_ext_shared": channel.is_ext_shared,
        "is_member": world.app.bot_user in channel.members,
        "context_team_id": world.team.id,
    }
    if channel.is_im:
        return body | {"user": channel.members[0]}
    return body | {"name": channel.name, "name_normalized": channel.name}


def _kind(channel: Channel) -> str:
    if channel.is_im:
        return "im"
    if channel.is_mpim:
        return "mpim"
    return "private_channel" if channel.is_private else "public_channel"


def _users(call: Call) -> list[str]:
    value = call.arguments.get("users")
    if isinstance(value, list):
        return [str(one) for one in value]
    return [one for one in call.text("users").replace(" ", "").split(",") if one]


def _direct(world: World, user_ids: list[str]) -> Channel:
    if not user_ids:
        raise SlackError("users_list_not_supplied")
    if len(user_ids) > MAX_GROUP_DM:
        raise SlackError("too_many_users")
    for user_id in user_ids:
        _refuse_unreachable(world, user_id)
    if len(user_ids) == 1:
        return world.direct(user_ids[0])
    return world.group_direct(tuple(user_ids))


def _refuse_unreachable(world: World, user_id: str) -> None:
    user = world.users.get(user_id)
    if user is None:
        raise SlackError("user_not_found")
    if user.deleted:
        raise SlackError("user_disabled")
    if user.is_bot:
        raise SlackError("cannot_dm_bot")
    if world.is_stranger(user):
        raise SlackError("user_not_visible")


def _readable(call: Call) -> Channel:
    channel = find.channel(call)
    if call.workspace.world.app.bot_user not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def _listed(call: Call, messages: list[Message]) -> Json:
    oldest, latest = _moment(call, "oldest"), _moment(call, "latest")
    inclusive = call.flag("inclusive")

    def within(message: Message) -> bool:
        at = float(message.ts)
        if inclusive and at in (oldest, latest):
            return True
        return (oldest is None or at > oldest) and (latest is None or at < latest)

    found, cursor = page(call, [m for m in messages if within(m)], default=PAGE)
    space, rich = call.workspace, call.flag("include_all_metadata")
    return {
        "messages": [as_slack(m, space.world, space.messages, with_metadata=rich) for m in found],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }


def _moment(call: Call, name: str) -> float | None:
    if not call.has(name):
        return None
    try:
        return float(call.text(name))
    except ValueError:
        raise SlackError(f"invalid_ts_{name}") from None


_READ = ("channels:read", "groups:read", "im:read", "mpim:read")
_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")

METHODS = {
    "conversations.open": Method(open_dm, ("im:write", "mpim:write")),
    "conversations.info": Method(info, _READ),
    "conversations.members": Method(members, _READ),
    "conversations.list": Method(list_channels, _READ),
    "conversations.history": Method(history, _HISTORY),
    "conversations.replies": Method(replies, _HISTORY),
}
