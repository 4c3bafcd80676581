"""Where a card goes: the run's own place first, and to the next when one refuses it for good."""

import json

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.gallery.samples import ALICE, BOB, TOKEN, closed, outcome, ticket
from engine.cards import Receipt, Role
from engine.errors import ConfigurationError, DeliveryError
from engine.identity import Approvers, Via
from engine.ids import PersonId
from engine.runs import Origin, RunStatus
from engine.tickets import Allow
from notifiers import names
from notifiers.slack import SlackNotifier
from tests.notifiers.conftest import ARCHIVE, DEPLOYS, GENERAL, PRIVATE, ROOM, Json, Office
from tests.notifiers.judge import shown

CAROL = PersonId("U0CAROL")
FROM_DEPLOYS = Origin(via=Via.SLACK, channel=DEPLOYS)


def test_a_client_that_would_post_twice_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="retry_handlers"):
        SlackNotifier(AsyncWebClient("xoxb-1"), channel=GENERAL)


async def test_a_run_from_slack_is_asked_about_where_it_began(office: Office) -> None:
    receipt = await office.notifier().show(ticket(origin=FROM_DEPLOYS), None)

    (message,) = await office.read(DEPLOYS)
    assert (receipt.place, receipt.id) == (DEPLOYS, message["ts"])
    assert "Run deploy?" in shown(message["blocks"])
    assert not await office.read(GENERAL)


async def test_a_run_from_a_thread_is_asked_about_in_that_thread(office: Office) -> None:
    start = await office.people.say("U0ALICE", DEPLOYS, "@holdshort deploy, please")
    origin = Origin(via=Via.SLACK, channel=DEPLOYS, thread=start["ts"])

    await office.notifier().show(ticket(origin=origin), None)

    _, reply = await office.read(DEPLOYS)
    assert reply["thread_ts"] == start["ts"]


async def test_a_run_from_elsewhere_is_asked_about_in_the_configured_channel(
    office: Office,
) -> None:
    origin = Origin(via=Via.TERMINAL, channel=DEPLOYS)
    receipt = await office.notifier().show(ticket(origin=origin), None)
    assert receipt.place == GENERAL


async def test_without_a_channel_the_owner_is_asked_in_their_dm(office: Office) -> None:
    receipt = await office.notifier(None).show(ticket(), None)

    assert receipt.place == ROOM
    assert receipt.note == ""


async def test_a_card_that_only_the_owner_sees_says_so_when_others_decide(office: Office) -> None:
    approvers = Approvers(people=(PersonId("bob"),))
    receipt = await office.notifier(None).show(ticket(approvers=approvers), None)

    (message,) = await office.read(ROOM)
    assert "Nobody else sees this card" in receipt.note
    assert receipt.note in shown(message["blocks"])


async def test_without_a_channel_each_of_those_who_may_decide_has_the_card(office: Office) -> None:
    approvers = Approvers(people=(BOB, CAROL, PersonId("dave")))
    notifier = office.notifier(None)
    receipt = await notifier.show(ticket(approvers=approvers), None)

    (at_bob,), (at_carol,) = await dms(office, BOB), await dms(office, CAROL)
    (second,) = receipt.also
    assert [receipt.id, second.id] == [at_bob["ts"], at_carol["ts"]]
    assert receipt.note == "Without a channel, this card went to 2 of the 3 it asks."
    for message in (at_bob, at_carol):
        assert receipt.note in shown(message["blocks"])
        assert TOKEN in json.dumps(message["blocks"])
    assert not await dms(office, ALICE)


@pytest.mark.parametrize(
    "more", [{"groups": ("S0ONCALL",)}, {"channels": (DEPLOYS,)}, {"on_call": True}]
)
async def test_where_more_may_decide_than_are_named_the_card_says_that_it_went_to_the_named(
    office: Office, more: Json
) -> None:
    approvers = Approvers(people=(BOB,), **more)
    receipt = await office.notifier(None).show(ticket(approvers=approvers), None)

    (message,) = await dms(office, BOB)
    assert receipt.note == "Without a channel, this card went to 1 of those it asks, by name."
    assert receipt.note in shown(message["blocks"])


async def test_whoever_may_not_decide_their_own_request_is_sent_no_card(office: Office) -> None:
    approvers = Approvers(people=(ALICE, BOB))
    receipt = await office.notifier(None).show(ticket(approvers=approvers), None)

    assert receipt.also == ()
    assert len(await dms(office, BOB)) == 1
    assert not await dms(office, ALICE)


