"""The real `holdshort demo`, as a process in a terminal of its own that waits for a person."""

import asyncio
import os
import pty
import re
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "bot", "demo", "--port", "0")
PATIENCE_S = 30.0
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")
_END = "Done: deployer"
_OURS = ("HOLDSHORT_", "SLACK_")


@dataclass
class Demo:
    """A demo that runs.

    Attributes:
        page: The address that it printed.
        lines: All that it printed so far.
        over: Set when it has told that the run is done.

    """

    process: Process
    page: str = ""
    lines: list[str] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit status."""
        self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def running_demo() -> AsyncIterator[Demo]:
    """Start the demo, give it once its page can be opened, and end it."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    process = await asyncio.create_subprocess_exec(
        *COMMAND, cwd=ROOT, env={**kept, "TERM": "dumb"}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    demo, found = Demo(process), asyncio.Event()
    reading = asyncio.create_task(_read(ours, demo, found))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait(
                {asyncio.create_task(found.wait()), reading}, return_when=asyncio.FIRST_COMPLETED
            )
        if not demo.page:
            raise RuntimeError("the demo ended too soon:\n" + "".join(demo.lines))
        yield demo
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading


async def _read(terminal: int, demo: Demo, found: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(terminal, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    # The end of a terminal is an error, on Linux.
    with suppress(OSError):
        while line := await reader.readline():
            demo.lines.append(line.decode(errors="replace"))
            address = _ADDRESS.search(demo.lines[-1])
            if address and not demo.page:
                demo.page = address[0]
                found.set()
            if _END in demo.lines[-1]:
                demo.over.set()
    transport.close()
