"""What runs cost on the server: bytes at rest, commands in use and when idle."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from engine.entries import RecordKind
from engine.store import ClaimEffect
from engine.stores.packing import pack
from engine.stores.redis import RedisStore
from tests.contracts.play import LEASE, Play
from tests.engine.stores.conftest import RedisOpener
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_event,
    make_parked,
    make_receipt,
    make_record,
    make_ticket,
)
from tests.servers.process import ServerProcess

WARM, MANY = 100, 400
MOST_BYTES = {"valkey": 2_100}
MOST_ELSEWHERE = 2_600
"""Debian's Redis has an allocator that rounds up: 2,520 were seen."""


@pytest.fixture
def store(opened_redis: RedisOpener) -> RedisStore:
    return opened_redis()


@pytest.fixture
def play(store: RedisStore, clock: HeldClock) -> Play:
    return Play(store, clock)


def sent(server: ServerProcess) -> int:
    """Return how many commands clients have sent; those inside scripts are not counted."""
    stats = server.info("commandstats")
    scripts = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_ping")
    return sum(stats[name]["calls"] for name in scripts if name in stats)


async def test_a_parked_run_is_small(
    play: Play, store: RedisStore, redis_server: ServerProcess
) -> None:
    words = before = 0
    for number in range(WARM + MANY):
        if number == WARM:
            words, before = 0, redis_server.info("memory")["used_memory"]
        run = play.run()
        text = json.dumps({"text": f"Deploy {run.id} to production, please."})
        asked = (make_record(1, RecordKind.RESPONSE), make_record(1, RecordKind.ARGUMENTS))
        await store.commit(make_change(run, records=(make_record(0),), events=(make_event(1),)))
        _, claim = await play.claim()
        ticket = make_ticket(run)
        cards = tuple(make_card_key(run, subject=ticket.approval, role=r) for r in ("ask", "asked"))
        parked = make_parked(run, ticket)
        change = make_change(parked, records=asked, events=(make_event(2), make_event(3)))
        await store.commit(
            replace(change, opened=(ticket,), raised=cards, claim=ClaimEffect.RELEASE), claim
        )
        words += sum(len(pack(record.body)) for record in asked) + len(pack(text))
        for card in await store.take_cards("courier", LEASE, 5):
            await store.card_shown(card, card.wanted, make_receipt())

    used = redis_server.info("memory")["used_memory"] - before
    most = MOST_BYTES.get(redis_server.binary.name, MOST_ELSEWHERE)
    assert (used - words) / MANY < most


@pytest.mark.parametrize(
    ("cost", "operation"),
    [
        (1, lambda play: play.start()),
        (2, lambda play: play.store.claim("worker", LEASE)),
    ],
)
async def test_an_operation_costs_as_many_commands(
    play: Play,
    redis_server: ServerProcess,
    cost: int,
    operation: Callable[[Play], Awaitable[object]],
) -> None:
    await play.start()
    await play.start()
    await operation(play)
    before = sent(redis_server)

    await operation(play)

    assert sent(redis_server) - before == cost


@pytest.mark.parametrize("parked", [0, 50])
async def test_a_look_that_finds_nothing_costs_one_command_however_many_runs_wait(
    play: Play, store: RedisStore, redis_server: ServerProcess, parked: int
) -> None:
    for _ in range(parked):
        await play.parked()
    looks: list[Callable[[], Awaitable[object]]] = [
        lambda: store.claim("worker", LEASE),
        lambda: store.due(100),
        lambda: store.take_cards("courier", timedelta(seconds=30), 20),
        store.next_due,
    ]
    for look in looks:
        await look()
    before = sent(redis_server)

    for look in looks:
        await look()

    assert sent(redis_server) - before == len(looks)
