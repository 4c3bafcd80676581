"""A Python client of the control API, with the same verbs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, TypeVar

from bot.local_slack.client_parts import AppSide, FaultControl, SocketControl, WorldControl
from bot.local_slack.control_link import ControlLink
from bot.local_slack.dispatch import Kind
from bot.local_slack.forgery import Forgery
from bot.local_slack.verbs import (
    ActResult,
    Click,
    CloseView,
    OpenHome,
    Raw,
    Resend,
    Say,
    Slash,
    Submit,
    Values,
)

Json = dict[str, Any]
T = TypeVar("T")

WAIT_S = 5.0


class LocalSlackClient:
    """Tells the people of a running LocalSlack what to do.

    `faults`, `sockets`, `world` and `app` hold the rest of the control API. Every call raises
    ControlError when a person could not do it. Use as an async context manager, or call `close`.
    """

    def __init__(self, url: str) -> None:
        self._link = ControlLink(url)
        self.faults = FaultControl(self._link)
        self.sockets = SocketControl(self._link)
        self.world = WorldControl(self._link)
        self.app = AppSide(self._link)

    async def click(
        self,
        user: str,
        channel: str | None = None,
        ts: str | None = None,
        action_id: str = "",
        *,
        view_id: str | None = None,
        block_id: str | None = None,
        value: object = None,
        values: Values | None = None,
        confirm: bool = True,
        forge: Forgery | None = None,
    ) -> ActResult:
        """Press or pick something in a message, or in a view if `view_id` is given."""
        verb = Click(
            user=user,
            channel=channel,
            ts=ts,
            action_id=action_id,
            view_id=view_id,
            block_id=block_id,
            value=value,
            values=values or {},
            confirm=confirm,
            forge=forge,
        )
        return await self._link.act("click", verb)

    async def submit(
        self,
        user: str,
        values: Values | None = None,
        *,
        view_id: str | None = None,
        forge: Forgery | None = None,
    ) -> ActResult:
        """Fill in and submit the topmost modal."""
        verb = Submit(user=user, view_id=view_id, values=values or {}, forge=forge)
        return await self._link.act("submit", verb)

    async def close_view(
        self, user: str, *, view_id: str | None = None, clear: bool = False
    ) -> ActResult:
        """Close the topmost modal, or all."""
        return await self._link.act(
            "close_view", CloseView(user=user, view_id=view_id, clear=clear)
        )

    async def slash(
        self,
        user: str,
        channel: str,
        text: str = "",
        *,
        command: str = "/holdshort",
        forge: Forgery | None = None,
    ) -> ActResult:
        """Type a slash command."""
        verb = Slash(user=user, channel=channel, text=text, command=command, forge=forge)
        return await self._link.act("slash", verb)

    async def open_home(self, user: str, *, forge: Forgery | None = None) -> ActResult:
        """Open the app's Home tab."""
        return await self._link.act("open_home", OpenHome(user=user, forge=forge))

    async def say(
        self, user: str, channel: str, text: str, *, thread_ts: str | None = None
    ) -> Json:
        """Write a message as a person and return it."""
        verb = Say(user=user, channel=channel, text=text, thread_ts=thread_ts)
        return await self._link.post("say", verb)

    async def raw(
        self,
        payload: Json,
        *,
        kind: Kind = Kind.INTERACTIVE,
        forge: Forgery | None = None,
    ) -> ActResult:
        """Send any payload at all."""
        return await self._link.act("raw", Raw(kind=kind, payload=payload, forge=forge))

    async def resend(
        self,
        delivery_id: int,
        *,
        retry_num: int | None = None,
        retry_reason: str = "http_timeout",
        fresh_signature: bool = False,
    ) -> ActResult:
        """Send the identical bytes of an earlier delivery again."""
        verb = Resend(
            delivery_id=delivery_id,
            retry_num=retry_num,
            retry_reason=retry_reason,
            fresh_signature=fresh_signature,
        )
        return await self._link.act("resend", verb)

    async def state(self, user: str) -> Json:
        """Return what a person sees: channels with messages, views, home, notices."""
        return await self._link.get("state", user=user)

    async def wait_for(
        self, look: Callable[[], Awaitable[T | None]], timeout_s: float = WAIT_S
    ) -> T:
        """Call `look` now and after every change until it returns something true; return that.

        Raises TimeoutError after `timeout_s` seconds, ConnectionError if the server stops.
        """
        async with asyncio.timeout(timeout_s), aclosing(self._looks(look)) as looks:
            async for found in looks:
                if found:
                    return found
        raise ConnectionError("the local Slack stopped while it was watched")

    async def wait_for_message(
        self,
        user: str,
        channel: str,
        matches: Callable[[Json], bool] = bool,
        timeout_s: float = WAIT_S,
    ) -> Json:
        """Wait until a person sees a message that matches, newest first, and return it."""

        async def look() -> Json | None:
            for one in (await self.state(user))["channels"]:
                if one["id"] == channel:
                    return next((m for m in reversed(one["messages"]) if matches(m)), None)
            return None

        return await self.wait_for(look, timeout_s)

    async def close(self) -> None:
        """Close the connections."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _looks(
        self, look: Callable[[], Awaitable[T | None]]
    ) -> AsyncGenerator[T | None, None]:
        async with self._link.changes() as changes:
            yield await look()
            async for _ in changes:
                yield await look()
