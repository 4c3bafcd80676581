"""Whatever asks come and go, in whatever order, berths stand as the model has them."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from engine.berths import Ask, BerthState
from engine.ids import ApprovalId, RunId
from engine.store import Store
from engine.stores import MemoryStore
from tests.contracts.berth_model import BerthModel
from tests.contracts.conftest import SERVERS, Running, Where
from tests.contracts.machines import OnFile, OnServer
from tests.factories import HeldClock

T = TypeVar("T")
NAMES = ("agent:a", "agent:b", "person:U1", "usergroup:S{1}", "channel:C1")
APPROVALS = st.sampled_from([ApprovalId(f"apr_{n}") for n in range(12)])
SOME = st.lists(APPROVALS, max_size=4, unique=True)
BOUNDED = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def ask(approval: ApprovalId, most: int = 0) -> Ask:
    """Return an ask whose kind follows from its number, so that a repeat is the same."""
    number = int(approval.partition("_")[2])
    names = sorted({NAMES[number % 2], NAMES[2 + number % 3], NAMES[-1 - number // 6]})
    limits = tuple((name, most or 1 + (number + len(name)) % 3) for name in names)
    return Ask(approval, RunId(f"run_{number // 2}"), limits, (f"owner:{number % 3}",))


class BerthMachine(RuleBasedStateMachine):
    """Does the same to berths and to the model."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HeldClock()
        self.model = BerthModel()
        self.store = self.open()
        self.runner = asyncio.Runner()

    def open(self) -> Store:
        return MemoryStore(clock=self.clock)

    def teardown(self) -> None:
        self.wait(self.store.close())
        self.runner.close()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    @rule(approvals=SOME)
    def take(self, approvals: Sequence[ApprovalId]) -> None:
        asks = [ask(one) for one in approvals]
        assert self.wait(self.store.berths.take(asks)) == self.model.take(asks)

    @rule(approvals=SOME)
    def leave(self, approvals: Sequence[ApprovalId]) -> None:
        self.wait(self.store.berths.leave(approvals))
        self.model.leave(approvals)

    @rule(approvals=SOME)
    def settle(self, approvals: Sequence[ApprovalId]) -> None:
        self.wait(self.store.berths.settle(approvals))
        self.model.settle(approvals)

    @rule(approvals=SOME, first=st.integers(0, 4))
    def restore(self, approvals: Sequence[ApprovalId], first: int) -> None:
        asks = [ask(one) for one in approvals]
        parts = asks[:first], asks[first:]
        assert self.wait(self.store.berths.restore(*parts)) == self.model.restore(*parts)

    @invariant()
    def every_ask_stands_as_it_should(self) -> None:
        known = self.wait(self.store.berths.known(0, 99))
        expected = [(one.ask.approval, one.ask.run, one.state) for one in self.model.entries]
        assert [(one.approval, one.run, one.state) for one in known] == expected
        called = [one for one in known if one.state is BerthState.CALLED]
        assert list(self.wait(self.store.berths.called(99))) == called

    @invariant()
    def every_name_is_counted(self) -> None:
        names = [*NAMES, "owner:0", "owner:1", "owner:2", "nobody"]
        counted = self.wait(self.store.berths.count(names))
        assert list(counted) == [self.model.count(name) for name in names]
        waiting = [one for one in self.model.entries if one.state is BerthState.WAITING]
        assert self.wait(self.store.gauges()).held == len(waiting)


class FileMachine(OnFile, BerthMachine):
    """The same on a file."""


class RedisMachine(OnServer, BerthMachine):
    """The same on a server."""


def test_berths_in_memory_stand_as_in_the_model() -> None:
    run_state_machine_as_test(BerthMachine, settings=BOUNDED)


def test_berths_in_a_file_stand_as_in_the_model() -> None:
    run_state_machine_as_test(FileMachine, settings=settings(BOUNDED, max_examples=10))


@pytest.mark.parametrize("where", SERVERS, ids=lambda where: where.name)
def test_berths_on_a_server_stand_as_in_the_model(where: Where, running: Running) -> None:
    RedisMachine.server = running(where)
    run_state_machine_as_test(RedisMachine, settings=settings(BOUNDED, max_examples=20))
