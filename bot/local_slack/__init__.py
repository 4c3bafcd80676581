"""A small, strict Slack for one's own machine: for demos, for authors of agents, for tests.

It refuses what Slack refuses, signs what Slack signs, and breaks on demand. `LocalSlack` is the
server, `LocalSlackClient` tells its people what to do; CONTROL.md describes the same over HTTP.
"""

from __future__ import annotations

from bot.local_slack.calls import RecordedCall
from bot.local_slack.changes import Change, ChangeKind, Notice
from bot.local_slack.client import LocalSlackClient
from bot.local_slack.dispatch import Answer, Delivery, Kind
from bot.local_slack.errors import ControlError, LocalSlackError, SlackError
from bot.local_slack.faults import Fault, FaultKind, FaultView
from bot.local_slack.forgery import Forgery
from bot.local_slack.server import LocalSlack
from bot.local_slack.sockets import SocketView
from bot.local_slack.verbs import (
    ActResult,
    Click,
    CloseView,
    OpenHome,
    Raw,
    Resend,
    Say,
    Slash,
    Submit,
)
from bot.local_slack.world import (
    DEFAULT_SCOPES,
    App,
    Channel,
    Team,
    User,
    UserGroup,
    World,
    WorldView,
    default_world,
)

__all__ = [
    "DEFAULT_SCOPES",
    "ActResult",
    "Answer",
    "App",
    "Change",
    "ChangeKind",
    "Channel",
    "Click",
    "CloseView",
    "ControlError",
    "Delivery",
    "Fault",
    "FaultKind",
    "FaultView",
    "Forgery",
    "Kind",
    "LocalSlack",
    "LocalSlackClient",
    "LocalSlackError",
    "Notice",
    "OpenHome",
    "Raw",
    "RecordedCall",
    "Resend",
    "Say",
    "SlackError",
    "Slash",
    "SocketView",
    "Submit",
    "Team",
    "User",
    "UserGroup",
    "World",
    "WorldView",
    "default_world",
]
