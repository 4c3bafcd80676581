"""The worker: claims runs, keeps their claims alive, and advances them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from engine.errors import (
    ClaimLostError,
    ModelRequestError,
    StoreError,
    StoreUnconfirmedError,
    UnknownAgentError,
)
from engine.executor import Advanced, Executor
from engine.ids import Surroundings
from engine.runs import Run
from engine.stopping import until
from engine.store import Claim, Store

_FIRST_RETRY = timedelta(seconds=2)
_LAST_RETRY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works.

    Attributes:
        name: Unique among all workers of a store.
        slots: How many runs it advances at once.
        lease: How long a claim lasts without a heartbeat; a lost worker's run waits this long.
        idle: How long it waits, at most, before it looks for work again; also after a fault.

    """

    name: str
    slots: int = 8
    lease: timedelta = timedelta(seconds=10)
    idle: timedelta = timedelta(seconds=2)


class Worker:
    """Advances runs, several at once."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        surroundings: Surroundings,
        options: WorkerOptions,
    ) -> None:
        """Take what a worker needs; nothing starts before ``run`` or ``drain_ready``."""
        self._store = store
        self._executor = executor
        self._surroundings = surroundings
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()

    async def drain_ready(self) -> int:
        """Advance every run that is ready, one after another; return how many there were."""
        count = 0
        while (
            taken := await self._store.claim(self._options.name, self._options.lease)
        ) is not None:
            await self._advance(*taken)
            count += 1
        return count

    async def run(self, stop: asyncio.Event) -> None:
        """Claim and advance runs until ``stop``, then let the running ones end."""
        self._stop = stop
        try:
            while not stop.is_set():
                await self._fill_or_wait(stop)
        finally:
            await asyncio.gather(*self._tasks)

    async def _fill_or_wait(self, stop: asyncio.Event) -> None:
        try:
            mark = self._store.mark()
            if not await self._fill(stop):
                await until(stop, self._store.wait(self._options.idle, mark))
        except StoreError as error:
            self._surroundings.report("worker", error)
            await until(stop, asyncio.sleep(self._options.idle.total_seconds()))

    async def _fill(self, stop: asyncio.Event) -> bool:
        """Claim one run; False when there was nothing to do now."""
        if len(self._tasks) >= self._options.slots:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            return True
        taken = await self._store.claim(self._options.name, self._options.lease)
        if taken is None or stop.is_set():
            if taken is not None:
                await self._store.release(taken[1])
            return False
        task = asyncio.create_task(self._advance(*taken))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _advance(self, run: Run, claim: Claim) -> None:
        try:
            async with self._heartbeat(claim):
                ended = await self._executor.advance(run, claim, self._stop)
            if ended is Advanced.LOST:
                self._surroundings.report(
                    "worker", ClaimLostError(f"run {run.ref} went to another worker")
                )
        except (ModelRequestError, UnknownAgentError, StoreUnconfirmedError) as error:
            self._surroundings.report("worker", error)
            await self._hand_back(claim)
        except Exception as error:  # noqa: BLE001 - one run's fault must not stop the others
            self._surroundings.report("worker", error)

    async def _hand_back(self, claim: Claim) -> None:
        pause = min(_FIRST_RETRY * (1 << claim.losses), _LAST_RETRY)
        with contextlib.suppress(StoreError):
            await self._store.release(claim, self._surroundings.clock() + pause)

    @contextlib.asynccontextmanager
    async def _heartbeat(self, claim: Claim) -> AsyncIterator[None]:
        beating: list[asyncio.Task[None]] = []

        def begin() -> None:
            beating.append(asyncio.create_task(self._beat(claim)))

        # Most advances are over before the first beat is due, and need no task for it.
        due = asyncio.get_running_loop().call_later(self._pulse_s, begin)
        try:
            yield
        finally:
            due.cancel()
            for task in beating:
                task.cancel()
            if beating:
                await asyncio.gather(*beating, return_exceptions=True)

    @property
    def _pulse_s(self) -> float:
        return self._options.lease.total_seconds() / 3

    async def _beat(self, claim: Claim) -> None:
        while True:
            try:
                claim = await self._store.heartbeat(claim, self._options.lease)
            except ClaimLostError:
                # The next commit finds out too, and knows what to do with a late result.
                return
            except StoreError as error:
                self._surroundings.report("heartbeat", error)
            await asyncio.sleep(self._pulse_s)
