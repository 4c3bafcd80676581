"""A process that commits without end, and writes down each commit once the store has taken it.

Run as ``python -m tests.engine.stores.commit_stream <store> <ledger> <name>``. It prints a line per
commit too, so that whoever kills it knows that it is under way.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import TextIO

from engine.runs import Run
from engine.store import Claim, ClaimEffect, Store
from engine.stores import SqliteStore
from tests.factories import (
    make_card_key,
    make_change,
    make_ended,
    make_event,
    make_next,
    make_record,
    make_run,
)

LEASE = timedelta(hours=1)
STEPS = 5


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was acknowledged: durable before anybody is told."""

    file: TextIO

    def write(self, run: Run) -> None:
        """Write down that this version was taken."""
        self.file.write(f"{run.id} {run.version}\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        sys.stdout.write(f"{run.id}\n")
        sys.stdout.flush()


async def live(store: Store, ledger: Ledger, name: str) -> None:
    """Take one run from its start to its end."""
    run = make_run(id=f"run_{name}", ref=name)
    await store.commit(make_change(run, raised=(make_card_key(run),), records=(make_record(0),)))
    ledger.write(run)
    taken = await store.claim("worker", LEASE)
    if taken is not None:
        await advance(store, ledger, *taken)


async def advance(store: Store, ledger: Ledger, run: Run, claim: Claim) -> None:
    """Take a claimed run to its end."""
    for step in range(1, STEPS + 1):
        run = make_next(run)
        change = make_change(
            run,
            claim=ClaimEffect.KEEP,
            records=(make_record(step),),
            events=(make_event(step),),
            raised=(make_card_key(run),),
        )
        await store.commit(change, claim)
        ledger.write(run)
        await store.heartbeat(claim, LEASE)
    run = make_ended(run)
    await store.commit(make_change(run, claim=ClaimEffect.RELEASE), claim)
    ledger.write(run)


async def stream(store: Store, ledger: Ledger, name: str) -> None:
    """Live on, some runs at a time."""

    async def lives(lane: int) -> None:
        for number in range(sys.maxsize):
            await live(store, ledger, f"{name}.{lane}.{number}")

    async with asyncio.TaskGroup() as group:
        for lane in range(4):
            group.create_task(lives(lane))


def main() -> None:
    path, ledger, name = sys.argv[1:]
    with open(ledger, "a", encoding="utf-8") as file:  # noqa: PTH123 - one call, one process
        asyncio.run(stream(SqliteStore(path), Ledger(file), name))


if __name__ == "__main__":
    main()
