"""Being told to stop from outside: Ctrl-C, a closed terminal, or the signal that ends a service."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def told_to_stop() -> Iterator[asyncio.Event]:
    """Give an event that the first signal sets; a second one ends the process as it always would.

    From the first line of the block on, so that nothing is announced before it can be stopped.
    """
    loop, told = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        told.set()
        _remove(loop)

    for one in _SIGNALS:
        loop.add_signal_handler(one, stop)
    try:
        yield told
    finally:
        _remove(loop)


def end_without_user_code(status: int, within: float) -> threading.Event:
    """Watch over the end of this process; user code that never ends must not keep it.

    Closing a loop waits for its tasks, and the interpreter's exit for every thread: neither has a
    limit of its own. Work that goes on after the loop was closed has all the time it wants.

    Args:
        status: What the process ends with, if it has to be ended.
        within: How many seconds closing the loop may take, and the interpreter's exit.

    Returns:
        An event to be set once the loop is closed.

    """
    closed = threading.Event()

    def watch() -> None:
        if closed.wait(within):
            threading.main_thread().join()
            time.sleep(within)
        logging.getLogger(__name__).warning("user code did not end; the process ends without it")
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)

    threading.Thread(target=watch, name="end without user code", daemon=True).start()
    return closed


def _remove(loop: asyncio.AbstractEventLoop) -> None:
    for one in _SIGNALS:
        with contextlib.suppress(RuntimeError):
            loop.remove_signal_handler(one)
