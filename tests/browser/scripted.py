"""An app that answers the local Slack as a test tells it to."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]
Answer = Callable[[Json], Awaitable[Json | None]]


@dataclass
class ScriptedApp:
    """What an app is told, and how it answers.

    Attributes:
        told: Every payload so far, oldest first.
        answers: By `type` of a payload, or by command; without one, the bare acknowledgement.
        go: While it is not set, nothing is answered.

    """

    told: list[Json] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    def __post_init__(self) -> None:
        self.go.set()

    @property
    def actions(self) -> list[Json]:
        """Return what was pressed or picked so far."""
        return [action for one in self.told for action in one.get("actions", ())]

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one delivery."""
        payload = await _read(request)
        self.told.append(payload)
        await self.go.wait()
        answer = self.answers.get(payload.get("type") or payload.get("command", ""))
        body = await answer(payload) if answer else None
        return web.json_response(body) if body else web.Response()


async def _read(request: web.Request) -> Json:
    if request.content_type == "application/json":
        event: Json = await request.json()
        return event
    form = await request.post()
    if "payload" in form:
        payload: Json = json.loads(str(form["payload"]))
        return payload
    return {name: str(value) for name, value in form.items()}


@asynccontextmanager
async def scripted_app() -> AsyncIterator[ScriptedApp]:
    """Give an app that listens."""
    app = ScriptedApp()
    server = web.Application()
    server.add_routes([web.post("/", app.handle)])
    runner = web.AppRunner(server, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        app.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        yield app
    finally:
        app.go.set()
        await runner.cleanup()
