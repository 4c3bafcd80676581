"""Hears from other processes that work came up, and rings the bell of this one."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from redis.exceptions import RedisClusterException, RedisError

from engine.stores.bell import Bell
from engine.stores.keys import CHANNEL
from engine.stores.redis_errors import swallowed_cancels

_CHECK_S = 15.0
"""How long a silent connection is trusted before it is asked whether it still lives."""
_FIRST_PAUSE_S = 0.1
_LAST_PAUSE_S = 5.0
# A slot that no node is known to have is a KeyError to redis-py's Cluster.
_LOSSES = (RedisError, RedisClusterException, OSError, LookupError)


class Listener:
    """Keeps one connection subscribed; a message that was lost meanwhile is made up by a ring.

    Attributes:
        hears: Whether the connection stands, as far as is known.

    """

    def __init__(self, connect: Callable[[], Any], bell: Bell, own: str) -> None:
        """Take what makes a client for this connection alone, and the name in our own messages."""
        self._connect = connect
        self._bell = bell
        self._own = own.encode()
        self._task: asyncio.Task[None] | None = None
        self.hears = False

    def start(self) -> None:
        """Listen from now on; a second call does nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen())

    async def close(self) -> None:
        """Listen no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _listen(self) -> None:
        pause = _FIRST_PAUSE_S
        while True:
            with contextlib.suppress(*_LOSSES):
                async with contextlib.AsyncExitStack() as stack:
                    client = self._connect()
                    stack.push_async_callback(client.aclose)
                    # Or a Cluster's does not know which node to listen to.
                    await client.initialize()
                    pubsub = client.pubsub()
                    stack.push_async_callback(pubsub.aclose)
                    await pubsub.subscribe(CHANNEL)
                    pause = _FIRST_PAUSE_S
                    await self._hear(pubsub)
            self.hears = False
            if swallowed_cancels():
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_PAUSE_S)

    async def _hear(self, pubsub: Any) -> None:  # noqa: ANN401 - redis-py's
        asked = False
        while not swallowed_cancels():
            message = await pubsub.get_message(timeout=_CHECK_S)
            if message is not None:
                asked = False
                self._heed(message)
            elif asked:
                # Half open: the other end is gone and nobody told.
                return
            else:
                asked = True
                await pubsub.ping()

    def _heed(self, message: dict[str, Any]) -> None:
        # "subscribe": what was said before this moment was not heard.
        self.hears = True
        others = message["type"] == "message" and message["data"] != self._own
        if others or message["type"] == "subscribe":
            self._bell.ring()
