"""The HTTP side of the control client: one session, JSON in and out, errors as errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from pydantic import BaseModel

from bot.local_slack.changes import Change
from bot.local_slack.errors import ControlError
from bot.local_slack.verbs import ActResult

Json = dict[str, Any]

PREFIX = "/_control"

_DATA = b"data: "


class ControlLink:
    """Speaks to the control API at `url`. Proxies from the environment are ignored."""

    def __init__(self, url: str) -> None:
        self._base = url.rstrip("/") + PREFIX
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str, **query: str | int) -> Json:
        """Fetch JSON. Raises ControlError if it is refused."""
        async with self._open().get(f"{self._base}/{path}", params=query) as response:
            return await _json(response)

    async def post(self, path: str, body: BaseModel | Json) -> Json:
        """Send and fetch JSON. Raises ControlError if it is refused."""
        sent = body.model_dump(mode="json") if isinstance(body, BaseModel) else body
        async with self._open().post(f"{self._base}/{path}", json=sent) as response:
            return await _json(response)

    async def act(self, path: str, verb: BaseModel) -> ActResult:
        """Let a person act."""
        return ActResult.model_validate(await self.post(path, verb))

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Change]]:
        """Watch the feed; the watch has begun when the context is entered."""
        async with self._open().get(f"{self._base}/events") as response:
            response.raise_for_status()
            yield _changes(response)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                trust_env=False, timeout=aiohttp.ClientTimeout(total=None)
            )
        return self._session


async def _json(response: aiohttp.ClientResponse) -> Json:
    body: Json = await response.json()
    if not response.ok:
        raise ControlError(str(body.get("error")), str(body.get("detail")))
    return body


async def _changes(response: aiohttp.ClientResponse) -> AsyncIterator[Change]:
    async for line in response.content:
        if line.startswith(_DATA):
            yield Change.model_validate_json(line.removeprefix(_DATA))
