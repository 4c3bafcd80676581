"""Silence past a deadline is denied once, and only if it was silence."""

from datetime import timedelta

from engine import Agent
from engine.ids import RunId
from engine.lifecycle.end import cancel
from engine.runs import RunStatus
from engine.store import Change, Claim, Done
from engine.stores.sqlite import MemoryStore
from tests.engine.scripted import ALICE, Clock, Ledger, Stage, person, repeat_results, script, stage


class LateStore(MemoryStore):
    """Lists as due what a test says, and lets somebody else write just before a commit."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.listed: tuple[RunId, ...] = ()
        self.before: Change | None = None

    async def due(self, limit: int) -> tuple[RunId, ...]:
        """Return what was due a moment ago."""
        return self.listed or await super().due(limit)

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Let the other one write first."""
        other, self.before = self.before, None
        if other is not None:
            await super().commit(other)
        return await super().commit(change, claim)


def deployer(ledger: Ledger) -> Agent:
    """Asks the owner for every deploy."""
    return Agent(
        name="a",
        model=script([("deploy", {"version": "1"})], repeat_results),
        tools=[ledger.deploy],
        approvals={"deploy": "user"},
        approval_timeout=timedelta(minutes=5),
    )


async def parked() -> tuple[Stage, LateStore, RunId]:
    """Return a run that waits, in a store that lists it as due."""
    on = stage(deployer, store=LateStore)
    assert isinstance(on.store, LateStore)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, on.store, RunId(started.run)


async def test_a_run_that_is_late_no_longer_or_gone_is_passed_over_and_the_others_are_not() -> None:
    on, store, late = await parked()
    on.clock.move(timedelta(minutes=6))
    fresh = (await on.engine.start("a", "go", owner=ALICE)).run
    await on.advance()
    store.listed = (RunId("run_of_nobody"), RunId(fresh), late)

    swept = await on.engine.sweeper.sweep()

    assert swept == 1
    assert (await on.engine.get_run(late)).waiting is None
    assert (await on.engine.get_run(fresh)).waiting is not None


async def test_whoever_wrote_first_wins_over_the_sweeper() -> None:
    on, store, late = await parked()
    on.clock.move(timedelta(minutes=6))
    run = await on.engine.get_run(late)
    store.before = cancel(run, person(ALICE), on.engine.surroundings.moment())

    swept = await on.engine.sweeper.sweep()

    assert swept == 0
    assert (await on.engine.get_run(late)).status is RunStatus.CANCELLED
    facts = [event.fact.kind for event in await on.engine.events(late)]
    assert facts.count("ticket_closed") == 1
