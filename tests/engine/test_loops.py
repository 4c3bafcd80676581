"""The loops of a serving process: they go on by themselves, survive faults, and stop cleanly."""

import asyncio
from datetime import timedelta

import pytest
from pydantic_ai import RunContext

from engine import Agent, Allow, RunScope
from engine.cards import Notice, Receipt, Role
from engine.entries import Record
from engine.errors import StoreUnavailableError
from engine.identity import Via
from engine.ids import RunId
from engine.loops import run_loops
from engine.runs import Run, RunStatus
from engine.stopping import until
from engine.store import Claim
from engine.stores.sqlite import MemoryStore
from engine.worker import WorkerOptions
from tests.engine.scripted import (
    ALICE,
    Call,
    Clock,
    Stage,
    deployer,
    person,
    repeat_results,
    script,
    stage,
)

OPTIONS = WorkerOptions(name="w1", lease=timedelta(seconds=10))


class Watched:
    """An inbox that tells when a card in some role was shown."""

    audience = Via.API

    def __init__(self) -> None:
        self.seen = {role: asyncio.Event() for role in Role}
        self.token = ""

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:
        """Keep the token, and tell."""
        role = Role.OUTCOME
        if notice.kind == "ticket":
            role = notice.role
            if notice.token is not None:
                self.token = notice.token.get_secret_value()
        self.seen[role].set()
        return receipt or Receipt(place="C", id=notice.idempotency)


async def test_a_run_goes_from_start_to_end_by_itself() -> None:
    watched, stop = Watched(), asyncio.Event()
    on = stage(deployer, notifier=watched)
    loops = asyncio.create_task(run_loops(on.engine, OPTIONS, stop))

    started = await on.engine.start("a", "go", owner=ALICE)
    await watched.seen[Role.ASK].wait()
    await on.engine.resume(watched.token, Allow(), actor=person(ALICE))
    await watched.seen[Role.OUTCOME].wait()
    stop.set()
    await loops

    assert on.ledger.effects == ["deploy 1 prod"]
    assert (await on.engine.get_run(started.run)).status is RunStatus.SUCCEEDED


async def test_a_stop_hands_the_run_back_at_the_next_boundary() -> None:
    stop = asyncio.Event()
    ran: list[str] = []

    async def first() -> str:
        """Be told to stop while running."""
        ran.append("first")
        stop.set()
        return "done"

    calls: list[Call] = [("first", {})]
    on = stage(lambda _: Agent(name="a", model=script(calls, "never asked"), tools=[first]))
    started = await on.engine.start("a", "go", owner=ALICE)

    await run_loops(on.engine, OPTIONS, stop)

    run = await on.engine.get_run(started.run)
    taken = await on.store.claim("next", timedelta(seconds=10))
    assert (run.status, run.batch, ran) == (RunStatus.QUEUED, None, ["first"])
    assert taken is not None
    assert taken[1].losses == 0


async def test_the_result_of_a_worker_that_lost_its_claim_is_still_taken() -> None:
    running, let_go = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Take longer than the lease."""
        running.set()
        await let_go.wait()
        return "it happened"

    on = stage(
        lambda _: Agent(name="a", model=script([("slow", {})], repeat_results), tools=[slow])
    )
    started = await on.engine.start("a", "go", owner=ALICE)
    first = asyncio.create_task(on.advance())
    await running.wait()
    on.clock.move(timedelta(minutes=1))
    await on.advance()
    assert (await on.engine.get_run(started.run)).status is RunStatus.WAITING

    let_go.set()
    await first
    await on.settle()

    run = await on.engine.get_run(started.run)
    kinds = [event.fact.kind for event in await on.engine.events(run.id)]
    assert run.output == "slow=success:it happened"
    assert kinds.count("call_started") == kinds.count("call_finished") == 1


class FlakyStore(MemoryStore):
    """Fails the first claims, and tells of heartbeats."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.failures = 2
        self.beaten = asyncio.Event()

    async def claim(self, worker: str, lease: timedelta) -> tuple[Run, Claim] | None:
        """Fail, or claim."""
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("the store did not answer")
        return await super().claim(worker, lease)

    async def heartbeat(self, claim: Claim, lease: timedelta) -> Claim:
        """Tell, and beat."""
        self.beaten.set()
        return await super().heartbeat(claim, lease)


async def test_a_claim_is_kept_alive_while_its_tool_runs() -> None:
    stores: list[FlakyStore] = []

    def make(clock: Clock) -> FlakyStore:
        stores.append(FlakyStore(clock))
        stores[0].failures = 0
        return stores[0]

    async def until_beaten() -> str:
        """Run until the claim was renewed."""
        await stores[0].beaten.wait()
        return "done"

    on = stage(
        lambda _: Agent(
            name="a", model=script([("until_beaten", {})], "done"), tools=[until_beaten]
        ),
        store=make,
    )
    started = await on.engine.start("a", "go", owner=ALICE)

    await on.engine.worker(WorkerOptions(name="w", lease=timedelta(seconds=0.03))).drain_ready()

    assert (await on.engine.get_run(started.run)).status is RunStatus.SUCCEEDED