async def test_the_owner_is_told_where_the_card_went_to_others_and_not_where_it_is(
    office: Office,
) -> None:
    notifier = office.notifier(None)
    others = ticket(role=Role.ASKED, approvers=Approvers(people=(BOB,)))
    own = ticket(role=Role.ASKED, approvers=Approvers(people=(BOB, ALICE), four_eyes=False))

    assert (await notifier.show(others, None)).shown
    assert not (await notifier.show(own, None)).shown


async def test_a_dm_that_refuses_costs_only_its_owner_the_card(office: Office) -> None:
    approvers = Approvers(people=(PersonId("U0NOBODY"), BOB))
    receipt = await office.notifier(None).show(ticket(approvers=approvers), None)

    assert len(await dms(office, BOB)) == 1
    assert receipt.note.startswith("Here because U0NOBODY's DM refused it (user_not_found).")


async def test_a_fault_after_the_first_post_is_no_reason_to_post_it_again(office: Office) -> None:
    room = await open_room(office, CAROL)
    await office.break_down(
        "error", method="chat.postMessage", channel=room, error="internal_error"
    )
    approvers = Approvers(people=(BOB, CAROL))

    receipt = await office.notifier(None).show(ticket(approvers=approvers), None)

    assert (len(await dms(office, BOB)), receipt.also) == (1, ())


async def test_a_card_that_was_deleted_from_a_dm_comes_back_to_that_one_alone(
    office: Office,
) -> None:
    notifier = office.notifier(None)
    notice = ticket(approvers=Approvers(people=(BOB, CAROL)))
    receipt = await notifier.show(notice, None)
    await office.web.chat_delete(channel=receipt.place, ts=receipt.id)

    again = await notifier.show(notice, receipt)

    assert (again.place, again.also) == (receipt.place, ())
    assert [len(await dms(office, who)) for who in (BOB, CAROL)] == [1, 1]


async def dms(office: Office, user: str) -> list[Json]:
    """Return what a person has in their DM with the bot."""
    state = await office.people.state(user)
    found = [one for one in state["channels"] if one["id"].startswith("D")]
    return [message for one in found for message in one["messages"]]


async def open_room(office: Office, user: str) -> str:
    opened = await office.web.conversations_open(users=user)
    return str(opened["channel"]["id"])


@pytest.mark.parametrize(
    ("channel", "code"),
    [(PRIVATE, "channel_not_found"), (ARCHIVE, "is_archived"), ("C0NOWHERE", "channel_not_found")],
)
async def test_a_place_that_refuses_for_good_gives_way_to_the_next(
    office: Office, channel: str, code: str
) -> None:
    origin = Origin(via=Via.SLACK, channel=channel)
    receipt = await office.notifier().show(ticket(origin=origin), None)

    (message,) = await office.read(GENERAL)
    assert receipt.note == f"Here because the run's own channel refused it ({code})."
    assert receipt.note in shown(message["blocks"])


@pytest.mark.parametrize(
    "code",
    [
        "not_in_channel",
        "channel_not_found",
        "is_archived",
        "restricted_action",
        "restricted_action_read_only_channel",
    ],
)
async def test_every_refusal_of_a_place_leads_to_the_next(office: Office, code: str) -> None:
    await office.break_down("error", method="chat.postMessage", channel=DEPLOYS, error=code)
    receipt = await office.notifier().show(ticket(origin=FROM_DEPLOYS), None)
    assert receipt.place == GENERAL
    assert code in receipt.note


async def test_after_both_channels_comes_the_owners_dm(office: Office) -> None:
    await office.people.world.leave(DEPLOYS, "U0HOLDSHORT")
    await office.archive(GENERAL)

    receipt = await office.notifier().show(ticket(origin=FROM_DEPLOYS), None)

    assert receipt.place == ROOM
    assert receipt.note == (
        "Here because the run's own channel refused it (not_in_channel);"
        " the configured channel refused it (is_archived)."
    )


async def test_where_no_place_takes_it_the_courier_is_told_all_reasons(office: Office) -> None:
    await office.archive(GENERAL)
    nobody = PersonId("U0NOBODY")
    stranger = ticket(owner=nobody, approvers=Approvers(people=(nobody,), four_eyes=False))

    with pytest.raises(DeliveryError) as failed:
        await office.notifier().show(stranger, None)

    assert failed.value.permanent
    assert str(failed.value) == (
        "no place took the card: the configured channel refused it (is_archived);"
        " the owner's DM refused it (user_not_found)"
    )


