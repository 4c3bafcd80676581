"""Moving a run that has something of all that can be kept of one."""

from typing import Any

from engine.cards import Role
from engine.entries import RecordKind
from engine.ids import RunId
from engine.runs import Run, RunStatus
from engine.store import KeyRecord, Parcel, Store
from tests.contracts.play import LEASE, Play, due, keyed
from tests.factories import (
    make_card_key,
    make_closed,
    make_event,
    make_next,
    make_receipt,
    make_record,
)


async def move(store: Store, target: Store, run: RunId) -> Parcel:
    """Put a run into another store, and see that it arrived as it was."""
    parcel = await store.pack(run)
    await target.unpack(parcel)
    assert await target.pack(run) == parcel
    return parcel


async def lived(play: Play) -> Run:
    """Take a run to a wait, with something of all that can be kept of one."""
    run = play.run()
    start = KeyRecord(f"start:{run.agent}:{run.concurrency_key}", "a start", "body", "{}")
    facts: dict[str, Any] = {
        "records": (make_record(0), make_record(1, RecordKind.RESULT, 1)),
        "events": (make_event(1), make_event(2)),
    }
    asks = make_card_key(run)
    await play.commit(run, key=start, raised=(asks, make_card_key(run, role=Role.ASKED)), **facts)
    first = await play.park(*await play.claim())
    answered = make_next(first, status=RunStatus.QUEUED, tickets=())
    closed = (make_closed(first.tickets[0]),)
    await play.commit(answered, closed=closed, key=keyed(answered, key="an answer"), raised=(asks,))
    card, other = await due(play.store)
    await play.store.card_shown(card, card.wanted, make_receipt(link="https://slack/1", note="n"))
    await play.store.card_failed(other, play.clock.now + LEASE)
    await play.store.adopt_card(asks, make_receipt(link="https://slack/2"))
    resumed, claim = await play.claim()
    later = make_next(resumed)
    await play.commit(later, claim, events=(make_event(3),))
    return await play.park(later, claim)
