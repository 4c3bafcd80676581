"""The least that a user of the server may do, as docs/redis.md gives it: enough, and no more."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.errors import HoldshortError, StoreUnavailableError, StoreUnfitError
from engine.ids import utc_now
from engine.runs import RunStatus
from engine.store import KeyRecord, RunFilter
from engine.stores.redis import RedisStore
from engine.stores.redis_address import read_address
from engine.stores.redis_checks import (
    Wanted,
    check_identity,
    check_rights,
    check_servers,
)
from engine.stores.redis_connection import open_listener, open_writer
from engine.stores.redis_findings import refuse_unfit
from engine.stores.redis_rights import ALONE, ON_CHANNEL, ON_KEYS
from engine.stores.redis_scripts import SCRIPTS, script
from tests.contracts.play import LEASE, Play
from tests.factories import (
    OWNER,
    HeldClock,
    make_card_key,
    make_change,
    make_event,
    make_receipt,
    make_record,
    make_revoked,
    make_rule,
    make_ticket,
)
from tests.servers.cluster import Cluster
from tests.servers.fixtures import Start
from tests.servers.process import ServerProcess

PAGE = (Path(__file__).parents[3] / "docs" / "redis.md").read_text("utf-8")
WHO, RIGHTS = (block.split() for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))
CLUSTERED = re.findall(r"for a Cluster `([^`]*)`", PAGE)[0].split()
NOT_THE_STORES = {"+client|setname", "+info", "+config|get"}


def grant(server: ServerProcess, *rights: str) -> None:
    """Make the user of the page, with these rights instead of all that it needs."""
    words = [word if word != ">PASSWORD" else ">word" for word in WHO]
    server.ask(*words, *(rights or RIGHTS))


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[RedisStore]:
    """Give a store as a start of the bot opens it."""
    address = read_address(url.replace("://", "://holdshort:word@"))
    client, wanted = open_writer(address), Wanted()
    store = RedisStore(client, lambda: open_listener(address))
    try:
        refuse_unfit(await check_servers(client, wanted, utc_now))
        refuse_unfit(await check_rights(client))
        refuse_unfit(await check_identity(client, Wanted(identity=await store.identity())))
        yield store
    finally:
        await store.close()


async def use(store: RedisStore) -> None:
    """Do everything that a store is asked to do."""
    play = Play(store, HeldClock())
    first = play.run()
    key = KeyRecord("start:deployer:", "key", "body", "{}")
    made = make_change(first, key=key, records=(make_record(0),))
    made = replace(made, events=(make_event(1),), raised=(make_card_key(first),))
    await store.commit(made)
    assert (await store.commit(made)).replayed
    _, claim = await play.claim()
    await store.release(await store.heartbeat(claim, LEASE))
    again, claim = await play.claim()
    parked = await play.park(again, claim, make_ticket(first))
    assert (await store.load(first.id)).run == parked
    assert await store.records(first.id)
    assert await store.events(first.id)
    assert await store.find(parked.tickets[0].ref)
    assert (await store.list_runs(RunFilter(agent=first.agent), 5)).runs == (parked,)
    await store.due(5)
    await store.next_due()
    card = await play.take()
    await store.card_failed(card, utc_now())
    await store.card_shown(await play.take(), 1, make_receipt())
    await store.adopt_card(card.key, make_receipt(id="2"))
    assert await store.cards(first.id)
    held, claim = await play.claimed(concurrency_key="one at a time")
    await play.start(concurrency_key="one at a time")
    assert await play.next_ready() is None
    await play.end(held, claim)
    assert await play.next_ready() is not None
    await store.wait(timedelta(0))


async def look_back(store: RedisStore) -> None:
    """Count what is live, remove what is not, and put it in again."""
    rule = make_rule()
    await store.rules.keep(rule)
    assert await store.rules.live("deployer", OWNER) == ()
    assert await store.rules.listed() == (rule,)
    assert await store.rules.revoke(rule.id, make_revoked()) is not None
    assert await store.rules.forget(utc_now()) == 1
    assert (await store.gauges()).waiting == 1
    (ended,) = (await store.list_runs(RunFilter(statuses=(RunStatus.SUCCEEDED,)), 5)).runs
    parcel = await store.pack(ended.id)
    assert await store.purge(utc_now() + LEASE, 5) == 1
    await store.unpack(parcel)


def test_the_page_names_what_the_scripts_do_and_what_the_start_asks_for() -> None:
    used = {
        f"+{command.lower()}"
        for name in SCRIPTS
        for command in re.findall(r"redis\.call\('([A-Z]+)'", script(name).text)
    }
    asked = {f"+{name.lower()}" for name in (*ON_KEYS, *ON_CHANNEL, *ALONE)}
    assert used
    assert used <= asked
    assert set(RIGHTS) == asked | NOT_THE_STORES


async def test_the_rights_of_the_page_are_enough(start_server: Start) -> None:
    server = start_server(tcp=True)
    grant(server)
    async with opened(server.tcp_url) as store:
        await use(store)
        await look_back(store)
    assert not server.ask("ACL", "LOG")


async def test_with_those_for_a_cluster_they_are_enough_on_a_cluster() -> None:
    with Cluster() as cluster:
        for node in cluster.nodes:
            grant(node, *RIGHTS, *CLUSTERED)
        async with opened(cluster.url) as store:
            await use(store)
            await look_back(store)
        assert [node.ask("ACL", "LOG") for node in cluster.nodes] == [[], [], []]


@pytest.mark.parametrize("missing", sorted(RIGHTS))
async def test_without_one_of_them_nothing_is_written_and_a_typed_error_tells(
    redis_server: ServerProcess, missing: str
) -> None:
    grant(redis_server, *(right for right in RIGHTS if right != missing))
    with pytest.raises(HoldshortError) as told:
        async with opened(redis_server.tcp_url):
            pass
    assert isinstance(told.value, StoreUnavailableError | StoreUnfitError)
    assert re.search(rf"ACL|grant.*{re.escape(missing)}", str(told.value))
    assert ">word" not in str(told.value)
    assert redis_server.ask("DBSIZE") == 0


@pytest.mark.parametrize(
    ("narrower", "told"),
    [
        ("resetkeys ~{hs:0}:*", "hget"),
        ("resetkeys ~{hs:[0-9a-f]}:*", "hget"),
        ("resetchannels &holdshort:other", "publish"),
    ],
)
async def test_without_its_keys_or_its_channel_it_is_refused(
    redis_server: ServerProcess, narrower: str, told: str
) -> None:
    grant(redis_server, *RIGHTS, *narrower.split())
    with pytest.raises((StoreUnfitError, StoreUnavailableError), match=f"ACL|{told}"):
        async with opened(redis_server.tcp_url):
            pass
    assert redis_server.ask("DBSIZE") == 0


async def test_a_right_that_is_taken_away_later_is_a_typed_error(
    redis_server: ServerProcess,
) -> None:
    grant(redis_server)
    async with opened(redis_server.tcp_url) as store:
        grant(redis_server, *(right for right in RIGHTS if right != "+hmget"), "-hmget")
        store._identity = ""
        with pytest.raises(StoreUnavailableError, match="ACL"):
            await store.identity()
