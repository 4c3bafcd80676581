"""Faults on demand: what goes wrong with the next calls of a method, and how it goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import assert_never

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

Sleep = Callable[[float], Awaitable[None]]
"""Waits a number of seconds, as `asyncio.sleep`."""


class FaultKind(StrEnum):
    """How a call goes wrong.

    `ratelimited`: 429 with Retry-After. `server_error`: an HTTP status of the 500s. `error`: any
    Slack error code. `html`: 200 with a page instead of JSON. `drop_before`: the connection is cut
    and nothing happened. `drop_after_accept`: it happened, then the connection is cut. `timeout`:
    nothing happens and nothing is answered. `slow`: it happens after a delay. `hold`: it happens,
    the answer waits for a release. `hold_before`: it happens only after a release.
    """

    RATELIMITED = "ratelimited"
    SERVER_ERROR = "server_error"
    ERROR = "error"
    HTML = "html"
    DROP_BEFORE = "drop_before"
    DROP_AFTER_ACCEPT = "drop_after_accept"
    TIMEOUT = "timeout"
    SLOW = "slow"
    HOLD = "hold"
    HOLD_BEFORE = "hold_before"


class Fault(BaseModel):
    """A fault to plant.

    `method` is a Web API method, `response_url` for posts to response URLs, or `*` for all.
    `channel` narrows it to calls whose `channel` argument is exactly this. `times` None means
    until it is cleared.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    method: str = "*"
    channel: str | None = None
    times: int | None = Field(default=1, ge=1)
    error: str = "internal_error"
    retry_after_s: int = Field(default=1, ge=0)
    status: int = Field(default=500, ge=500, le=599)
    delay_s: float = Field(default=0.0, ge=0)


class FaultView(BaseModel):
    """A planted fault: how often it will still strike, and how many calls wait in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    fault: Fault
    left: int | None
    waiting: int


class Planted:
    """A fault in place; waiting calls pass its gate when it is released."""

    def __init__(self, fault_id: int, fault: Fault) -> None:
        self.id = fault_id
        self.fault = fault
        self.left = fault.times
        self.waiting = 0
        self._gate = asyncio.Event()

    def strikes(self, method: str, channel: object) -> bool:
        """Tell whether this fault is for such a call."""
        return (
            self.left != 0
            and self.fault.method in ("*", method)
            and self.fault.channel in (None, channel)
        )

    def release(self) -> None:
        """Let every call that waits now go on; calls that come later wait again."""
        gate, self._gate = self._gate, asyncio.Event()
        gate.set()

    async def wait(self) -> None:
        """Wait for the release."""
        with self._counted():
            await self._gate.wait()

    def view(self) -> FaultView:
        """Describe the fault as it stands."""
        return FaultView(id=self.id, fault=self.fault, left=self.left, waiting=self.waiting)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1


class Faults:
    """All planted faults; of several that match, the oldest strikes."""

    def __init__(self) -> None:
        self._planted: dict[int, Planted] = {}
        self._last_id = 0

    def plant(self, fault: Fault) -> int:
        """Plant a fault and return its id."""
        self._last_id += 1
        self._planted[self._last_id] = Planted(self._last_id, fault)
        return self._last_id

    def take(self, method: str, channel: object) -> Planted | None:
        """Return the fault that strikes this call, counted as one time, or None."""
        for planted in self._planted.values():
            if planted.strikes(method, channel):
                if planted.left is not None:
                    planted.left -= 1
                return planted
        return None

    def release(self, fault_id: int | None = None) -> None:
        """Let the calls waiting in one fault (or in all) go on. Raises KeyError for no such id."""
        for planted in self._chosen(fault_id):
            planted.release()

    def clear(self, fault_id: int | None = None) -> None:
        """Remove one fault (or all) and let its waiting calls go. Raises KeyError as above."""
        for planted in self._chosen(fault_id):
            del self._planted[planted.id]
            planted.release()

    def views(self) -> list[FaultView]:
        """Describe every fault that has calls left or waiting."""
        return [one.view() for one in self._planted.values() if one.left != 0 or one.waiting]

    def _chosen(self, fault_id: int | None) -> list[Planted]:
        return list(self._planted.values()) if fault_id is None else [self._planted[fault_id]]


async def misbehave(
    planted: Planted, request: web.Request, act: Callable[[], web.Response], sleep: Sleep
) -> web.Response:
    """Answer a call as its fault says; `act` does what was asked and returns the true answer."""
    fault = planted.fault
    answer: web.Response
    match fault.kind:
        case FaultKind.RATELIMITED | FaultKind.SERVER_ERROR | FaultKind.ERROR | FaultKind.HTML:
            answer = _wrong_answer(fault)
        case FaultKind.DROP_BEFORE:
            answer = cut(request)
        case FaultKind.DROP_AFTER_ACCEPT:
            act()
            answer = cut(request)
        case FaultKind.TIMEOUT:
            await planted.wait()
            answer = cut(request)
        case FaultKind.SLOW:
            await sleep(fault.delay_s)
            answer = act()
        case FaultKind.HOLD:
            answer = act()
            await planted.wait()
        case FaultKind.HOLD_BEFORE:
            await planted.wait()
            answer = act()
        case _:
            assert_never(fault.kind)
    return answer


def cut(request: web.Request) -> web.Response:
    """Cut the connection; the response returned can no longer be sent."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _wrong_answer(fault: Fault) -> web.Response:
    if fault.kind is FaultKind.RATELIMITED:
        return web.json_response(
            {"ok": False, "error": "ratelimited"},
            status=429,
            headers={"Retry-After": str(fault.retry_after_s)},
        )
    if fault.kind is FaultKind.SERVER_ERROR:
        return web.Response(text="upstream error", status=fault.status)
    if fault.kind is FaultKind.HTML:
        return web.Response(text="<html><body>Slack</body></html>", content_type="text/html")
    return web.json_response({"ok": False, "error": fault.error})