async def test_an_owner_without_slack_has_no_dm_to_fall_back_to(office: Office) -> None:
    alice = PersonId("alice")
    only = Approvers(people=(alice,), four_eyes=False)
    with pytest.raises(DeliveryError, match="the owner is not on Slack") as failed:
        await office.notifier(None).show(ticket(owner=alice, approvers=only), None)
    assert failed.value.permanent
    assert await office.methods() == []


async def test_the_configured_channel_is_not_tried_twice(office: Office) -> None:
    await office.archive(GENERAL)
    origin = Origin(via=Via.SLACK, channel=GENERAL)

    receipt = await office.notifier().show(ticket(origin=origin), None)

    assert receipt.place == ROOM
    assert (await office.methods()).count("chat.postMessage") == 2


async def test_a_post_asks_slack_to_read_nothing_into_it(office: Office) -> None:
    await office.notifier().show(ticket(), None)
    (call,) = await office.people.app.calls("chat.postMessage")
    sent = call.arguments

    assert (sent["parse"], sent["link_names"]) == ("none", False)
    assert (sent["unfurl_links"], sent["unfurl_media"]) == (False, False)
    assert sent["metadata"] == {
        "event_type": names.METADATA_EVENT,
        "event_payload": {"key": "run_1:apr_1"},
    }
    assert TOKEN not in json.dumps([sent["metadata"], sent["text"]])


async def test_the_receipt_has_a_link_for_the_owner(office: Office) -> None:
    receipt = await office.notifier().show(ticket(), None)
    digits = receipt.id.replace(".", "")
    assert receipt.link == f"https://local.slack.com/archives/{GENERAL}/p{digits}"


async def test_a_card_without_a_link_is_a_card_all_the_same(office: Office) -> None:
    await office.break_down("error", method="chat.getPermalink", error="internal_error")
    receipt = await office.notifier().show(ticket(), None)
    assert receipt.shown
    assert receipt.link == ""


async def test_the_owner_is_told_in_their_dm_where_it_waits(office: Office) -> None:
    notifier = office.notifier()
    asked = await notifier.show(ticket(), None)
    told = ticket(role=Role.ASKED, idempotency="run_1:apr_1:asked", ask=asked, token=None)
    receipt = await notifier.show(told, None)

    (message,) = await office.read(ROOM)
    assert receipt.place == ROOM
    assert asked.link in message["text"]
    assert not [block for block in message["blocks"] if block["type"] == "actions"]


@pytest.mark.parametrize("channel", [None, GENERAL])
async def test_an_owner_who_has_the_card_in_their_dm_is_not_told_of_it_too(
    office: Office, channel: str | None
) -> None:
    notifier = office.notifier(channel)
    if channel:
        await office.archive(channel)
    asked = await notifier.show(ticket(), None)
    told = await notifier.show(ticket(role=Role.ASKED, ask=asked), None)

    assert not told.shown
    assert len(await office.read(ROOM)) == 1


async def test_before_the_card_is_shown_it_is_known_that_it_goes_to_the_owners_dm(
    office: Office,
) -> None:
    assert not (await office.notifier(None).show(ticket(role=Role.ASKED), None)).shown
    assert (await office.notifier().show(ticket(role=Role.ASKED), None)).shown


@pytest.mark.parametrize(
    "notice",
    [closed(Allow(), role=Role.ASKED), ticket(role=Role.ASKED, owner=PersonId("alice"))],
)
async def test_nothing_is_told_of_what_waits_no_more_or_to_someone_without_slack(
    office: Office, notice: object
) -> None:
    receipt = await office.notifier().show(notice, None)  # type: ignore[arg-type]
    assert not receipt.shown
    assert not await office.methods()


async def test_a_card_decided_before_it_was_shown_is_not_posted(office: Office) -> None:
    receipt = await office.notifier().show(closed(Allow()), None)
    assert receipt == Receipt(place="", id="", shown=False)
    assert not await office.methods()


async def test_the_owner_is_told_of_the_decision_and_of_the_end(office: Office) -> None:
    notifier = office.notifier()
    decided = closed(Allow(), role=Role.DECIDED)
    receipts = [
        await notifier.show(decided, None),
        await notifier.show(outcome(RunStatus.SUCCEEDED, "release 1.4.2 live"), None),
    ]

    texts = [message["text"] for message in await office.read(ROOM)]
    assert texts == ["Approved by <@U0BOB>: deploy.", "Done: deployer. release 1.4.2 live"]
    assert [receipt.place for receipt in receipts] == [ROOM, ROOM]
    assert (await office.methods()).count("conversations.open") == 1
