"""With replicas, what cannot be undone is built on what a second server has confirmed only."""

from collections.abc import AsyncIterator

import pytest

from engine.errors import StoreUnconfirmedError
from engine.store import Store
from engine.stores import MemoryStore
from tests.contracts.play import LEASE, Play, keyed
from tests.engine.stores.conftest import RedisOpener
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_next,
    make_receipt,
    make_revoked,
    make_rule,
)
from tests.servers.binaries import Binary
from tests.servers.proxy import Fault
from tests.servers.replicas import Pair


@pytest.fixture
async def pair(binary: Binary) -> AsyncIterator[Pair]:
    async with Pair(binary) as made:
        await made.settle()
        yield made


@pytest.fixture
def store(pair: Pair, opened_redis: RedisOpener) -> Store:
    return opened_redis(pair.master.url, replicas=1)


@pytest.fixture
def play(store: Store, clock: HeldClock) -> Play:
    return Play(store, clock)


async def test_a_confirmed_change_is_on_the_replica(play: Play, pair: Pair) -> None:
    run = await play.start()
    await play.commit(make_next(run), confirm=True)

    pair.promote()

    assert pair.replica.ask("HGET", f"{{hs:{run.id[0]}}}:run:{run.id}", "v") == "2"


async def test_a_change_that_no_replica_has_is_written_and_told_to_be_unconfirmed(
    play: Play, store: Store, pair: Pair
) -> None:
    run = await play.start()
    pair.line.apply(Fault.HOLD)

    with pytest.raises(StoreUnconfirmedError, match=run.id):
        await play.commit(make_next(run), confirm=True)

    assert (await store.load(run.id)).run.version == 2


async def test_a_revoked_rule_is_revoked_on_the_replica_or_told_not_to_be(
    store: Store, pair: Pair
) -> None:
    first, second = make_rule(), make_rule()
    for rule in (first, second):
        await store.rules.keep(rule)
    await store.rules.revoke(first.id, make_revoked())
    pair.line.apply(Fault.HOLD)

    for _ in range(2):
        with pytest.raises(StoreUnconfirmedError, match=second.id):
            await store.rules.revoke(second.id, make_revoked())

    pair.line.apply(Fault.PASS)
    await pair.settle()
    ended = await store.rules.revoke(second.id, make_revoked())
    assert ended is not None
    assert ended.revoked == make_revoked()


async def test_a_change_that_needs_no_confirmation_does_not_wait_for_it(
    play: Play, pair: Pair
) -> None:
    run = await play.start()
    pair.line.apply(Fault.HOLD)

    assert (await play.commit(make_next(run))).version == 2


async def test_a_message_does_not_show_what_a_failover_may_take_back(
    play: Play, store: Store, pair: Pair, clock: HeldClock
) -> None:
    run, _ = await play.shown(make_receipt())
    pair.line.apply(Fault.HOLD)
    await play.raised(make_card_key(run), run=run)

    assert await store.take_cards("courier", LEASE, 5) == ()

    pair.line.apply(Fault.PASS)
    await pair.settle()
    clock.now += LEASE
    assert [card.wanted for card in await store.take_cards("courier", LEASE, 5)] == [2]


async def test_a_card_that_nobody_has_seen_is_shown_though_no_replica_answers(
    play: Play, store: Store, pair: Pair
) -> None:
    pair.line.apply(Fault.HOLD)
    await play.raised()

    assert await store.take_cards("courier", LEASE, 5)


async def test_the_same_commit_again_asks_the_replicas_again(
    play: Play, store: Store, pair: Pair
) -> None:
    run = await play.start()
    change = make_change(make_next(run), confirm=True)
    pair.line.apply(Fault.HOLD)
    for _ in range(2):
        with pytest.raises(StoreUnconfirmedError):
            await store.commit(change)

    pair.line.apply(Fault.PASS)
    await pair.settle()

    assert (await store.commit(change)).replayed


async def test_a_recorded_answer_is_not_told_before_it_is_confirmed(
    play: Play, store: Store, pair: Pair
) -> None:
    run = await play.start()
    answered = make_next(run)
    pair.line.apply(Fault.HOLD)
    for _ in range(2):
        with pytest.raises(StoreUnconfirmedError):
            await play.commit(answered, key=keyed(answered), confirm=True)
    with pytest.raises(StoreUnconfirmedError):
        await store.load(run.id, key="key")

    pair.line.apply(Fault.PASS)
    await pair.settle()

    assert (await store.load(run.id, key="key")).recorded == keyed(answered)


async def test_a_run_that_moves_in_is_not_told_to_be_there_before_it_is_confirmed(
    store: Store, pair: Pair, clock: HeldClock
) -> None:
    source = MemoryStore(clock=clock)
    run = await Play(source, clock).start()
    parcel = await source.pack(run.id)
    await source.close()
    pair.line.apply(Fault.HOLD)
    with pytest.raises(StoreUnconfirmedError):
        await store.unpack(parcel)
    with pytest.raises(StoreUnconfirmedError):
        await store.pack(run.id)

    pair.line.apply(Fault.PASS)
    await pair.settle()

    assert await store.pack(run.id) == parcel
