"""A local Slack over real HTTP, and the notifier that posts to it."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, LocalSlackClient
from bot.local_slack.faults import Fault
from notifiers.slack import SlackNotifier

Json = dict[str, Any]

GENERAL, DEPLOYS, ARCHIVE, PRIVATE = "C0GENERAL", "C0DEPLOYS", "C0ARCHIVE", "C0PRIVATE"
ROOM = "D0ALICE"
"""Alice's DM with the bot."""


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    # slack_sdk obeys these even for loopback addresses.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        if name in os.environ:
            monkeypatch.delenv(name)


@dataclass(frozen=True)
class Office:
    """A workspace as its people and its API see it."""

    slack: LocalSlack
    people: LocalSlackClient
    web: AsyncWebClient

    def notifier(self, channel: str | None = GENERAL) -> SlackNotifier:
        """Return a notifier for this workspace."""
        return SlackNotifier(self.web, channel=channel)

    async def read(self, channel: str, user: str = "U0ALICE") -> list[Json]:
        """Return the messages that someone sees in a channel."""
        state = await self.people.state(user)
        found = [one for one in state["channels"] if one["id"] == channel]
        return found[0]["messages"] if found else []

    async def methods(self) -> list[str]:
        """Return the names of all Web API calls, oldest first."""
        return [call.method for call in await self.people.app.calls()]

    async def break_down(self, kind: str, **how: Any) -> int:
        """Plant a fault and return its id."""
        return await self.people.faults.plant(Fault.model_validate({"kind": kind, **how}))

    async def archive(self, channel: str) -> None:
        """Archive a channel."""
        (known,) = [one for one in self.slack.world.channels.values() if one.id == channel]
        await self.people.world.put_channel(known.model_copy(update={"is_archived": True}))


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with LocalSlack(seed=1) as slack, LocalSlackClient(slack.url) as people:
        web = AsyncWebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        yield Office(slack, people, web)
