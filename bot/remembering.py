"""Answers that are remembered for a minute, and asked for only once at a time."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from bot.tasks import Tasks
from engine.ids import Clock

KEPT_FOR = timedelta(seconds=60)
MOST_KEPT = 2000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembering(Generic[K, V]):
    """Asks for what it does not know, or knew a minute ago; a failure is not remembered."""

    def __init__(self, ask: Callable[[K], Awaitable[V]], clock: Clock) -> None:
        """Take whom to ask, and the clock that ages the answers."""
        self._ask = ask
        self._clock = clock
        self._known: OrderedDict[K, tuple[datetime, V]] = OrderedDict()
        self._asking: dict[K, asyncio.Task[V]] = {}
        self._tasks = Tasks()

    async def get(self, key: K) -> V:
        """Return the answer; several who ask for the same at once share one question."""
        if key in self._known:
            asked_at, value = self._known[key]
            if timedelta(0) <= self._clock() - asked_at < KEPT_FOR:
                return value
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = self._tasks.start(self._learn(key))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(task)

    async def _learn(self, key: K) -> V:
        asked_at = self._clock()
        value = await self._ask(key)
        self._known[key] = (asked_at, value)
        self._known.move_to_end(key)
        while len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)
        return value
