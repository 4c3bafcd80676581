"""Being told to stop from outside: Ctrl-C, a closed terminal, or the signal that ends a service."""

import asyncio
import contextlib
import signal
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


def _remove(loop: asyncio.AbstractEventLoop) -> None:
    for one in _SIGNALS:
        with contextlib.suppress(RuntimeError):
            loop.remove_signal_handler(one)
