"""``GET /metrics``: the counters of this process, and what is live in the store."""

import asyncio

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from bot.health import STORE_TIMEOUT_S, Health
from bot.metrics import Meters
from bot.sockets import SocketLine
from engine.errors import HoldshortError
from engine.store import Store

FRESH_S = 1.0
"""So long one reading of the store serves everybody who asks."""


class MetricsPage:
    """Reads what has to be read, and renders all of it."""

    def __init__(self, meters: Meters, store: Store, health: Health) -> None:
        """Take what is told of."""
        self.line: SocketLine | None = None
        self._meters = meters
        self._store = store
        self._health = health
        self._reading = asyncio.Lock()
        self._read_at = float("-inf")

    async def answer(self, _request: web.Request) -> web.Response:
        """Answer a scrape; also while the store is away."""
        await self._refresh()
        return web.Response(
            body=generate_latest(self._meters.registry),
            headers={"Content-Type": CONTENT_TYPE_LATEST},
        )

    async def _refresh(self) -> None:
        async with self._reading:
            now = asyncio.get_running_loop().time()
            if now < self._read_at + FRESH_S:
                return
            self._meters.checked((await self._health.look())[1])
            await self._read_store()
            self._meters.live.silence = self.line.silence if self.line else None
            self._read_at = now

    async def _read_store(self) -> None:
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                self._meters.live.store = await self._store.gauges()
        except (HoldshortError, TimeoutError):
            self._meters.live.store = None
