"""Floods over several processes, and what is made up for where a berth or a ticket was lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine import Allow
from engine.agents import AgentRegistry
from engine.berths import Ask
from engine.errors import TicketMismatchError
from engine.events import TicketReleased
from engine.identity import Via
from engine.ids import ApprovalId, RunId
from engine.lifecycle.hold import release
from engine.stores import SqliteStore
from engine.usher import PAGE_EVERY, RECOUNT_EVERY, Usher
from tests.engine.scripted import ALICE, BOB, Stage, person, stage
from tests.engine.test_flood import allow, cards, counted, deployer, flood, settle


async def test_what_is_lost_of_the_berths_is_made_up_from_the_runs() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=2))
    await flood(on, 6)
    before = await on.store.berths.known(0, 99)
    await on.store.berths.leave([one.approval for one in reversed(before)])
    await settle(on)
    assert await on.store.berths.known(0, 99) == ()

    on.clock.move(RECOUNT_EVERY)
    await settle(on)

    assert await counted(on, "agent:deployer") == (2, 4)
    served = 0
    while shown := cards(on):
        assert len(shown) == min(2, 6 - served)
        for notice in shown:
            await allow(on, notice)
        served += len(shown)
        await settle(on)
    assert served == 6


async def test_a_berth_whose_ticket_never_came_is_given_back() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    lost = Ask(ApprovalId("apr_lost"), RunId("0run_lost"), (("agent:deployer", 1),))
    await on.store.berths.take([lost])
    await flood(on, 1)
    assert cards(on) == []

    on.clock.move(RECOUNT_EVERY)
    await compared(on)

    assert len(cards(on)) == 1


async def test_a_comparison_takes_its_time_but_where_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=2))
    await flood(on, 6)
    await compared(on)
    pages: list[Any] = []
    list_runs = on.store.list_runs

    async def counting(*asked: Any) -> Any:
        pages.append(asked)
        return await list_runs(*asked)

    monkeypatch.setattr(on.store, "list_runs", counting)
    monkeypatch.setattr("engine.usher.BATCH", 2)
    monkeypatch.setattr("engine.usher.AT_LEISURE", 2)
    on.clock.move(RECOUNT_EVERY)
    assert [await on.engine.usher.release() for _ in range(5)] == [0] * 5
    assert len(pages) == 1
    on.clock.move(PAGE_EVERY)
    assert [await on.engine.usher.release() for _ in range(5)] == [0] * 5
    assert len(pages) == 2

    known = await on.store.berths.known(0, 99)
    await on.store.berths.leave([one.approval for one in reversed(known)])
    fresh = Usher(on.store, on.engine.agents, on.engine.surroundings)
    while await fresh.release():
        pass
    assert len(pages) == 2 + 3 + 3
    assert await counted(on, "agent:deployer") == (2, 4)


async def compared(on: Stage) -> None:
    """Let all be compared, of so few runs."""
    for _ in range(4):
        await settle(on)
        on.clock.move(PAGE_EVERY)


async def test_a_berth_whose_ticket_may_still_come_is_kept() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    on.clock.move(RECOUNT_EVERY)
    late = Ask(ApprovalId("apr_late"), RunId("0run_late"), (("agent:deployer", 1),))
    await on.store.berths.take([late])
    await compared(on)
    assert [one.approval for one in await on.store.berths.known(0, 9)] == ["apr_late"]


async def test_what_was_changed_while_it_was_held_back_is_not_sealed_anew() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    _, second = await flood(on, 2)
    run = await on.engine.get_run(second)
    changed = run.tickets[0].model_copy(update={"digest": "0" * 64})

    with pytest.raises(TicketMismatchError):
        release(
            run.model_copy(update={"tickets": (changed,)}),
            [changed.approval],
            on.engine.surroundings.moment(),
        )


async def test_two_ushers_at_once_release_each_ticket_once() -> None:
    on = stage(lambda ledger: deployer(ledger, calls=4, max_open_asks=4))
    first, second = await flood(on, 2)
    await on.engine.cancel(first, actor=person(ALICE))
    others = [Usher(on.store, on.engine.agents, on.engine.surroundings) for _ in range(3)]
    await asyncio.gather(*(usher.release() for usher in others))
    await settle(on)
    facts = [event.fact for event in await on.engine.events(second)]
    assert sum(isinstance(fact, TicketReleased) for fact in facts) == 4
    assert len(cards(on)) == 4


async def test_replicas_that_park_and_release_at_once_keep_the_limit(tmp_path: Path) -> None:
    sides = [
        stage(
            lambda ledger: deployer(ledger, calls=2, max_open_asks=3),
            store=lambda clock: SqliteStore(tmp_path / "store.db", clock=clock),
        )
        for _ in range(2)
    ]
    for on in sides:
        for _ in range(4):
            await on.engine.start("deployer", "go", owner=ALICE)
    done = 0
    for _ in range(40):
        await asyncio.gather(*(settle(on) for on in sides))
        page = await sides[0].engine.list_runs()
        asked = [t for run in page.runs for t in run.tickets if t.held is None]
        assert len(asked) == min(3, 16 - done)
        for ticket in asked:
            token = await sides[0].engine.token_for(ticket.ref, Via.API)
            await sides[0].engine.resume(token, Allow(), actor=person(BOB))
        done += len(asked)
        if done == 16:
            break
    await asyncio.gather(*(settle(on) for on in sides))
    effects = [effect for on in sides for effect in on.ledger.effects]
    assert len(effects) == 16
    for on in sides:
        await on.store.close()


async def test_a_park_that_came_too_late_gives_its_berths_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    await flood(on, 1)
    run = (await on.engine.start("deployer", "go", owner=ALICE)).run
    take = on.store.berths.take

    async def cancelled_meanwhile(asks: Any) -> Any:
        await on.engine.cancel(run, actor=person(ALICE))
        return await take(asks)

    monkeypatch.setattr(on.store.berths, "take", cancelled_meanwhile)
    await settle(on)

    assert await counted(on, "agent:deployer") == (1, 0)


async def test_what_is_held_back_is_asked_though_its_limit_and_its_place_are_gone() -> None:
    on = stage(lambda ledger: deployer(ledger, max_open_asks=1))
    await flood(on, 3)
    known = await on.store.berths.known(0, 99)
    await on.store.berths.leave([one.approval for one in reversed(known)])

    unlimited = deployer(on.ledger, max_open_asks=None, max_open_asks_per_approver=None)
    usher = Usher(on.store, AgentRegistry([unlimited]), on.engine.surroundings)
    while await usher.release():
        pass
    await settle(on)

    assert len(cards(on)) == 3
