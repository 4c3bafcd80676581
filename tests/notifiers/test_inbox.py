"""The inbox of tests and scripts behaves like any notifier, and can be asked and broken."""

import pytest

from bot.gallery.samples import TOKEN, closed, outcome, ticket
from engine.cards import Notifier, Role
from engine.errors import DeliveryError
from engine.runs import RunStatus
from engine.tickets import Allow
from notifiers.inbox import InboxNotifier


async def test_it_keeps_notices_in_order_and_the_latest_of_each_card() -> None:
    inbox = InboxNotifier()
    asked, decided = ticket(), closed(Allow())
    receipt = await inbox.show(asked, None)

    assert await inbox.show(decided, receipt) == receipt
    assert inbox.notices == [asked, decided]
    assert inbox.latest == {"run_1:apr_1": decided}


async def test_the_token_of_a_ticket_is_kept_by_run_and_approval() -> None:
    inbox = InboxNotifier()
    await inbox.show(ticket(), None)
    await inbox.show(closed(Allow()), None)
    await inbox.show(ticket(role=Role.ASKED, token=None), None)

    assert inbox.tokens == {"run_1:apr_1": TOKEN}


async def test_it_tells_whether_a_card_can_still_be_answered() -> None:
    inbox = InboxNotifier()
    await inbox.show(ticket(), None)
    assert not inbox.closed("run_1:apr_1")

    await inbox.show(closed(Allow()), None)
    await inbox.show(outcome(RunStatus.SUCCEEDED, ""), None)

    assert inbox.closed("run_1:apr_1")
    assert inbox.closed("run_1:outcome")
    with pytest.raises(KeyError):
        inbox.closed("run_2:apr_1")


async def test_it_fails_as_often_and_as_it_was_told() -> None:
    inbox = InboxNotifier()
    inbox.fail(2)
    inbox.fail(error=DeliveryError("gone", permanent=True))
    permanent = []
    for _ in range(3):
        with pytest.raises(DeliveryError) as failed:
            await inbox.show(ticket(), None)
        permanent.append(failed.value.permanent)

    assert permanent == [False, False, True]
    assert (await inbox.show(ticket(), None)).shown
    assert len(inbox.notices) == 1


def test_it_is_a_notifier() -> None:
    notifier: Notifier = InboxNotifier()
    assert notifier.audience == "api"
