"""Claims: which run is next, and who holds it. Outside the run's version."""

from dataclasses import replace
from datetime import datetime, timedelta

from engine.errors import ClaimLostError
from engine.ids import RunId
from engine.runs import Run
from engine.store import Claim
from engine.stores.keys import CHANNEL, home_of
from engine.stores.packing import unpack
from engine.stores.redis_scripts import Argument, Server
from engine.stores.rows import Readable, span, to_micros, to_moment

_ID = slice(42, None)
"""Where a member of the queue has the run's id: behind ten digits of rank and two moments."""


async def claim(
    server: Server, worker: str, lease: timedelta, readable: Readable
) -> tuple[Run, Claim] | None:
    """Take the next ready run that can be read."""
    while True:
        member = await _next_ready(server, readable)
        if member is None:
            return None
        run, fence = member
        if run is None:
            continue
        place = home_of(run.id)
        taken = await server.run(
            "claim",
            [place.key("run", run.id), place.key("ready"), place.key("holds")],
            *(server.now(), run.id, run.version, fence, worker, span(lease)),
        )
        if taken:
            made, losses, until = (int(number) for number in taken)
            return run, Claim(run.id, worker, made, to_moment(until), losses)


async def heartbeat(server: Server, claim: Claim, lease: timedelta) -> Claim:
    """Extend a claim that still holds."""
    place = home_of(claim.run)
    until = await server.run(
        "heartbeat",
        [place.key("run", claim.run), place.key("ready")],
        *(server.now(), claim.run, claim.fence, span(lease)),
    )
    if not until:
        raise ClaimLostError(f"run {claim.run} is no longer held by this claim")
    return replace(claim, until=to_moment(int(until)))


async def release(server: Server, claim: Claim, retry_at: datetime | None, ring: str) -> None:
    """Give a claim back, if it still holds."""
    place = home_of(claim.run)
    retry = f"{to_micros(retry_at):016}" if retry_at else ""
    await server.run(
        "release",
        [place.key("run", claim.run), place.key("ready")],
        *(server.now(), claim.run, claim.fence, retry, CHANNEL, ring),
    )


async def _next_ready(server: Server, readable: Readable) -> tuple[Run | None, int] | None:
    """Return the next run and its fence; no run where it cannot be read, nothing if none is."""
    passed: list[Argument] = []
    for name, version in readable.passed_over:
        passed += [name, version]
    replies = await server.run_everywhere("peek", ["ready"], server.now(), *passed)
    member, version, fence, body = min((r for r in replies if r), default=(b"", 0, 0, b""))
    if not member:
        return None
    run = readable.run(RunId(member[_ID].decode()), int(version), unpack(body))
    return run, int(fence)
