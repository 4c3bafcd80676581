"""What people are told where asks wait: once, where their cards are, and nothing but text."""

import pytest
from hypothesis import given

from bot.gallery.samples import ALICE, BOB, held
from engine.cards import Role
from engine.identity import Approvers, Via
from engine.ids import PersonId
from engine.runs import Origin
from notifiers.held import held_message
from tests.notifiers.conftest import DEPLOYS, GENERAL, ROOM, Office
from tests.notifiers.effort import QUICK
from tests.notifiers.judge import buttons, check_message
from tests.notifiers.test_text import texts

FROM_DEPLOYS = Origin(via=Via.SLACK, channel=DEPLOYS)


def test_it_says_how_many_are_open_and_how_many_wait() -> None:
    message = held_message(held())
    assert message.text == "deployer has 20 open asks; 37 more wait and come as these are answered"
    assert not buttons(message)


def test_one_is_not_told_as_many() -> None:
    message = held_message(held(opened=1, waiting=1))
    assert message.text == "deployer has 1 open ask; 1 more waits and comes as these are answered"


def test_it_says_for_whom_there_are_too_many() -> None:
    message = held_message(held(full="approver", opened=50))
    assert message.text == (
        "<@U0BOB> has 50 open asks; 37 more of deployer wait and come as these are answered"
    )


def test_it_says_when_none_waits_any_more() -> None:
    assert held_message(held(waiting=0)).text == "No ask of deployer waits its turn any more"


@given(texts)
@QUICK
def test_no_name_is_more_than_text(name: str) -> None:
    check_message(held_message(held(agent=name)))
    check_message(held_message(held(agent=name, full="approver", owner=PersonId(name))))
    check_message(
        held_message(held(full="approver", approvers=Approvers(people=(PersonId(name),))))
    )


@pytest.mark.parametrize(
    ("origin", "place"), [(Origin(), GENERAL), (FROM_DEPLOYS, DEPLOYS)], ids=["elsewhere", "slack"]
)
async def test_it_is_told_where_the_cards_are(office: Office, origin: Origin, place: str) -> None:
    receipt = await office.notifier().show(held(origin=origin), None)

    (message,) = await office.read(place)
    assert (receipt.place, receipt.id) == (place, message["ts"])
    assert not await office.read(ROOM)


async def test_the_owner_is_told_in_their_dm(office: Office) -> None:
    receipt = await office.notifier().show(held(role=Role.HELD_OWNER), None)
    (message,) = await office.read(ROOM)
    assert (receipt.place, receipt.id) == (ROOM, message["ts"])


async def test_an_owner_without_slack_is_not_told(office: Office) -> None:
    alone = held(role=Role.HELD_OWNER, owner=PersonId("alice"))
    assert not (await office.notifier().show(alone, None)).shown
    assert not await office.methods()


async def test_without_a_channel_the_owner_alone_is_not_told_twice(office: Office) -> None:
    own = held(approvers=Approvers(people=(ALICE,), four_eyes=False))
    assert not (await office.notifier(None).show(own, None)).shown
    others = held(approvers=Approvers(people=(BOB,)))
    assert (await office.notifier(None).show(others, None)).shown
    assert not await office.read(ROOM)


async def test_it_is_brought_up_to_date_where_it_is(office: Office) -> None:
    notifier = office.notifier()
    receipt = await notifier.show(held(), None)
    again = await notifier.show(held(waiting=0), receipt)

    (message,) = await office.read(GENERAL)
    assert again == receipt
    assert message["text"] == "No ask of deployer waits its turn any more"


async def test_a_channel_that_takes_nothing_is_passed_over(office: Office) -> None:
    await office.archive(DEPLOYS)
    receipt = await office.notifier().show(held(origin=FROM_DEPLOYS), None)
    assert receipt.place == GENERAL
