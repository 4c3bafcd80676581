"""The bot on a stage, with its runs on a server that the test breaks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from bot.server import Limits
from bot.sockets import Pace
from bot.tasks import Patience
from tests.bot.stage import Stage, on_stage

IMPATIENT = Limits(
    patience=Patience(ack=1.0, give_up=2.0), drain=2.0, goodbye=2.0, socket=Pace(look=0.05)
)
PATIENCE_S = 30.0
_LOOK_AGAIN_S = 0.05
NOT_RECORDED = "Not recorded, as far as is known: the store"


@contextlib.asynccontextmanager
async def on_server(url: str, **more: Any) -> AsyncIterator[Stage]:
    """Serve from a store at an address."""
    async with on_stage(store_url=url, limits=IMPATIENT, **more) as on:
        yield on


async def readiness(on: Stage) -> tuple[int, str]:
    """Return the status of ``/readyz``, and what it says of the store."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{on.bot.url}/readyz") as response,
    ):
        return response.status, (await response.json())["checks"]["store"]


async def until_ready(on: Stage) -> None:
    """Return when the bot is ready again."""
    await until_said(on, "ok")


async def until_said(on: Stage, words: str) -> None:
    """Return when ``/readyz`` says this of the store."""
    async with asyncio.timeout(PATIENCE_S):
        while words not in (await readiness(on))[1]:  # noqa: ASYNC110 - HTTP tells nobody
            await asyncio.sleep(_LOOK_AGAIN_S)
