"""Threads for synchronous tools: so many and no more, and none that anything else waits for.

A thread cannot be interrupted, so a tool that hangs takes one up for good. In a pool shared with
others it would starve them in the end; here it uses up only what is there for tools.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextvars import ContextVar
from functools import partial
from typing import Any

from engine.errors import ToolHangsError


class Seat:
    """What one call of a tool has of the threads."""

    def __init__(self, tool: str) -> None:
        """Take the tool's name; there is no thread yet."""
        self.tool = tool
        self.busy = False


_SEAT: ContextVar[Seat] = ContextVar("_SEAT")


class ToolThreads(Executor):
    """Runs each function in a thread of its own, which does not keep the process from ending."""

    def __init__(self, most: int) -> None:
        """Take how many threads there may be at once, those of tools that hang among them."""
        self._most = most
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def under(self, seat: Seat) -> Iterator[None]:
        """Let what is submitted inside run for one call."""
        token = _SEAT.set(seat)
        try:
            yield
        finally:
            _SEAT.reset(token)

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401 - as the base
        """Start a thread, inside ``under``.

        Raises:
            ToolHangsError: all are taken; nothing was started.

        """
        seat = _SEAT.get()
        self._take(seat)
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        running = (future, seat, partial(work, *args, **kwargs))
        try:
            threading.Thread(target=self._run, args=running, daemon=True).start()
        except BaseException:
            self._leave(seat)
            raise
        return future

    def __str__(self) -> str:
        """Tell how many threads there are, and which tools have them."""
        with self._lock:
            tools = ", ".join(f"{tool} {count}" for tool, count in self._taken.most_common())
            return f"{self._taken.total()} of {self._most}: {tools or 'none'}"

    def _run(self, future: Future[Any], seat: Seat, work: Callable[[], Any]) -> None:
        try:
            value = work()
        except StopIteration as error:
            # No future takes it, and whoever waits would wait for ever.
            self._leave(seat)
            future.set_exception(RuntimeError(f"StopIteration: {error.value!r}"))
        except BaseException as error:  # noqa: BLE001 - whoever waits is told, whatever it is
            self._leave(seat)
            future.set_exception(error)
        else:
            self._leave(seat)
            future.set_result(value)

    def _take(self, seat: Seat) -> None:
        with self._lock:
            full = self._taken.total() >= self._most
            if not full:
                self._taken[seat.tool] += 1
                seat.busy = True
        if full:
            raise ToolHangsError(f"all threads for tools are taken ({self})")

    def _leave(self, seat: Seat) -> None:
        with self._lock:
            seat.busy = False
            self._taken[seat.tool] -= 1
            self._taken = +self._taken
