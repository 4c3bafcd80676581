"""A card is shown by one courier at a time until it is up to date, and no message is forgotten."""

from datetime import timedelta

import pytest

from engine.cards import Card, Receipt, Role
from engine.errors import UndecodableRecordError
from engine.store import Store
from tests.contracts.play import LEASE, Play, due, posts
from tests.factories import (
    HeldClock,
    NewerReceipt,
    make_card_key,
    make_change,
    make_next,
    make_receipt,
)

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


async def test_a_raised_card_is_due_at_once(play: Play, store: Store) -> None:
    run = play.run()
    key = make_card_key(run)
    await store.commit(make_change(run, raised=(key,)))

    assert await due(store) == [Card(key=key, wanted=1, fence=1)]


async def test_a_run_lists_its_cards_in_the_order_they_were_made(play: Play, store: Store) -> None:
    run = play.run()
    keys = [
        make_card_key(run, subject=subject, role=role)
        for subject in ("z", "a")
        for role in (Role.DECIDED, Role.ASK)
    ]
    await store.commit(make_change(run, raised=tuple(keys)))

    assert [card.key for card in await store.cards(run.id)] == keys


async def test_cards_raised_first_are_taken_first(
    play: Play, store: Store, clock: HeldClock
) -> None:
    made = []
    for _ in range(4):
        made.append((await play.raised()).id)
        clock.move(microseconds=1)

    assert [card.key.run for card in await store.take_cards("c", LEASE, 3)] == made[:3]
    assert [card.key.run for card in await store.take_cards("c", LEASE, 3)] == made[3:]


async def test_a_taken_card_is_not_taken_again_before_its_lease_ends(
    play: Play, store: Store, clock: HeldClock
) -> None:
    await play.raised()
    first = await play.take()
    clock.now += LEASE - MICROSECOND
    assert await due(store) == []
    clock.now += MICROSECOND

    second = await play.take()

    assert (second.fence, second.attempts) == (first.fence + 1, first.attempts + 1)


async def test_a_shown_card_is_up_to_date(play: Play, store: Store, clock: HeldClock) -> None:
    receipt = make_receipt(link="https://example.com", note="thread")
    run, card = await play.shown(receipt)
    clock.now += HOUR

    assert await due(store) == []
    (known,) = await store.cards(run.id)
    assert (known.shown, known.receipt, known.attempts) == (1, receipt, 0)
    assert known.key == card.key


async def test_a_card_raised_again_is_due_again_with_its_receipt(play: Play) -> None:
    receipt = make_receipt()
    run, card = await play.shown(receipt)
    await play.raised(card.key, run=run)

    again = await play.take()

    assert (again.wanted, again.shown, again.receipt) == (2, 1, receipt)


async def test_a_card_that_shows_an_older_version_stays_due(play: Play, store: Store) -> None:
    run = await play.raised()
    card = await play.take()
    await play.raised(card.key, run=run)

    await store.card_shown(card, 1, make_receipt())

    assert (await play.take()).shown == 1


async def test_a_card_that_shows_a_newer_version_than_wanted_is_up_to_date(
    play: Play, store: Store
) -> None:
    await play.raised()
    card = await play.take()

    await store.card_shown(card, 7, make_receipt())

    assert await due(store) == []


async def test_a_card_with_nothing_to_add_counts_as_shown(play: Play, store: Store) -> None:
    run, card = await play.shown(nothing := Receipt(place="", id="", shown=False))

    assert await due(store) == []
    assert [known.receipt for known in await store.cards(run.id)] == [nothing]
    await play.raised(card.key, run=run)
    assert (await play.take()).wanted == 2


async def test_having_nothing_to_add_does_not_forget_the_message(play: Play, store: Store) -> None:
    run, card = await play.shown(receipt := make_receipt())
    await play.raised(card.key, run=run)

    await store.card_shown(await play.take(), 2, Receipt(place="", id="", shown=False))

    assert await posts(store, run.id) == {receipt.id: 2}


async def test_a_failed_card_is_due_from_its_retry_on(
    play: Play, store: Store, clock: HeldClock
) -> None:
    await play.raised()
    retry_at = clock.now + HOUR
    await store.card_failed(await play.take(), retry_at)

    clock.now = retry_at - MICROSECOND
    assert await due(store) == []
    clock.now = retry_at
    assert (await play.take()).attempts == 1


async def test_attempts_count_until_the_card_is_shown(play: Play, store: Store) -> None:
    run = await play.raised()
    for attempts in range(3):
        card = await play.take()
        assert card.attempts == attempts
        await store.card_failed(card, play.clock.now)
    card = await play.take()
    await store.card_shown(card, 1, make_receipt())
    await play.raised(card.key, run=run)

    assert (await play.take()).attempts == 0


async def test_raising_a_card_touches_neither_its_lease_nor_its_back_off(
    play: Play, store: Store, clock: HeldClock
) -> None:
    run = await play.raised()
    card = await play.take()
    run = await play.raised(card.key, run=run)
    assert await due(store) == []
    await store.card_failed(card, clock.now + HOUR)
    await play.raised(card.key, run=run)

    clock.now += HOUR - MICROSECOND
    assert await due(store) == []
    clock.now += MICROSECOND
    assert (await play.take()).wanted == 3


async def test_cards_of_other_roles_subjects_and_notifiers_are_not_raised_with_it(
    play: Play, store: Store
) -> None:
    run = play.run()
    key = make_card_key(run)
    others = [
        make_card_key(run, role=Role.ASKED),
        make_card_key(run, subject="other"),
        make_card_key(run, notifier="other"),
    ]
    await store.commit(make_change(run, raised=(key, *others)))
    for card in await due(store):
        await store.card_shown(card, 1, make_receipt())
    await play.raised(key, run=run)

    assert [card.key for card in await due(store)] == [key]


async def test_a_card_that_cannot_be_read_is_passed_over(
    play: Play, store: Store, reported: list[UndecodableRecordError]
) -> None:
    run, card = await play.shown(NewerReceipt(place="C1", id="1"))
    run = await play.raised(card.key, run=run)
    other = await play.raised()

    assert [taken.key.run for taken in await due(store)] == [other.id]
    assert [run.id in str(error) for error in reported] == [True]
    with pytest.raises(UndecodableRecordError, match=run.id):
        await store.cards(run.id)
    await play.commit(make_next(run), raised=(card.key,))
