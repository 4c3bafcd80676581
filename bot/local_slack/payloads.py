"""What Slack sends an app when people act, field for field.

Shapes: docs.slack.dev/reference/interaction-payloads and the SLACK reference 2.6. Payloads of
ephemeral messages carry no `message`, as in every recorded example.
"""

from __future__ import annotations

from typing import Any

from bot.local_slack.messages import Message, as_slack
from bot.local_slack.views import View, view_as_slack
from bot.local_slack.workspace import Workspace
from bot.local_slack.world import Channel, User

Json = dict[str, Any]
Values = dict[str, dict[str, Any]]


class Payloads:
    """Builds payloads about one workspace.

    `response_root` is the address below which response URLs live; it is known once the server
    listens.
    """

    def __init__(self, workspace: Workspace, verification_token: str) -> None:
        self._space = workspace
        self._token = verification_token
        self.response_root = ""

    def message_action(
        self, user: User, message: Message, action: Json, values: Values, trigger_id: str
    ) -> Json:
        """Build a block_actions payload for something pressed in a message."""
        world = self._space.world
        channel = world.channels[message.channel]
        is_ephemeral = message.ephemeral_to is not None
        payload = self._start("block_actions", user) | {
            "container": {
                "type": "message",
                "message_ts": message.ts,
                "channel_id": channel.id,
                "is_ephemeral": is_ephemeral,
            },
            "trigger_id": trigger_id,
            "channel": {"id": channel.id, "name": shown_name(channel)},
            "state": {"values": values},
            "response_url": self.response_url(user, channel, message.ts),
            "actions": [action],
        }
        if not is_ephemeral:
            payload["message"] = as_slack(message, world, self._space.messages)
        return payload

    def view_action(
        self, user: User, view: View, action: Json, values: Values, trigger_id: str
    ) -> Json:
        """Build a block_actions payload for something pressed in a modal or a Home tab."""
        return self._start("block_actions", user) | {
            "container": {"type": "view", "view_id": view.id},
            "trigger_id": trigger_id,
            "view": view_as_slack(view, self._space.world, values),
            "actions": [action],
        }

    def submission(
        self, user: User, view: View, values: Values, trigger_id: str, response_urls: list[Json]
    ) -> Json:
        """Build a view_submission payload."""
        return self._start("view_submission", user) | {
            "trigger_id": trigger_id,
            "view": view_as_slack(view, self._space.world, values),
            "response_urls": response_urls,
        }

    def closed(self, user: User, view: View, *, is_cleared: bool) -> Json:
        """Build a view_closed payload."""
        return self._start("view_closed", user) | {
            "view": view_as_slack(view, self._space.world, view.entered),
            "is_cleared": is_cleared,
        }

    def command(
        self, user: User, channel: Channel, command: str, text: str, trigger_id: str
    ) -> Json:
        """Build the form fields of a slash command."""
        team = self._space.world.team
        return {
            "token": self._token,
            "team_id": team.id,
            "team_domain": team.domain,
            "channel_id": channel.id,
            "channel_name": shown_name(channel),
            "user_id": user.id,
            "user_name": user.name,
            "command": command,
            "text": text,
            "api_app_id": self._space.world.app.id,
            "is_enterprise_install": "false",
            "response_url": self.response_url(user, channel, None),
            "trigger_id": trigger_id,
        }

    def home_opened(self, user: User, channel: Channel, home: View | None) -> Json:
        """Build an app_home_opened event."""
        event: Json = {
            "type": "app_home_opened",
            "user": user.id,
            "channel": channel.id,
            "tab": "home",
            "event_ts": self._space.mint.ts(),
        }
        if home is not None:
            event["view"] = view_as_slack(home, self._space.world, home.entered)
        return self._event(event)

    def response_url(self, user: User, channel: Channel, source_ts: str | None) -> str:
        """Give out a response URL."""
        return self.response_root + self._space.passes.give(user.id, channel.id, source_ts)

    def _start(self, kind: str, user: User) -> Json:
        world = self._space.world
        return {
            "type": kind,
            "user": {
                "id": user.id,
                "username": user.name,
                "name": user.name,
                "team_id": world.team_of(user),
            },
            "api_app_id": world.app.id,
            "token": self._token,
            "team": {"id": world.team.id, "domain": world.team.domain},
            "enterprise": {"id": world.team.enterprise} if world.team.enterprise else None,
            "is_enterprise_install": False,
        }

    def _event(self, event: Json) -> Json:
        world = self._space.world
        return {
            "token": self._token,
            "team_id": world.team.id,
            "api_app_id": world.app.id,
            "event": event,
            "type": "event_callback",
            "event_id": self._space.mint.word("Ev0"),
            "event_time": int(self._space.mint.now()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": world.team.id,
                    "user_id": world.app.bot_user,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
        }


def shown_name(channel: Channel) -> str:
    """Return a channel's name as payloads give it: DMs and private channels have none."""
    if channel.is_im:
        return "directmessage"
    return "privategroup" if channel.is_private else channel.name
