"""What is measured of one store: cycles, bytes, ticks, and doing nothing."""

import asyncio
import os
import time
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from engine.engine import RunEngine
from engine.ids import ApprovalId, CommitId, Ids, RunId, place_for, place_of
from engine.loops import run_loops
from engine.runs import Run
from engine.store import Change, Store
from engine.worker import WorkerOptions
from tests.bench.columns import Column, Replay
from tests.bench.rivals import Opener, Rival
from tests.bench.workload import Workload

TASKS = 50
_TOGETHER = 200
MOST_OTHERS = 0.02
"""Of all answers that a replay got, how many may be others than the first time."""
"""Of the answers to a replay: connections side by side may overtake each other."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured.

    Attributes:
        rounds: In each round every contender has its turn.
        cycles: Of the engine, per turn; a rival has a quarter of them, as it is slower.
        parked: Runs that are weighed.
        few: Parked runs of the smaller store that ticks.
        many: Parked runs of the larger one.
        ticks: Of each.
        idle_s: Seconds of doing nothing.

    """

    rounds: int = 7
    cycles: int = 100
    parked: int = 10_000
    few: int = 2_000
    many: int = 100_000
    ticks: int = 100
    idle_s: float = 10.0


Pairs = list[tuple[float, float]]
Turns = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Cycles:
    """Milliseconds per cycle: of the engine, its replay and the rivals, turn by turn."""

    turns: Turns
    counted: dict[str, float]

    def ms(self, name: str) -> float:
        """Return a contender's median."""
        return median(self.turns[name])

    def ratio(self, name: str, other: str) -> float:
        """Return the median, over the rounds, of how many times longer one takes than another."""
        pairs = zip(self.turns[name], self.turns[other], strict=True)
        return median(one / two for one, two in pairs)


async def cycles(
    column: Column, folder: Path, rivals: dict[str, Opener], amounts: Amounts, tasks: int
) -> Cycles:
    """Let the engine, the replay of what it sent to its database, and the rivals take turns."""
    turns: Turns = defaultdict(list)
    workload = Workload(column.open(folder))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(workload.store.close)
        replay = await stack.enter_async_context(column.replaying(folder))
        opened = {n: await stack.enter_async_context(o(folder)) for n, o in rivals.items()}
        # Alone first: what makes a store new is sent in one order only.
        await _round(column, replay, workload, {}, 1, 1)
        await _round(column, replay, workload, opened, tasks, tasks)
        before, count = column.spent(workload.store), max(amounts.cycles, 2 * tasks)
        for _ in range(amounts.rounds):
            turn = await _round(column, replay, workload, opened, count, tasks)
            for name, seconds in turn.items():
                turns[name].append(seconds * 1000)
        after = column.spent(workload.store)
    total = amounts.rounds * count
    return Cycles(turns, {name: (after[name] - before[name]) / total for name in after})


