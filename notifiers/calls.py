"""The Slack Web API calls a notifier makes: each once, within a time limit, errors translated."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from engine.cards import Receipt
from engine.errors import ConfigurationError
from notifiers import names
from notifiers.blocks import Message
from notifiers.refusals import CallError, Refusal, read_refusal

REQUEST_TIMEOUT: Final = 10.0
_POST = "chat.postMessage"
_UPDATE = "chat.update"
_OPEN = "conversations.open"
_LINK = "chat.getPermalink"

# What slack_sdk lets out besides SlackApiError: transport errors, and its own on an answer that is
# not the JSON object it expects (AttributeError on a 200 that is text).
_FAILURES = (aiohttp.ClientError, OSError, SlackClientError, AttributeError, ValueError)


class SlackCalls:
    """A Slack client that sends nothing twice.

    By default slack_sdk repeats a request whose connection was lost, and chat.postMessage has no
    idempotency argument: the message would be there twice.
    """

    def __init__(self, client: AsyncWebClient) -> None:
        """Take a client that retries nothing.

        Raises:
            ConfigurationError: the client has retry handlers.

        """
        if client.retry_handlers:
            raise ConfigurationError(
                "make the notifier's Slack client with retry_handlers=[]: "
                "the default ones can post a message twice"
            )
        self._client = client

    async def post(self, channel: str, message: Message, *, thread: str, key: str) -> Receipt:
        """Post a message, with its idempotency key as metadata (public: never a token).

        Raises:
            CallError: Slack refused, or did not answer.

        """
        answer = await _ask(
            _POST,
            self._client.chat_postMessage(
                channel=channel,
                thread_ts=thread or None,
                text=message.text,
                blocks=list(message.blocks),
                metadata={"event_type": names.METADATA_EVENT, "event_payload": {"key": key}},
                unfurl_links=False,
                unfurl_media=False,
                link_names=False,
                parse="none",
            ),
        )
        return Receipt(place=_text(_POST, answer, "channel"), id=_text(_POST, answer, "ts"))

    async def update(self, receipt: Receipt, message: Message) -> None:
        """Replace a message.

        Raises:
            CallError: Slack refused, or did not answer.

        """
        await _ask(
            _UPDATE,
            self._client.chat_update(
                channel=receipt.place,
                ts=receipt.id,
                text=message.text,
                blocks=list(message.blocks),
                link_names=False,
                parse="none",
            ),
        )

    async def open_room(self, person: str) -> str:
        """Return the channel of the direct conversation with someone.

        Raises:
            CallError: Slack refused, or did not answer.

        """
        # The SDK's own call writes the person into the address, where proxies keep it and some
        # fakes do not look; Slack takes a form as well (https://docs.slack.dev/apis/web-api).
        answer = await _ask(_OPEN, self._client.api_call(_OPEN, data={"users": person}))
        return _text(_OPEN, answer.get("channel"), "id")

    async def link(self, receipt: Receipt) -> str:
        """Return a link to a message; empty if there is none to be had."""
        asked = self._client.chat_getPermalink(channel=receipt.place, message_ts=receipt.id)
        try:
            return _text(_LINK, await _ask(_LINK, asked), "permalink")
        except CallError:
            return ""


async def _ask(method: str, call: Awaitable[AsyncSlackResponse]) -> AsyncSlackResponse:
    """Wait for an answer. No error says more than a code or a class: texts may hold secrets."""
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT):
            return await call
    except SlackApiError as error:
        raise read_refusal(method, error) from None
    except TimeoutError:
        raise CallError(method, "no answer in time", Refusal.LATER) from None
    except _FAILURES as error:
        raise CallError(method, type(error).__name__, Refusal.LATER) from None


def _text(method: str, answer: Any, name: str) -> str:  # noqa: ANN401 - whatever Slack answered
    found = answer.get(name) if answer is not None else None
    if not isinstance(found, str) or not found:
        raise CallError(method, "unreadable answer", Refusal.LATER)
    return found
