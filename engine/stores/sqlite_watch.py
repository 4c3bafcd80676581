"""Notices that another process wrote to the file. Belongs to the event loop."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_EVERY_S = 0.04
"""Half of it is what a run that another process queued waits on average.

A look takes 2 us, but to wake up for it 150 to 190 us of a core (measured, a small virtual machine).
"""
ASK_EVERY = 25
"""Looks after which the database is asked whatever was seen: once a second."""

Stamp = tuple[int, int] | None


def log_of(path: str | Path) -> Path:
    """Return the file that each commit is written to first: https://www.sqlite.org/wal.html."""
    return Path(f"{path}-wal")


class Watch:
    """Looks at the time and size of the log, and has the database asked where they changed.

    A look is one call of the system and passes nothing to the database thread, so that there can
    be many. It opens no file: to close a second handle would give up SQLite's own locks. What a
    look misses is only late: a system's file times move in steps, so one more look asks after a
    change, and now and then the database is asked anyway.
    """

    def __init__(self, log: Path, ask: Callable[[], None]) -> None:
        """Take the log, and what asks the database who wrote."""
        self._log = log
        self._ask = ask
        self._watchers = 0
        self._timer: asyncio.TimerHandle | None = None
        self._seen: Stamp = None
        self._moved = False
        self._silent = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look again and again for as long as anybody is in the block."""
        self._watchers += 1
        if self._timer is None:
            self._again()
        try:
            yield
        finally:
            self._watchers -= 1
            if self._watchers == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def look(self) -> None:
        """Ask if the log changed since the last look, or had changed then; else now and then."""
        stamp = _stamp(self._log)
        moved = stamp != self._seen
        self._silent += 1
        if moved or self._moved or self._silent == ASK_EVERY:
            self._silent = 0
            self._ask()
        self._seen, self._moved = stamp, moved

    def _again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._tick)

    def _tick(self) -> None:
        self._again()
        self.look()


def _stamp(log: Path) -> Stamp:
    try:
        told = os.stat(log)  # noqa: PTH116 - a third of the time that Path.stat takes
    except OSError:
        return None
    return told.st_mtime_ns, told.st_size
