"""What is asked of the store: runs, records, events, refs, lists, and what falls due."""

from itertools import islice
from typing import Any

from engine.entries import Record
from engine.errors import RunNotFoundError
from engine.events import RunEvent
from engine.ids import ApprovalId, Ref, RunId
from engine.runs import RunStatus
from engine.store import Found, Loaded, Page, RunFilter
from engine.stores.keys import (
    name_of_key,
    name_of_ticket,
    place_of_ref,
    place_of_run,
    scope_of,
)
from engine.stores.packing import unpack
from engine.stores.redis_commit import confirm, read_told
from engine.stores.redis_scripts import Server
from engine.stores.rows import (
    Readable,
    read_events,
    read_record,
    read_run,
    read_ticket,
    to_moment,
)


async def load(server: Server, run: RunId, key: str | None, approval: ApprovalId | None) -> Loaded:
    """Read a run, a key's record and a closed ticket in one script."""
    place = place_of_run(run)
    names = (
        "" if key is None else name_of_key(key),
        "" if approval is None else name_of_ticket(approval),
    )
    reply = place and await server.run(
        "load", [place.key("run", run), place.key("facts", run)], server.now(), *names
    )
    if not reply:
        raise RunNotFoundError(run)
    now, running, body, told, ticket = reply
    recorded = told and read_told(key or "", scope_of(run), told.decode())[0]
    if recorded:
        # Whoever asks is about to be told that it is recorded.
        await confirm(server, run)
    return Loaded(
        run=read_run(run, unpack(body)),
        now=to_moment(int(now)),
        recorded=recorded or None,
        closed=read_ticket(run, unpack(ticket)) if ticket else None,
        running=bool(running),
    )


async def records(server: Server, run: RunId, first: int) -> tuple[Record, ...]:
    """Return the run's records from entry ``first`` on."""
    place = place_of_run(run)
    if place is None:
        return ()
    told = await server.run("records", [place.key("facts", run)], first)
    rows = []
    for name, body in zip(told[::2], told[1::2], strict=True):
        entry, kind, index = name[1:].decode().split(".")
        rows.append((int(entry), kind, int(index), unpack(body)))
    return tuple(read_record(run, row) for row in sorted(rows))


async def events(server: Server, run: RunId, after: int) -> tuple[RunEvent, ...]:
    """Return the events past ``after``, reading no further back than they go."""
    place = place_of_run(run)
    if place is None:
        return ()
    lines = await server.run("events", [place.key("log", run)], after)
    groups = [read_events(run, unpack(line.split(b"\n", 2)[2])) for line in reversed(lines)]
    return tuple(event for group in groups for event in group if event.seq > after)


async def find(server: Server, ref: Ref) -> Found | None:
    """Return what the ref was last given to: a live one cannot be taken over."""
    place = place_of_ref(ref)
    held = place and await server.read("HGET", place.key("refs"), ref)
    if not held:
        return None
    run, _, approval = held.decode().partition(" ")
    return Found(RunId(run), ApprovalId(approval) if approval else None)


async def list_runs(
    server: Server, wanted: RunFilter, limit: int, cursor: str, readable: Readable
) -> Page:
    """Return a page of runs, in the reverse of the order in which they were made."""
    rows = await _newest(server, wanted, limit + 1, cursor)
    shown = rows[:limit]
    runs = (readable.run(RunId(run.decode()), int(v), unpack(body)) for v, _, run, body in shown)
    return Page(
        runs=tuple(run for run in runs if run is not None),
        cursor=shown[-1][1].decode() if len(rows) > limit else "",
    )


async def due(server: Server, limit: int, readable: Readable) -> tuple[RunId, ...]:
    """Return waiting runs past a deadline, passing over those that cannot be read."""
    while True:
        known = len(readable.passed_over)
        replies = await server.run_everywhere("due", ["due"], server.now(), limit + known)
        late = sorted(told for some in replies for told in some)
        runs = (
            readable.run(RunId(run.decode()), int(version), unpack(body))
            for _, run, version, body in late
        )
        found = tuple(islice((run.id for run in runs if run is not None), limit))
        # Runs that were now found to be unreadable took the place of others.
        if len(found) == limit or len(readable.passed_over) == known:
            return found


async def _newest(server: Server, wanted: RunFilter, limit: int, cursor: str) -> list[Any]:
    views = frozenset(wanted.statuses or RunStatus)
    rows: list[Any] = []
    for statuses, claimed in _stored(views):
        kinds = [f"is:{status.value}" for status in statuses]
        replies = await server.run_everywhere(
            "list", kinds, server.now(), cursor, limit, wanted.agent, wanted.owner, claimed
        )
        rows += [row for some in replies for row in some]
    return sorted(rows, key=lambda row: row[1], reverse=True)[:limit]


def _stored(views: frozenset[RunStatus]) -> list[tuple[list[RunStatus], str]]:
    """Return the stored statuses to walk, and whether a live claim must hold the runs in them."""
    queued = views & {RunStatus.QUEUED, RunStatus.RUNNING}
    others = sorted(views - queued)
    if len(queued) != 1:
        both = [RunStatus.QUEUED] if queued else []
        return [([*both, *others], "")] if both or others else []
    claimed = "yes" if RunStatus.RUNNING in queued else "no"
    return [([RunStatus.QUEUED], claimed), *([(others, "")] if others else [])]
