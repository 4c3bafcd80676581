"""Gauges: how much there is to do, for whoever watches."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Gauges:
    """How much there is to do at one moment, by the store's clock.

    What ends is not among it: there is ever more of that, and counting it would cost ever more.

    Attributes:
        now: The moment.
        queued: Runs that nobody holds, those behind a concurrency key or a retry among them.
        running: Queued runs that a live claim holds.
        waiting: Parked runs.
        waiting_since: When the run that has been parked the longest was parked; a vote that
            leaves it parked does not count.
        cards_behind: Cards that do not show yet what they should.
        cards_due: Those of them that a courier could take now: not leased, not put off.
        due_since: Since when the first of these could be taken.
        held: Asks that wait for a berth.

    """

    now: datetime
    queued: int = 0
    running: int = 0
    waiting: int = 0
    waiting_since: datetime | None = None
    cards_behind: int = 0
    cards_due: int = 0
    due_since: datetime | None = None
    held: int = 0
