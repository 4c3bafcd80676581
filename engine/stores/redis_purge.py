"""Retention: runs that ended long ago go, with all that was kept of them."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, groupby
from operator import itemgetter

from engine.ids import RunId
from engine.store import CARDS_KEEP_FOR
from engine.stores.keys import EVERYWHERE, Place
from engine.stores.packing import unpack
from engine.stores.redis_scripts import Server
from engine.stores.rows import Readable, span, to_micros


@dataclass(frozen=True, slots=True)
class _Before:
    """Runs that ended before the first moment go; with a card behind, before the second."""

    older: int
    untold: int


Ended = tuple[int, str, Place]
"""When a run ended, its id, and where it lives."""


_AT_ONCE = 100


async def purge(
    server: Server, older_than: datetime, limit: int, readable: Readable, *, dry_run: bool
) -> int:
    """Remove runs, place by place, those that ended first first; return how many."""
    older = to_micros(older_than)
    before = _Before(older, older - span(CARDS_KEEP_FOR))
    removed = 0
    while True:
        left = limit - removed
        places = await asyncio.gather(
            *(_ended(server, place, before, left) for place in EVERYWHERE)
        )
        first = sorted(chain.from_iterable(places), key=itemgetter(0, 1))[:left]
        await _look(server, first, readable)
        if dry_run:
            return len(first)
        gone = await _remove(server, before, first)
        removed += gone
        # Where another process purged too, some were gone already.
        if len(first) < left or gone == left:
            return removed


async def _look(server: Server, ended: list[Ended], readable: Readable) -> None:
    for start in range(0, len(ended), _AT_ONCE):
        some = ended[start : start + _AT_ONCE]
        asked = (server.read("HGET", place.key("facts", run), "b") for _, run, place in some)
        for (_, run, _), body in zip(some, await asyncio.gather(*asked), strict=True):
            # Where another process purged too, it may be gone already.
            if body is not None:
                readable.look(RunId(run), unpack(body))


async def _ended(server: Server, place: Place, before: _Before, limit: int) -> list[Ended]:
    found: list[Ended] = []
    passed = 0
    while len(found) < limit:
        looked, *some = await server.run(
            "ended", [place.key("ended")], before.older, before.untold, limit, passed
        )
        found += [(int(moment), run.decode(), place) for moment, run in some]
        passed += looked
        if looked < limit:
            break
    return found


async def _remove(server: Server, before: _Before, ended: list[Ended]) -> int:
    removed = 0
    for letter, some in groupby(sorted(ended, key=_letter), key=_letter):
        index = Place(letter).key("ended")
        runs = [run for _, run, _ in some]
        removed += await server.run("purge", [index], before.older, before.untold, *runs)
    return removed


def _letter(ended: Ended) -> str:
    return ended[2].letter
