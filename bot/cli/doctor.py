"""``holdshort doctor``: prints what the examination found."""

import asyncio
import json
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.console import open_console
from bot.doctor import examine
from bot.doctor_findings import Finding, Level
from notifiers.text import inert, one_line

_LOOKS = {
    Level.OK: ("ok", "green"),
    Level.WARNING: ("warning", "yellow"),
    Level.FAILURE: ("FAILURE", "bold red"),
}


def run_doctor(*, as_json: bool) -> int:
    """Examine, print, and return the exit status: 1 where something is broken."""
    found = asyncio.run(examine())
    broken = any(one.level is Level.FAILURE for one in found)
    if as_json:
        told = [
            {"check": one.check, "level": one.level, "text": one.text, "remedy": one.remedy}
            for one in found
        ]
        sys.stdout.write(json.dumps({"ok": not broken, "findings": told}, indent=2) + "\n")
    else:
        _print(open_console(), found)
    return 1 if broken else 0


def _print(console: Console, found: Sequence[Finding]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    before = ""
    for one in found:
        word, style = _LOOKS[one.level]
        told = Text(inert(one_line(one.text)))
        if one.remedy:
            told.append(f"\n-> {inert(one_line(one.remedy))}", style="cyan")
        name = "" if one.check == before else one.check
        table.add_row(Text(name, style="bold"), Text(word, style=style), told)
        before = one.check
    console.print(table)
    console.print(_summary(found))


def _summary(found: Sequence[Finding]) -> Text:
    failures = sum(one.level is Level.FAILURE for one in found)
    warnings = sum(one.level is Level.WARNING for one in found)
    if failures:
        return Text(f"\n{failures} to put right, {warnings} to look at.", style="bold red")
    if warnings:
        return Text(f"\nReady to serve; {warnings} to look at.", style="bold yellow")
    return Text("\nReady to serve.", style="bold green")
