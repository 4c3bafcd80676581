"""What goes wrong at the server, told as the engine's own errors, each with its remedy."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from redis import exceptions as redis
from redis.asyncio.sentinel import MasterNotFoundError

from engine.errors import StoreUnavailableError

T = TypeVar("T")

_FORBIDDEN = "the server's ACL forbids this user a command, key or channel (see docs/redis.md)"
# What Valkey, and what Redis 7.0 answers for a command within a script, with the plain code ERR.
_FORBIDDEN_IN_SCRIPTS = ("ACL failure in script", "The user executing the script can't")
# The first that fits. Messages are ours: the driver's may repeat addresses, or what was sent.
_REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (redis.OutOfMemoryError, "the server is out of memory: raise its maxmemory"),
    (redis.ReadOnlyError, "the server is a read-only replica: point the URL at the primary"),
    (redis.BusyLoadingError, "the server is still loading its data: wait until it is done"),
    (redis.AuthenticationError, "the server refuses the user or password: check the URL"),
    (redis.AuthorizationError, "the server refuses the user or password: check the URL"),
    (redis.NoPermissionError, _FORBIDDEN),
    (redis.ClusterCrossSlotError, "the keys are in several slots: this is a fault in Holdshort"),
    (redis.MaxConnectionsError, "all connections of this process are in use"),
    (redis.MasterDownError, "the server lost its primary: check the replication"),
    (redis.ClusterDownError, "the cluster is down: check its nodes and slots"),
    (redis.SlotNotCoveredError, "the cluster does not cover every slot: check its nodes"),
    (redis.MovedError, "the cluster moves its slots: try again"),
    (redis.AskError, "the cluster moves its slots: try again"),
    (redis.TryAgainError, "the cluster moves its slots: try again"),
    (MasterNotFoundError, "no Sentinel knows a master of that name: check the service in the URL"),
    (redis.TimeoutError, "the server did not answer in time"),
    (redis.ConnectionError, "the server cannot be reached"),
    (OSError, "the server cannot be reached"),
    (redis.NoScriptError, "the server forgets its scripts while they are sent: try again"),
)
_CODES = {
    "MISCONF": "the server cannot write to its disk: make room, or look at its log",
    "NOREPLICAS": "the server has too few replicas for a write: check the replication",
    "BUSY": "the server is busy with a script: wait, or look for a slow client",
    "UNKILLABLE": "the server is busy with a script: wait, or look for a slow client",
}


@contextmanager
def told_as_ours() -> Iterator[None]:
    """Translate what the driver raises.

    Raises:
        StoreUnavailableError: whatever went wrong; the text names the remedy.

    """
    try:
        yield
    except (redis.RedisError, redis.RedisClusterException, OSError) as error:
        # "from None": the driver's words may hold addresses, or what was sent.
        raise StoreUnavailableError(_remedy(error)) from None


def swallowed_cancels() -> int:
    """Return how many cancellations the present task has been given and has not heeded.

    The driver sends through ``asyncio.wait_for``, which before Python 3.12 swallows one that comes
    in the moment that it is done.
    """
    task = asyncio.current_task()
    return task.cancelling() if task else 0


async def heeding_cancels(work: Awaitable[T]) -> T:
    """Return what the driver returns, unless it swallowed a cancellation on the way."""
    before = swallowed_cancels()
    result = await work
    if swallowed_cancels() > before:
        raise asyncio.CancelledError
    return result


def _remedy(error: Exception) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "the store is not available: the server's certificate is not trusted: check the URL"
    for kind, remedy in _REMEDIES:
        if isinstance(error, kind):
            return f"the store is not available: {remedy}"
    if any(words in str(error) for words in _FORBIDDEN_IN_SCRIPTS):
        return f"the store is not available: {_FORBIDDEN}"
    words = str(error).split()
    code = words[0] if words else ""
    if code in _CODES:
        return f"the store is not available: {_CODES[code]}"
    return f"the store is not available: the server refused a command ({type(error).__name__})"
