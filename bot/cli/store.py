"""``holdshort store``: move to another store."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.runs import help_if_alone

if TYPE_CHECKING:
    from pathlib import Path

    from bot.store_copy import Copied
    from engine.stores.redis_address import RedisAddress

app = typer.Typer(
    help="Move to another store.",
    invoke_without_command=True,
    callback=help_if_alone,
    rich_markup_mode=None,
)


@app.command()
def copy(
    source: Annotated[str, typer.Argument(help="URL of the store to copy.", metavar="FROM")],
    target: Annotated[str, typer.Argument(help="URL of the store to copy to.", metavar="TO")],
) -> None:
    """Copy all runs, and check each where it arrived. Stop what serves FROM before.

    A copy that was interrupted goes on where it was.
    """
    places = _read_place(source, "FROM"), _read_place(target, "TO")
    if places[0] == places[1]:
        raise typer.BadParameter("names the store that FROM names", param_hint="TO")
    from bot.cli.copying import copy_store

    copied = copy_store(places[0], target)
    _print(copied, places[1])
    if copied.unreadable:
        raise typer.Exit(1)


def _read_place(url: str, name: str) -> "Path | RedisAddress":
    from bot.store_url import read_store_url

    try:
        place = read_store_url(url)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=name) from None
    if place is None:
        raise typer.BadParameter("is in the memory of one process", param_hint=name)
    return place


def _print(copied: "Copied", target: "Path | RedisAddress") -> None:
    from pathlib import Path

    from bot.cli.screen import Screen
    from notifiers.text import inert

    for line in copied.unreadable:
        sys.stderr.write(f"holdshort: not copied: {inert(line)}\n")
    runs = "1 run" if copied.runs == 1 else f"{copied.runs:,} runs"
    known = f" {copied.known:,} were there already." if copied.known else ""
    url = f"sqlite:///{target}" if isinstance(target, Path) else str(target)
    screen = Screen()
    screen.line(f"Copied {runs} ({copied.waiting:,} waiting); verified.{known}")
    if copied.rules:
        rules = "1 remembered rule" if copied.rules == 1 else f"{copied.rules:,} remembered rules"
        screen.line(f"Copied {rules}; verified.")
    screen.line(f"Now point HOLDSHORT_STORE_URL at {url} and serve from there alone.")
