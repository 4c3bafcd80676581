"""The courier: brings every card up to the present state of its run."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

from engine.cards import Card, Notifier, Receipt, Role
from engine.errors import DeliveryError, HoldshortError
from engine.guard import contained
from engine.ids import Surroundings
from engine.notices import NoticeWriter
from engine.store import Store

BATCH = 20
LEASE = timedelta(seconds=30)
FIRST_RETRY = timedelta(seconds=1)
LAST_RETRY = timedelta(minutes=5)
PERMANENT_RETRY = timedelta(minutes=1)
_ASK_FIRST = timedelta(milliseconds=250)


class Courier:
    """Delivers cards. Any number may deliver for the same store: each card is leased."""

    def __init__(
        self,
        store: Store,
        notifiers: Mapping[str, Notifier],
        writer: NoticeWriter,
        surroundings: Surroundings,
    ) -> None:
        """Take the notifiers by name and the writer that makes notices of committed state."""
        self._store = store
        self._notifiers = notifiers
        self._writer = writer
        self._surroundings = surroundings
        self._name = surroundings.ids.new("courier")

    async def deliver(self) -> int:
        """Take the cards that are due and show each; return how many were taken."""
        cards = await self._store.take_cards(self._name, LEASE, BATCH)
        by_run: dict[str, list[Card]] = {}
        for card in cards:
            by_run.setdefault(card.key.run, []).append(card)
        await asyncio.gather(*(self._deliver_in_order(group) for group in by_run.values()))
        return len(cards)

    async def _deliver_in_order(self, cards: list[Card]) -> None:
        order = list(Role)
        for card in sorted(cards, key=lambda card: order.index(card.key.role)):
            await self._deliver(card)

    async def _deliver(self, card: Card) -> None:
        try:
            await self._show(card)
        except DeliveryError as error:
            self._surroundings.report("courier", error)
            await self._store.card_failed(card, self._retry_at(card, error))
        except HoldshortError as error:
            self._surroundings.report("courier", error)
        except Exception as error:  # noqa: BLE001 - one card's fault must not stop the others
            self._surroundings.report("courier", error)
            await self._store.card_failed(card, self._surroundings.clock() + LAST_RETRY)

    async def _show(self, card: Card) -> None:
        notifier = self._notifiers.get(card.key.notifier)
        if notifier is None:
            raise DeliveryError(f"no notifier is named {card.key.notifier!r}", permanent=True)
        written = await self._writer.write(card, notifier.audience)
        if written.wait_for_ask and card.attempts == 0:
            await self._store.card_failed(card, self._surroundings.clock() + _ASK_FIRST)
            return
        if written.notice is None:
            await self._store.card_shown(
                card, written.version, Receipt(place="", id="", shown=False)
            )
            return
        with contained():
            receipt = await notifier.show(written.notice, _known(card))
        kept = receipt.model_copy(update={"also": ()})
        await self._store.card_shown(card, written.version, kept)
        for more in receipt.also:
            await self._store.adopt_card(card.key, more)

    def _retry_at(self, card: Card, error: DeliveryError) -> datetime:
        pause = min(FIRST_RETRY * (1 << min(card.attempts, 16)), LAST_RETRY)
        if error.permanent:
            pause = max(pause, PERMANENT_RETRY)
        if error.retry_after is not None:
            pause = max(pause, timedelta(seconds=error.retry_after))
        return self._surroundings.clock() + pause


def _known(card: Card) -> Receipt | None:
    return card.receipt if card.receipt is not None and card.receipt.shown else None
