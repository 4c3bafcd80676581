"""Telling one person something that nobody else sees."""

import asyncio
from collections.abc import Awaitable

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.directory import error_code
from bot.interactions import Place
from bot.logs import get_log
from bot.settings import proxy_for

CALL_S = 5.0
_OK = 200
_log = get_log(__name__)


class Whispers:
    """Says something privately: where they acted, else in that channel, else in their DM.

    A response URL works in every channel and for 30 minutes, for 5 messages
    (https://docs.slack.dev/interactivity/handling-user-interaction); an ephemeral message needs
    both of us in the channel (https://docs.slack.dev/reference/methods/chat.postEphemeral).
    """

    def __init__(self, client: AsyncWebClient, session: aiohttp.ClientSession) -> None:
        """Take the client, and its connections for response URLs."""
        self._client = client
        self._session = session

    async def tell(self, place: Place, text: str) -> bool:
        """Tell someone; False, and a line in the log, if no way was open."""
        if place.response_url and await self._respond(place.response_url, text):
            return True
        if place.channel and await self._ephemeral(place.channel, place.person, text):
            return True
        if await self._direct(place.person, text):
            return True
        _log.error("a person could not be told", person=place.person, channel=place.channel)
        return False

    async def _respond(self, url: str, text: str) -> bool:
        body = {
            "response_type": "ephemeral",
            "replace_original": False,
            "text": text,
            "unfurl_links": False,
        }
        try:
            async with (
                asyncio.timeout(CALL_S),
                self._session.post(url, json=body, proxy=proxy_for(url)) as response,
            ):
                if response.status == _OK:
                    return True
                why = str(response.status)
        except (TimeoutError, aiohttp.ClientError, ValueError) as error:
            why = type(error).__name__
        _log.warning("a response URL did not work", why=why)
        return False

    async def _ephemeral(self, channel: str, person: str, text: str) -> bool:
        call = self._client.chat_postEphemeral(
            channel=channel, user=person, text=text, link_names=False, parse="none"
        )
        return await _worked("chat.postEphemeral", call)

    async def _direct(self, person: str, text: str) -> bool:
        call = self._client.chat_postMessage(
            channel=person, text=text, unfurl_links=False, unfurl_media=False, parse="none"
        )
        return await _worked("chat.postMessage", call)


async def _worked(method: str, call: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(CALL_S):
            await call
    except SlackApiError as error:
        why = error_code(error)
    except (TimeoutError, aiohttp.ClientError) as error:
        why = type(error).__name__
    else:
        return True
    _log.warning("a person was not told this way", method=method, why=why)
    return False
