"""Pressing buttons: what a person can press, and what the app is sent for it."""

import json
from typing import Any
from urllib.parse import parse_qs

import pytest
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import ControlError, Forgery, Kind, LocalSlack, LocalSlackClient
from tests.bot.local_slack.peers import (
    BoltApp,
    Json,
    PlainApp,
    Received,
    actions,
    button,
    plain,
    section,
    text_input,
)

CHANNEL = "C0DEPLOYS"
CARD = [actions(button(value="r1", style="primary"), block_id="choice")]
CONFIRM: Json = {
    "title": plain("Sure?"),
    "text": plain("Deploy"),
    "confirm": plain("Yes"),
    "deny": plain("No"),
}


def payload(received: Received) -> Json:
    decoded: Json = json.loads(parse_qs(received.body.decode())["payload"][0])
    return decoded


async def post(web: AsyncWebClient, blocks: list[Json]) -> str:
    return str((await web.chat_postMessage(channel=CHANNEL, text="card", blocks=blocks))["ts"])


@pytest.fixture(autouse=True)
def reachable(slack: LocalSlack, app: PlainApp) -> None:
    slack.request_url = app.url


async def test_a_click_arrives_at_a_bolt_listener(
    web: AsyncWebClient, people: LocalSlackClient, bolt: BoltApp
) -> None:
    seen: list[Json] = []

    @bolt.app.action("approve")
    async def approve(ack: Any, body: Json) -> None:
        seen.append(body)
        await ack()

    result = await people.click("U0BOB", CHANNEL, await post(web, CARD), "approve")

    assert (result.delivered, result.acked, result.via, result.status) == (True, True, "http", 200)
    assert result.elapsed_ms > 0
    assert seen[0]["trigger_id"] == result.trigger_id


