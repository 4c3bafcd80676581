"""How Slack is called: each argument where every Slack looks for it."""

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer
from slack_sdk.web.async_client import AsyncWebClient

from notifiers.calls import SlackCalls


async def test_whose_direct_messages_are_opened_stands_in_no_address() -> None:
    asked = []

    async def conversations_open(request: web.Request) -> web.Response:
        asked.append((request.query_string, dict(await request.post())))
        return web.json_response({"ok": True, "channel": {"id": "D0ALICE"}})

    app = web.Application()
    app.add_routes([web.post("/api/conversations.open", conversations_open)])
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        client = AsyncWebClient(
            base_url=str(server.make_url("/api/")), session=session, retry_handlers=[]
        )

        room = await SlackCalls(client).open_room("U0ALICE")

    assert room == "D0ALICE"
    assert asked == [("", {"users": "U0ALICE"})]
