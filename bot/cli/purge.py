"""``holdshort purge``: remove runs that ended long ago."""

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bot.cli.terminal import Terminal

BATCH = 100
"""Runs per transaction: others write in between."""
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def purge(
    *,
    older_than: Annotated[
        str, typer.Option(help="How long ago it ended: 12h, 90d or 26w.", metavar="AGE")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many there are; remove nothing.")
    ] = False,
) -> None:
    """Remove runs and remembered rules that ended long ago; never one that is live."""
    age = _read_age(older_than)
    from bot.cli.screen import Screen
    from bot.cli.terminal import at_terminal
    from bot.logs import report_fault
    from engine.errors import UndecodableRecordError

    unreadable = 0

    def report(part: str, error: Exception) -> None:
        nonlocal unreadable
        if isinstance(error, UndecodableRecordError):
            unreadable += 1
        else:
            report_fault(part, error)

    async def work(terminal: "Terminal") -> None:
        count = await _purge(terminal, age, dry_run=dry_run)
        moment = terminal.engine.surroundings.clock() - age
        rules = await terminal.engine.store.rules.forget(moment, dry_run=dry_run)
        runs = "1 run" if count == 1 else f"{count} runs"
        done = "Would remove" if dry_run else "Removed"
        told = f"; {unreadable} of them could not be read" if unreadable else ""
        Screen().line(f"{done} {runs} that ended more than {older_than} ago{told}.")
        if rules:
            kept = "1 remembered rule" if rules == 1 else f"{rules} remembered rules"
            Screen().line(f"{done} {kept} that ended more than {older_than} ago.")

    at_terminal(work, report=report)


async def _purge(terminal: "Terminal", age: timedelta, *, dry_run: bool) -> int:
    store = terminal.engine.store
    older_than = terminal.engine.surroundings.clock() - age
    if dry_run:
        return await store.purge(older_than, 1 << 31, dry_run=True)
    total = removed = await store.purge(older_than, BATCH)
    while removed == BATCH:
        total += (removed := await store.purge(older_than, BATCH))
    return total


def _read_age(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9][0-9]{0,5})([hdw])", text)
    if found is None:
        raise typer.BadParameter("say an age such as 12h, 90d or 26w", param_hint="--older-than")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
