"""The control API: who may call it, how it refuses, and how changes are watched."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import (
    Change,
    ChangeKind,
    ControlError,
    LocalSlack,
    LocalSlackClient,
    Slash,
    event_stream,
    server,
)

CHANNEL = "C0DEPLOYS"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


async def events(response: aiohttp.ClientResponse, count: int) -> list[Change]:
    found: list[Change] = []
    async for line in response.content:
        if line.startswith(b"data: "):
            found.append(Change.model_validate_json(line.removeprefix(b"data: ")))
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "10.0.0.1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
async def test_no_page_of_another_origin_may_press_buttons_here(
    slack: LocalSlack, session: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    async with session.post(
        f"{slack.url}/_control/open_home", json={"user": "U0BOB"}, headers=headers
    ) as response:
        assert response.status == 403


async def test_the_servers_own_page_may(slack: LocalSlack, session: aiohttp.ClientSession) -> None:
    headers = {"Origin": slack.url}
    async with session.get(f"{slack.url}/_control/workspace", headers=headers) as response:
        assert response.status == 200


async def test_the_web_api_does_not_care_about_origins(
    slack: LocalSlack, session: aiohttp.ClientSession
) -> None:
    headers = {"Host": "slack", "Authorization": f"Bearer {slack.bot_token}"}
    async with session.post(f"{slack.api_url}auth.test", headers=headers) as response:
        assert (await response.json())["ok"]


async def test_a_body_that_does_not_fit_is_refused_with_its_reason(
    slack: LocalSlack, session: aiohttp.ClientSession
) -> None:
    url = f"{slack.url}/_control/slash"
    for body in (b"{", b"", b'{"user": "U0BOB", "channel": "C", "extra": 1}'):
        async with session.post(url, data=body) as response:
            answer = await response.json()
        assert response.status == 422
        assert answer["error"] == "bad_request"


async def test_an_act_a_person_cannot_do_is_a_conflict(people: LocalSlackClient) -> None:
    with pytest.raises(ControlError) as caught:
        await people.state("U0NONE")

    assert caught.value.code == "no_such_user"
    assert "U0NONE" in caught.value.detail
    with pytest.raises(ControlError, match="no_such_thing"):
        await people.world.join("C0NONE", "U0BOB")
    with pytest.raises(ControlError, match="no_such_thing"):
        await people.world.deactivate("U0NONE")


async def test_changes_are_told_as_they_happen(
    slack: LocalSlack, web: AsyncWebClient, session: aiohttp.ClientSession
) -> None:
    async with session.get(f"{slack.url}/_control/events") as response:
        posted = await web.chat_postMessage(channel=CHANNEL, text="x")
        await web.chat_update(channel=CHANNEL, ts=posted["ts"], text="y")
        await web.chat_postEphemeral(channel=CHANNEL, user="U0BOB", text="z")
        changes = await events(response, 6)

    assert response.content_type == "text/event-stream"
    told = [change for change in changes if change.kind is not ChangeKind.CALL]
    assert [change.kind for change in told] == ["message_posted", "message_updated", "ephemeral"]
    assert (told[0].channel, told[0].ts, told[0].user) == (CHANNEL, posted["ts"], None)
    assert told[2].user == "U0BOB"
    assert [change.seq for change in changes] == list(range(1, 7))


async def test_a_watcher_that_comes_late_may_ask_for_what_it_missed(
    slack: LocalSlack,
    web: AsyncWebClient,
    people: LocalSlackClient,
    session: aiohttp.ClientSession,
) -> None:
    seq = (await people.state("U0BOB"))["seq"]
    await web.chat_postMessage(channel=CHANNEL, text="x")
    async with session.get(f"{slack.url}/_control/events", params={"after": seq}) as response:
        [change] = await events(response, 1)

    assert change.kind is ChangeKind.MESSAGE_POSTED
    async with session.get(f"{slack.url}/_control/events?after=soon") as response:
        assert response.status == 409


async def test_waiting_looks_again_after_each_change(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    looks = 0

    async def look() -> str | None:
        nonlocal looks
        looks += 1
        messages = (await people.state("U0BOB"))["channels"][0]["messages"]
        return messages[-1]["text"] if len(messages) == 2 else None

    waiting = asyncio.ensure_future(people.wait_for(look))
    await web.chat_postMessage(channel=CHANNEL, text="one")
    await web.chat_postMessage(channel=CHANNEL, text="two")

    assert await waiting == "two"
    assert looks > 1


async def test_waiting_ends_after_its_time(people: LocalSlackClient) -> None:
    async def never() -> None:
        return None

    with pytest.raises(TimeoutError):
        await people.wait_for(never, timeout_s=0.05)
    with pytest.raises(TimeoutError):
        await people.wait_for_message("U0BOB", "C0NONE", timeout_s=0.05)


async def test_the_world_is_told_when_it_changes(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    async with session.get(f"{slack.url}/_control/events") as response:
        await people.world.deactivate("U0BOB")
        [change] = await events(response, 1)

    assert change.kind is ChangeKind.WORLD


async def test_the_page_is_served_from_its_folder(
    slack: LocalSlack,
    session: aiohttp.ClientSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "PAGE", tmp_path)
    (tmp_path / "index.html").write_text("<p>hello</p>", encoding="utf-8")

    async with session.get(slack.page_url) as page:
        assert await page.text() == "<p>hello</p>"
        assert page.content_type == "text/html"
    async with session.get(slack.url + "/app.js") as missing:
        assert missing.status == 404


async def test_a_slack_can_be_started_on_a_port_and_stopped_twice(slack: LocalSlack) -> None:
    port = int(slack.url.rpartition(":")[2])
    other = LocalSlack()
    with pytest.raises(OSError, match="in use"):
        await other.start(port=port)
    await other.start()
    assert other.api_url == f"{other.url}/api/"
    await other.stop()
    await other.stop()


async def test_with_a_seed_ids_come_in_the_same_order() -> None:
    one, two = LocalSlack(seed=7), LocalSlack(seed=7)

    assert one.bot_token == two.bot_token


async def test_the_control_api_speaks_plain_json(
    slack: LocalSlack, session: aiohttp.ClientSession
) -> None:
    body = json.dumps({"user": "U0BOB", "channel": CHANNEL, "text": "hello"})
    async with session.post(f"{slack.url}/_control/say", data=body) as response:
        said = await response.json()

    assert (said["user"], said["text"]) == ("U0BOB", "hello")
    assert "bot_id" not in said


async def test_a_browser_that_reconnects_goes_on_where_it_was(
    slack: LocalSlack, web: AsyncWebClient, session: aiohttp.ClientSession
) -> None:
    await web.chat_postMessage(channel=CHANNEL, text="x")
    headers = {"Last-Event-ID": "1"}
    async with session.get(f"{slack.url}/_control/events", headers=headers) as response:
        [change] = await events(response, 1)

    assert change.seq == 2


async def test_a_quiet_stream_is_kept_alive(
    slack: LocalSlack, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "KEEP_ALIVE_S", 0.01)
    async with session.get(f"{slack.url}/_control/events") as response:
        lines = [await response.content.readline() for _ in range(3)]

    assert lines == [b": watching\n", b"\n", b": still here\n"]


async def test_a_watcher_that_leaves_while_it_is_written_to_is_no_fault(
    slack: LocalSlack, session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    async with session.get(f"{slack.url}/_control/events") as response:
        await response.content.readline()
        served = slack._runner.server.connections if slack._runner and slack._runner.server else []
        slack.workspace.feed.tell(ChangeKind.WORLD)
        for connection in served:
            assert connection.transport is not None
            connection.transport.close()
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.content.read()
    async with session.get(f"{slack.url}/_control/workspace") as response:
        assert response.status == 200

    assert served
    assert [record.getMessage() for record in caplog.records] == []


async def test_what_people_say_and_are_told_can_be_read_in_process(slack: LocalSlack) -> None:
    slack.request_url = "http://127.0.0.1:1/"
    await slack.people.slash(Slash(user="U0BOB", channel=CHANNEL))

    assert slack.request_url == "http://127.0.0.1:1/"
    [notice] = slack.people.notices("U0BOB")
    assert notice.channel == CHANNEL
    assert slack.people.notices("U0ALICE") == []
