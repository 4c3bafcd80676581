"""Where a card goes: the run's own place first, and to the next when one refuses it for good."""

import json

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from engine.cards import Receipt, Role
from engine.errors import ConfigurationError, DeliveryError
from engine.identity import Approvers, Via
from engine.ids import PersonId
from engine.runs import Origin, RunStatus
from engine.tickets import Allow
from notifiers import names
from notifiers.slack import SlackNotifier
from tests.notifiers.conftest import ARCHIVE, DEPLOYS, GENERAL, PRIVATE, ROOM, Office
from tests.notifiers.judge import shown
from tests.notifiers.samples import BOB, TOKEN, closed, outcome, ticket

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
    approvers = Approvers(people=(BOB,))
    receipt = await office.notifier(None).show(ticket(approvers=approvers), None)

    (message,) = await office.read(ROOM)
    assert "Nobody else sees this card" in receipt.note
    assert receipt.note in shown(message["blocks"])


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
    stranger = ticket(owner=PersonId("U0NOBODY"))

    with pytest.raises(DeliveryError) as failed:
        await office.notifier().show(stranger, None)

    assert failed.value.permanent
    assert str(failed.value) == (
        "no place took the card: the configured channel refused it (is_archived);"
        " the owner's DM refused it (user_not_found)"
    )


async def test_an_owner_without_slack_has_no_dm_to_fall_back_to(office: Office) -> None:
    with pytest.raises(DeliveryError, match="the owner is not on Slack") as failed:
        await office.notifier(None).show(ticket(owner=PersonId("alice")), None)
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
