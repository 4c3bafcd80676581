"""Whether this process can do its work now, and if not, why."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from engine import RunEngine
from engine.errors import HoldshortError

STORE_TIMEOUT_S = 1.0
Check = Callable[[], Awaitable[str]]
"""Says what is wrong; empty if nothing is."""


@dataclass(slots=True)
class Health:
    """What has to hold for this process to be sent work."""

    checks: dict[str, Check] = field(default_factory=dict)
    draining: bool = False

    async def look(self) -> tuple[bool, dict[str, str]]:
        """Return whether all is well, and what each check said."""
        said = {name: await check() or "ok" for name, check in self.checks.items()}
        said["process"] = "draining" if self.draining else "ok"
        return all(word == "ok" for word in said.values()), said


def store_check(engine: RunEngine) -> Check:
    """Return the check that the store would take a change."""

    async def check() -> str:
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                await engine.store.check()
        except HoldshortError as error:
            return str(error)
        except TimeoutError:
            return "the store is not available: it did not answer in time"
        return ""

    return check


def task_check(task: "asyncio.Task[None]") -> Check:
    """Return the check that a task is still running."""

    async def check() -> str:
        return "stopped" if task.done() else ""

    return check
