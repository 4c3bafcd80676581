"""Why a target is missed, where it is: written beside the figure in docs/bench/bench.json."""

_FLOOR = (
    "A cycle runs about 50 SQL statements, and their replay alone, without any engine, is "
    "faster than this rival by only {times}: see replay_ms beside it. Only fewer statements per "
    "cycle, or a thinner driver, would get there."
)
_BUSY = (
    "Measured while other work kept both cores busy, so that each of 14 passes between the event "
    "loop and the database thread waits for a core: a short run gave {short}. "
)

REASONS: dict[str, str] = {
    "sqlite.cycle_to_replay_50_tasks": (
        "The replay of grouped statements is one turn of the database thread per group and no "
        "Python. The engine's own Python, about 3.5 of 6 ms of processor time per cycle, "
        "shares the interpreter's lock with the database thread, so with 50 tasks it adds to the "
        "statements where it hides behind the disk in sequence."
    ),
    "sqlite.parked_run_above_text": (
        "Of 4.1 kB the run and its open ticket are 1.7 kB of JSON, three events 0.8 kB with their "
        "hashes and names, two cards 0.5 kB, the rest rows and indexes. Fast zlib would halve the "
        "first two and so save 1.2 kB, at the price of a file that people cannot read and of "
        "work in each commit; the default fields that JSON repeats are 0.35 kB."
    ),
    "sqlite.faster_than_langgraph_async_sqlite_sequential": _BUSY.format(short="2.6")
    + _FLOOR.format(times="2 to 4 times"),
    "sqlite.faster_than_langgraph_sqlite_sequential": _BUSY.format(short="2.8")
    + _FLOOR.format(times="about 6 times"),
    "sqlite.faster_than_langgraph_memory_sequential": (
        "It keeps nothing: no disk, and no pass to a database thread, which on a busy machine "
        "waits for a core each time."
    ),
    "sqlite.faster_than_dbos_sqlite_sequential": (
        "Within the spread of a busy machine: a short run gave 6. DBOS waits for its poll of 10 ms, "
        "so a busy machine slows it less than it slows what computes."
    ),
    "sqlite.faster_than_langgraph_async_sqlite_50_tasks": _BUSY.format(short="3.6")
    + _FLOOR.format(times="4 times"),
}
