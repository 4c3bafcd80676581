"""Tasks that are kept until they end, and work that someone waits for only so long.

asyncio keeps only a weak reference to a task, and so do Bolt and the Socket Mode client: nothing
else would hold a listener that still has something to say, or wait for it at the end.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_LAST_WORDS_S = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a person's press waits for the store, in seconds.

    Slack wants its acknowledgement within 3 s
    (https://docs.slack.dev/tools/bolt-python/concepts/acknowledge).

    Attributes:
        ack: Slack is acknowledged after this at the latest, whatever the store does.
        give_up: The person is told after this at the latest.

    """

    ack: float = 2.0
    give_up: float = 5.0


class Attempt(Generic[T]):
    """Work that goes on while somebody waits for it only so long."""

    def __init__(self, task: "asyncio.Task[T]", patience: Patience) -> None:
        """Take a running task."""
        self._task = task
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()

    async def soon(self) -> T | None:
        """Return the result; None if it is not there when Slack must be acknowledged."""
        return await self._wait(self._patience.ack)

    async def at_last(self) -> T | None:
        """Return the result; None if it is not there when the person must be told something."""
        result = await self._wait(self._patience.give_up)
        if not self._task.done():
            self._task.cancel()
        return result

    async def _wait(self, until: float) -> T | None:
        left = max(0.0, self._begun + until - self._loop.time())
        await asyncio.wait({self._task}, timeout=left)
        return self._task.result() if self._task.done() else None


class Tasks:
    """Holds tasks until they end."""

    def __init__(self) -> None:
        """Start with none."""
        self._held: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """Return how many have not ended."""
        return len(self._held)

    def start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run work in a task of its own."""
        task = asyncio.create_task(work)
        self._hold(task)
        return task

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Hold the task that is running now, which someone else started, while inside."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task to hold here")
        self._held.add(task)
        try:
            yield
        finally:
            self._held.discard(task)

    async def drain(self, within: float) -> int:
        """Wait for all tasks, those included that start meanwhile; cancel what is left.

        Returns:
            How many had to be cancelled.

        """
        until = asyncio.get_running_loop().time() + within
        while self._held:
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait(set(self._held), timeout=left)
        late = set(self._held)
        for task in late:
            task.cancel()
        if late:
            # Not for ever: a task may swallow its cancelling, or wait for a thread.
            await asyncio.wait(late, timeout=_LAST_WORDS_S)
        return len(late)

    def _hold(self, task: "asyncio.Task[Any]") -> None:
        self._held.add(task)
        task.add_done_callback(self._held.discard)
