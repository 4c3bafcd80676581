"""The users.* and usergroups.* methods."""

from __future__ import annotations

from typing import Any

from bot.local_slack.errors import SlackError
from bot.local_slack.methods import find
from bot.local_slack.methods.call import Call, Json, Method
from bot.local_slack.methods.pages import MAX_LIMIT, page
from bot.local_slack.world import User, UserGroup, World


def info(call: Call) -> Json:
    """users.info."""
    return {"user": user_as_slack(find.user(call), call.workspace.world)}


def list_users(call: Call) -> Json:
    """users.list: everyone, the deactivated included."""
    world = call.workspace.world
    found, cursor = page(call, list(world.users.values()), default=MAX_LIMIT)
    return {
        "members": [user_as_slack(user, world) for user in found],
        "response_metadata": {"next_cursor": cursor},
    }


def lookup_by_email(call: Call) -> Json:
    """users.lookupByEmail: active members of this team; anyone else is `users_not_found`."""
    email, world = call.required("email").lower(), call.workspace.world
    for user in world.users.values():
        is_ours = world.team_of(user) == world.team.id and not user.deleted
        if is_ours and user.email and user.email.lower() == email:
            return {"user": user_as_slack(user, world)}
    raise SlackError("users_not_found")


def list_groups(call: Call) -> Json:
    """usergroups.list: with `include_users`, also who is in each."""
    groups = [_group(one) for one in call.workspace.world.groups.values()]
    if not call.flag("include_users"):
        for group in groups:
            del group["users"]
    return {"usergroups": groups}


def list_group_users(call: Call) -> Json:
    """usergroups.users.list: user ids."""
    group = call.workspace.world.groups.get(call.required("usergroup"))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": list(group.users)}


def user_as_slack(user: User, world: World) -> dict[str, Any]:
    """Render a user object; the email only with the scope users:read.email."""
    profile: dict[str, Any] = {"real_name": user.real_name, "display_name": user.name}
    profile["team"] = world.team_of(user)
    if user.email and "users:read.email" in world.app.scopes:
        profile["email"] = user.email
    body: dict[str, Any] = {
        "id": user.id,
        "team_id": world.team_of(user),
        "name": user.name,
        "deleted": user.deleted,
        "real_name": user.real_name,
        "tz": "Etc/UTC",
        "profile": profile,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "updated": 0,
    }
    if user.enterprise_user:
        body["enterprise_user"] = {
            "id": user.enterprise_user,
            "enterprise_id": user.enterprise or world.team.enterprise,
            "teams": list(user.workspaces or (world.team_of(user),)),
        }
    # Slack leaves the roles out once a user is deactivated.
    if not user.deleted:
        body |= {
            "is_admin": False,
            "is_owner": False,
            "is_primary_owner": False,
            "is_restricted": user.is_restricted or user.is_ultra_restricted,
            "is_ultra_restricted": user.is_ultra_restricted,
            "is_stranger": world.is_stranger(user),
        }
    return body


def _group(group: UserGroup) -> dict[str, Any]:
    return {
        "id": group.id,
        "name": group.name,
        "handle": group.handle,
        "is_usergroup": True,
        "date_delete": 0,
        "user_count": len(group.users),
        "users": list(group.users),
    }


METHODS = {
    "users.info": Method(info, ("users:read",)),
    "users.list": Method(list_users, ("users:read",)),
    "users.lookupByEmail": Method(lookup_by_email, ("users:read.email",)),
    "usergroups.list": Method(list_groups, ("usergroups:read",)),
    "usergroups.users.list": Method(list_group_users, ("usergroups:read",)),
}
