"""Looking up what a call names, with Slack's refusals."""

from __future__ import annotations

from bot.local_slack.errors import SlackError
from bot.local_slack.methods.call import Call
from bot.local_slack.world import Channel, User, World


def user(call: Call, name: str = "user") -> User:
    """Return the user an argument names. Raises SlackError `user_not_found`."""
    found = call.workspace.world.user(call.required(name))
    if found is None:
        raise SlackError("user_not_found")
    return found


def channel(call: Call, name: str = "channel") -> Channel:
    """Return a channel the bot knows of: a public one, or one it is in.

    Raises SlackError `channel_not_found`; Slack does not tell a private channel from none.
    """
    found = call.workspace.world.channels.get(call.required(name))
    return _known(call.workspace.world, found)


def channel_to_post(call: Call) -> Channel:
    """Return where a new message goes: a channel id, a channel name, or a user id for their DM.

    Posting to a user id works with chat:write alone. A user id that cannot be written to is
    `channel_not_found`, as for any other unknown destination.
    """
    world, wanted = call.workspace.world, call.required("channel")
    person = world.users.get(wanted)
    if person is not None:
        if person.deleted or person.is_bot or world.is_stranger(person):
            raise SlackError("channel_not_found")
        return world.direct(person.id)
    return _known(world, world.channels.get(wanted) or world.named(wanted))


def must_be_member(call: Call, found: Channel, *, unless: str | None = None) -> None:
    """Raise SlackError `is_archived` or `not_in_channel`; a granted scope `unless` waives that.

    The DM of someone deactivated is `channel_not_found`, as if it had been named by the user id.
    """
    world = call.workspace.world
    if found.is_im and world.users[found.members[0]].deleted:
        raise SlackError("channel_not_found")
    if found.is_archived:
        raise SlackError("is_archived")
    if world.app.bot_user in found.members:
        return
    if unless not in world.app.scopes:
        raise SlackError("not_in_channel")


def _known(world: World, found: Channel | None) -> Channel:
    if found is None or (found.is_private and world.app.bot_user not in found.members):
        raise SlackError("channel_not_found")
    return found
