"""Whatever is done to a store, in whatever order, it answers as the model does."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.cards import Card, Receipt
from engine.errors import ClaimLostError
from engine.ids import place_for
from engine.runs import Run, RunStatus
from engine.store import CARDS_KEEP_FOR, Change, Claim, ClaimEffect, RunFilter, Store
from engine.stores import MemoryStore
from tests.contracts.conftest import SERVERS, Running, Where
from tests.contracts.machines import OnFile, OnServer
from tests.contracts.model import Model
from tests.factories import (
    HeldClock,
    make_card_key,
    make_change,
    make_ended,
    make_next,
    make_parked,
    make_run,
    make_ticket,
)

T = TypeVar("T")
LEASE = timedelta(seconds=10)
STEPS = st.sampled_from(
    [timedelta(microseconds=1), LEASE / 2, LEASE, timedelta(hours=1), CARDS_KEEP_FOR]
)
BACK = st.sampled_from([timedelta(0), LEASE, CARDS_KEEP_FOR])
RECEIPTS = st.sampled_from(
    [*(Receipt(place="C1", id=name) for name in "abc"), Receipt(place="", id="", shown=False)]
)
BOUNDED = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


class StoreMachine(RuleBasedStateMachine):
    """Does to a store and to the model whatever hypothesis thinks of, and compares."""

    changes: Bundle[tuple[Change, Claim | None]] = Bundle("changes")
    claims: Bundle[Claim] = Bundle("claims")
    taken: Bundle[Card] = Bundle("taken")

    def __init__(self) -> None:
        super().__init__()
        self.clock = HeldClock()
        self.model = Model(self.clock)
        self.store = self.open()
        self.runner = asyncio.Runner()

    def open(self) -> Store:
        return MemoryStore(clock=self.clock)

    def teardown(self) -> None:
        self.wait(self.store.close())
        self.runner.close()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    def commit(self, change: Change, claim: Claim | None) -> Any:
        """Commit to both; return the change for others to repeat, if it was taken."""
        expected = self.model.commit(change, claim)
        if isinstance(expected, bool):
            done = self.wait(self.store.commit(change, claim))
            assert (done.version, done.replayed) == (change.expected + 1, expected)
            return multiple((change, claim))
        with pytest.raises(expected):
            self.wait(self.store.commit(change, claim))
        return multiple()

    @rule(target=changes, key=st.sampled_from(["", "a", "b"]), priority=st.integers(0, 1))
    def start(self, key: str, priority: int) -> Any:
        run = make_run(place_for(key), concurrency_key=key, priority=priority)
        return self.commit(make_change(run, raised=(make_card_key(run),)), None)

    @precondition(lambda self: self.model.runs)
    @rule(
        target=changes,
        data=st.data(),
        claim=st.none() | claims,
        effect=st.sampled_from(ClaimEffect),
        to=st.sampled_from(["queued", "waiting", "ended"]),
        stale=st.integers(0, 5),
        raises=st.booleans(),
    )
    def change(
        self,
        data: st.DataObject,
        claim: Claim | None,
        effect: ClaimEffect,
        to: str,
        stale: int,
        *,
        raises: bool,
    ) -> Any:
        names = list(self.model.runs)
        name = claim.run if claim and claim.run in names else data.draw(st.sampled_from(names))
        run = self.model.runs[name].run
        if stale == 1:
            run = run.model_copy(update={"version": run.version - 1})
        after = self.after(run, to)
        opened = after.tickets if stale == 0 else ()
        raised = (make_card_key(run),) if raises else ()
        return self.commit(make_change(after, opened=opened, raised=raised, claim=effect), claim)

    def after(self, run: Run, to: str) -> Run:
        if to == "waiting":
            return make_parked(run, make_ticket(run, deadline=self.clock.now + LEASE))
        if to == "ended":
            return make_ended(run)
        return make_next(run, status=RunStatus.QUEUED, tickets=())

    @rule(made=changes)
    def repeat(self, made: tuple[Change, Claim | None]) -> None:
        self.commit(*made)

    @rule(back=BACK, limit=st.integers(1, 3))
    def purge(self, back: timedelta, limit: int) -> None:
        older_than = self.clock.now - back
        counted = self.wait(self.store.purge(older_than, limit, dry_run=True))
        assert self.model.purge(older_than, limit) == counted
        assert self.wait(self.store.purge(older_than, limit)) == counted

    @rule(step=STEPS)
    def move(self, step: timedelta) -> None:
        self.clock.now += step

    @rule(target=claims)
    def claim(self) -> Any:
        expected = self.model.claim("worker", LEASE)
        taken = self.wait(self.store.claim("worker", LEASE))
        if expected is None or taken is None:
            assert (expected, taken) == (None, None)
            return multiple()
        run, claim = taken
        assert run == expected.run
        assert (claim.fence, claim.losses) == (expected.fence, expected.losses)
        return claim

    @rule(claim=claims)
    def extend(self, claim: Claim) -> None:
        if self.model.extend(claim, LEASE):
            self.wait(self.store.heartbeat(claim, LEASE))
            return
        with pytest.raises(ClaimLostError):
            self.wait(self.store.heartbeat(claim, LEASE))

    @rule(claim=consumes(claims), pause=st.sampled_from([None, timedelta(0), LEASE]))
    def release(self, claim: Claim, pause: timedelta | None) -> None:
        retry_at = None if pause is None else self.clock.now + pause
        self.model.release(claim, retry_at)
        self.wait(self.store.release(claim, retry_at))

    @rule(target=taken)
    def take(self) -> Any:
        expected = self.model.take(LEASE)
        given = self.wait(self.store.take_cards("courier", LEASE, 99))
        assert sorted(given, key=repr) == sorted(expected, key=repr)
        return multiple(*given)

    @rule(card=taken, receipt=RECEIPTS, lag=st.integers(0, 1))
    def show(self, card: Card, receipt: Receipt, lag: int) -> None:
        version = max(card.wanted - lag, 1)
        self.model.show(card, version, receipt)
        self.wait(self.store.card_shown(card, version, receipt))

    @rule(card=taken, pause=st.sampled_from([timedelta(0), LEASE]))
    def fail(self, card: Card, pause: timedelta) -> None:
        self.model.fail(card, self.clock.now + pause)
        self.wait(self.store.card_failed(card, self.clock.now + pause))

    @rule(card=taken, receipt=RECEIPTS)
    def adopt(self, card: Card, receipt: Receipt) -> None:
        self.model.keep(card.key, receipt)
        self.wait(self.store.adopt_card(card.key, receipt))

    @invariant()
    def every_run_and_card_is_as_the_model_has_it(self) -> None:
        for run, known in self.model.runs.items():
            loaded = self.wait(self.store.load(run))
            assert loaded.run == known.run
            cards = [card.card() for card in self.model.cards if card.key.run == run]
            assert list(self.wait(self.store.cards(run))) == cards

    @invariant()
    def the_same_runs_are_there(self) -> None:
        listed = self.wait(self.store.list_runs(RunFilter(), 999)).runs
        assert {run.id for run in listed} == set(self.model.runs)

    @invariant()
    def the_same_falls_due(self) -> None:
        assert set(self.wait(self.store.due(99))) == self.model.due()
        assert self.wait(self.store.next_due()) == self.model.next_due()


class FileMachine(OnFile, StoreMachine):
    """The same on a file."""


class RedisMachine(OnServer, StoreMachine):
    """The same on a server."""


def test_a_store_in_memory_answers_as_the_model_does() -> None:
    run_state_machine_as_test(StoreMachine, settings=BOUNDED)


def test_a_store_in_a_file_answers_as_the_model_does() -> None:
    run_state_machine_as_test(FileMachine, settings=settings(BOUNDED, max_examples=10))


@pytest.mark.parametrize("where", SERVERS, ids=lambda where: where.name)
def test_a_store_on_a_server_answers_as_the_model_does(where: Where, running: Running) -> None:
    RedisMachine.server = running(where)
    run_state_machine_as_test(RedisMachine, settings=settings(BOUNDED, max_examples=20))


@pytest.mark.proof
def test_a_store_answers_as_the_model_does_through_long_lives() -> None:
    many = settings(BOUNDED, max_examples=1000, stateful_step_count=100, derandomize=False)
    run_state_machine_as_test(StoreMachine, settings=many)
