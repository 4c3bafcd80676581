"""``python -m tests.bench.wakeups``: how soon work is taken, and what waiting for it costs.

Writes docs/bench/wakeups.json.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from statistics import median

from engine.loops import run_loops
from engine.store import Store
from engine.stores import SqliteStore
from engine.stores.redis_outlook import LOOK_EVERY_S
from engine.worker import WorkerOptions
from tests.bench.targets import Target
from tests.bench.workload import Workload
from tests.contracts.redis_stores import open_redis_store
from tests.factories import make_change, make_ended, make_run
from tests.servers.cluster import Cluster
from tests.servers.process import ServerProcess

PAGE = Path(__file__).parents[2] / "docs" / "bench" / "wakeups.json"
LEASE, IDLE = timedelta(seconds=60), timedelta(seconds=2)
HERE_MS, ACROSS_MS, CPU_PERCENT, PER_S = 20, 50, 1, 2
_BETWEEN_S, _LONGER_S = 0.03, 0.1
"""So that whoever took the last run waits again; and ever longer, to be in step with no look."""
_INSIDE = {"zrange", "hget", "hmget", "time", "info", "hello", "client|setinfo"}
"""What only scripts send while nothing happens, and what our own question takes."""


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument(
        "--idle", type=float, default=2 * LOOK_EVERY_S, help="seconds of doing nothing"
    )
    parser.add_argument("--stores", default="sqlite,valkey,cluster", help="names, commas between")
    parser.add_argument("--take", help="take runs from a store until ended (for ourselves)")
    asked = parser.parse_args()
    if asked.take:
        with suppress(asyncio.CancelledError, KeyboardInterrupt):
            asyncio.run(take_elsewhere(asked.take))
        return
    figures: dict[str, dict[str, float]] = {}
    with places() as urls:
        for name in asked.stores.split(","):
            url, servers = urls[name]
            figures[name] = asyncio.run(measure(url, servers, asked.runs, asked.idle))
            print(name, json.dumps(figures[name]))
    judged = [target for name, found in figures.items() for target in targets(name, found)]
    print("\n".join(target.line() for target in judged))
    write(figures, [target.as_json() for target in judged])


@contextmanager
def places() -> Iterator[dict[str, tuple[str, list[ServerProcess]]]]:
    """Give a URL for each kind of store, and the servers behind it."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(ServerProcess())
        cluster = stack.enter_context(Cluster())
        yield {
            "sqlite": (f"{folder}/store.sqlite", []),
            "valkey": (server.url, [server]),
            "cluster": (cluster.url, list(cluster.nodes)),
        }


def open_store(url: str) -> Store:
    """Return a store on a server, or in a file."""
    return open_redis_store(url) if "://" in url else SqliteStore(url)


async def measure(
    url: str, servers: list[ServerProcess], runs: int, idle_s: float
) -> dict[str, float]:
    """Return all figures of a store."""
    store = open_store(url)
    try:
        async with taking_here(store) as taken:
            here = await latencies(store, taken, runs)
        async with taking_elsewhere(url) as taken:
            across = await latencies(store, taken, runs)
        idle = await idling(store, servers, idle_s)
    finally:
        await store.close()
    return {
        "here_median_ms": round(median(here), 2),
        "here_worst_ms": round(max(here), 2),
        "across_median_ms": round(median(across), 2),
        "across_worst_ms": round(max(across), 2),
        **idle,
    }


Taken = asyncio.Queue[tuple[str, float]]


async def latencies(store: Store, taken: Taken, runs: int) -> list[float]:
    """Queue runs, one after another; return the milliseconds until each was taken."""
    found = []
    for turn in range(runs):
        await asyncio.sleep(_BETWEEN_S + _LONGER_S * turn / runs)
        run = make_run("0", priority=1)
        # Ids come from a counter, and the store is not empty.
        unique = f"{run.id}_{os.getpid()}_{time.monotonic_ns()}"
        run = run.model_copy(update={"id": type(run.id)(unique), "ref": type(run.ref)(unique)})
        await store.commit(make_change(run))
        queued = time.monotonic()
        _, at = await taken.get()
        found.append(max(0.0, at - queued) * 1000)
        await store.commit(make_change(make_ended(run)))
    return found