async def _round(
    column: Column,
    replay: Replay,
    workload: Workload,
    rivals: dict[str, Rival],
    count: int,
    tasks: int,
) -> dict[str, float]:
    """Return the seconds per cycle of each."""
    with column.taping() as tape:
        seconds = {"engine": await workload.cycles(count, tasks) / count}
    played, others = await replay.play(tape)
    # Else it would not be the same work.
    assert others <= MOST_OTHERS * len(tape), f"{others} of {len(tape)} answers are other ones"
    seconds["replay"] = played / count
    fewer = max(count // 4, tasks)
    for name, rival in rivals.items():
        seconds[name] = await rival.cycles(fewer, tasks) / fewer
    return seconds


async def bytes_per_parked_run(column: Column, folder: Path, amounts: Amounts) -> dict[str, float]:
    """Park runs, show their cards, and weigh the store; compressed text is not counted."""
    workload = Workload(column.open(folder), cards=True)
    async with workload.serving(TASKS):
        refs = [await workload.park()]
        empty = await column.weigh(workload.store, folder)
        for _ in range(0, amounts.parked, TASKS):
            refs += await asyncio.gather(*(workload.park() for _ in range(TASKS)))
    while await workload.engine.courier.deliver():
        pass
    full = await column.weigh(workload.store, folder)
    run = await workload.engine.get_run(refs[0])
    records = await workload.store.records(run.id)
    text = sum(len(zlib.compress(record.body.encode())) for record in records)
    await workload.store.close()
    each = (full - empty) / (len(refs) - 1)
    return {"bytes": each, "compressed_text": text, "above": each - text}


async def ticks(column: Column, folder: Path, amounts: Amounts) -> dict[str, float]:
    """Tick two stores in turn, one with few parked runs and one with many; nothing is due."""
    stores = {}
    for name, count in (("few", amounts.few), ("many", amounts.many)):
        (folder / name).mkdir()
        workload = Workload(column.open(folder / name))
        stores[name] = workload
        await _fill(workload, count)
    taken: Turns = defaultdict(list)
    with _on_one_core():
        for turn in range(amounts.ticks):
            # Each goes first as often as the other.
            for name, workload in sorted(stores.items(), reverse=turn % 2 == 1):
                taken[name].append(await _seconds(workload.engine.tick) * 1000)
    idle = await _idle(column, stores["many"].engine, amounts.idle_s)
    for workload in stores.values():
        await workload.store.close()
    ratio = median(taken["many"]) / median(taken["few"])
    return {
        "few_ms": median(taken["few"]),
        "many_ms": median(taken["many"]),
        "ratio": ratio,
        **idle,
    }


@contextmanager
def _on_one_core() -> Iterator[None]:
    """Keep all threads together, where the system lets us.

    A pass to a thread on another core may cost three times one to a thread on the same, and the
    threads of one store may happen to lie together where those of the other do not.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    threads = [int(one.name) for one in Path("/proc/self/task").iterdir()]
    cores = {thread: os.sched_getaffinity(thread) for thread in threads}
    for thread in threads:
        os.sched_setaffinity(thread, {min(cores[thread])})
    yield
    for thread in threads:
        os.sched_setaffinity(thread, cores[thread])


async def _seconds(work: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun


async def _fill(workload: Workload, count: int) -> None:
    """Put in as many copies of a parked run."""
    async with workload.serving(1):
        parked = await workload.engine.get_run(await workload.park())
    for _ in range(0, count, _TOGETHER):
        copies = (_copy(parked, workload.store) for _ in range(_TOGETHER))
        await asyncio.gather(*(workload.store.commit(change) for change in copies))


def _copy(parked: Run, store: Store) -> Change:
    """Return a change that makes another run that waits, with names of its own."""
    ids = Ids()
    unique = ids.new("run")
    run_id = RunId(place_for(unique) + unique)
    (ticket,) = parked.tickets
    own = {"approval": ApprovalId(ids.new("apr")), "ref": _ref(ids, run_id), "run": run_id}
    tickets = (ticket.model_copy(update=own),)
    run = parked.model_copy(
        update={"id": run_id, "ref": _ref(ids, run_id), "version": 1, "tickets": tickets}
    )
    return Change(commit=CommitId(ids.new("cmt")), expected=0, run=run, opened=tickets)


def _ref(ids: Ids, run: RunId) -> str:
    # Longer than a person's, so that 100,000 of them do not collide.
    return place_of(run).upper() + ids.new("r")


async def _idle(column: Column, engine: RunEngine, seconds: float) -> dict[str, float]:
    """Serve with nothing to do; return the share of a core, and what the store counts a second."""
    stop = asyncio.Event()
    serving = asyncio.create_task(run_loops(engine, WorkerOptions(name="idle"), stop))
    await asyncio.wait({serving}, timeout=1)
    before, cpu, begun = column.spent(engine.store), time.process_time(), time.perf_counter()
    await asyncio.wait({serving}, timeout=seconds)
    passed = time.perf_counter() - begun
    after, used = column.spent(engine.store), time.process_time() - cpu
    stop.set()
    await serving
    told = {f"idle_{name}_per_s": (after[name] - before[name]) / passed for name in after}
    return {"idle_cpu_percent": 100 * used / passed, **told}
