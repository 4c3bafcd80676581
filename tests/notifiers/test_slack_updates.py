"""One card, one message: it follows its ticket in place, and nothing is lost when it cannot."""

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from bot.gallery.samples import TOKEN, closed, finished, outcome, ticket
from engine.cards import Effect, EffectState, Receipt, Role
from engine.entries import CallOutcome
from engine.errors import DeliveryError
from engine.runs import RunStatus
from engine.tickets import Allow, Deny
from tests.notifiers.conftest import DEPLOYS, GENERAL, ROOM, Office
from tests.notifiers.judge import shown

GONE = ["message_not_found", "cant_update_message", "edit_window_closed"]
RUNNING = closed(Allow(), effect=Effect(state=EffectState.RUNNING))
RAN = closed(Allow(), effect=finished(CallOutcome.SUCCEEDED, "live"))


def has_buttons(message: dict[str, Any]) -> bool:
    return any(block["type"] == "actions" for block in message["blocks"])


async def test_a_card_follows_its_ticket_in_place(office: Office) -> None:
    notifier = office.notifier()
    receipt = await notifier.show(ticket(), None)
    seen = []
    for notice in (ticket(token=SecretStr("newer")), RUNNING, RAN):
        assert await notifier.show(notice, receipt) == receipt
        (message,) = await office.read(GENERAL)
        seen.append((has_buttons(message), "Running." in shown(message["blocks"])))

    assert seen == [(True, False), (False, True), (False, False)]
    assert TOKEN not in str(await office.read(GENERAL))


async def test_an_update_keeps_the_note_of_why_the_card_is_here(office: Office) -> None:
    await office.break_down("error", method="chat.postMessage", error="not_in_channel")
    notifier = office.notifier()
    receipt = await notifier.show(ticket(), None)
    await notifier.show(RAN, receipt)

    (message,) = await office.read(ROOM)
    assert receipt.note in shown(message["blocks"])


async def test_an_update_asks_slack_to_read_nothing_into_it(office: Office) -> None:
    notifier = office.notifier()
    await notifier.show(RAN, await notifier.show(ticket(), None))
    (call,) = await office.people.app.calls("chat.update")

    assert (call.arguments["parse"], call.arguments["link_names"]) == ("none", False)


@pytest.mark.parametrize("code", GONE)
async def test_an_open_card_that_cannot_be_updated_is_posted_anew(
    office: Office, code: str
) -> None:
    notifier = office.notifier()
    first = await notifier.show(ticket(), None)
    await office.break_down("error", method="chat.update", error=code)

    second = await notifier.show(ticket(token=SecretStr("newer")), first)

    assert second.id != first.id
    assert len(await office.read(GENERAL)) == 2


@pytest.mark.parametrize("code", GONE)
async def test_how_it_ended_is_said_below_a_card_that_cannot_be_updated(
    office: Office, code: str
) -> None:
    notifier = office.notifier()
    first = await notifier.show(ticket(), None)
    await office.break_down("error", method="chat.update", error=code)

    reply = await notifier.show(RUNNING, first)

    _, said = await office.read(GENERAL)
    assert said["thread_ts"] == first.id
    assert said["ts"] == reply.id
    assert "The card above can no longer be changed." in shown(said["blocks"])
    assert not has_buttons(said)


async def test_what_follows_is_written_into_that_reply(office: Office) -> None:
    notifier = office.notifier()
    first = await notifier.show(ticket(), None)
    await office.break_down("error", method="chat.update", error="message_not_found")
    reply = await notifier.show(RUNNING, first)

    assert await notifier.show(RAN, reply) == reply
    _, said = await office.read(GENERAL)
    assert "Ran in 3.2 s" in shown(said["blocks"])


async def test_a_closed_card_that_takes_neither_update_nor_reply_is_given_up(
    office: Office,
) -> None:
    notifier = office.notifier()
    first = await notifier.show(ticket(), None)
    await office.archive(GENERAL)

    given_up = await notifier.show(RAN, first)

    assert not given_up.shown
    assert not (await notifier.show(RAN, given_up)).shown
    assert len(await office.read(GENERAL)) == 1


async def test_an_open_card_in_a_channel_that_is_gone_moves_on(office: Office) -> None:
    notifier = office.notifier()
    first = await notifier.show(ticket(), None)
    await office.archive(GENERAL)

    second = await notifier.show(ticket(token=SecretStr("newer")), first)

    assert second.place == ROOM
    assert "is_archived" in second.note


async def test_a_message_to_the_owner_follows_too(office: Office) -> None:
    notifier = office.notifier()
    receipt = await notifier.show(RUNNING.model_copy(update={"role": Role.DECIDED}), None)
    again = await notifier.show(RAN.model_copy(update={"role": Role.DECIDED}), receipt)

    (message,) = await office.read(ROOM)
    assert again == receipt
    assert message["text"] == 'Approved by <@U0BOB>: deploy. Ran in 3.2 s: "live"'


async def test_a_message_to_the_owner_that_is_refused_otherwise_is_tried_again(
    office: Office,
) -> None:
    notifier = office.notifier()
    receipt = await notifier.show(outcome(RunStatus.FAILED, "x"), None)
    await office.break_down("error", method="chat.update", error="is_archived")

    with pytest.raises(DeliveryError):
        await notifier.show(outcome(RunStatus.FAILED, "y"), receipt)


async def test_a_message_that_the_owner_cannot_see_any_more_is_left_alone(office: Office) -> None:
    notifier = office.notifier()
    receipt = await notifier.show(outcome(RunStatus.FAILED, "x"), None)
    await office.break_down("error", method="chat.update", error="message_not_found")

    assert await notifier.show(outcome(RunStatus.FAILED, "y"), receipt) == receipt
    assert len(await office.read(ROOM)) == 1


async def test_a_receipt_of_nothing_shown_is_no_receipt(office: Office) -> None:
    nothing = Receipt(place="", id="", shown=False)
    receipt = await office.notifier().show(ticket(), nothing)
    assert receipt.place == GENERAL


async def test_the_later_of_two_updates_is_what_stays(office: Office) -> None:
    """The answer to the first is held back; the second starts when the first has happened."""
    notifier = office.notifier()
    receipt = await notifier.show(ticket(), None)
    await office.break_down("hold", method="chat.update")
    first = asyncio.create_task(notifier.show(RUNNING, receipt))
    await office.people.wait_for_message(
        "U0ALICE", GENERAL, lambda message: "Running." in shown(message["blocks"])
    )

    await notifier.show(RAN, receipt)
    await office.people.faults.release()

    assert await first == receipt
    (message,) = await office.read(GENERAL)
    assert "Ran in 3.2 s" in shown(message["blocks"])


async def test_cards_of_many_tickets_do_not_mix(office: Office) -> None:
    notifier = office.notifier()
    notices = [
        ticket(ref=f"REF{n:03}", idempotency=f"run_1:apr_{n}", arguments={"n": n})
        for n in range(20)
    ]
    receipts = await asyncio.gather(*(notifier.show(notice, None) for notice in notices))
    ended = [closed(Deny(), ref=notice.ref) for notice in notices]
    await asyncio.gather(*map(notifier.show, ended, receipts))

    told = {message["ts"]: shown(message["blocks"]) for message in await office.read(GENERAL)}
    assert len(told) == 20
    for receipt, notice in zip(receipts, notices, strict=True):
        assert notice.ref in told[receipt.id]
        assert "Denied: deploy" in told[receipt.id]
    assert not await office.read(DEPLOYS)
