"""Socket Mode: a line that is lost in whatever way comes back, and readiness says so meanwhile."""

import asyncio
from typing import Any

import aiohttp
import pytest

from bot.server import Limits
from bot.settings import SlackMode
from bot.sockets import Pace, SocketLine
from tests.bot.stage import BOB, DEPLOYS, Stage, on_stage

BRISK = Limits(drain=2.0, goodbye=2.0, socket=Pace(ping=0.2, silence=0.8, look=0.05, close=0.2))


def socket_stage(**more: Any) -> Any:
    return on_stage(mode=SlackMode.SOCKET.value, limits=BRISK, **more)


async def line_ids(on: Stage) -> list[int]:
    return [one.id for one in await on.people.sockets.list() if not one.half_open]


async def until_new_line(on: Stage, old: list[int]) -> None:
    async def look() -> bool:
        return any(one not in old for one in await line_ids(on))

    await on.people.wait_for(look, timeout_s=15)


async def works(on: Stage) -> bool:
    """Tell whether a command gets through; on a line that is just being replaced it may not."""
    for _ in range(20):
        if (await on.people.slash(BOB, DEPLOYS, "help")).acked:
            return True
    return False


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_farewell_from_slack_is_followed_by_a_new_line(reason: str) -> None:
    async with socket_stage() as on:
        old = await line_ids(on)

        await on.people.sockets.disconnect(reason=reason)

        await until_new_line(on, old)
        assert await works(on)


async def test_a_line_that_is_cut_comes_back() -> None:
    async with socket_stage() as on:
        old = await line_ids(on)

        await on.people.sockets.cut()

        await until_new_line(on, old)
        assert await works(on)


async def test_a_line_that_is_only_half_there_is_replaced() -> None:
    async with socket_stage() as on:
        old = await line_ids(on)

        await on.people.sockets.half_open()

        await until_new_line(on, old)


async def test_the_watchdog_builds_a_new_line_when_the_sdk_has_given_up() -> None:
    async with socket_stage() as on:
        old = await line_ids(on)
        sdk: Any = line_of(on)._handler.client  # type: ignore[union-attr]
        sdk.current_session_monitor.cancel()
        sdk.message_receiver.cancel()
        await asyncio.gather(
            sdk.current_session_monitor, sdk.message_receiver, return_exceptions=True
        )

        await until_new_line(on, old)

        assert await works(on)


def line_of(on: Stage) -> SocketLine:
    check = on.bot.health.checks["socket"]
    line = check.__self__  # type: ignore[attr-defined]
    assert isinstance(line, SocketLine)
    return line


async def test_readiness_tells_of_a_line_that_is_down_and_of_one_that_is_back() -> None:
    async with socket_stage() as on:
        await ready(on, wanted=True)
        await on.people.sockets.half_open()
        down = await ready(on, wanted=False)
        up = await ready(on, wanted=True)

        assert down["checks"]["socket"] != "ok"
        assert up["checks"]["socket"] == "ok"


async def ready(on: Stage, *, wanted: bool) -> dict[str, Any]:
    """Ask until the process is ready, or is not, and return what it said."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(15):
        while True:
            async with session.get(f"{on.bot.url}/readyz") as response:
                said: dict[str, Any] = await response.json()
            if said["ready"] is wanted:
                assert response.status == (200 if wanted else 503)
                return said


async def test_at_the_end_the_line_is_closed() -> None:
    async with socket_stage() as on:
        await on.bot.stop()

        assert await on.people.sockets.list() == []


async def test_in_socket_mode_no_route_takes_requests_from_the_net() -> None:
    async with (
        socket_stage() as on,
        aiohttp.ClientSession() as session,
        session.post(on.bot.slack_url, data=b"x") as response,
    ):
        assert response.status == 404


async def test_a_proxy_of_the_environment_is_not_between_us_and_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with socket_stage() as on:
        assert await works(on)
    async with on_stage() as on:
        _, card = await on.park()
        await on.press(BOB, card)
        assert (await on.told(BOB)).startswith("Recorded")
