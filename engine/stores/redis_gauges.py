"""How much there is to do: counts along the indexes of what is live."""

from datetime import datetime

from engine.gauges import Gauges
from engine.stores.redis_berths import WAITING
from engine.stores.redis_scripts import Server
from engine.stores.rows import to_moment


async def read(server: Server) -> Gauges:
    """Count what is live; in a Cluster each place is counted at a moment of its own."""
    replies = await server.run_everywhere(
        "gauges", ["agents", "claimed", "parked", "behind"], server.now()
    )
    nows, queued, running, waiting, waits, behind, due, dues = zip(*replies, strict=True)
    held = await server.read("ZCARD", WAITING)
    return Gauges(
        now=to_moment(max(int(now) for now in nows)),
        queued=sum(queued),
        running=sum(running),
        waiting=sum(waiting),
        waiting_since=_earliest(waits),
        cards_behind=sum(behind),
        cards_due=sum(due),
        due_since=_earliest(dues),
        held=int(held),
    )


def _earliest(moments: tuple[bytes, ...]) -> datetime | None:
    known = [int(moment) for moment in moments if moment]
    return to_moment(min(known)) if known else None
