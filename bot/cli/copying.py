"""The work of ``holdshort store copy``: open both stores, copy, and show how far it is."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bot.console import open_console
from bot.logs import report_fault
from bot.settings import Purpose, read_settings
from bot.store_copy import Copied, Tell, copy_runs
from bot.stores import open_source, open_store, try_store
from engine.ids import Surroundings
from engine.stores.redis_address import RedisAddress

_EACH = 1000


def copy_store(source: Path | RedisAddress, target: str) -> Copied:
    """Copy all runs from a place to the store of a URL, which the environment's settings judge.

    Raises:
        HoldshortError: a store cannot be opened or is unfit, or the copy had to stop.

    """
    return asyncio.run(_copy(source, target))


async def _copy(source: Path | RedisAddress, target: str) -> Copied:
    unreadable: list[str] = []
    settings = read_settings(Purpose.TERMINAL, store_url=target, store_id="")
    noting = Surroundings(report=lambda _, error: unreadable.append(str(error)))
    async with AsyncExitStack() as stack:
        old = await open_source(source, noting, "FROM")
        stack.push_async_callback(old.close)
        await try_store(old, "FROM")
        new = await open_store(settings, Surroundings(report=report_fault), "TO")
        stack.push_async_callback(new.close)
        await try_store(new, "TO")
        with _progress() as tell:
            copied = await copy_runs(old, new, tell)
    return replace(copied, unreadable=(*unreadable, *copied.unreadable))


@contextmanager
def _progress() -> Iterator[Tell]:
    if not sys.stdout.isatty():
        yield _count
        return
    columns = (TextColumn("Copying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=open_console(), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _count(done: int, total: int) -> None:
    if done % _EACH == 0 and done < total:
        sys.stdout.write(f"{done:,} of {total:,} runs\n")
