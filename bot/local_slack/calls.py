"""The record of every call an app made: what it asked, and what became of it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from bot.local_slack.changes import ChangeKind, Feed
from bot.local_slack.faults import FaultKind
from bot.local_slack.ids import Clock

CUT = "cut"
HELD = "held"


class RecordedCall(BaseModel):
    """One call. The token itself is not kept, only which one it was.

    `outcome` is `held` while a fault keeps the call, `ok`, a Slack error code, or `cut` when the
    connection was cut. `token` is `bot`, `app`, `unknown` or `none`. `at` is in epoch seconds.
    """

    model_config = ConfigDict(extra="forbid")

    id: int
    at: float
    method: str
    arguments: dict[str, Any]
    token: str
    outcome: str = HELD
    status: int | None = None
    fault: FaultKind | None = None
    response: dict[str, Any] | None = None


class Calls:
    """Every call, oldest first."""

    def __init__(self, clock: Clock, feed: Feed) -> None:
        self._clock = clock
        self._feed = feed
        self._records: list[RecordedCall] = []

    def begin(self, method: str, arguments: dict[str, Any], token: str) -> RecordedCall:
        """Record a call as it arrives."""
        record = RecordedCall(
            id=len(self._records) + 1,
            at=self._clock(),
            method=method,
            arguments=arguments,
            token=token,
        )
        self._records.append(record)
        return record

    def end(
        self,
        record: RecordedCall,
        outcome: str,
        *,
        status: int | None = None,
        response: dict[str, Any] | None = None,
    ) -> None:
        """Record what became of a call."""
        record.outcome, record.status, record.response = outcome, status, response
        self.tell()

    def tell(self) -> None:
        """Tell the feed that the record of calls changed."""
        self._feed.tell(ChangeKind.CALL)

    def select(self, method: str | None = None, after: int = 0) -> list[RecordedCall]:
        """Return the calls with an id greater than `after`, of one method if one is named."""
        return [
            record
            for record in self._records
            if record.id > after and method in (None, record.method)
        ]
