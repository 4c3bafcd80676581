"""A bot as it is served, with short leases and one agent: ``python -m tests.faults.replica``.

Configured by the documented settings, and by ``LEDGER`` (a file that the tool appends a line to,
and syncs). Prints a line when it serves.
"""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from bot.bootstrap import open_runtime
from bot.server import Limits, serve
from bot.settings import Purpose, read_settings
from engine import Agent, ToolOptions, courier
from tests.engine.scripted import call_tools, repeat_results, script

LEASE_S = 1.0
WORK = 50
"""Lines of work before the effect and after it: room for a kill between them."""


async def deploy(version: str) -> str:
    """Deploy a version."""
    ledger = Path(os.environ["LEDGER"])
    work = ledger.with_suffix(".work")
    for path in (*[work] * WORK, ledger, *[work] * WORK):
        await asyncio.to_thread(_enter, path, version)
    return f"release {version} live"


def _enter(path: Path, version: str) -> None:
    with path.open("a", encoding="utf-8") as book:
        book.write(f"{version}\n")
        book.flush()
        os.fsync(book.fileno())


def _as_told(messages: list[ModelMessage]) -> ModelResponse:
    first = messages[0]
    assert isinstance(first, ModelRequest)
    (prompt,) = [part.content for part in first.parts if isinstance(part, UserPromptPart)]
    return call_tools(0, [("deploy", {"version": prompt})])


deployer = Agent(
    name="deployer",
    model=script(_as_told, repeat_results),
    tools=[deploy],
    approvals={"deploy": "user"},
    approvers=["U0BOB", "U0CAROL"],
    options={"deploy": ToolOptions(timeout=timedelta(seconds=5))},
)


async def main() -> None:
    """Serve until killed."""
    courier.LEASE = timedelta(seconds=LEASE_S)
    settings = read_settings(Purpose.EMBED)
    async with (
        open_runtime(settings, agents=[deployer]) as runtime,
        serve(runtime, limits=Limits(lease=LEASE_S)),
    ):
        sys.stdout.write("serving\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
