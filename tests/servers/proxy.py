"""A proxy between a client and a server that can lose what passes, in each way a network can."""

import asyncio
import ssl
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from tests.servers.ports import LOOPBACK

_CHUNK = 65_536
CERTIFICATE = Path(__file__).parent / "tls" / "certificate.pem"
"""Of 127.0.0.1, for a hundred years, signed by itself; its key lies beside it and is no secret."""


class Fault(StrEnum):
    """What happens to what should pass."""

    PASS = "pass"
    DELAY = "delay"
    """Each chunk waits for ``FaultProxy.delay`` seconds, in each direction, or until ``apply``."""
    HOLD = "hold"
    """Everything waits for the next ``apply``, and then passes."""
    CUT = "cut"
    """Connections are closed before the server hears, new ones at once."""
    HALF_OPEN = "half-open"
    """The server's side is closed, and the client is not told."""
    DROP_REPLY = "drop reply"
    """The server hears and answers; then the connection is closed instead of the answer."""
    SWALLOW_REPLY = "swallow reply"
    """The server hears and answers; the client waits for it in vain."""
    BLACK_HOLE = "black hole"
    """Connections stay, nothing passes."""


_NO_SERVER = {Fault.HALF_OPEN, Fault.BLACK_HOLE}
_NO_REPLY = {Fault.SWALLOW_REPLY, Fault.HALF_OPEN, Fault.BLACK_HOLE}


@dataclass(slots=True)
class Passed:
    """What the proxy has seen.

    Attributes:
        connections: Made by clients.
        requests: Bytes that reached the server.
        replies: Bytes that reached the clients.
        faults: Chunks that something was done to.

    """

    connections: int = 0
    requests: int = 0
    replies: int = 0
    faults: int = 0


@dataclass(slots=True, eq=False)
class _Link:
    """One client's connection; ``fault`` is its own, beside the proxy's."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    fault: Fault = Fault.PASS

    def close(self) -> None:
        self.client.close()
        self.close_server()

    def close_server(self) -> None:
        # A link that lost its server never has one again: what its client sends is lost.
        if self.server is not None:
            self.server.close()
            self.server = None


class FaultProxy:
    """Passes everything between clients and one server until told otherwise.

    Attributes:
        delay: Seconds each chunk waits under DELAY.
        passed: What it has seen so far.
        port: Where clients connect, on loopback.

    """

    def __init__(self, upstream: Path | int, *, tls: bool = False) -> None:
        """Take the server's Unix socket or loopback port, and whether clients speak TLS."""
        self.delay = 0.05
        self.passed = Passed()
        self.port = 0
        self._upstream = upstream
        self._tls = _tls_server() if tls else None
        self._fault = Fault.PASS
        self._armed: tuple[bytes, Fault] | None = None
        self._struck = asyncio.Event()
        self._changed = asyncio.Event()
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Return the address for clients."""
        return f"redis://{LOOPBACK}:{self.port}"

    async def __aenter__(self) -> Self:
        """Listen."""
        self._listener = await asyncio.start_server(
            self._accept, LOOPBACK, self.port, ssl=self._tls
        )
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close every connection."""
        if self._listener is not None:
            self._listener.close()
        for task in self._tasks:
            task.cancel()
        for link in self._links:
            link.close()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def apply(self, fault: Fault) -> None:
        """Do this to everything from now on, open connections too; disarms and releases."""
        self._fault, self._armed = fault, None
        for link in self._links:
            link.fault = Fault.PASS
            self._strike(link, fault)
        self._changed.set()
        self._changed = asyncio.Event()

    def redirect(self, upstream: Path | int) -> None:
        """Lead new connections to another server, and close the present ones."""
        self._upstream = upstream
        self.apply(Fault.CUT)
        self.apply(Fault.PASS)

    def arm(self, marker: bytes, fault: Fault) -> None:
        """Do this to the connection of the next request that holds the marker, and to no other."""
        self._armed = (marker, fault)
        self._struck = asyncio.Event()

    async def struck(self) -> None:
        """Return when the request that was waited for has come."""
        await self._struck.wait()

    @property
    def armed(self) -> bool:
        """Tell whether the request that was waited for has not come yet."""
        return self._armed is not None

    def _strike(self, link: _Link, fault: Fault) -> None:
        if fault is Fault.CUT:
            link.close()
        elif fault is Fault.HALF_OPEN:
            link.close_server()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.passed.connections += 1
        link = _Link(writer)
        self._links.add(link)
        self._spawn(self._serve(link, reader))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, link: _Link, reader: asyncio.StreamReader) -> None:
        try:
            if self._fault is Fault.CUT:
                return
            if self._fault not in _NO_SERVER:
                replies, link.server = await self._connect()
                self._spawn(self._pump_replies(link, replies))
            await self._pump_requests(link, reader)
        except OSError:
            return  # either side went; the other is told below
        finally:
            link.close()
            self._links.discard(link)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._upstream, int):
            return await asyncio.open_connection(LOOPBACK, self._upstream)
        return await asyncio.open_unix_connection(str(self._upstream))

    async def _pump_requests(self, link: _Link, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(_CHUNK):
            self._trigger(link, chunk)
            fault = await self._fault_of(link)
            if fault is Fault.CUT:
                return
            if fault in _NO_SERVER or link.server is None:
                continue
            self.passed.requests += len(chunk)
            link.server.write(chunk)
            await link.server.drain()

    async def _pump_replies(self, link: _Link, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                fault = await self._fault_of(link)
                if fault in {Fault.CUT, Fault.DROP_REPLY}:
                    break
                if fault in _NO_REPLY:
                    continue
                self.passed.replies += len(chunk)
                link.client.write(chunk)
                await link.client.drain()
        if self._present(link) not in _NO_SERVER:
            link.close()

    def _trigger(self, link: _Link, chunk: bytes) -> None:
        if self._armed is not None and self._armed[0] in chunk:
            link.fault, self._armed = self._armed[1], None
            self._struck.set()
            self._strike(link, link.fault)

    def _present(self, link: _Link) -> Fault:
        return self._fault if link.fault is Fault.PASS else link.fault

    async def _fault_of(self, link: _Link) -> Fault:
        self.passed.faults += self._present(link) is not Fault.PASS
        if self._present(link) is Fault.DELAY:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self.delay)
        while self._present(link) is Fault.HOLD:
            await self._changed.wait()
        return self._present(link)


def _tls_server() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_name("key.pem"))
    return context
