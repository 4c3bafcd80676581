"""The scripts, each one operation in one place, and how they are run on a server."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from engine.errors import StoreUnavailableError
from engine.ids import Clock
from engine.stores.keys import EVERYWHERE
from engine.stores.redis_connection import Client
from engine.stores.redis_errors import heeding_cancels, told_as_ours
from engine.stores.redis_replicas import send_and_wait
from engine.stores.rows import to_micros

Argument = str | bytes | int
Send = Callable[..., Awaitable[Any]]


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
    "berths_leave": "berths",
    "berths_list": "",
    "berths_restore": "time berths",
    "berths_settle": "berths",
    "berths_take": "time berths",
    "card_failed": "time cards posts",
    "card_shown": "time cards posts",
    "cards": "time cards",
    "check": "",
    "claim": "time rows queue",
    "commit": "time rows queue names cards",
    "due": "time",
    "ended": "cards",
    "events": "",
    "gauges": "time",
    "heartbeat": "time rows queue",
    "list": "time rows",
    "load": "time rows",
    "moments": "time queue cards",
    "open": "",
    "pack": "time rows names cards",
    "peek": "time rows queue",
    "purge": "time rows names cards",
    "records": "",
    "release": "time rows queue",
    "rule_end": "",
    "rule_forget": "time",
    "rule_keep": "time",
    "rule_live": "time",
    "take_cards": "time cards",
    "touch": "",
    "unpack": "time rows queue names cards",
}
SCRIPTS = tuple(_PARTS)
_READS = {
    *("behind", "berths_list", "cards", "due", "ended", "events", "gauges", "list", "load"),
    *("moments", "pack", "peek", "records", "rule_live"),
}
# These make room or keep what there is: a server that is full must not lose claims over it.
_SMALL = {
    *("berths_leave", "berths_settle", "card_failed", "heartbeat", "purge", "release"),
    *("rule_end", "rule_forget"),
}


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

    def __init__(self, client: Client, clock: Clock | None, *, replicas: int = 0) -> None:
        """Take the client, a clock that stands for the server's in tests, and how many replicas.

        ``replicas``: how many of them must confirm what ``run_confirmed`` writes.
        """
        self._client = client
        self._clock = clock
        self.replicas = replicas
        self._closed = False

    def now(self) -> str:
        """Return what tells a script the time: nothing, if it is to ask its server."""
        return "" if self._clock is None else str(to_micros(self._clock()))

    async def run(self, name: str, keys: Sequence[str], *arguments: Argument) -> Any:  # noqa: ANN401
        """Run a script on the keys of one place; return its reply.

        Raises:
            StoreUnavailableError: the server did not do it, or did not say that it did.

        """
        return await self._run(self._send, name, keys, arguments)

    async def run_confirmed(
        self, name: str, keys: Sequence[str], *arguments: Argument, wanted: bool
    ) -> tuple[Any, bool]:
        """Run a script; return its reply, and whether replicas confirmed, if that is wanted.

        They confirm what the script wrote itself: nothing is said where it found all done before.

        Raises:
            StoreUnavailableError: the server did not do it, or did not say that it did.

        """
        if not (wanted and self.replicas):
            return await self.run(name, keys, *arguments), True
        reply, confirmed = await self._run(self._send_and_wait, name, keys, arguments)
        return reply, confirmed >= self.replicas

    async def run_everywhere(
        self, name: str, kinds: Sequence[str], *arguments: Argument
    ) -> list[Any]:
        """Run a reading script on these keys of every place; return a reply for each time it ran.

        One server has all places, and runs it once.
        """
        groups = self._everywhere(kinds)
        return await asyncio.gather(*(self.run(name, some, *arguments) for some in groups))

    async def ask_everywhere(self, name: str, kinds: Sequence[str]) -> tuple[list[Any], bool]:
        """Do the same, and tell whether as many replicas answer as must confirm what is written.

        Raises:
            StoreUnavailableError: the server did not do it, or did not say that it did.

        """
        groups = self._everywhere(kinds)
        asked = (self.run_confirmed(name, some, wanted=True) for some in groups)
        replies, confirmed = zip(*await asyncio.gather(*asked), strict=True)
        return list(replies), all(confirmed)

    def _everywhere(self, kinds: Sequence[str]) -> list[list[str]]:
        keys = [[place.key(kind) for kind in kinds] for place in EVERYWHERE]
        together = isinstance(self._client, Redis)
        return [[key for some in keys for key in some]] if together else keys

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

    async def _run(
        self, send: Send, name: str, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> Any:  # noqa: ANN401 - what the script returns
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        sent, rest = script(name), (len(keys), *keys, *arguments)
        with told_as_ours():
            try:
                return await heeding_cancels(send("EVALSHA", sent.sha, *rest))
            except NoScriptError:
                # A restart or a failover forgets scripts. This sends the text, which is kept.
                return await heeding_cancels(send("EVAL", sent.text, *rest))

    def _send(self, *command: Argument) -> Awaitable[Any]:
        return self._client.execute_command(*command)

    def _send_and_wait(self, *command: Argument) -> Awaitable[Any]:
        first_key = str(command[3])
        return send_and_wait(self._client, first_key, self.replicas, *command)
