"""Writes ``docs/lifecycle.md`` from the engine's tables: ``python -m tests.lifecycle_page``."""

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from engine.lifecycle.table import CALL_MOVES, RUN_MOVES
from engine.tickets import AwaitTarget, accepted_kinds

PAGE = Path(__file__).parent.parent / "docs" / "lifecycle.md"

_HEAD = """# Lifecycle

Generated from `engine/lifecycle/table.py` and `engine/tickets.py` by
`python -m tests.lifecycle_page`; a test compares.

`running` is a view of a queued run that a worker holds. A run is `waiting` if and only if a ticket
is open. Ends are final.
"""


def page() -> str:
    """Return the text of the page."""
    runs = _diagram((a, cause, b) for (a, cause), b in RUN_MOVES.items())
    calls = _diagram((a, cause, b) for (a, cause), b in CALL_MOVES.items())
    parts = {"A run": runs, "A tool call": calls, "Who answers with what": _table()}
    return _HEAD + "".join(f"\n## {title}\n\n{text}" for title, text in parts.items())


def _diagram(moves: Iterable[tuple[str, str, str]]) -> str:
    lines = [f"    {before} --> {after}: {cause}" for before, cause, after in moves]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```\n"])


def _table() -> str:
    union, _ = get_args(AwaitTarget)
    rows = []
    for target in get_args(union):
        kind = target.model_fields["kind"].default
        accepted = ", ".join(accepted_kinds(target.model_construct()))
        rows.append(f"| {kind} | {(target.__doc__ or '').splitlines()[0]} | {accepted} |")
    return "\n".join(["| target | what it is | accepts |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
