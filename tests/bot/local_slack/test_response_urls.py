"""Response URLs: five uses, thirty minutes, private unless told otherwise."""

import json
from urllib.parse import parse_qs, parse_qsl

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, LocalSlackClient
from tests.bot.local_slack.peers import Clock, Json, PlainApp, actions, button, section

CHANNEL = "C0DEPLOYS"
CARD = [actions(button())]


@pytest.fixture(autouse=True)
def reachable(slack: LocalSlack, app: PlainApp) -> None:
    slack.request_url = app.url


async def send(url: str, body: object) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        text = await response.text()
    return response.status, json.loads(text)["error"] if text.startswith("{") else text


async def by_click(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp, user: str = "U0BOB"
) -> tuple[str, str]:
    ts = (await web.chat_postMessage(channel=CHANNEL, text="card", blocks=CARD))["ts"]
    await people.click(user, CHANNEL, ts, "approve")
    payload = json.loads(parse_qs(app.received[-1].body.decode())["payload"][0])
    return ts, payload["response_url"]


async def by_command(people: LocalSlackClient, app: PlainApp) -> str:
    await people.slash("U0BOB", CHANNEL)
    return dict(parse_qsl(app.received[-1].body.decode()))["response_url"]


async def messages(people: LocalSlackClient, user: str) -> list[Json]:
    [found] = [c for c in (await people.state(user))["channels"] if c["id"] == CHANNEL]
    listed: list[Json] = found["messages"]
    return listed


async def test_an_answer_is_private_unless_it_says_in_channel(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    _, url = await by_click(web, people, app)
    assert await send(url, {"text": "private"}) == (200, "ok")
    assert await send(url, {"text": "public", "response_type": "in_channel"}) == (200, "ok")

    assert [m["text"] for m in await messages(people, "U0BOB")] == ["card", "private", "public"]
    assert [m["text"] for m in await messages(people, "U0ALICE")] == ["card", "public"]


async def test_the_message_one_acted_on_can_be_replaced(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    ts, url = await by_click(web, people, app)
    await send(url, {"text": "closed", "replace_original": True})

    [only] = await messages(people, "U0ALICE")
    assert (only["ts"], only["text"]) == (ts, "closed")
    assert "blocks" not in only


async def test_the_message_one_acted_on_can_be_deleted(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    _, url = await by_click(web, people, app)
    await send(url, {"delete_original": "true"})

    assert await messages(people, "U0ALICE") == []


async def test_an_ephemeral_message_can_be_replaced_this_way_only(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    sent = await web.chat_postEphemeral(channel=CHANNEL, user="U0BOB", text="x", blocks=CARD)
    await people.click("U0BOB", CHANNEL, sent["message_ts"], "approve")
    payload = json.loads(parse_qs(app.received[-1].body.decode())["payload"][0])
    await send(payload["response_url"], {"text": "done", "replace_original": True})

    [only] = await messages(people, "U0BOB")
    assert (only["text"], only["is_ephemeral"]) == ("done", True)
    assert await messages(people, "U0ALICE") == []


async def test_a_command_has_no_message_to_replace(people: LocalSlackClient, app: PlainApp) -> None:
    url = await by_command(people, app)
    await send(url, {"text": "one"})
    await send(url, {"text": "two", "replace_original": True})
    await send(url, {"delete_original": True})

    assert [m["text"] for m in await messages(people, "U0BOB")] == ["one", "two"]


async def test_a_sixth_use_is_refused(people: LocalSlackClient, app: PlainApp) -> None:
    url = await by_command(people, app)
    for number in range(5):
        assert await send(url, {"text": str(number)}) == (200, "ok")

    assert await send(url, {"text": "6"}) == (404, "used_url")
    assert len(await messages(people, "U0BOB")) == 5


async def test_thirty_minutes_later_it_is_refused(
    people: LocalSlackClient, app: PlainApp, clock: Clock
) -> None:
    url = await by_command(people, app)
    clock.advance(1800)
    assert await send(url, {"text": "in time"}) == (200, "ok")
    clock.advance(1)

    assert await send(url, {"text": "late"}) == (404, "expired_url")


async def test_an_address_nobody_gave_is_refused(slack: LocalSlack) -> None:
    assert await send(f"{slack.url}/response/NONE", {"text": "x"}) == (404, "expired_url")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, "no_text"),
        ([], "invalid_payload"),
        ({"text": "x", "blocks": "words"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": [section("")]}, "invalid_blocks"),
    ],
)
async def test_a_bad_answer_is_refused_and_costs_no_use(
    people: LocalSlackClient, app: PlainApp, body: object, error: str
) -> None:
    url = await by_command(people, app)

    assert await send(url, body) == (400, error)
    for number in range(5):
        assert await send(url, {"text": str(number)}) == (200, "ok")


async def test_a_body_that_is_no_json_is_refused(people: LocalSlackClient, app: PlainApp) -> None:
    url = await by_command(people, app)
    async with aiohttp.ClientSession() as session, session.post(url, data=b"{") as response:
        assert response.status == 400


async def test_answers_are_recorded_like_calls(people: LocalSlackClient, app: PlainApp) -> None:
    url = await by_command(people, app)
    await send(url, {"text": "x"})
    await send(url, {})

    done, refused = await people.app.calls("response_url")
    assert (done.outcome, done.arguments) == ("ok", {"text": "x"})
    assert (refused.outcome, refused.status) == ("no_text", 400)
