"""Berths are moved beside a commit on a server: what is lost in between only delays."""

from collections.abc import AsyncIterator

import pytest

from engine.errors import StoreUnavailableError
from engine.store import Change
from engine.stores.redis import RedisStore
from engine.stores.redis_scripts import script
from tests.contracts.play import Play
from tests.engine.stores.conftest import RedisOpener
from tests.factories import (
    HeldClock,
    make_ask,
    make_change,
    make_closed,
    make_next,
    make_parked,
    make_ticket,
)
from tests.servers.process import ServerProcess
from tests.servers.proxy import Fault, FaultProxy

LOSSES = [Fault.CUT, Fault.DROP_REPLY]


@pytest.fixture
async def proxy(redis_server: ServerProcess) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(redis_server.socket) as made:
        yield made


@pytest.fixture
async def store(proxy: FaultProxy, opened_redis: RedisOpener) -> RedisStore:
    """Return a store behind the proxy, whose scripts the server knows."""
    made = opened_redis(proxy.url)
    await made.identity()
    for name in ("commit", "berths_take", "berths_leave"):
        await made._server.read("SCRIPT", "LOAD", script(name).text)
    return made


@pytest.fixture
def play(store: RedisStore, clock: HeldClock) -> Play:
    return Play(store, clock)


async def parking(play: Play) -> Change:
    """Return a change that parks a run on one ask."""
    run = await play.start()
    ticket = make_ticket(run)
    return make_change(
        make_parked(run, ticket), opened=(ticket,), asks=(make_ask(ticket.approval),)
    )


async def known(store: RedisStore) -> list[str]:
    return [one.approval for one in await store.berths.known(0, 9)]


@pytest.mark.parametrize("fault", LOSSES)
@pytest.mark.parametrize("name", ["berths_take", "commit"])
async def test_a_park_whose_answer_was_lost_has_one_berth(
    store: RedisStore, play: Play, proxy: FaultProxy, name: str, fault: Fault
) -> None:
    change = await parking(play)
    proxy.arm(script(name).sha.encode(), fault)
    with pytest.raises(StoreUnavailableError):
        await store.commit(change)

    assert (await store.commit(change)).version == 2

    assert await known(store) == [change.opened[0].approval]


async def test_a_park_made_again_takes_no_berth_once_its_ticket_is_closed(
    store: RedisStore, play: Play, proxy: FaultProxy
) -> None:
    change = await parking(play)
    proxy.arm(script("commit").sha.encode(), Fault.DROP_REPLY)
    with pytest.raises(StoreUnavailableError):
        await store.commit(change)
    await play.commit(make_next(change.run), closed=(make_closed(change.opened[0]),))
    assert await known(store) == []

    assert (await store.commit(change)).replayed

    assert await known(store) == []


@pytest.mark.parametrize("fault", LOSSES)
async def test_a_decision_stands_though_its_berth_could_not_be_given_back(
    store: RedisStore, play: Play, proxy: FaultProxy, fault: Fault
) -> None:
    change = await parking(play)
    await store.commit(change)
    proxy.arm(script("berths_leave").sha.encode(), fault)

    done = await play.commit(make_next(change.run), closed=(make_closed(change.opened[0]),))

    assert done.version == 3
    assert not proxy.armed
    assert len(await known(store)) == (1 if fault is Fault.CUT else 0)
