"""Socket Mode, with raw WebSockets and with Bolt's own handler."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import ControlError, Kind, LocalSlack, LocalSlackClient, Slash
from tests.bot.local_slack.peers import BoltApp, Json, actions, button, modal

CHANNEL = "C0DEPLOYS"
CARD = [actions(button(value="r1"))]

Socket = aiohttp.ClientWebSocketResponse


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


async def connect(
    slack: LocalSlack, session: aiohttp.ClientSession, *, autoping: bool = True
) -> Socket:
    client = AsyncWebClient(base_url=slack.api_url)
    url = (await client.apps_connections_open(app_token=slack.app_token))["url"]
    return await session.ws_connect(url, autoping=autoping)


async def greeted(slack: LocalSlack, session: aiohttp.ClientSession) -> Socket:
    socket = await connect(slack, session)
    assert (await socket.receive_json())["type"] == "hello"
    return socket


async def answer(socket: Socket, payload: Json | None = None) -> Json:
    envelope: Json = await socket.receive_json()
    ack: Json = {"envelope_id": envelope["envelope_id"]}
    await socket.send_json(ack if payload is None else {**ack, "payload": payload})
    return envelope


async def test_hello_says_which_app_and_how_many_connections(
    slack: LocalSlack, session: aiohttp.ClientSession
) -> None:
    first = await greeted(slack, session)
    second = await connect(slack, session)

    hello = await second.receive_json()
    assert not first.closed
    assert hello["num_connections"] == 2
    assert hello["connection_info"] == {"app_id": "A0LOCAL"}


async def test_a_ticket_is_good_for_one_connection(
    slack: LocalSlack, session: aiohttp.ClientSession
) -> None:
    client = AsyncWebClient(base_url=slack.api_url)
    url = (await client.apps_connections_open(app_token=slack.app_token))["url"]
    await session.ws_connect(url)

    with pytest.raises(aiohttp.WSServerHandshakeError):
        await session.ws_connect(url)


async def test_a_command_goes_through_the_socket_and_its_ack_is_shown(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    socket = await greeted(slack, session)
    act = asyncio.ensure_future(people.slash("U0BOB", CHANNEL, "list"))
    envelope = await answer(socket, {"text": "one run waits"})
    result = await act

    assert envelope["type"] == "slash_commands"
    assert envelope["accepts_response_payload"] is True
    assert envelope["payload"]["text"] == "list"
    assert (result.acked, result.via, result.status) == (True, "socket", None)
    shown = await people.wait_for_message("U0BOB", CHANNEL)
    assert shown["text"] == "one run waits"


async def test_a_submission_is_answered_in_the_ack(
    slack: LocalSlack,
    web: AsyncWebClient,
    people: LocalSlackClient,
    session: aiohttp.ClientSession,
) -> None:
    socket = await greeted(slack, session)
    act = asyncio.ensure_future(people.slash("U0BOB", CHANNEL))
    await answer(socket)
    trigger_id = (await act).trigger_id
    assert trigger_id
    await web.views_open(trigger_id=trigger_id, view=modal())
    submit = asyncio.ensure_future(people.submit("U0BOB", {"reason": "x"}))
    envelope = await answer(
        socket, {"response_action": "errors", "errors": {"reason": "Say more."}}
    )
    await submit

    assert envelope["type"] == "interactive"
    assert (await people.state("U0BOB"))["views"][0]["errors"] == {"reason": "Say more."}


async def test_an_event_takes_no_payload_and_may_be_a_retry(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    socket = await greeted(slack, session)
    act = asyncio.ensure_future(people.open_home("U0BOB"))
    first = await answer(socket)
    delivery = (await act).delivery_id
    assert delivery
    again = asyncio.ensure_future(people.resend(delivery, retry_num=2, retry_reason="timeout"))
    second = await answer(socket)
    await again

    assert (first["type"], first["accepts_response_payload"]) == ("events_api", False)
    assert (first["retry_attempt"], first["retry_reason"]) == (0, "")
    assert (second["retry_attempt"], second["retry_reason"]) == (2, "timeout")
    assert second["payload"] == first["payload"]
    assert second["envelope_id"] != first["envelope_id"]


async def test_each_payload_goes_to_exactly_one_of_several_sockets(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    sockets = [await greeted(slack, session) for _ in range(3)]
    tasks = [asyncio.ensure_future(_serve(socket)) for socket in sockets]
    for _ in range(12):
        assert (await people.slash("U0BOB", CHANNEL)).acked
    for socket in sockets:
        await socket.close()
    served = [await task for task in tasks]

    assert sum(served) == 12
    assert all(count > 0 for count in served)


async def _serve(socket: Socket) -> int:
    count = 0
    async for message in socket:
        await socket.send_json({"envelope_id": message.json()["envelope_id"]})
        count += 1
    return count


async def test_with_no_socket_left_deliveries_go_over_http_again(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    socket = await greeted(slack, session)
    await socket.close()
    await _gone(people)

    assert (await people.slash("U0BOB", CHANNEL)).via == "nothing"


async def _gone(people: LocalSlackClient) -> None:
    async def look() -> bool:
        return not await people.sockets.list()

    await people.wait_for(look)


async def test_a_late_or_foreign_ack_changes_nothing(
    impatient_slack: LocalSlack, session: aiohttp.ClientSession
) -> None:
    async with LocalSlackClient(impatient_slack.url) as people:
        socket = await greeted(impatient_slack, session)
        await socket.send_str("not json")
        await socket.send_json({"envelope_id": "nobody's"})
        await socket.send_json(["nothing"])
        result = await people.slash("U0BOB", CHANNEL)
        late = (await socket.receive_json())["envelope_id"]
        await socket.send_json({"envelope_id": late})
        again = asyncio.ensure_future(people.slash("U0BOB", CHANNEL))
        await answer(socket)

        assert (result.delivered, result.failure) == (True, "operation_timeout")
        assert (await again).acked
        assert impatient_slack.sockets.late_acks == ["nobody's", late]
        assert (await people.state("U0BOB"))["notices"][0]["text"].startswith("/holdshort failed")


async def test_an_eleventh_connection_is_one_too_many(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(10):
            stack.push_async_callback((await greeted(slack, session)).close)
        extra = await connect(slack, session)
        frame = await extra.receive_json()

        assert (frame["type"], frame["reason"]) == ("disconnect", "too_many_websockets")
        assert (await extra.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        assert len(await people.sockets.list()) == 10


async def test_a_disconnect_frame_says_why(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    socket = await greeted(slack, session)
    await people.sockets.disconnect("refresh_requested")

    frame = await socket.receive_json()
    assert (frame["type"], frame["reason"]) == ("disconnect", "refresh_requested")
    assert len(await people.sockets.list()) == 1


async def test_a_cut_socket_ends_without_a_word(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    socket = await greeted(slack, session)
    [view] = await people.sockets.list()
    await people.sockets.cut(view.id)

    assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    await _gone(people)


async def test_a_half_open_socket_answers_nothing_until_it_recovers(
    slack: LocalSlack, people: LocalSlackClient, session: aiohttp.ClientSession
) -> None:
    socket = await connect(slack, session, autoping=False)
    await socket.receive_json()
    await socket.ping(b"one")
    assert (await socket.receive()).data == b"one"
    await people.sockets.half_open()
    [half] = await people.sockets.list()
    await socket.ping(b"two")
    with pytest.raises(TimeoutError):
        await socket.receive(timeout=0.05)
    await people.sockets.recover()
    await socket.ping(b"three")

    assert half.half_open
    assert (await socket.receive()).data == b"three"


async def test_a_slack_with_a_half_open_socket_stops_at_once(
    clock: Any, session: aiohttp.ClientSession
) -> None:
    async with LocalSlack(clock=clock) as slack:
        socket = await greeted(slack, session)
        slack.sockets.half_open()

    assert (await socket.receive()).type is not aiohttp.WSMsgType.TEXT


async def test_one_cannot_do_just_anything_to_a_socket(people: LocalSlackClient) -> None:
    with pytest.raises(ControlError, match="no_such_socket"):
        await people.sockets.cut(7)
    with pytest.raises(ControlError, match="no_such_act"):
        await people.sockets._act("paint", None)


class TestBolt:
    """Bolt's AsyncSocketModeHandler as the peer."""

    @pytest.fixture
    async def bolt(self, slack: LocalSlack) -> AsyncIterator[BoltApp]:
        app = BoltApp(slack)
        handler = AsyncSocketModeHandler(app.app, slack.app_token, ping_interval=0.1)
        await handler.connect_async()  # type: ignore[no-untyped-call]
        yield app
        await handler.close_async()  # type: ignore[no-untyped-call]

    async def test_a_click_is_handled_and_answered(
        self, web: AsyncWebClient, people: LocalSlackClient, bolt: BoltApp
    ) -> None:
        @bolt.app.action("approve")
        async def approve(ack: Any, respond: Any) -> None:
            await ack()
            await respond("Recorded.")

        ts = (await web.chat_postMessage(channel=CHANNEL, text="x", blocks=CARD))["ts"]
        result = await people.click("U0BOB", CHANNEL, ts, "approve")

        assert (result.acked, result.via) == (True, "socket")
        shown = await people.wait_for_message("U0BOB", CHANNEL, lambda m: m["is_ephemeral"])
        assert shown["text"] == "Recorded."

    async def test_words_for_a_command_come_in_the_ack(
        self, people: LocalSlackClient, bolt: BoltApp
    ) -> None:
        @bolt.app.command("/holdshort")
        async def command(ack: Any) -> None:
            await ack("nothing waits")

        result = await people.slash("U0BOB", CHANNEL)

        assert result.body == {"text": "nothing waits"}

    async def test_an_event_is_taken(self, people: LocalSlackClient, bolt: BoltApp) -> None:
        opened: list[str] = []

        @bolt.app.event("app_home_opened")
        async def home(event: Json) -> None:
            opened.append(event["user"])

        assert (await people.open_home("U0BOB")).acked
        assert opened == ["U0BOB"]

    @pytest.mark.parametrize("how", ["disconnect", "cut"])
    async def test_after_a_break_the_app_comes_back(
        self, people: LocalSlackClient, bolt: BoltApp, how: str
    ) -> None:
        @bolt.app.command("/holdshort")
        async def command(ack: Any) -> None:
            await ack("still here")

        [old] = await people.sockets.list()
        await getattr(people.sockets, how)()

        async def look() -> bool:
            return [one.id for one in await people.sockets.list()] == [old.id + 1]

        await people.wait_for(look)
        assert (await people.slash("U0BOB", CHANNEL)).body == {"text": "still here"}


def test_the_kinds_are_named_as_envelopes_are() -> None:
    assert list(Kind) == ["interactive", "slash_commands", "events_api"]


async def test_a_socket_that_breaks_under_a_delivery_is_a_timeout(
    slack: LocalSlack, session: aiohttp.ClientSession
) -> None:
    socket = await greeted(slack, session)
    slack.sockets.cut()
    result = await slack.people.slash(Slash(user="U0BOB", channel=CHANNEL))

    assert (result.via, result.failure) == ("socket", "operation_timeout")
    await socket.close()
