"""Each fault: what the app meets, and whether what it asked for happened."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import ControlError, Fault, FaultKind, LocalSlack, LocalSlackClient
from tests.bot.local_slack.refusals import refusal

CHANNEL = "C0DEPLOYS"
POST = "chat.postMessage"


async def posted(web: AsyncWebClient) -> list[str]:
    return [m["text"] for m in (await web.conversations_history(channel=CHANNEL))["messages"]]


def post(web: AsyncWebClient, text: str = "x", channel: str = CHANNEL) -> Any:
    return web.chat_postMessage(channel=channel, text=text)


async def waiting(people: LocalSlackClient, count: int = 1) -> None:
    async def look() -> bool:
        return sum(fault.waiting for fault in await people.faults.list()) == count

    await people.wait_for(look)


async def test_a_rate_limit_says_when_to_come_back(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.RATELIMITED, method=POST, retry_after_s=7))

    with pytest.raises(SlackApiError) as caught:
        await post(web)

    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "7"
    assert caught.value.response["error"] == "ratelimited"
    assert await posted(web) == []


@pytest.mark.parametrize("status", [500, 503])
async def test_a_server_error_has_a_status_of_its_own(
    web: AsyncWebClient, people: LocalSlackClient, status: int
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.SERVER_ERROR, method=POST, status=status))

    with pytest.raises(SlackApiError) as caught:
        await post(web)

    assert caught.value.response.status_code == status
    assert await posted(web) == []


@pytest.mark.parametrize("code", ["not_in_channel", "is_archived", "account_inactive"])
async def test_any_error_code_can_be_met(
    web: AsyncWebClient, people: LocalSlackClient, code: str
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.ERROR, method=POST, error=code))

    assert await refusal(post(web)) == code


async def test_a_page_may_come_instead_of_json(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.HTML, method=POST))

    with pytest.raises(SlackApiError) as caught:
        await post(web)

    assert caught.value.response.status_code == 200


async def test_a_connection_cut_before_leaves_nothing_behind(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.DROP_BEFORE, method=POST))

    with pytest.raises(aiohttp.ClientError):
        await post(web)

    assert await posted(web) == []
    assert (await people.app.calls(POST))[0].outcome == "cut"


async def test_a_connection_cut_after_leaves_the_message_behind(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.DROP_AFTER_ACCEPT, method=POST))

    with pytest.raises(aiohttp.ClientError):
        await post(web)

    assert await posted(web) == ["x"]
    [call] = await people.app.calls(POST)
    assert (call.outcome, call.fault) == ("cut", FaultKind.DROP_AFTER_ACCEPT)
    assert call.response is not None


async def test_a_call_that_is_never_answered_ends_when_the_client_goes(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.TIMEOUT, method=POST))
    call = asyncio.ensure_future(post(web))
    await waiting(people)
    call.cancel()
    await asyncio.wait([call])
    await waiting(people, 0)

    assert await posted(web) == []
    assert (await people.app.calls(POST))[0].outcome == "cut"


async def test_a_call_that_is_never_answered_ends_when_the_fault_is_cleared(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    fault = await people.faults.plant(Fault(kind=FaultKind.TIMEOUT, method=POST))
    call = asyncio.ensure_future(post(web))
    await waiting(people)
    await people.faults.clear(fault)

    with pytest.raises(aiohttp.ClientError):
        await call


async def test_a_held_call_has_happened_before_it_is_answered(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    fault = await people.faults.plant(Fault(kind=FaultKind.HOLD, method=POST))
    call = asyncio.ensure_future(post(web))
    await waiting(people)
    before = await posted(web)
    await people.faults.release(fault)

    assert before == ["x"]
    assert (await call)["ok"]


async def test_a_call_held_before_happens_only_after_its_release(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    ts = (await post(web, "first"))["ts"]
    await people.faults.plant(Fault(kind=FaultKind.HOLD_BEFORE, method="chat.update"))
    older = asyncio.ensure_future(web.chat_update(channel=CHANNEL, ts=ts, text="older"))
    await waiting(people)
    await web.chat_update(channel=CHANNEL, ts=ts, text="newer")
    between = await posted(web)
    await people.faults.release()
    await older

    assert between == ["newer"]
    assert await posted(web) == ["older"]


async def test_a_fault_strikes_as_often_as_told(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.ERROR, method=POST, error="e", times=2))

    assert [await refusal(post(web)), await refusal(post(web))] == ["e", "e"]
    assert (await post(web))["ok"]
    assert await people.faults.list() == []


async def test_a_fault_without_a_number_strikes_until_it_is_cleared(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.ERROR, error="e", times=None))
    for _ in range(3):
        assert await refusal(post(web)) == "e"
    assert await refusal(web.auth_test()) == "e"
    await people.faults.clear()

    assert (await post(web))["ok"]


async def test_a_fault_may_be_about_one_channel(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.faults.plant(Fault(kind=FaultKind.ERROR, error="e", channel="U0BOB"))

    assert (await post(web))["ok"]
    assert await refusal(post(web, channel="U0BOB")) == "e"


async def test_a_fault_that_is_not_there_cannot_be_cleared(people: LocalSlackClient) -> None:
    with pytest.raises(ControlError, match="no_such_thing"):
        await people.faults.clear(7)
    with pytest.raises(ControlError, match="no_such_thing"):
        await people.faults.release(7)


async def test_response_urls_can_fail_too(slack: LocalSlack, people: LocalSlackClient) -> None:
    await people.faults.plant(Fault(kind=FaultKind.SERVER_ERROR, method="response_url"))
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{slack.url}/response/NONE", json={"text": "x"}) as response,
    ):
        assert response.status == 500
    assert (await people.app.calls("response_url"))[0].fault is FaultKind.SERVER_ERROR


class TestSlow:
    """A fake sleep tells how long was slept, and ends when the test says so."""

    @pytest.fixture
    def naps(self) -> list[float]:
        return []

    @pytest.fixture
    async def slack(self, naps: list[float]) -> AsyncIterator[LocalSlack]:
        async def sleep(seconds: float) -> None:
            naps.append(seconds)

        async with LocalSlack(sleep=sleep) as running:
            yield running

    async def test_a_slow_call_happens_after_its_delay(
        self, web: AsyncWebClient, people: LocalSlackClient, naps: list[float]
    ) -> None:
        await people.faults.plant(Fault(kind=FaultKind.SLOW, method=POST, delay_s=3.5))

        assert (await post(web))["ok"]
        assert naps == [3.5]
