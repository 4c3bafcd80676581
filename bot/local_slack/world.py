"""Who and where: the team, its people, its channels, its user groups and the one app in it.

Everything here is a frozen value, except `World`, which holds the present one of each. The world
knows no message and no view; those are what happens in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_SCOPES = frozenset(
    {
        "channels:history",
        "channels:read",
        "chat:write",
        "commands",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "im:write",
        "mpim:history",
        "mpim:read",
        "mpim:write",
        "usergroups:read",
        "users:read",
        "users:read.email",
    }
)
"""What the app was granted unless a test says otherwise.

`chat:write.public` is left out on purpose: without it `not_in_channel` can be met.
"""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Team(_Value):
    """A workspace; `enterprise` is the Enterprise Grid organisation it is part of, if any."""

    id: str
    name: str
    domain: str
    enterprise: str | None = None


class User(_Value):
    """A person or a bot, as a workspace knows them.

    `team_id` None means the world's own team. `is_stranger` None means Slack's own rule: a user of
    another team who shares no channel with the app. Someone of another team who *does* share one
    is no stranger to Slack (`is_stranger` of the user object, docs.slack.dev/reference/objects).
    On Enterprise Grid `enterprise_user` is their id in the organisation (W...), by which they can
    be looked up too, and `workspaces` are those they are in.
    """

    id: str
    name: str
    real_name: str = ""
    email: str | None = None
    is_bot: bool = False
    deleted: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool | None = None
    team_id: str | None = None
    enterprise: str | None = None
    enterprise_user: str | None = None
    workspaces: tuple[str, ...] = ()


class UserGroup(_Value):
    """A group that can be mentioned, such as an on-call rota."""

    id: str
    handle: str
    name: str
    users: tuple[str, ...] = ()


class Channel(_Value):
    """A conversation: a channel, a DM (`is_im`) or a group DM (`is_mpim`)."""

    id: str
    name: str
    members: tuple[str, ...] = ()
    is_private: bool = False
    is_im: bool = False
    is_mpim: bool = False
    is_archived: bool = False
    is_ext_shared: bool = False


class App(_Value):
    """The one app installed here: the bot under test."""

    id: str = "A0LOCAL"
    bot_id: str = "B0HOLDSHORT"
    bot_user: str = "U0HOLDSHORT"
    name: str = "holdshort"
    commands: tuple[str, ...] = ("/holdshort",)
    scopes: frozenset[str] = DEFAULT_SCOPES
    home_enabled: bool = True


class World:
    """The present users, channels and groups; changed only through its methods."""

    def __init__(
        self,
        *,
        team: Team,
        app: App,
        users: Iterable[User] = (),
        channels: Iterable[Channel] = (),
        groups: Iterable[UserGroup] = (),
    ) -> None:
        self.team = team
        self.app = app
        self.users: dict[str, User] = {user.id: user for user in users}
        self.channels: dict[str, Channel] = {channel.id: channel for channel in channels}
        self.groups: dict[str, UserGroup] = {group.id: group for group in groups}

    def put_user(self, user: User) -> User:
        """Add a user, or replace the one with the same id."""
        self.users[user.id] = user
        return user

    def put_channel(self, channel: Channel) -> Channel:
        """Add a channel, or replace the one with the same id."""
        self.channels[channel.id] = channel
        return channel

    def put_group(self, group: UserGroup) -> UserGroup:
        """Add a user group, or replace the one with the same id."""
        self.groups[group.id] = group
        return group

    def deactivate(self, user_id: str) -> User:
        """Mark a user as deleted. Raises KeyError if there is no such user."""
        return self.put_user(self.users[user_id].model_copy(update={"deleted": True}))

    def join(self, channel_id: str, user_id: str) -> Channel:
        """Add a member. Raises KeyError if there is no such channel."""
        channel = self.channels[channel_id]
        members = tuple(dict.fromkeys((*channel.members, user_id)))
        return self.put_channel(channel.model_copy(update={"members": members}))

    def leave(self, channel_id: str, user_id: str) -> Channel:
        """Remove a member. Raises KeyError if there is no such channel."""
        channel = self.channels[channel_id]
        members = tuple(member for member in channel.members if member != user_id)
        return self.put_channel(channel.model_copy(update={"members": members}))

    def direct(self, user_id: str) -> Channel:
        """Return the DM between a user and the bot, made if it does not exist yet."""
        channel_id = "D" + user_id[1:]
        return self.channels.get(channel_id) or self.put_channel(
            Channel(id=channel_id, name="", members=(user_id, self.app.bot_user), is_im=True)
        )

    def group_direct(self, user_ids: tuple[str, ...]) -> Channel:
        """Return the group DM of the bot with these users, made if it does not exist yet."""
        members = (*sorted(user_ids), self.app.bot_user)
        for channel in self.channels.values():
            if channel.is_mpim and channel.members == members:
                return channel
        name = "mpdm-" + "--".join(self.users[member].name for member in members) + "-1"
        channel_id = f"G0MPDM{sum(known.is_mpim for known in self.channels.values())}"
        return self.put_channel(
            Channel(id=channel_id, name=name, members=members, is_mpim=True, is_private=True)
        )

    def named(self, name: str) -> Channel | None:
        """Find a channel by its name, with or without `#`."""
        wanted = name.removeprefix("#")
        return next((c for c in self.channels.values() if c.name and c.name == wanted), None)

    def user(self, user_id: str) -> User | None:
        """Find a user by either id."""
        everyone = self.users.values()
        return self.users.get(user_id) or next(
            (user for user in everyone if user.enterprise_user == user_id), None
        )

    def team_of(self, user: User) -> str:
        """Return the id of the workspace a user belongs to."""
        return user.team_id or self.team.id

    def is_stranger(self, user: User) -> bool:
        """Tell whether Slack would call this user a stranger to the app (see `User`)."""
        if user.is_stranger is not None:
            return user.is_stranger
        if self.team_of(user) == self.team.id:
            return False
        bot = self.app.bot_user
        return not any(
            user.id in channel.members and bot in channel.members and not channel.is_im
            for channel in self.channels.values()
        )


def default_world() -> World:
    """Return the small world every demo and most tests start from."""
    people = ("U0ALICE", "U0BOB", "U0CAROL")
    bot = App().bot_user
    return World(
        team=Team(id="T0LOCAL", name="Local", domain="local"),
        app=App(),
        users=_default_users(),
        channels=(
            Channel(
                id="C0DEPLOYS",
                name="deploys",
                members=(*people, "U0GUEST", "U0EXT", bot),
                is_ext_shared=True,
            ),
            Channel(id="C0GENERAL", name="general", members=(*people, "U0ROBOT", bot)),
            Channel(id="C0ARCHIVE", name="archive", members=(*people, bot), is_archived=True),
            Channel(id="C0PRIVATE", name="private", members=("U0ALICE",), is_private=True),
        ),
        groups=(
            UserGroup(id="S0ONCALL", handle="oncall", name="On call", users=("U0BOB", "U0CAROL")),
        ),
    )


def _default_users() -> tuple[User, ...]:
    def person(user_id: str, name: str, **more: object) -> User:
        full = {"real_name": name.title(), "email": f"{name}@local.example", **more}
        return User.model_validate({"id": user_id, "name": name, **full})

    return (
        person("U0ALICE", "alice"),
        person("U0BOB", "bob"),
        person("U0CAROL", "carol"),
        person("U0GUEST", "gus", is_restricted=True),
        person("U0EXT", "eve", team_id="T0OTHER", email="eve@other.example"),
        person("U0GONE", "dan", deleted=True),
        person("U0ROBOT", "robot", is_bot=True, email=None),
        person(App().bot_user, App().name, is_bot=True, email=None),
    )


class WorldView(_Value):
    """The world as one value, for a page that lists people and channels."""

    team: Team
    app: App
    users: tuple[User, ...] = Field(default=())
    channels: tuple[Channel, ...] = Field(default=())
    groups: tuple[UserGroup, ...] = Field(default=())

    @classmethod
    def of(cls, world: World) -> WorldView:
        """Take a picture of the present world."""
        return cls(
            team=world.team,
            app=world.app,
            users=tuple(world.users.values()),
            channels=tuple(world.channels.values()),
            groups=tuple(world.groups.values()),
        )
