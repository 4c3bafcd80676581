"""The scripts, each one operation in one place, and how they are run on a server."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from redis.exceptions import NoScriptError

from engine.errors import StoreUnavailableError
from engine.ids import Clock
from engine.stores.keys import EVERYWHERE
from engine.stores.redis_errors import heeding_cancels, told_as_ours
from engine.stores.rows import to_micros

Argument = str | bytes | int


class Client(Protocol):
    """What is used of redis-py's asyncio clients, for one server, Sentinel or a Cluster."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - redis-py's
        """Send a command; return its reply."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it is sent.

    Every one has the ``#!lua`` line: with it the server refuses a script under memory pressure
    before it has written anything, and one that leaves its slot.
    """

    name: str
    text: str
    sha: str


_PARTS = {
    "adopt_card": "time cards posts",
    "behind": "time cards",
    "card_failed": "time cards posts",
    "card_shown": "time cards posts",
    "cards": "time cards",
    "claim": "time rows queue",
    "commit": "time rows queue cards",
    "due": "time",
    "events": "",
    "heartbeat": "time rows queue",
    "list": "time rows",
    "load": "time rows",
    "moments": "time queue cards",
    "open": "",
    "peek": "time rows queue",
    "records": "",
    "release": "time rows queue",
    "take_cards": "time cards",
}
SCRIPTS = tuple(_PARTS)
_READS = {"behind", "cards", "due", "events", "list", "load", "moments", "peek", "records"}
# These make room or keep what there is: a server that is full must not lose claims over it.
_SMALL = {"heartbeat", "release", "card_failed"}


@cache
def script(name: str) -> Script:
    """Return a script, put together from its own file and the parts that it shares."""
    flags = ""
    if name in _READS:
        flags = " flags=no-writes"
    elif name in _SMALL:
        flags = " flags=allow-oom"
    parts = [f"_{part}" for part in _PARTS[name].split()]
    folder = files("engine.stores").joinpath("scripts")
    bodies = [folder.joinpath(f"{part}.lua").read_text("utf-8") for part in (*parts, name)]
    text = f"#!lua{flags}\n" + "\n".join(bodies)
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


class Server:
    """Runs scripts."""

    def __init__(self, client: Client, clock: Clock | None, *, clustered: bool) -> None:
        """Take the client, and a clock that stands for the server's in tests."""
        self._client = client
        self._clock = clock
        self._clustered = clustered
        self._closed = False

    def now(self) -> str:
        """Return what tells a script the time: nothing, if it is to ask its server."""
        return "" if self._clock is None else str(to_micros(self._clock()))

    async def run(self, name: str, keys: Sequence[str], *arguments: Argument) -> Any:  # noqa: ANN401
        """Run a script on the keys of one place; return its reply.

        Raises:
            StoreUnavailableError: the server did not do it, or did not say that it did.

        """
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        sent = script(name)
        with told_as_ours():
            try:
                return await self._send("EVALSHA", sent.sha, keys, arguments)
            except NoScriptError:
                # A restart or a failover forgets scripts. This sends the text, which is kept.
                return await self._send("EVAL", sent.text, keys, arguments)

    async def run_everywhere(
        self, name: str, kinds: Sequence[str], *arguments: Argument
    ) -> list[Any]:
        """Run a reading script on these keys of every place; return a reply for each time it ran.

        One server has all places, and runs it once.
        """
        keys = [[place.key(kind) for kind in kinds] for place in EVERYWHERE]
        if not self._clustered:
            return [await self.run(name, [key for some in keys for key in some], *arguments)]
        return await asyncio.gather(*(self.run(name, some, *arguments) for some in keys))

    async def read(self, *command: Argument) -> Any:  # noqa: ANN401 - whatever the command replies
        """Send a plain reading command; return its reply.

        Raises:
            StoreUnavailableError: the server did not answer it.

        """
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        with told_as_ours():
            return await heeding_cancels(self._client.execute_command(*command))

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        with told_as_ours():
            await self._client.aclose()

    async def _send(
        self, verb: str, body: str, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> Any:  # noqa: ANN401 - what the script returns
        command = (verb, body, len(keys), *keys, *arguments)
        return await heeding_cancels(self._client.execute_command(*command))
