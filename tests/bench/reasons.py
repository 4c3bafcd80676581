"""Why a target is missed, where it is: written beside the figure in docs/bench/bench.json.

By the target's name. One that is met shows no reason; one that is missed must have one. Figures of
the same part stand in braces, so that a reason tells those of its own run.
"""

_FLOOR = (
    "Not even the replay is so much faster: without any engine, the {{statements_per_cycle:.0f}} "
    "statements of a cycle are {{replay_faster_than_{rival}:.1f}} times as fast as this rival. "
    "Only fewer statements, or a thinner way to the database, would get there."
)
_PYTHON = (
    "A replay takes {replay_ms:.1f} of the engine's {engine_ms:.1f} ms. The rest is Python: "
    "transitions, models, hashes, and {hops_per_cycle:.0f} passes to the database thread"
)

REASONS: dict[str, str] = {
    "sqlite.cycle_to_replay": _PYTHON + ".",
    "sqlite.cycle_to_replay_50_tasks": _PYTHON
    + ", which the replay makes too. All of it shares the interpreter's lock with that thread, and "
    "does not hide behind the disk, for which {full_commits_per_cycle:.1f} commits wait.",
    "sqlite.parked_run_above_text": (
        "Of {bytes:.0f} bytes the run, its open ticket and three events are compressed, with a "
        "dictionary; what is known of its open ask, for the limits, is 0.3 kB; two cards, rows and "
        "indexes are the rest. Many tasks park at once, so ids come in no order, and pages of "
        "their indexes stay half empty."
    ),
    "sqlite.faster_than_langgraph_async_sqlite_sequential": _FLOOR.format(
        rival="langgraph_async_sqlite"
    ),
    "sqlite.faster_than_langgraph_sqlite_sequential": _FLOOR.format(rival="langgraph_sqlite"),
    "sqlite.faster_than_langgraph_memory_sequential": (
        "It keeps nothing. The replay of a cycle alone, which waits for the disk "
        "{full_commits_per_cycle:.0f} times, is {replay_faster_than_langgraph_memory:.1f} times as "
        "fast as this rival."
    ),
    "sqlite.faster_than_dbos_sqlite_sequential": _FLOOR.format(rival="dbos_sqlite"),
    "sqlite.faster_than_langgraph_async_sqlite_50_tasks": _FLOOR.format(
        rival="langgraph_async_sqlite"
    ),
    "valkey.parked_run_above_text": (
        "By used_memory, with the wheel's libc allocator. Of 2.6 kB in keys the hash of a run's "
        "facts takes 1.7 kB, for a value of more than 64 bytes makes it a table; with "
        "hash-max-listpack-value 1024 it takes 1.3 kB. Its log takes 0.5 kB, as one list per run, "
        "and what is known of its open ask, for the limits, 0.5 kB; the rest are the server's own "
        "table of keys and eight places in indexes."
    ),
}
