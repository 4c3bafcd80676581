"""The other side of the wire in these tests."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack

Json = dict[str, Any]


class Clock:
    """Epoch seconds that pass only when told to."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Received:
    body: bytes
    headers: dict[str, str]


@dataclass
class PlainApp:
    """An HTTP server that keeps what it gets and answers as told; `gate` closed, it waits."""

    status: int = 200
    text: str = ""
    content_type: str = "text/plain"
    received: list[Received] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    url: str = ""
    runner: web.AppRunner | None = None

    async def start(self) -> None:
        self.gate.set()
        app = web.Application()
        app.router.add_post("/slack/events", self._handle)
        self.runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0)
        self.url = await _listen(self.runner)

    async def stop(self) -> None:
        assert self.runner is not None
        self.gate.set()
        await self.runner.cleanup()

    async def arrived(self, count: int) -> None:
        """Wait until so many requests have come."""
        async with self.news:
            await self.news.wait_for(lambda: len(self.received) >= count)

    async def _handle(self, request: web.Request) -> web.Response:
        async with self.news:
            self.received.append(Received(await request.read(), dict(request.headers)))
            self.news.notify_all()
        await self.gate.wait()
        return web.Response(text=self.text, status=self.status, content_type=self.content_type)


class BoltApp:
    """A real AsyncApp behind a real HTTP server."""

    def __init__(self, slack: LocalSlack) -> None:
        world = slack.world
        self.client = AsyncWebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])

        async def authorize(**_: Any) -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=world.team.id,
                bot_user_id=world.app.bot_user,
                bot_id=world.app.bot_id,
                bot_token=slack.bot_token,
            )

        self.app = AsyncApp(
            signing_secret=slack.signing_secret,
            authorize=authorize,
            client=AsyncWebClient(base_url=slack.api_url, retry_handlers=[]),
        )
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        server = web.Application()
        server.router.add_post("/slack/events", self._handle)
        self._runner = web.AppRunner(server, shutdown_timeout=0)
        return await _listen(self._runner)

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        answer = await self.app.async_dispatch(await to_bolt_request(request))
        return await to_aiohttp_response(answer)


async def _listen(runner: web.AppRunner) -> str:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def button(action_id: str = "approve", text: str = "Approve", **more: Any) -> Json:
    return {"type": "button", "action_id": action_id, "text": plain(text), **more}


def actions(*elements: Json, **more: Any) -> Json:
    return {"type": "actions", "elements": list(elements), **more}


def section(text: str = "words", **more: Any) -> Json:
    return {"type": "section", "text": plain(text), **more}


def text_input(block_id: str = "reason", **more: Any) -> Json:
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain("Reason"),
        "element": {"type": "plain_text_input", "action_id": "typed"},
        **more,
    }


def modal(*blocks: Json, **more: Any) -> Json:
    return {
        "type": "modal",
        "title": plain("A form"),
        "submit": plain("Send"),
        "callback_id": "form",
        "blocks": list(blocks) or [text_input()],
        **more,
    }
