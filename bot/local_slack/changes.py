"""The feed of changes that a page or a test can watch, and the private notices people get."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

KEPT = 10_000
"""Changes remembered for a watcher that comes late; older ones are forgotten."""


class ChangeKind(StrEnum):
    """What kind of thing changed."""

    MESSAGE_POSTED = "message_posted"
    MESSAGE_UPDATED = "message_updated"
    MESSAGE_DELETED = "message_deleted"
    EPHEMERAL = "ephemeral"
    VIEW_OPENED = "view_opened"
    VIEW_UPDATED = "view_updated"
    VIEW_CLOSED = "view_closed"
    HOME = "home"
    NOTICE = "notice"
    WORLD = "world"
    SOCKETS = "sockets"
    CALL = "call"
    DELIVERY = "delivery"


class Change(BaseModel):
    """One change. `seq` counts from 1. `user` None means that everyone may see it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    kind: ChangeKind
    user: str | None = None
    channel: str | None = None
    ts: str | None = None
    view_id: str | None = None


class Notice(BaseModel):
    """What Slack's client tells one person when something goes wrong, outside any message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: float
    user: str
    text: str
    detail: str = ""
    channel: str | None = None


class Feed:
    """Numbers changes, remembers the last of them and hands them to whoever watches."""

    def __init__(self) -> None:
        self._kept: deque[Change] = deque(maxlen=KEPT)
        self._watchers: list[asyncio.Queue[Change]] = []
        self._seq = 0

    @property
    def seq(self) -> int:
        """Return the number of the newest change, 0 if there was none."""
        return self._seq

    def tell(
        self,
        kind: ChangeKind,
        *,
        user: str | None = None,
        channel: str | None = None,
        ts: str | None = None,
        view_id: str | None = None,
    ) -> None:
        """Record a change and wake the watchers."""
        self._seq += 1
        change = Change(
            seq=self._seq, kind=kind, user=user, channel=channel, ts=ts, view_id=view_id
        )
        self._kept.append(change)
        for queue in self._watchers:
            queue.put_nowait(change)

    @contextmanager
    def watching(self, after: int) -> Iterator[asyncio.Queue[Change]]:
        """Give a queue of every change with a number greater than `after`."""
        queue: asyncio.Queue[Change] = asyncio.Queue()
        for kept in self._kept:
            if kept.seq > after:
                queue.put_nowait(kept)
        self._watchers.append(queue)
        try:
            yield queue
        finally:
            self._watchers.remove(queue)
