"""A room: a local Slack with a scripted app, and pages in which people act."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, LocalSlackClient
from tests.browser.chromium import DESKTOP, chromium
from tests.browser.scripted import Json, ScriptedApp, scripted_app

ALICE, BOB, CAROL = "U0ALICE", "U0BOB", "U0CAROL"
DEPLOYS, GENERAL = "C0DEPLOYS", "C0GENERAL"
PATIENCE_MS = 10_000
# "Approve and remember" is another button.
APPROVE = re.compile(r"^Approve [0-9A-Z]{6}$")


@dataclass
class Room:
    """Where a test takes place."""

    slack: LocalSlack
    people: LocalSlackClient
    web: AsyncWebClient
    app: ScriptedApp

    async def post(self, blocks: Sequence[Json] = (), text: str = "A card", **more: Any) -> str:
        """Let the app post in #deploys; return the ts."""
        given: dict[str, Any] = {"blocks": list(blocks)} if blocks else {}
        done = await self.web.chat_postMessage(channel=DEPLOYS, text=text, **given, **more)
        return str(done["ts"])

    async def post_unchecked(self, blocks: Sequence[Json], text: str = "A card") -> str:
        """Post what a stricter Slack would refuse."""
        bot = self.slack.world.app.bot_user
        return self.slack.workspace.post(DEPLOYS, bot, text, blocks=list(blocks)).ts

    async def told(self, count: int) -> list[Json]:
        """Wait until the app was told so many things, and return them."""

        async def look() -> list[Json] | None:
            return self.app.told if len(self.app.told) >= count else None

        return await self.people.wait_for(look)


OpenPage = Callable[..., Awaitable[Page]]


@dataclass
class Witness:
    """Sees what went wrong in a page without being shown."""

    origin: str
    seen: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Watch a page."""
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.seen.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.seen.append(f"dialog: {dialog.message}"))
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        # A refused act is an answer of the control API, and a browser logs every such answer.
        if message.type in {"error", "warning"} and "409 (Conflict)" not in message.text:
            self.seen.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(self.origin):
            self.seen.append(f"asked elsewhere: {request.url}")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Give the one browser of all tests."""
    async with chromium() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def room() -> AsyncIterator[Room]:
    """Give a local Slack whose app does as the test says."""
    async with (
        LocalSlack() as slack,
        LocalSlackClient(slack.url) as people,
        scripted_app() as app,
    ):
        slack.request_url = app.url
        web = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        yield Room(slack, people, web, app)


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser, room: Room) -> AsyncIterator[OpenPage]:
    """Give a function that opens the page; at the end, nothing may have gone wrong in any."""
    witness = Witness(room.slack.page_url)
    async with AsyncExitStack() as stack:

        async def open_(
            user: str = BOB, channel: str = DEPLOYS, *, address: str = "", **options: Any
        ) -> Page:
            context: BrowserContext = await browser.new_context(**{**DESKTOP, **options})
            stack.push_async_callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            page = await context.new_page()
            witness.watch(page)
            where = address or f"#user={user}&channel={channel}"
            await page.goto(room.slack.page_url + where)
            await page.get_by_role("heading", level=1).wait_for()
            return page

        yield open_
    assert witness.seen == []
