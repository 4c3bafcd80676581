"""Whether Slack can be asked who people are: while it cannot, every decision is refused."""

import asyncio
from collections.abc import Callable

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.directory import TIMEOUT_S, error_code

GOOD_FOR_S = 30.0
"""So long a good answer stands; a bad one is asked for again at every look."""

Now = Callable[[], float]


class SlackCheck:
    """Asks Slack about our own bot, as the Directory asks about people."""

    def __init__(self, client: AsyncWebClient, bot_user: str, now: Now) -> None:
        """Take the client, whom to ask about, and a clock that only goes forward, in seconds."""
        self._client = client
        self._bot_user = bot_user
        self._now = now
        self._good_until = float("-inf")

    async def __call__(self) -> str:
        """Say what is wrong; empty if nothing is."""
        if self._now() < self._good_until:
            return ""
        why = await self._ask()
        if not why:
            self._good_until = self._now() + GOOD_FOR_S
        return why and f"cannot tell who people are (users.info: {why})"

    async def _ask(self) -> str:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._client.users_info(user=self._bot_user)
        except SlackApiError as error:
            return error_code(error)
        except (TimeoutError, aiohttp.ClientError, ValueError) as error:
            return type(error).__name__
        return ""
