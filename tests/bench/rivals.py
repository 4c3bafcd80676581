"""Other engines that can wait for a person, doing the same: one call, asked for, run, answered."""

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol


class Rival(Protocol):
    """Does whole cycles."""

    async def cycles(self, count: int, tasks: int = 1) -> float:
        """Run that many cycles, so many at once, and return the seconds they took."""
        ...


class Opener(Protocol):
    """Opens one in a folder of its own."""

    def __call__(self, folder: Path) -> AbstractAsyncContextManager[Rival]: ...


# Name -> (package, module, what opens it there).
_KNOWN = {
    "langgraph_async_sqlite": ("langgraph", "rival_langgraph", "async_sqlite"),
    "langgraph_sqlite": ("langgraph", "rival_langgraph", "sqlite"),
    "langgraph_memory": ("langgraph", "rival_langgraph", "memory"),
    "dbos_sqlite": ("dbos", "rival_dbos", "sqlite"),
}


def installed() -> dict[str, Opener]:
    """Return those that are installed here."""
    return {
        name: getattr(import_module(f"tests.bench.{module}"), opener)
        for name, (package, module, opener) in _KNOWN.items()
        if find_spec(package) is not None
    }