async def take(store: Store, tell: Taken) -> None:
    """Take runs as a worker does."""
    while True:
        mark = store.mark()
        got = await store.claim("bench", LEASE)
        if got is None:
            await store.wait(IDLE, mark)
        else:
            await tell.put((got[0].id, time.monotonic()))


@asynccontextmanager
async def taking_here(store: Store) -> AsyncIterator[Taken]:
    """Take runs in this process."""
    taken: Taken = asyncio.Queue()
    task = asyncio.create_task(take(store, taken))
    await asyncio.sleep(1)
    yield taken
    task.cancel()
    await asyncio.wait({task})


async def take_elsewhere(url: str) -> None:
    """Take runs, and print which and when: the clock is one for all processes."""
    taken: Taken = asyncio.Queue()
    store = open_store(url)
    task = asyncio.create_task(take(store, taken))
    await asyncio.sleep(1)
    print("ready", flush=True)
    while not task.done():
        print(*await taken.get(), flush=True)


@asynccontextmanager
async def taking_elsewhere(url: str) -> AsyncIterator[Taken]:
    """Take runs in another process."""
    command = [sys.executable, "-m", "tests.bench.wakeups", "--take", url]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out = process.stdout
    assert out is not None
    await out.readline()
    taken: Taken = asyncio.Queue()

    async def read() -> None:
        while line := await out.readline():
            run, at = line.decode().split()
            await taken.put((run, float(at)))

    reading = asyncio.create_task(read())
    yield taken
    process.kill()
    await process.wait()
    await reading


async def idling(store: Store, servers: list[ServerProcess], seconds: float) -> dict[str, float]:
    """Serve with nothing to do; return the share of a core, and commands sent a second."""
    engine, stop = Workload(store).engine, asyncio.Event()
    serving = asyncio.create_task(run_loops(engine, WorkerOptions(name="idle"), stop))
    await asyncio.wait({serving}, timeout=3)
    before, cpu, begun = commands(servers), time.process_time(), time.perf_counter()
    await asyncio.wait({serving}, timeout=seconds)
    used, passed = time.process_time() - cpu, time.perf_counter() - begun
    after = commands(servers)
    stop.set()
    await serving
    told = {"idle_cpu_percent": round(100 * used / passed, 3)}
    if servers:
        told["idle_commands_per_s"] = round((after - before) / passed, 3)
    return told


def commands(servers: list[ServerProcess]) -> int:
    """Return how many commands clients have sent."""
    counted = 0
    for server in servers:
        for name, told in server.info("commandstats").items():
            counted += told["calls"] * (name.removeprefix("cmdstat_") not in _INSIDE)
    return counted


def targets(store: str, found: dict[str, float]) -> list[Target]:
    """Judge the figures of a store."""
    judged = [
        Target(f"{store}.taken_here_median", "ms", HERE_MS, found["here_median_ms"]),
        Target(f"{store}.taken_across_median", "ms", ACROSS_MS, found["across_median_ms"]),
        Target(f"{store}.idle_cpu", "%", CPU_PERCENT, found["idle_cpu_percent"]),
    ]
    if "idle_commands_per_s" in found:
        sent = found["idle_commands_per_s"]
        judged.append(Target(f"{store}.idle_commands", "/s", PER_S, sent))
    return judged


def write(figures: dict[str, dict[str, float]], judged: list[dict[str, object]]) -> None:
    """Write all of it down, beside what was measured before."""
    before = json.loads(PAGE.read_text()) if PAGE.exists() else {"figures": {}, "targets": []}
    kept = [one for one in before["targets"] if one["name"].split(".")[0] not in figures]
    page = {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "figures": before["figures"] | figures,
        "targets": kept + judged,
    }
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(json.dumps(page, indent=2) + "\n")


if __name__ == "__main__":
    main()
