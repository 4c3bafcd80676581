"""Ports for servers that must come back on the port they had."""

import random
import socket

LOOPBACK = "127.0.0.1"
# Below what systems hand out for outgoing connections, so that nobody takes a port while its
# server is down.
_FIRST, _LAST = 11_000, 29_999
# Not the shared source: pytest-randomly seeds that alike in every worker.
_random = random.SystemRandom()


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    while True:
        port = _random.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
