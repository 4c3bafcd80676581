"""The pure transitions from an allowed call to the end of its run."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from engine.errors import (
    InvalidRunStateError,
    TooEarlyError,
)
from engine.identity import Actor, Via
from engine.ids import CallId, OpId
from engine.lifecycle.answer import expire
from engine.lifecycle.end import cancel, carry_out_cancel, fail, finish
from engine.lifecycle.execute import begin, block, complete, complete_late, recover
from engine.runs import CallState, Failure, Replay, Run, RunStatus, Usage
from engine.store import Change, ClaimEffect
from engine.tickets import Settle
from tests.engine.steps import (
    ALICE,
    ASKING,
    HOUR,
    NOON,
    allowed,
    asks,
    at,
    decide,
    executing,
    kinds,
    proposed,
    result,
    started,
)


class TestExecute:
    """``executing`` before the effect; a lost call only runs again if its tool says so."""

    def test_nothing_begins_while_a_ticket_is_open(self) -> None:
        with pytest.raises(InvalidRunStateError, match="ticket is open"):
            begin(proposed(allowed(0), asks(1)).run, CallId("1.0"), at())

    def test_the_op_id_is_the_same_for_every_attempt(self) -> None:
        run = executing(allowed(0, replay=Replay.SAFE))
        recovered = recover(run, ASKING, at())
        assert recovered is not None
        again = begin(recovered.run, CallId("1.0"), at()).run

        assert run.batch is not None
        assert again.batch is not None
        assert run.batch.calls[0].op == again.batch.calls[0].op == "run_1:1.0"
        assert again.batch.calls[0].attempts == 2

    def test_a_replayable_call_is_tried_a_bounded_number_of_times(self) -> None:
        run = executing(allowed(0, replay=Replay.IDEMPOTENT))
        for _ in range(2):
            recovered = recover(run, ASKING, at())
            assert recovered is not None
            run = begin(recovered.run, CallId("1.0"), at()).run

        last = recover(run, ASKING, at())

        assert last is not None
        assert [t.target.kind for t in last.opened] == ["outcome_unknown"]

    def test_a_lost_call_is_asked_about_without_a_deadline(self) -> None:
        lost = recover(executing(allowed(0)), ASKING, at())

        assert lost is not None
        assert lost.run.status is RunStatus.WAITING
        assert lost.opened[0].deadline is None
        assert expire(lost.run, at(NOON + 1_000 * HOUR)) is None

    def test_nothing_is_recovered_where_nothing_was_lost(self) -> None:
        assert recover(proposed(allowed(0)).run, ASKING, at()) is None
        assert recover(started(), ASKING, at()) is None

    @pytest.mark.parametrize(
        ("settle", "state"),
        [
            (Settle(outcome="happened", value="v1 is live"), None),
            (Settle(outcome="abandon"), None),
            (Settle(outcome="not_happened"), CallState.ALLOWED),
        ],
    )
    def test_a_person_settles_a_lost_call(self, settle: Settle, state: CallState | None) -> None:
        lost = recover(executing(allowed(0)), ASKING, at())
        assert lost is not None

        settled = decide(lost.run, settle, now=NOON + HOUR)

        assert settled.run.status is RunStatus.QUEUED
        batch = settled.run.batch
        assert (batch.calls[0].state if batch else None) == state

    def test_it_runs_again_only_after_the_lost_worker_must_have_stopped(self) -> None:
        lost = recover(executing(allowed(0)), ASKING, at())
        assert lost is not None

        with pytest.raises(TooEarlyError):
            decide(lost.run, Settle(outcome="not_happened"), now=NOON + timedelta(seconds=60))

    def test_a_late_result_closes_the_ticket_of_the_unknown_outcome(self) -> None:
        lost = recover(executing(allowed(0)), ASKING, at())
        assert lost is not None

        late = complete_late(lost.run, OpId("run_1:1.0"), result(0), at())

        assert late is not None
        assert late.claim is ClaimEffect.NONE
        assert late.run.status is RunStatus.QUEUED
        assert late.run.batch is None

    def test_a_result_that_is_too_late_changes_nothing(self) -> None:
        lost = recover(executing(allowed(0)), ASKING, at())
        assert lost is not None
        settled = decide(lost.run, Settle(outcome="abandon"), now=NOON + HOUR).run

        assert complete_late(settled, OpId("run_1:1.0"), result(0), at()) is None
        assert complete_late(lost.run, OpId("run_1:9.9"), result(0), at()) is None

    def test_a_result_can_be_given_only_once(self) -> None:
        run = complete(executing(allowed(0), allowed(1)), result(0), at()).run

        with pytest.raises(InvalidRunStateError):
            complete(run, result(0), at())


class TestEnd:
    """Ends are final, and withdraw what still waited."""

    def test_a_cancel_withdraws_the_open_tickets(self) -> None:
        actor = Actor(id=ALICE, via=Via.TERMINAL)

        change = cancel(proposed(asks(0), asks(1)).run, actor, at())

        assert change.run.status is RunStatus.CANCELLED
        assert all(t.resolution and t.resolution.withdrawn for t in change.closed)
        assert kinds(change)[-1] == "run_cancelled"

    def test_a_cancel_while_a_tool_runs_waits_for_its_result(self) -> None:
        actor = Actor(id=ALICE, via=Via.TERMINAL)

        asked = cancel(executing(allowed(0)), actor, at())
        done = complete(asked.run, result(0), at())
        both = done.then(carry_out_cancel(done.run, at()))

        assert asked.run.status is RunStatus.QUEUED
        assert both.run.status is RunStatus.CANCELLED
        assert both.run.version == asked.run.version + 1
        assert kinds(both) == ["call_finished", "run_cancelled"]

    @pytest.mark.parametrize(
        "end",
        [
            lambda run: finish(run, "[]", "done", Usage(), at()),
            lambda run: fail(run, Failure(code="c", message="m"), at()),
            lambda run: cancel(run, Actor(id=ALICE, via=Via.API), at()),
        ],
    )
    def test_what_has_ended_stays_ended(self, end: Callable[[Run], Change]) -> None:
        ended = end(started()).run

        with pytest.raises(InvalidRunStateError):
            end(ended)

    def test_a_blocked_call_tells_the_model_why(self) -> None:
        change = block(proposed(allowed(0)).run, CallId("1.0"), "the tool is gone", at())

        assert "blocked: the tool is gone" in change.records[0].body
