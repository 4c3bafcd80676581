"""No message is forgotten: not a second post of a card, and not one whose courier came too late."""

from datetime import timedelta

import pytest

from engine.cards import Card, Receipt
from engine.store import Store
from tests.contracts.play import LEASE, Play, due, posts
from tests.factories import HeldClock, make_card_key, make_receipt

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


async def test_an_unknown_post_of_a_shown_card_gets_a_row_and_is_brought_up_to_date(
    play: Play, store: Store
) -> None:
    run, card = await play.shown(first := make_receipt())
    second = make_receipt()

    await store.adopt_card(card.key, second)

    adopted = await play.take()
    assert (adopted.receipt, adopted.wanted) == (second, 1)
    assert adopted.key.model_copy(update={"duplicate": ""}) == card.key
    await store.card_shown(adopted, 1, second)
    assert await posts(store, run.id) == {first.id: 1, second.id: 1}


async def test_a_known_post_is_not_adopted_again(play: Play, store: Store) -> None:
    run, card = await play.shown(first := make_receipt())
    second = make_receipt()
    await store.adopt_card(card.key, first)
    await store.adopt_card(card.key, second)
    (duplicate,) = await due(store)

    await store.adopt_card(card.key, second.model_copy(update={"link": "https://example.com"}))
    await store.adopt_card(duplicate.key, first)

    assert len(await store.cards(run.id)) == 2


async def test_a_post_of_a_card_whose_receipt_was_lost_becomes_the_card(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.raised()
    card = await play.take()
    await store.card_failed(card, clock.now + HOUR)

    await store.adopt_card(card.key, found := make_receipt())

    assert await due(store) == []
    assert [known.receipt for known in await store.cards(run.id)] == [found]
    clock.now += HOUR
    assert (await play.take()).receipt == found


async def test_a_post_of_a_card_that_had_nothing_to_add_becomes_the_card_and_is_due(
    play: Play, store: Store
) -> None:
    run, card = await play.shown(Receipt(place="", id="", shown=False))

    await store.adopt_card(card.key, found := make_receipt())

    assert (await play.take()).receipt == found
    assert len(await store.cards(run.id)) == 1


async def test_raising_a_card_raises_every_post_of_it(play: Play, store: Store) -> None:
    run, card = await play.shown(first := make_receipt())
    await store.adopt_card(card.key, second := make_receipt())
    await store.adopt_card(card.key, third := make_receipt())
    for adopted in await due(store):
        assert adopted.receipt is not None
        await store.card_shown(adopted, 1, adopted.receipt)
    await play.raised(card.key, run=run)

    behind = {card.receipt.id: card.wanted for card in await due(store) if card.receipt}

    assert behind == {first.id: 2, second.id: 2, third.id: 2}


async def test_a_card_that_nobody_raised_can_be_adopted(play: Play, store: Store) -> None:
    run = await play.start()

    await store.adopt_card(key := make_card_key(run), receipt := make_receipt())
    await play.raised(key, run=run)

    card = await play.take()
    assert (card.receipt, card.wanted) == (receipt, 2)


# Couriers that come too late.


async def late_courier(play: Play) -> tuple[Card, Card]:
    """Return a card as a courier took it, and as another took it when that one's lease ended."""
    await play.raised()
    first = await play.take()
    play.clock.now += LEASE
    return first, await play.take()


async def test_a_late_receipt_is_kept_and_the_newer_lease_is_not_touched(
    play: Play, store: Store, clock: HeldClock
) -> None:
    late, _ = await late_courier(play)

    await store.card_shown(late, 1, receipt := make_receipt())

    assert await posts(store, late.key.run) == {receipt.id: 0}
    clock.now += LEASE - MICROSECOND
    assert await due(store) == []
    clock.now += MICROSECOND
    assert (await play.take()).receipt == receipt


@pytest.mark.parametrize("order", ["late first", "late last"])
async def test_two_couriers_that_both_posted_leave_two_known_messages(
    play: Play, store: Store, order: str
) -> None:
    late, current = await late_courier(play)
    first, second = make_receipt(), make_receipt()
    reports = [(late, first), (current, second)]
    for card, receipt in reports if order == "late first" else reversed(reports):
        await store.card_shown(card, 1, receipt)

    assert set(await posts(store, late.key.run)) == {first.id, second.id}
    behind = await play.take()
    assert behind.receipt == first
    await store.card_shown(behind, 1, first)
    assert await posts(store, late.key.run) == {first.id: 1, second.id: 1}


async def test_a_late_report_of_the_known_message_changes_nothing(play: Play, store: Store) -> None:
    run, card = await play.shown(receipt := make_receipt())
    await play.raised(card.key, run=run)
    late = await play.take()
    play.clock.now += LEASE
    current = await play.take()

    await store.card_shown(late, 2, receipt)

    assert [(known.shown, known.fence) for known in await store.cards(run.id)] == [
        (1, current.fence)
    ]


async def test_a_late_report_of_nothing_to_add_changes_nothing(play: Play, store: Store) -> None:
    late, _ = await late_courier(play)
    before = await store.cards(late.key.run)

    await store.card_shown(late, 1, Receipt(place="", id="", shown=False))

    assert await store.cards(late.key.run) == before


async def test_a_late_failure_changes_nothing(play: Play, store: Store, clock: HeldClock) -> None:
    late, current = await late_courier(play)

    await store.card_failed(late, clock.now)

    assert await due(store) == []
    await store.card_failed(current, clock.now)
    assert len(await due(store)) == 1


async def test_a_message_that_was_replaced_is_forgotten(play: Play, store: Store) -> None:
    run, card = await play.shown(make_receipt())
    await play.raised(card.key, run=run)

    await store.card_shown(await play.take(), 2, new := make_receipt())

    assert await posts(store, run.id) == {new.id: 2}


async def test_a_message_found_while_another_was_being_posted_is_not_forgotten(
    play: Play, store: Store
) -> None:
    run = await play.raised()
    card = await play.take()
    await store.adopt_card(card.key, found := make_receipt())

    await store.card_shown(card, 1, posted := make_receipt())

    assert await posts(store, run.id) == {posted.id: 1, found.id: 0}
    assert (await play.take()).receipt == found


async def test_a_message_that_was_replaced_and_turns_up_again_is_known_again(
    play: Play, store: Store
) -> None:
    run, card = await play.shown(make_receipt())
    lost, new = make_receipt(), make_receipt()
    await store.adopt_card(card.key, lost)
    await store.card_shown(await play.take(), 1, new)

    await store.adopt_card(card.key, lost)

    assert {lost.id, new.id} < set(await posts(store, run.id))


async def test_a_report_about_an_unknown_card_is_ignored(play: Play, store: Store) -> None:
    run = await play.start()
    card = Card(key=make_card_key(run), wanted=1)

    await store.card_shown(card, 1, make_receipt())
    await store.card_failed(card, play.clock.now)

    assert await store.cards(run.id) == ()
