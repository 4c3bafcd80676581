"""Copying all runs of one store into another, one after another, each checked where it arrived."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.errors import (
    CommitConflictError,
    ResumeError,
    RunNotFoundError,
    StoreError,
    UndecodableRecordError,
)
from engine.ids import RunId
from engine.runs import RunStatus
from engine.store import Parcel, RunFilter, Store

_PAGE = 500

Tell = Callable[[int, int], None]
"""Called with how many runs are done, and how many there are."""


class CopyStoppedError(StoreError):
    """The copy could not go on. What arrived so far is whole; the same command goes on from there."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of the runs.

    Attributes:
        runs: How many were copied now.
        waiting: How many of these wait for an answer.
        known: How many were there already, as they are here.
        rules: How many remembered rules were copied or there already.
        unreadable: A line for each that cannot be read, and was not copied.

    """

    runs: int = 0
    waiting: int = 0
    known: int = 0
    rules: int = 0
    unreadable: tuple[str, ...] = ()


async def copy_runs(source: Store, target: Store, tell: Tell) -> Copied:
    """Copy every run that can be read, oldest first, so that the lists keep their order.

    Raises:
        CopyStoppedError: a run is being worked on, did not arrive as it was packed, or is in both
            stores and not the same.
        StoreUnavailableError: a store did not answer.

    """
    await _refuse_served(source)
    runs = await _oldest_first(source)
    copied = Copied()
    for done, run in enumerate(runs, start=1):
        try:
            copied = await _copy(source, target, run, copied)
        except UndecodableRecordError as error:
            copied = replace(copied, unreadable=(*copied.unreadable, str(error)))
        except (StoreError, ResumeError) as error:
            raise CopyStoppedError(f"stopped at run {run}: {error}") from error
        tell(done, len(runs))
    return replace(copied, rules=await _copy_rules(source, target))


async def _copy_rules(source: Store, target: Store) -> int:
    """Copy the remembered rules; whatever was revoked in either store is revoked in the target."""
    rules = await source.rules.listed()
    for rule in rules:
        await target.rules.keep(rule)
        if rule.revoked is not None:
            await target.rules.revoke(rule.id, rule.revoked)
    there = {rule.id: rule for rule in await target.rules.listed()}
    for rule in rules:
        arrived = there.get(rule.id)
        if arrived is None or arrived.model_copy(update={"revoked": rule.revoked}) != rule:
            raise CopyStoppedError(f"the remembered rule {rule.id} did not arrive as it was")
    return len(rules)


async def _refuse_served(source: Store) -> None:
    running = (await source.gauges()).running
    if running:
        raise CopyStoppedError(
            f"{running:,} of the runs are being worked on: stop the processes that serve FROM; those"
            " that were killed give their runs up within a minute"
        )


async def _oldest_first(source: Store) -> list[RunId]:
    found: list[RunId] = []
    cursor = ""
    while True:
        page = await source.list_runs(RunFilter(), _PAGE, cursor)
        found += [run.id for run in page.runs]
        if not page.cursor:
            return found[::-1]
        cursor = page.cursor


async def _copy(source: Store, target: Store, run: RunId, copied: Copied) -> Copied:
    parcel = await source.pack(run)
    there = await _there(target, run)
    if there is None:
        await target.unpack(parcel)
        arrived = await target.pack(run)
        if arrived != parcel:
            raise StoreError("it did not arrive as it was packed")
        waits = parcel.run.status is RunStatus.WAITING
        return replace(copied, runs=copied.runs + 1, waiting=copied.waiting + waits)
    if there != parcel:
        raise CommitConflictError(
            "it is in both stores and not the same: one of them was served since it was copied"
        )
    return replace(copied, known=copied.known + 1)


async def _there(target: Store, run: RunId) -> Parcel | None:
    try:
        return await target.pack(run)
    except RunNotFoundError:
        return None
