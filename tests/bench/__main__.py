"""``make bench``: what a store costs, as ratios within one run. Writes docs/bench/bench.json."""

import argparse
import asyncio
import json
import os
import platform
import sqlite3
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

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

T = TypeVar("T")


def main() -> None:
    """Measure each store, print, and write."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=")
    parser.add_argument("--stores", default="sqlite", help="names, with commas between")
    parser.add_argument("--quick", action="store_true", help="a look: little of each, not written")
    asked = parser.parse_args()
    amounts = QUICK if asked.quick else Amounts()
    measured = {name: measure(COLUMNS[name](), amounts) for name in asked.stores.split(",")}
    judged = [target for name, found in measured.items() for target in targets(name, found)]
    print("\n".join(["targets", *(target.line() for target in judged)]))
    if not asked.quick:
        write(measured, judged)


def measure(column: Column, amounts: Amounts) -> dict[str, Any]:
    """Return all figures of a store."""
    rivals = installed()
    together = {name: rival for name, rival in rivals.items() if name not in ONE_BY_ONE}
    found: dict[str, Any] = {
        "sequential": fresh(lambda at: figures.cycles(column, at, rivals, amounts, 1)),
        "together": fresh(lambda at: figures.cycles(column, at, together, amounts, TASKS)),
        "parked": fresh(lambda at: figures.bytes_per_parked_run(column, at, amounts)),
        "ticks": fresh(lambda at: figures.ticks(column, at, amounts)),
    }
    for part, told in found.items():
        print(part)
        for name, value in plain(told).items():
            print(f"  {name:<32}{value:>12.2f}")
    return found


def fresh(work: Callable[[Path], Coroutine[Any, Any, T]]) -> T:
    """Do some work in a folder and an event loop of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(work(Path(folder)))


def plain(told: Cycles | dict[str, float]) -> dict[str, float]:
    """Return figures by name."""
    if isinstance(told, dict):
        return told
    medians = {f"{name}_ms": told.ms(name) for name in told.turns}
    return medians | {f"{name}_per_cycle": value for name, value in told.counted.items()}


def targets(store: str, found: dict[str, Any]) -> list[Target]:
    """Judge the figures of a store."""
    one, many, parked, ticks = (
        found[part] for part in ("sequential", "together", "parked", "ticks")
    )
    judged = [
        Target("cycle_to_replay", "x", 2.0, one.ratio("engine", "replay"), stretch=1.4),
        Target("cycle_to_replay_50_tasks", "x", 2.0, many.ratio("engine", "replay"), stretch=1.4),
        Target("parked_run_above_text", "B", 2000, parked["above"]),
        Target("tick_100k_to_2k", "x", 1.5, ticks["ratio"], stretch=1.2),
        Target("idle_cpu", "%", 1.0, ticks["idle_cpu_percent"]),
    ]
    rivals = (
        ("langgraph_async_sqlite", one, "sequential", 6, 12),
        ("langgraph_sqlite", one, "sequential", 6, 12),
        ("langgraph_memory", one, "sequential", 1, 4),
        ("dbos_sqlite", one, "sequential", 15, 30),
        ("langgraph_async_sqlite", many, "50_tasks", 20, 55),
    )
    for name, turns, how, bound, hoped in rivals:
        if name in turns.turns:
            faster = turns.ratio(name, "engine")
            judged.append(Target(f"faster_than_{name}_{how}", "x", bound, faster, False, hoped))
    return [named(target, store) for target in judged]


def named(target: Target, store: str) -> Target:
    """Return the target under its store's name, with the reason why it may be missed."""
    name = f"{store}.{target.name}"
    return Target(
        name,
        target.unit,
        target.target,
        target.value,
        target.most,
        target.stretch,
        REASONS.get(name, ""),
    )


def write(measured: dict[str, dict[str, Any]], judged: list[Target]) -> None:
    """Write all of it down, each store beside those that were measured before."""
    before = json.loads(PAGE.read_text()) if PAGE.exists() else {"figures": {}, "targets": []}
    kept = [one for one in before["targets"] if one["name"].split(".")[0] not in measured]
    told = {
        store: {part: plain(figure) for part, figure in found.items()}
        for store, found in measured.items()
    }
    page = {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "figures": before["figures"] | rounded(told),
        "targets": kept + [target.as_json() for target in judged],
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
