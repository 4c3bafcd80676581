"""Wakes those who wait for work. Belongs to the event loop."""

import asyncio


class Bell:
    """Counts the moments at which work came up; a waiter names the last one it knows of."""

    def __init__(self) -> None:
        """Begin with nothing rung."""
        self._rung = 0
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def rung(self) -> int:
        """Return how often the bell was rung."""
        return self._rung

    def ring(self) -> None:
        """Wake everyone who waits."""
        self._rung += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def heard(self, known: int, seconds: float) -> bool:
        """Wait for a ring after the known ones; tell whether there was one in time."""
        if self._rung == known and seconds > 0:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await asyncio.wait((waiter,), timeout=seconds)
            finally:
                self._waiters.discard(waiter)
        return self._rung != known
