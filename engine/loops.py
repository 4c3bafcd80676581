"""The loops of a serving process: worker, sweeper, usher and courier, until told to stop."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from engine.engine import RunEngine
from engine.errors import StoreError
from engine.stopping import until
from engine.worker import Worker, WorkerOptions

LONGEST_NAP = timedelta(seconds=5)
_SHORTEST_NAP = timedelta(milliseconds=10)
_AFTER_A_FAULT = timedelta(seconds=1)


async def run_loops(engine: RunEngine, options: WorkerOptions, stop: asyncio.Event) -> None:
    """Advance runs, time out and release tickets, and deliver cards until ``stop``; then let work in hand end."""
    worker: Worker = engine.worker(options)
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run(stop))
        group.create_task(_repeat(engine, engine.sweeper.sweep, "sweeper", stop))
        group.create_task(_repeat(engine, engine.usher.release, "usher", stop))
        group.create_task(_repeat(engine, engine.courier.deliver, "courier", stop))


async def _repeat(
    engine: RunEngine, work: Callable[[], Awaitable[int]], part: str, stop: asyncio.Event
) -> None:
    while not stop.is_set():
        try:
            mark = engine.store.mark()
            if not await work():
                await until(stop, engine.store.wait(await _nap(engine), mark))
        except StoreError as error:
            engine.surroundings.report(part, error)
            await until(stop, asyncio.sleep(_AFTER_A_FAULT.total_seconds()))


async def _nap(engine: RunEngine) -> timedelta:
    due = await engine.store.next_due()
    if due is None:
        return LONGEST_NAP
    return min(max(due - engine.surroundings.clock(), _SHORTEST_NAP), LONGEST_NAP)
