"""Every script has its header, keeps to one slot, is sent again where it was forgotten."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest

from engine.errors import (
    DeadlineNotReachedError,
    DeadlinePassedError,
    StoreUnavailableError,
)
from engine.runs import RunStatus
from engine.store import RunFilter
from engine.stores.keys import home_of
from engine.stores.redis import RedisStore
from engine.stores.redis_scripts import SCRIPTS, script
from tests.contracts.play import LEASE, Play, keyed
from tests.contracts.redis_audit import check_indexes
from tests.contracts.redis_stores import open_redis_store
from tests.engine.stores.conftest import RedisOpener
from tests.factories import (
    HeldClock,
    make_card_key,
    make_closed,
    make_event,
    make_next,
    make_receipt,
    make_record,
)
from tests.servers.binaries import Binary
from tests.servers.cluster import Cluster
from tests.servers.process import ServerProcess

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_begins_with_the_line_that_makes_the_server_strict(name: str) -> None:
    assert script(name).text.startswith(("#!lua\n", "#!lua flags="))


def test_every_file_of_the_folder_is_part_of_a_script() -> None:
    texts = [script(name).text for name in SCRIPTS]
    bodies = [file.read_text() for file in files("engine.stores").joinpath("scripts").iterdir()]
    assert [body for body in bodies if not any(body in text for text in texts)] == []


async def use_everything(play: Play, store: RedisStore) -> None:
    """Run every script, in the ways that they write."""
    run = play.run(concurrency_key="key", priority=2)
    card = make_card_key(run)
    await play.commit(run, raised=(card,), records=(make_record(0),), events=(make_event(1),))
    behind = play.run(concurrency_key="key")
    await play.commit(behind)
    _, claim = await play.claim()
    await store.heartbeat(claim, LEASE)
    parked = await play.park(run, claim)
    await store.due(5)
    await store.next_due()
    answered = make_next(parked, status=run.status, tickets=())
    closed = (make_closed(parked.tickets[0]),)
    await play.commit(answered, closed=closed, raised=(card,), key=keyed(answered))
    (taken,) = await store.take_cards("courier", LEASE, 5)
    await store.card_failed(taken, play.clock.now)
    (taken,) = await store.take_cards("courier", LEASE, 5)
    await store.card_shown(taken, taken.wanted, make_receipt())
    await store.adopt_card(card, make_receipt())
    _, claim = await play.claim()
    await store.release(claim, play.clock.now)
    await play.end(*await play.claim())
    await store.load(run.id, key="key", approval=closed[0].approval)
    await store.records(run.id)
    await store.events(run.id)
    await store.cards(run.id)
    await store.list_runs(RunFilter(), 5)
    await store.find(run.ref)
    await store.gauges()


async def forget_everything(store: RedisStore) -> None:
    """Remove what has ended, as if ages had passed, and put it in again."""
    (ended,) = (await store.list_runs(RunFilter(statuses=(RunStatus.SUCCEEDED,)), 5)).runs
    parcel = await store.pack(ended.id)
    assert await store.purge(datetime(2100, 1, 1, tzinfo=UTC), 5) == 1
    await store.unpack(parcel)
    assert await store.pack(ended.id) == parcel


@pytest.fixture(scope="module")
def cluster(binary: Binary) -> Iterator[Cluster]:
    with Cluster(binary) as made:
        yield made


async def test_every_script_keeps_to_the_slot_of_its_place(cluster: Cluster) -> None:
    # A node refuses a script that touches a key of another slot, as of another node.
    store = open_redis_store(cluster.url)
    try:
        await use_everything(Play(store, HeldClock()), store)
        await forget_everything(store)
    finally:
        await store.close()

    used = {line for node in cluster.nodes for line in node.info("commandstats")}
    assert "cmdstat_evalsha" in used


async def test_scripts_that_the_server_forgot_are_sent_again(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    store = opened_redis()
    play = Play(store, HeldClock())
    run = await play.start()
    redis_server.ask("SCRIPT", "FLUSH")

    await play.commit(make_next(run))
    redis_server.ask("SCRIPT", "FLUSH")

    assert (await store.load(run.id)).run.version == 2
    assert len((await store.list_runs(RunFilter(), 5)).runs) == 1


async def test_a_script_that_fails_before_it_writes_leaves_nothing(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    store = opened_redis()
    play = Play(store, HeldClock())
    run = await play.start()
    place = home_of(run.id)
    redis_server.ask("DEL", place.key("refs"))
    redis_server.ask("SET", place.key("refs"), "of the wrong kind")
    before = redis_server.ask("DBSIZE")

    with pytest.raises(StoreUnavailableError):
        await play.start()

    assert redis_server.ask("DBSIZE") == before
    assert await play.next_ready() == run.id
    assert await play.next_ready() is None


async def test_a_deadline_is_judged_by_the_clock_of_the_server(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    store = opened_redis(clock=None)
    play = Play(store, HeldClock())
    run = await play.start()
    seconds, micros = redis_server.ask("TIME")
    now = datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=int(micros))

    with pytest.raises(DeadlinePassedError):
        await play.commit(make_next(run), not_after=now)
    with pytest.raises(DeadlineNotReachedError):
        await play.commit(make_next(run), not_before=now + HOUR)
    await play.commit(make_next(run), not_after=now + HOUR, not_before=now)

    assert now < (await store.load(run.id)).now < now + HOUR


async def test_the_indexes_say_what_the_runs_say(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    store = opened_redis()
    await use_everything(Play(store, HeldClock()), store)
    check_indexes(redis_server)
    await forget_everything(store)
    check_indexes(redis_server)


async def test_the_audit_finds_an_index_that_says_something_else(
    redis_server: ServerProcess, opened_redis: RedisOpener
) -> None:
    store = opened_redis()
    run = await Play(store, HeldClock()).start()
    redis_server.ask("ZREM", home_of(run.id).key("is", "queued", "a", run.agent), run.id)

    with pytest.raises(AssertionError):
        check_indexes(redis_server)
