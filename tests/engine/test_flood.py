"""A flood of asks: as many are open as may be, the others wait, and none is lost."""

from datetime import timedelta
from typing import Any

from engine import Agent, Allow, Approvers, Run
from engine.cards import HeldNotice, Role, TicketNotice
from engine.ids import RunId
from engine.runs import RunStatus
from engine.store import RunFilter
from tests.engine.scripted import (
    ALICE,
    BOB,
    Ledger,
    Stage,
    person,
    repeat_results,
    script,
    stage,
)

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def deployer(ledger: Ledger, name: str = "deployer", calls: int = 1, **more: Any) -> Agent:
    step = [("deploy", {"version": str(n)}) for n in range(calls)]
    usual: dict[str, Any] = {
        "model": script(step, repeat_results),
        "tools": [ledger.deploy],
        "approvals": {"deploy": "user"},
        "approvers": Approvers(people=(BOB,)),
        "approval_timeout": HOUR,
    }
    return Agent(name=name, **(usual | more))


async def flood(on: Stage, runs: int, agent: str = "deployer") -> list[RunId]:
    begun = [await on.engine.start(agent, "go", owner=ALICE) for _ in range(runs)]
    await settle(on)
    return [one.run for one in begun]


async def settle(on: Stage) -> None:
    """Tick until every card shows what it should."""
    for _ in range(3):
        await on.engine.tick()
        while await on.engine.courier.deliver():
            pass


async def waiting(on: Stage) -> list[Run]:
    page = await on.engine.list_runs(RunFilter(statuses=(RunStatus.WAITING,)), limit=2_000)
    return list(page.runs)


async def asked(on: Stage) -> list[Any]:
    return [t for run in await waiting(on) for t in run.tickets if t.held is None]


async def held(on: Stage) -> list[Any]:
    return [t for run in await waiting(on) for t in run.tickets if t.held is not None]


def cards(on: Stage) -> list[TicketNotice]:
    """Return the cards that can be answered now."""
    shown = on.inbox.latest.values()
    return [
        one
        for one in shown
        if isinstance(one, TicketNotice) and one.role is Role.ASK and one.resolution is None
    ]


def told(on: Stage) -> list[HeldNotice]:
    return [one for one in on.inbox.notices if isinstance(one, HeldNotice)]


async def allow(on: Stage, notice: TicketNotice, who: Any = BOB) -> None:
    await on.engine.resume(on.token(notice.run, notice.approval), Allow(), actor=person(who))


async def test_of_a_thousand_asks_no_more_are_open_than_may_be_and_none_is_lost() -> None:
    on = stage(deployer)
    runs = await flood(on, 1_000)
    answered = 0
    while True:
        shown = cards(on)
        assert len(shown) == len(await asked(on)) == min(20, 1_000 - answered)
        if not shown:
            break
        for notice in shown:
            assert notice.deadline == on.clock.now + HOUR
            await allow(on, notice)
        answered += len(shown)
        on.clock.move(MINUTE)
        await settle(on)

    assert answered == 1_000
    assert len(on.ledger.effects) == 1_000
    assert len(told(on)) == 4
    ended = [await on.engine.get_run(run) for run in runs]
    assert {run.status for run in ended} == {RunStatus.SUCCEEDED}
