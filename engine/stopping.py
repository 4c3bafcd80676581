"""Waiting that ends early when a process is told to stop."""

import asyncio
from collections.abc import Awaitable


async def until(stop: asyncio.Event, waiting: Awaitable[None]) -> None:
    """Wait for something, or for ``stop``, whichever comes first; raise what the waiting raises."""
    stopping = asyncio.ensure_future(stop.wait())
    other = asyncio.ensure_future(waiting)
    try:
        await asyncio.wait({stopping, other}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not other.done():
            other.cancel()
            await asyncio.gather(other, return_exceptions=True)
    if not other.cancelled():
        other.result()
