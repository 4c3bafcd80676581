"""A real store that can be made to hang, or to fail, in the operations a person waits for."""

import asyncio
from datetime import datetime
from typing import Any

from engine.errors import StoreUnavailableError
from engine.ids import ApprovalId, RunId
from engine.store import Change, Claim, Done, Loaded
from engine.stores import MemoryStore


class FaultyStore(MemoryStore):
    """Breaks on demand.

    Attributes:
        broken: Every load fails.
        lose: So many commits are written, and then their answers are lost.
        gate: Commits wait here while it is closed.

    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.broken = False
        self.lose = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def load(
        self, run: RunId, *, key: str | None = None, approval: ApprovalId | None = None
    ) -> Loaded:
        if self.broken:
            raise StoreUnavailableError("told to be broken")
        return await super().load(run, key=key, approval=approval)

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        await self.gate.wait()
        done = await super().commit(change, claim)
        if self.lose:
            self.lose -= 1
            raise StoreUnavailableError("told to lose the answer")
        return done

    async def next_due(self) -> datetime | None:
        if self.broken:
            raise StoreUnavailableError("told to be broken")
        return await super().next_due()

    async def check(self) -> None:
        if self.broken:
            raise StoreUnavailableError("told to be broken")
        await super().check()