async def test_a_worker_survives_a_store_that_fails_for_a_while() -> None:
    watched, stop = Watched(), asyncio.Event()
    on = stage(deployer, notifier=watched, store=FlakyStore)
    options = WorkerOptions(name="w", idle=timedelta(milliseconds=1))
    loops = asyncio.create_task(run_loops(on.engine, options, stop))

    await on.engine.start("a", "go", owner=ALICE)
    await watched.seen[Role.ASK].wait()
    stop.set()
    await loops

    assert watched.token


class FaultyStore(MemoryStore):
    """Fails as a test says, in ways that nobody foresaw and in ways that pass."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.unreadable: set[str] = set()
        self.beats = [StoreUnavailableError("the store did not answer")]
        self.beaten = asyncio.Event()
        self.claimed = asyncio.Event()
        self.on_claim = self.claimed.set

    async def claim(self, worker: str, lease: timedelta) -> tuple[Run, Claim] | None:
        """Claim, and tell."""
        taken = await super().claim(worker, lease)
        if taken is not None:
            self.on_claim()
        return taken

    async def records(self, run: RunId, first: int = 0) -> tuple[Record, ...]:
        """Read, or fail."""
        if run in self.unreadable:
            raise ZeroDivisionError
        return await super().records(run, first)

    async def heartbeat(self, claim: Claim, lease: timedelta) -> Claim:
        """Fail once, then beat and tell."""
        if self.beats:
            raise self.beats.pop()
        beaten = await super().heartbeat(claim, lease)
        self.beaten.set()
        return beaten


def faulty(agent: Agent) -> tuple[Stage, FaultyStore]:
    """Return a stage on such a store."""
    on = stage(lambda _: agent, store=FaultyStore)
    assert isinstance(on.store, FaultyStore)
    return on, on.store


async def test_a_run_with_a_fault_nobody_foresaw_holds_up_no_other_and_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    on, store = faulty(Agent(name="a", model=script("done")))
    bad, good = [await on.engine.start("a", "go", owner=ALICE) for _ in range(2)]
    store.unreadable.add(bad.run)

    await on.advance()
    assert (await on.engine.get_run(good.run)).status is RunStatus.SUCCEEDED
    assert caplog.text.count("ZeroDivisionError") == 1
    store.unreadable.clear()
    on.clock.move(timedelta(minutes=1))
    await on.settle()

    assert (await on.engine.get_run(bad.run)).status is RunStatus.SUCCEEDED


async def test_a_heartbeat_that_the_store_did_not_take_is_made_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stores: list[FaultyStore] = []

    async def until_beaten() -> str:
        """Run until the claim was renewed."""
        await stores[0].beaten.wait()
        return "done"

    model = script([("until_beaten", {})], repeat_results)
    on, store = faulty(Agent(name="a", model=model, tools=[until_beaten]))
    stores.append(store)
    started = await on.engine.start("a", "go", owner=ALICE)

    await on.engine.worker(WorkerOptions(name="w", lease=timedelta(seconds=0.03))).drain_ready()

    assert (await on.engine.get_run(started.run)).output == "until_beaten=success:done"
    assert "the store did not answer" in caplog.text


async def test_a_worker_whose_slots_are_full_takes_the_next_run_when_one_is_free() -> None:
    let_go, stop = asyncio.Event(), asyncio.Event()
    at_once: list[int] = []
    running: set[str] = set()

    async def slow(ctx: RunContext[RunScope]) -> str:
        """Tell how many run, and wait."""
        running.add(ctx.deps.run)
        at_once.append(len(running))
        await let_go.wait()
        running.discard(ctx.deps.run)
        return "done"

    on, store = faulty(Agent(name="a", model=script([("slow", {})], "done"), tools=[slow]))
    runs = [(await on.engine.start("a", "go", owner=ALICE)).run for _ in range(3)]
    worker = on.engine.worker(WorkerOptions(name="w", slots=1))
    working = asyncio.create_task(worker.run(stop))
    await store.claimed.wait()
    let_go.set()
    for run in runs:
        await until_ended(on, run)
    stop.set()
    await working

    assert at_once == [1, 1, 1]


async def test_a_run_claimed_while_the_worker_was_told_to_stop_is_handed_back() -> None:
    stop = asyncio.Event()
    on, store = faulty(Agent(name="a", model=script("never asked")))
    store.on_claim = stop.set
    started = await on.engine.start("a", "go", owner=ALICE)

    await on.engine.worker(OPTIONS).run(stop)

    store.on_claim = store.claimed.set
    assert (await on.engine.get_run(started.run)).status is RunStatus.QUEUED
    assert await store.claim("next", timedelta(seconds=10)) is not None


async def until_ended(on: Stage, run: str) -> None:
    """Wait until a run has ended."""
    while True:
        mark = on.store.mark()
        if not (await on.engine.get_run(run)).live:
            return
        await on.store.wait(timedelta(seconds=5), mark)


async def test_waiting_ends_with_what_is_awaited_or_with_the_stop() -> None:
    stop, other = asyncio.Event(), asyncio.Event()
    waiting = asyncio.create_task(until(stop, _wait(other)))

    stop.set()

    await waiting
    assert not other.is_set()


async def test_what_the_awaited_raises_is_raised() -> None:
    async def fail() -> None:
        raise StoreUnavailableError("gone")

    with pytest.raises(StoreUnavailableError):
        await until(asyncio.Event(), fail())


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
