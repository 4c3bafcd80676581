"""Posting, changing, deleting and reading messages through the real slack_sdk client."""

import json

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import Channel, LocalSlack, LocalSlackClient
from tests.bot.local_slack.peers import actions, button, section
from tests.bot.local_slack.refusals import refusal

CHANNEL = "C0DEPLOYS"
META = {"event_type": "card", "event_payload": {"key": "r1"}}


async def test_a_posted_message_is_seen_by_the_members_of_the_channel(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    posted = await web.chat_postMessage(channel=CHANNEL, text="hello", blocks=[section()])

    seen = await people.wait_for_message("U0BOB", CHANNEL)
    assert seen["ts"] == posted["ts"]
    assert seen["text"] == "hello"
    assert seen["user"] == "U0HOLDSHORT"
    assert seen["bot_id"] == "B0HOLDSHORT"
    robot = await people.state("U0ROBOT")
    assert [one["id"] for one in robot["channels"]] == ["C0GENERAL"]


async def test_block_and_action_ids_are_filled_in_where_they_are_missing(
    web: AsyncWebClient,
) -> None:
    bare = {"type": "button", "text": {"type": "plain_text", "text": "Go"}}
    posted = await web.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions(bare)])

    [block] = posted["message"]["blocks"]
    assert block["block_id"]
    assert block["elements"][0]["action_id"]


async def test_times_of_messages_differ_even_when_the_clock_stands_still(
    web: AsyncWebClient,
) -> None:
    first = await web.chat_postMessage(channel=CHANNEL, text="one")
    second = await web.chat_postMessage(channel=CHANNEL, text="two")

    assert first["ts"] < second["ts"]


