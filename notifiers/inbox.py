"""A notifier that keeps what it was told, for tests and scripts."""

from typing import assert_never

from engine.cards import BatchNotice, HeldNotice, Notice, OutcomeNotice, Receipt, TicketNotice
from engine.errors import DeliveryError
from engine.identity import Via


class InboxNotifier:
    """Keeps every notice in order, and the latest of each card by its idempotency key.

    Attributes:
        notices: All notices, oldest first.
        latest: The last notice of each card.
        tokens: ``<run>:<approval>`` to the token that answers it; kept after it is closed, so that
            a second answer can be tried.

    """

    audience = Via.API

    def __init__(self) -> None:
        """Start empty and working."""
        self.notices: list[Notice] = []
        self.latest: dict[str, Notice] = {}
        self.tokens: dict[str, str] = {}
        self._failures: list[DeliveryError] = []

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:
        """Keep the notice, or fail if told to."""
        if self._failures:
            raise self._failures.pop(0)
        self.notices.append(notice)
        self.latest[notice.idempotency] = notice
        self._keep_token(notice)
        return receipt or Receipt(place="inbox", id=notice.idempotency)

    def fail(self, times: int = 1, error: DeliveryError | None = None) -> None:
        """Make the next deliveries fail."""
        self._failures += [error or DeliveryError("the inbox was told to fail")] * times

    def closed(self, idempotency: str) -> bool:
        """Tell whether a card can no longer be answered.

        Raises:
            KeyError: no such card was shown.

        """
        notice = self.latest[idempotency]
        return isinstance(notice, OutcomeNotice | HeldNotice) or notice.resolution is not None

    def _keep_token(self, notice: Notice) -> None:
        for one in _tickets(notice):
            if one.token is not None:
                self.tokens[f"{one.run}:{one.approval}"] = one.token.get_secret_value()


def _tickets(notice: Notice) -> tuple[TicketNotice, ...]:
    match notice:
        case BatchNotice(tickets=several):
            return several
        case TicketNotice():
            return (notice,)
        case OutcomeNotice() | HeldNotice():
            return ()
        case _:
            assert_never(notice)
