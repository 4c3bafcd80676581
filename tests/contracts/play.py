"""What the contract's tests do to a store again and again, in one word each."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from engine.cards import Card, CardKey, Receipt
from engine.entries import Record
from engine.errors import RunNotFoundError
from engine.events import RunEvent
from engine.ids import Ref, RunId, place_for
from engine.runs import Run
from engine.store import Change, Claim, ClaimEffect, Done, Found, KeyRecord, Store
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_ended,
    make_next,
    make_parked,
    make_ref,
    make_run,
)

LEASE = timedelta(seconds=30)
LONG = timedelta(seconds=30)
"""More than any test takes: a wait that must end by itself."""


def keyed(run: Run, body: str = "body", key: str = "key") -> KeyRecord:
    """Return the record of an answer that brought the run to this version."""
    return KeyRecord(f"run:{run.id}", key, body, f'{{"told": "{run.version}"}}')


async def due(store: Store) -> list[Card]:
    """Take whatever card is due."""
    return list(await store.take_cards("courier", LEASE, 10))


async def posts(store: Store, run: RunId) -> dict[str, int]:
    """Return the messages that a run's cards are known to be, and how far each is shown."""
    known = await store.cards(run)
    return {card.receipt.id: card.shown for card in known if card.receipt is not None}


@dataclass(frozen=True, slots=True)
class Reading:
    """All that can be read of a run."""

    run: Run | None
    records: tuple[Record, ...]
    events: tuple[RunEvent, ...]
    cards: tuple[Card, ...]
    found: tuple[Found | None, ...]


@dataclass(frozen=True, slots=True)
class Play:
    """A store, its clock, and the moves that a test makes."""

    store: Store
    clock: HeldClock

    def run(self, **given: Any) -> Run:
        """Return a new run whose id lives where its concurrency key does."""
        return make_run(place_for(given.get("concurrency_key", "")), **given)

    def ref(self) -> Ref:
        """Return a new ref for what lives where runs without a concurrency key do."""
        return make_ref(place_for(""))

    async def start(self, **given: Any) -> Run:
        """Commit a new run."""
        run = self.run(**given)
        await self.commit(run)
        return run

    async def commit(self, run: Run, under: Claim | None = None, **given: Any) -> Done:
        """Commit the change that brings a run to this version."""
        return await self.store.commit(make_change(run, **given), under)

    async def claim(self, worker: str = "worker") -> tuple[Run, Claim]:
        """Claim the next run; there must be one."""
        taken = await self.store.claim(worker, LEASE)
        assert taken is not None
        return taken

    async def claimed(self, **given: Any) -> tuple[Run, Claim]:
        """Start a run and claim it."""
        run = await self.start(**given)
        taken = await self.claim()
        assert taken[0] == run
        return taken

    async def park(self, run: Run, claim: Claim, *tickets: Any) -> Run:
        """Let a claimed run wait."""
        parked = make_parked(run, *tickets)
        await self.commit(parked, claim, opened=parked.tickets, claim=ClaimEffect.RELEASE)
        return parked

    async def parked(self, *tickets: Any, **given: Any) -> Run:
        """Start a run and let it wait."""
        return await self.park(*await self.claimed(**given), *tickets)

    async def end(self, run: Run, claim: Claim | None = None) -> Run:
        """End a run."""
        ended = make_ended(run)
        await self.commit(ended, claim, claim=ClaimEffect.RELEASE)
        return ended

    async def next_ready(self) -> RunId | None:
        """Claim the next run and tell which it is."""
        taken = await self.store.claim("worker", LEASE)
        return None if taken is None else taken[0].id

    async def raised(self, *keys: CardKey, run: Run | None = None) -> Run:
        """Start a run, or bring one a version further, with these cards raised."""
        if run is not None:
            later = make_next(run)
            await self.commit(later, raised=keys)
            return later
        made = self.run()
        await self.commit(made, raised=keys or (make_card_key(made),))
        return made

    async def take(self) -> Card:
        """Take the one card that is due."""
        (card,) = await self.store.take_cards("courier", LEASE, 10)
        return card

    async def shown(self, receipt: Receipt) -> tuple[Run, Card]:
        """Start a run whose card has been shown."""
        run = await self.raised()
        card = await self.take()
        await self.store.card_shown(card, run.version, receipt)
        return run, card

    async def reading(self, change: Change) -> Reading:
        """Read all that a change could have written."""
        run = change.run
        refs = (run.ref, *(ticket.ref for ticket in change.opened))
        try:
            loaded = (await self.store.load(run.id)).run
        except RunNotFoundError:
            loaded = None
        return Reading(
            loaded,
            await self.store.records(run.id),
            await self.store.events(run.id),
            await self.store.cards(run.id),
            tuple([await self.store.find(ref) for ref in refs]),
        )