async def test_a_post_to_a_user_goes_to_their_dm_with_the_bot(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    posted = await web.chat_postMessage(channel="U0ALICE", text="psst")
    opened = await web.conversations_open(users="U0ALICE")

    assert posted["channel"] == opened["channel"]["id"]
    assert (await people.wait_for_message("U0ALICE", posted["channel"]))["text"] == "psst"
    assert all(one["id"] != posted["channel"] for one in (await people.state("U0BOB"))["channels"])


async def test_a_channel_may_be_named_when_posting(web: AsyncWebClient) -> None:
    posted = await web.chat_postMessage(channel="#deploys", text="x")

    assert posted["channel"] == CHANNEL


@pytest.mark.parametrize("channel", ["C0NONE", "C0PRIVATE", "U0GONE", "U0ROBOT", "U0NONE"])
async def test_a_destination_the_bot_cannot_know_is_not_found(
    web: AsyncWebClient, channel: str
) -> None:
    assert await refusal(web.chat_postMessage(channel=channel, text="x")) == "channel_not_found"


async def test_an_archived_channel_takes_no_message(web: AsyncWebClient) -> None:
    assert await refusal(web.chat_postMessage(channel="C0ARCHIVE", text="x")) == "is_archived"


async def test_a_public_channel_the_bot_is_not_in_takes_no_message(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    slack.world.put_channel(Channel(id="C0OTHER", name="other", members=("U0BOB",)))

    assert await refusal(web.chat_postMessage(channel="C0OTHER", text="x")) == "not_in_channel"


async def test_with_chat_write_public_it_does(slack: LocalSlack, web: AsyncWebClient) -> None:
    slack.world.put_channel(Channel(id="C0OTHER", name="other", members=("U0BOB",)))
    scopes = slack.world.app.scopes | {"chat:write.public"}
    slack.world.app = slack.world.app.model_copy(update={"scopes": scopes})

    assert (await web.chat_postMessage(channel="C0OTHER", text="x"))["ok"]


async def test_a_message_needs_text_or_blocks(web: AsyncWebClient) -> None:
    empty = web.api_call("chat.postMessage", json={"channel": CHANNEL, "text": ""})
    blocks = {"channel": CHANNEL, "blocks": [section()]}

    assert await refusal(empty) == "no_text"
    assert (await web.api_call("chat.postMessage", json=blocks))["ok"]


async def test_a_missing_argument_is_named(web: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError) as caught:
        await web.api_call("chat.postMessage", json={"text": "x"})

    assert caught.value.response["error"] == "invalid_arguments"
    [said] = caught.value.response["response_metadata"]["messages"]
    assert said == "[ERROR] missing required field: channel"


async def test_invalid_blocks_say_where(web: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError) as caught:
        await web.chat_postMessage(channel=CHANNEL, text="x", blocks=[section("x" * 3001)])

    answer = caught.value.response
    assert answer["error"] == "invalid_blocks"
    place = "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    assert answer["errors"] == [place]
    assert answer["response_metadata"]["messages"] == [f"[ERROR] {place}"]


@pytest.mark.parametrize("blocks", ["{", "{}", '"x"'])
async def test_blocks_that_are_no_list_are_a_format_error(web: AsyncWebClient, blocks: str) -> None:
    call = web.api_call("chat.postMessage", data={"channel": CHANNEL, "blocks": blocks})

    assert await refusal(call) == "invalid_blocks_format"


async def test_a_form_with_json_inside_is_read_like_json(web: AsyncWebClient) -> None:
    form = {"channel": CHANNEL, "text": "x", "blocks": json.dumps([section(block_id="b")])}

    posted = await web.api_call("chat.postMessage", data=form)

    assert posted["message"]["blocks"][0]["block_id"] == "b"


async def test_a_posted_text_beyond_forty_thousand_is_cut_with_a_warning(
    web: AsyncWebClient,
) -> None:
    whole = await web.chat_postMessage(channel=CHANNEL, text="x" * 40_000)
    cut = await web.chat_postMessage(channel=CHANNEL, text="😀" * 20_001)

    assert "response_metadata" not in whole.data
    assert cut["response_metadata"]["warnings"] == ["message_truncated"]
    assert cut["warning"] == "message_truncated"
    assert cut["message"]["text"] == "😀" * 20_000


async def test_an_update_takes_four_thousand_characters_and_no_more(web: AsyncWebClient) -> None:
    ts = (await web.chat_postMessage(channel=CHANNEL, text="x"))["ts"]
    assert (await web.chat_update(channel=CHANNEL, ts=ts, text="x" * 4000))["ok"]

    assert await refusal(web.chat_update(channel=CHANNEL, ts=ts, text="x" * 4001)) == "msg_too_long"


async def test_an_update_without_blocks_keeps_the_buttons(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    posted = await web.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions(button())])
    await web.chat_update(channel=CHANNEL, ts=posted["ts"], text="closed")
    kept = await people.wait_for_message("U0BOB", CHANNEL)

    await web.chat_update(channel=CHANNEL, ts=posted["ts"], text="closed", blocks=[])
    emptied = await people.wait_for_message("U0BOB", CHANNEL)

    assert kept["blocks"]
    assert kept["edited"]["user"] == "U0HOLDSHORT"
    assert "blocks" not in emptied


async def test_metadata_stays_until_it_is_replaced(web: AsyncWebClient) -> None:
    ts = (await web.chat_postMessage(channel=CHANNEL, text="x", metadata=META))["ts"]
    kept = await web.chat_update(channel=CHANNEL, ts=ts, text="y")
    gone = await web.chat_update(channel=CHANNEL, ts=ts, text="z", metadata={})

    assert kept["message"]["metadata"] == META
    assert "metadata" not in gone["message"]


async def test_too_much_metadata_is_refused(web: AsyncWebClient) -> None:
    big = {"event_type": "card", "event_payload": {"a": "x" * 8000}}
    call = web.chat_postMessage(channel=CHANNEL, text="x", metadata=big)

    assert await refusal(call) == "metadata_too_large"


async def test_only_the_bots_own_messages_can_be_changed_or_deleted(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    ts = (await people.say("U0BOB", CHANNEL, "mine"))["ts"]

    changed = web.chat_update(channel=CHANNEL, ts=ts, text="x")
    assert await refusal(changed) == "cant_update_message"
    assert await refusal(web.chat_delete(channel=CHANNEL, ts=ts)) == "cant_delete_message"


async def test_a_message_that_is_not_there_is_not_found(web: AsyncWebClient) -> None:
    assert (
        await refusal(web.chat_update(channel=CHANNEL, ts="1.2", text="x")) == "message_not_found"
    )
    call = web.chat_getPermalink(channel=CHANNEL, message_ts="1.2")
    assert await refusal(call) == "message_not_found"


async def test_a_message_in_a_channel_archived_since_cannot_be_changed(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    ts = (await web.chat_postMessage(channel=CHANNEL, text="x"))["ts"]
    channel = slack.world.channels[CHANNEL]
    slack.world.put_channel(channel.model_copy(update={"is_archived": True}))

    assert await refusal(web.chat_update(channel=CHANNEL, ts=ts, text="y")) == "is_archived"


async def test_a_user_id_is_no_channel_to_update_in(web: AsyncWebClient) -> None:
    ts = (await web.chat_postMessage(channel="U0BOB", text="x"))["ts"]

    assert await refusal(web.chat_update(channel="U0BOB", ts=ts, text="y")) == "channel_not_found"


async def test_a_deleted_message_is_gone(web: AsyncWebClient, people: LocalSlackClient) -> None:
    ts = (await web.chat_postMessage(channel=CHANNEL, text="x"))["ts"]

    await web.chat_delete(channel=CHANNEL, ts=ts)

    [deploys] = [c for c in (await people.state("U0BOB"))["channels"] if c["id"] == CHANNEL]
    assert deploys["messages"] == []


async def test_an_ephemeral_message_is_seen_by_one_person_only(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await web.chat_postEphemeral(channel=CHANNEL, user="U0BOB", text="for you")

    seen = await people.wait_for_message("U0BOB", CHANNEL)
    assert seen["is_ephemeral"]
    assert seen["text"] == "for you"
    [others] = [c for c in (await people.state("U0ALICE"))["channels"] if c["id"] == CHANNEL]
    assert others["messages"] == []
    assert (await web.conversations_history(channel=CHANNEL))["messages"] == []


async def test_an_ephemeral_message_can_be_neither_updated_nor_deleted(
    web: AsyncWebClient,
) -> None:
    sent = await web.chat_postEphemeral(channel=CHANNEL, user="U0BOB", text="x")
    ts = sent["message_ts"]

    assert await refusal(web.chat_update(channel=CHANNEL, ts=ts, text="y")) == "message_not_found"
    assert await refusal(web.chat_delete(channel=CHANNEL, ts=ts)) == "message_not_found"


async def test_an_ephemeral_message_needs_its_reader_in_the_channel(web: AsyncWebClient) -> None:
    call = web.chat_postEphemeral(channel=CHANNEL, user="U0ROBOT", text="x")

    assert await refusal(call) == "user_not_in_channel"


async def test_an_ephemeral_text_is_refused_when_too_long(web: AsyncWebClient) -> None:
    call = web.chat_postEphemeral(channel=CHANNEL, user="U0BOB", text="x" * 40_001)

    assert await refusal(call) == "msg_too_long"


async def test_history_is_newest_first_and_shows_metadata_when_asked(web: AsyncWebClient) -> None:
    await web.chat_postMessage(channel=CHANNEL, text="old")
    await web.chat_postMessage(channel=CHANNEL, text="new", metadata=META)

    plain = (await web.conversations_history(channel=CHANNEL))["messages"]
    rich = await web.conversations_history(channel=CHANNEL, include_all_metadata=True)

    assert [one["text"] for one in plain] == ["new", "old"]
    assert "metadata" not in plain[0]
    assert rich["messages"][0]["metadata"] == META


async def test_history_can_be_narrowed_and_paged(web: AsyncWebClient) -> None:
    stamps = [(await web.chat_postMessage(channel=CHANNEL, text=str(n)))["ts"] for n in range(5)]
    after = await web.conversations_history(channel=CHANNEL, oldest=stamps[2])
    around = await web.conversations_history(
        channel=CHANNEL, oldest=stamps[1], latest=stamps[2], inclusive=True
    )
    first = await web.conversations_history(channel=CHANNEL, limit=2)
    cursor = first["response_metadata"]["next_cursor"]
    second = await web.conversations_history(channel=CHANNEL, limit=3, cursor=cursor)

    assert [one["text"] for one in after["messages"]] == ["4", "3"]
    assert [one["text"] for one in around["messages"]] == ["2", "1"]
    assert [one["text"] for one in first["messages"]] == ["4", "3"]
    assert first["has_more"]
    assert [one["text"] for one in second["messages"]] == ["2", "1", "0"]
    assert not second["has_more"]


@pytest.mark.parametrize(
    ("argument", "value", "code"),
    [
        ("cursor", "%%%", "invalid_cursor"),
        ("cursor", "bmV4dDo5OTk=", "invalid_cursor"),
        ("limit", "many", "invalid_limit"),
        ("limit", "1001", "invalid_limit"),
        ("oldest", "yesterday", "invalid_ts_oldest"),
        ("latest", "today", "invalid_ts_latest"),
    ],
)
async def test_a_page_that_cannot_be_is_refused(
    web: AsyncWebClient, argument: str, value: str, code: str
) -> None:
    call = web.conversations_history(channel=CHANNEL, **{argument: value})  # type: ignore[arg-type]

    assert await refusal(call) == code


async def test_replies_stand_below_their_message(web: AsyncWebClient) -> None:
    top = (await web.chat_postMessage(channel=CHANNEL, text="top"))["ts"]
    reply = await web.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=top)

    thread = await web.conversations_replies(channel=CHANNEL, ts=top)
    history = await web.conversations_history(channel=CHANNEL)
    link = await web.chat_getPermalink(channel=CHANNEL, message_ts=reply["ts"])

    assert [one["text"] for one in thread["messages"]] == ["top", "reply"]
    assert thread["messages"][0]["reply_count"] == 1
    assert [one["text"] for one in history["messages"]] == ["top"]
    assert link["permalink"].startswith("https://local.slack.com/archives/C0DEPLOYS/p")
    assert f"thread_ts={top}" in link["permalink"]
    missing = web.conversations_replies(channel=CHANNEL, ts="1.2")
    assert await refusal(missing) == "thread_not_found"


async def test_markdown_text_stands_alone(web: AsyncWebClient) -> None:
    whole = await web.chat_postMessage(channel=CHANNEL, markdown_text="x" * 12_000)
    both = web.chat_postMessage(channel=CHANNEL, markdown_text="a", text="b")
    long = web.chat_postMessage(channel=CHANNEL, markdown_text="x" * 12_001)

    assert whole["ok"]
    assert await refusal(both) == "markdown_text_conflict"
    assert await refusal(long) == "msg_too_long"


@pytest.mark.parametrize(("body", "code"), [(b"{", "invalid_json"), (b"[]", "json_not_object")])
async def test_a_body_that_is_no_json_object_is_refused(
    slack: LocalSlack, body: bytes, code: str
) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {slack.bot_token}"}
    url = slack.api_url + "chat.postMessage"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers=headers) as response,
    ):
        assert (await response.json())["error"] == code


async def test_attachments_are_refused_because_they_would_be_lost(web: AsyncWebClient) -> None:
    lost = [{"text": "x", "fallback": "x"}]
    call = web.chat_postMessage(channel=CHANNEL, text="x", attachments=lost)

    assert await refusal(call) == "invalid_attachments"


async def test_the_dm_of_someone_deactivated_takes_no_message(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    dm = (await web.conversations_open(users="U0BOB"))["channel"]["id"]
    slack.world.deactivate("U0BOB")

    assert await refusal(web.chat_postMessage(channel=dm, text="x")) == "channel_not_found"
