"""The feed of changes as server-sent events."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiohttp import ClientConnectionResetError, web

from bot.local_slack.changes import Change, Feed

KEEP_ALIVE_S = 15.0


async def stream(request: web.Request, feed: Feed, after: int) -> web.StreamResponse:
    """Send every change after the given number, and a comment when nothing happens for long."""
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
    )
    # The watch begins before the headers go out: whoever has seen them misses nothing after.
    # One that leaves while it is written to has simply left.
    with feed.watching(after) as queue, suppress(ClientConnectionResetError):
        await response.prepare(request)
        await response.write(b": watching\n\n")
        while True:
            await response.write(await _next(queue))
    return response


async def _next(queue: asyncio.Queue[Change]) -> bytes:
    try:
        async with asyncio.timeout(KEEP_ALIVE_S):
            return encode(await queue.get())
    except TimeoutError:
        return b": still here\n\n"


def encode(change: Change) -> bytes:
    """Return a change as one event; its id is its number."""
    return f"id: {change.seq}\ndata: {change.model_dump_json(exclude_none=True)}\n\n".encode()
