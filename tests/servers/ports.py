"""Ports for servers that must come back on the port they had."""

import random
import socket
import sys

LOOPBACK = "127.0.0.1"
# Below what systems hand out for outgoing connections, so that nobody takes a port while its
# server is down.
_FIRST, _LAST = 11_000, 29_999
# Not the shared source: pytest-randomly seeds that alike in every worker.
_random = random.SystemRandom()


class HeldPort:
    """A loopback port that is ours until it is closed, whether its server runs or not.

    On Linux a socket that is bound and does not listen keeps others off, but not a server of the
    same reuse flag, which Redis and Valkey set. Elsewhere nothing keeps others off.
    """

    def __init__(self) -> None:
        """Find one that nobody has."""
        while True:
            self.number = _random.randint(_FIRST, _LAST)
            self._holder = socket.socket()
            try:
                self._take()
            except OSError:
                self._holder.close()
            else:
                return

    def close(self) -> None:
        """Give it up."""
        self._holder.close()

    def _take(self) -> None:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, self.number))
        if sys.platform == "linux":
            self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._holder.bind((LOOPBACK, self.number))