async def test_a_click_carries_everything_slack_says_it_carries(
    slack: LocalSlack, web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    ts = await post(web, CARD)
    await people.click("U0EXT", CHANNEL, ts, "approve")

    body = payload(app.received[0])
    [action] = body.pop("actions")
    assert action.pop("action_ts")
    assert action == {
        "action_id": "approve",
        "block_id": "choice",
        "text": plain("Approve"),
        "value": "r1",
        "style": "primary",
        "type": "button",
    }
    assert body["type"] == "block_actions"
    assert body["user"] == {
        "id": "U0EXT",
        "username": "eve",
        "name": "eve",
        "team_id": "T0OTHER",
    }
    assert body["team"] == {"id": "T0LOCAL", "domain": "local"}
    assert body["api_app_id"] == "A0LOCAL"
    assert body["container"] == {
        "type": "message",
        "message_ts": ts,
        "channel_id": CHANNEL,
        "is_ephemeral": False,
    }
    assert body["channel"] == {"id": CHANNEL, "name": "deploys"}
    assert body["message"]["ts"] == ts
    assert body["message"]["blocks"] == CARD
    assert body["state"] == {"values": {}}
    assert body["response_url"].startswith(f"{slack.url}/response/")
    assert body["is_enterprise_install"] is False


async def test_a_request_is_signed_so_that_slack_sdk_accepts_it(
    slack: LocalSlack, web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    await people.click("U0BOB", CHANNEL, await post(web, CARD), "approve")

    [got] = app.received
    assert SignatureVerifier(slack.signing_secret).is_valid_request(got.body, got.headers)
    assert not SignatureVerifier("other").is_valid_request(got.body, got.headers)


async def test_a_click_on_an_ephemeral_message_carries_no_message(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    sent = await web.chat_postEphemeral(channel=CHANNEL, user="U0BOB", text="x", blocks=CARD)
    await people.click("U0BOB", CHANNEL, sent["message_ts"], "approve")

    body = payload(app.received[0])
    assert body["container"]["is_ephemeral"]
    assert "message" not in body


@pytest.mark.parametrize(("channel", "name"), [("U0BOB", "directmessage")])
async def test_a_dm_has_no_name_of_its_own(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp, channel: str, name: str
) -> None:
    posted = await web.chat_postMessage(channel=channel, text="x", blocks=CARD)
    await people.click("U0BOB", posted["channel"], posted["ts"], "approve")

    assert payload(app.received[0])["channel"]["name"] == name


async def test_one_cannot_press_what_one_does_not_see(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    ts = await post(web, CARD)
    private = await web.chat_postEphemeral(channel=CHANNEL, user="U0BOB", text="x", blocks=CARD)

    for code, click in {
        "no_such_user": people.click("U0NONE", CHANNEL, ts, "approve"),
        "deactivated": people.click("U0GONE", CHANNEL, ts, "approve"),
        "not_visible": people.click("U0ROBOT", CHANNEL, ts, "approve"),
        "nothing_there": people.click("U0BOB", CHANNEL, ts, "deny"),
        "other_value": people.click("U0BOB", CHANNEL, ts, "approve", value="r2"),
        "nowhere": people.click("U0BOB", action_id="approve"),
    }.items():
        with pytest.raises(ControlError, match=code):
            await click
    with pytest.raises(ControlError, match="not_visible"):
        await people.click("U0CAROL", CHANNEL, private["message_ts"], "approve")
    with pytest.raises(ControlError, match="not_visible"):
        await people.click("U0BOB", CHANNEL, "1.2", "approve")
    assert app.received == []


async def test_a_button_that_was_taken_away_cannot_be_pressed(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    ts = await post(web, CARD)
    await web.chat_update(channel=CHANNEL, ts=ts, text="closed", blocks=[])

    with pytest.raises(ControlError, match="nothing_there"):
        await people.click("U0BOB", CHANNEL, ts, "approve")


async def test_of_two_buttons_with_one_action_id_one_has_to_say_which(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    twice = [
        actions(button(value="1"), block_id="a"),
        section(accessory=button(value="2"), block_id="b"),
    ]
    ts = await post(web, twice)

    with pytest.raises(ControlError, match="ambiguous"):
        await people.click("U0BOB", CHANNEL, ts, "approve")
    await people.click("U0BOB", CHANNEL, ts, "approve", block_id="b", value="2")

    assert payload(app.received[0])["actions"][0]["value"] == "2"


async def test_a_confirm_dialog_answered_no_sends_nothing(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    ts = await post(web, [actions(button(confirm=CONFIRM))])

    refused = await people.click("U0BOB", CHANNEL, ts, "approve", confirm=False)
    taken = await people.click("U0BOB", CHANNEL, ts, "approve")

    assert (refused.delivered, refused.failure) == (False, "not_confirmed")
    assert taken.acked
    assert len(app.received) == 1


async def test_without_a_dialog_there_is_nothing_to_answer_no_to(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    ts = await post(web, CARD)

    assert (await people.click("U0BOB", CHANNEL, ts, "approve", confirm=False)).acked


async def test_what_is_picked_and_typed_in_a_message_is_in_its_state(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    option = {"text": plain("Prod"), "value": "prod"}
    menu = {"type": "static_select", "action_id": "env", "options": [option]}
    blocks = [actions(menu, button(), block_id="choice"), text_input("why")]
    ts = await post(web, blocks)

    await people.click("U0BOB", CHANNEL, ts, "env", value="prod")
    await people.click("U0BOB", CHANNEL, ts, "approve", values={"why": "because"})
    await people.click("U0CAROL", CHANNEL, ts, "approve")

    picked, pressed, other = (payload(got) for got in app.received)
    assert picked["actions"][0]["selected_option"] == option
    assert pressed["state"]["values"] == {
        "choice": {"env": {"type": "static_select", "selected_option": option}},
        "why": {"typed": {"type": "plain_text_input", "value": "because"}},
    }
    assert other["state"]["values"]["choice"]["env"]["selected_option"] is None


async def test_an_overflow_menu_sends_the_option_and_keeps_no_state(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    option = {"text": plain("Deny with reason"), "value": "deny"}
    more = {"type": "overflow", "action_id": "more", "options": [option]}
    ts = await post(web, [actions(more)])

    await people.click("U0BOB", CHANNEL, ts, "more", value="deny")

    body = payload(app.received[0])
    assert body["actions"][0]["selected_option"] == option
    assert body["state"]["values"] == {}
    with pytest.raises(ControlError, match="no_such_option"):
        await people.click("U0BOB", CHANNEL, ts, "more", value="other")


async def test_an_input_sends_nothing_by_itself_unless_it_dispatches(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    ts = await post(web, [text_input("a"), text_input("b", dispatch_action=True)])

    with pytest.raises(ControlError, match="silent_input"):
        await people.click("U0BOB", CHANNEL, ts, "typed", block_id="a", value="x")
    assert (await people.click("U0BOB", CHANNEL, ts, "typed", block_id="b", value="x")).acked


async def test_a_forged_click_says_whatever_the_forger_likes(
    slack: LocalSlack, web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    forge = Forgery(
        set={"actions.0.value": "r2", "user.id": "U0CAROL", "team.id": "T0EVIL"},
        unset=("message",),
    )
    await people.click("U0BOB", CHANNEL, await post(web, CARD), "approve", forge=forge)

    [got] = app.received
    body = payload(got)
    assert (body["actions"][0]["value"], body["user"]["id"]) == ("r2", "U0CAROL")
    assert body["team"]["id"] == "T0EVIL"
    assert "message" not in body
    assert SignatureVerifier(slack.signing_secret).is_valid_request(got.body, got.headers)


@pytest.mark.parametrize(
    "forge",
    [
        Forgery(signature="v0=" + "0" * 64),
        Forgery(signing_secret="guessed"),
        Forgery(timestamp="1000000000"),
        Forgery(drop_headers=("X-Slack-Signature",)),
    ],
)
async def test_a_badly_signed_click_is_refused_by_bolt(
    web: AsyncWebClient, people: LocalSlackClient, bolt: BoltApp, forge: Forgery
) -> None:
    result = await people.click("U0BOB", CHANNEL, await post(web, CARD), "approve", forge=forge)

    assert (result.status, result.failure) == (401, "dispatch_failed")


async def test_a_forged_path_that_leads_nowhere_is_an_error(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    ts = await post(web, CARD)
    for forge in (
        Forgery(set={"actions.7.value": "x"}),
        Forgery(set={"actions.first.value": "x"}),
        Forgery(unset=("nothing",)),
    ):
        with pytest.raises(ControlError, match="no_such_path"):
            await people.click("U0BOB", CHANNEL, ts, "approve", forge=forge)


async def test_anything_at_all_can_be_sent(
    slack: LocalSlack, people: LocalSlackClient, app: PlainApp
) -> None:
    await people.raw({"type": "event_callback", "event": {}}, kind=Kind.EVENT)
    await people.raw({"text": "a&b"}, kind=Kind.SLASH)
    await people.raw({}, forge=Forgery(body="payload=%7Bx", headers={"X-Extra": "1"}))

    event, slash, broken = app.received
    assert json.loads(event.body)["type"] == "event_callback"
    assert event.headers["Content-Type"] == "application/json"
    assert slash.body == b"text=a%26b"
    assert broken.body == b"payload=%7Bx"
    assert broken.headers["X-Extra"] == "1"
    assert SignatureVerifier(slack.signing_secret).is_valid_request(broken.body, broken.headers)


async def test_the_same_bytes_can_be_sent_again(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    first = await people.click("U0BOB", CHANNEL, await post(web, CARD), "approve")
    assert first.delivery_id is not None
    await people.resend(first.delivery_id)
    await people.resend(first.delivery_id, retry_num=1)

    original, replay, retry = app.received
    assert replay.body == original.body
    assert replay.headers["X-Slack-Signature"] == original.headers["X-Slack-Signature"]
    assert retry.headers["X-Slack-Retry-Num"] == "1"
    assert retry.headers["X-Slack-Retry-Reason"] == "http_timeout"
    with pytest.raises(ControlError, match="no_such_delivery"):
        await people.resend(99)


async def test_a_replay_may_be_signed_anew(
    slack: LocalSlack, web: AsyncWebClient, people: LocalSlackClient, app: PlainApp, clock: Any
) -> None:
    first = await people.click("U0BOB", CHANNEL, await post(web, CARD), "approve")
    clock.advance(60)
    assert first.delivery_id is not None
    await people.resend(first.delivery_id, fresh_signature=True)

    old, new = app.received
    before, after = (int(got.headers["X-Slack-Request-Timestamp"]) for got in (old, new))
    assert after - before == 60
    assert old.body == new.body
    assert SignatureVerifier(slack.signing_secret).is_valid_request(new.body, new.headers)


async def test_what_was_sent_can_be_looked_at(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    result = await people.click("U0BOB", CHANNEL, await post(web, CARD), "approve")

    [delivery] = await people.app.deliveries()
    assert delivery.id == result.delivery_id
    assert delivery.kind is Kind.INTERACTIVE
    assert delivery.payload["user"]["id"] == "U0BOB"
