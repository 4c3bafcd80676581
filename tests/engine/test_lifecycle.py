"""The pure transitions: what each writes, and that an illegal one changes nothing."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.cards import Role
from engine.entries import CallOutcome, CallResult, RecordKind
from engine.errors import (
    InvalidAnswerError,
    InvalidRunStateError,
    NotAllowedError,
    TicketExpiredError,
    TicketMismatchError,
    TooEarlyError,
    WrongDecisionError,
)
from engine.identity import Actor, Approvers, Standing, Via
from engine.ids import CallId, Ids, Moment, OpId, PersonId, RunId
from engine.lifecycle.answer import Judgement, answer, expire, validate_resume
from engine.lifecycle.end import cancel, carry_out_cancel, fail, finish
from engine.lifecycle.execute import begin, block, complete, complete_late, recover
from engine.lifecycle.propose import Asking, Gated, Proposal, propose
from engine.lifecycle.start import StartRequest, start
from engine.lifecycle.table import CALL_MOVES, RUN_MOVES, CallCause, RunCause, move_call, move_run
from engine.policy import Verdict
from engine.runs import CallState, Failure, Origin, Replay, Run, RunStatus, ToolCall, Usage
from engine.store import Change, ClaimEffect
from engine.tickets import Allow, Answer, Decision, Deny, ResumeCommand, Settle

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALICE, BOB = PersonId("UALICE"), PersonId("UBOB")
ASKING = Asking(approvers=Approvers(people=(BOB,)), timeout=timedelta(hours=1))
HOUR = timedelta(hours=1)


def at(now: datetime = NOON) -> Moment:
    return Moment(now, Ids())


def started() -> Run:
    request = StartRequest(
        agent="deployer",
        snapshot="snap",
        notify="slack",
        text="deploy",
        owner=ALICE,
        requester=ALICE,
        origin=Origin(),
    )
    return start(request, RunId("run_1"), at()).run


def call(index: int, **fields: Any) -> ToolCall:
    base = {"provider_id": f"p{index}", "tool": "deploy", "digest": f"d{index}", "timeout_s": 60.0}
    return ToolCall(id=CallId(f"1.{index}"), **{**base, **fields})


def asks(index: int, **fields: Any) -> Gated:
    return Gated(call=call(index, verdict=Verdict.ASK, **fields), arguments="{}")


def allowed(index: int, **fields: Any) -> Gated:
    return Gated(call=call(index, verdict=Verdict.ALLOW, **fields), arguments="{}")


def denied(index: int) -> Gated:
    return Gated(call=call(index, verdict=Verdict.DENY), arguments="{}")


def question(index: int) -> Gated:
    return Gated(call=call(index, tool="ask_human"), arguments="{}", asks="Which ticket?")


def proposed(*gated: Gated) -> Change:
    return propose(started(), Proposal("[]", "", gated, Usage(requests=1)), ASKING, at())


def decide(
    run: Run, decision: Decision, by: PersonId = BOB, now: datetime = NOON, number: int = 0
) -> Change:
    ticket = run.tickets[number]
    actor = Actor(id=by, via=Via.SLACK)
    command = ResumeCommand.from_ticket(ticket, decision, actor=actor, now=now)
    return answer(run, Judgement(command, Standing.MEMBER), at(now), None)


def result(index: int, outcome: CallOutcome = CallOutcome.SUCCEEDED) -> CallResult:
    return CallResult(
        call=CallId(f"1.{index}"),
        provider_id=f"p{index}",
        tool="deploy",
        outcome=outcome,
        content="ok",
    )


def executing(*gated: Gated) -> Run:
    return begin(proposed(*gated).run, CallId("1.0"), at()).run


def kinds(change: Change) -> list[str]:
    return [event.fact.kind for event in change.events]


class TestTheTable:
    """The moves are data, total, and final where they should be."""

    @pytest.mark.parametrize("state", list(CallState))
    @pytest.mark.parametrize("cause", list(CallCause))
    def test_a_call_moves_by_the_table_or_not_at_all(
        self, state: CallState, cause: CallCause
    ) -> None:
        if (state, cause) in CALL_MOVES:
            assert move_call(state, cause) is CALL_MOVES[state, cause]
            return
        with pytest.raises(InvalidRunStateError):
            move_call(state, cause)

    @pytest.mark.parametrize("status", list(RunStatus))
    @pytest.mark.parametrize("cause", list(RunCause))
    def test_a_run_moves_by_the_table_or_not_at_all(
        self, status: RunStatus, cause: RunCause
    ) -> None:
        if (status, cause) in RUN_MOVES:
            assert move_run(status, cause) is RUN_MOVES[status, cause]
            return
        with pytest.raises(InvalidRunStateError):
            move_run(status, cause)

    def test_ends_are_final(self) -> None:
        ends = {CallState.COMPLETED, CallState.BLOCKED}
        assert not [move for move in CALL_MOVES if move[0] in ends]
        assert {status for status, _ in RUN_MOVES} == {RunStatus.QUEUED, RunStatus.WAITING}


class TestPropose:
    """A model's response becomes a batch."""

    def test_every_asking_call_gets_its_own_ticket_in_one_commit(self) -> None:
        change = proposed(asks(0), allowed(1), question(2), denied(3))

        assert change.run.status is RunStatus.WAITING
        assert [t.target.kind for t in change.opened] == ["tool_permission", "remote_input"]
        assert change.claim is ClaimEffect.RELEASE
        assert change.run.batch is not None
        states = [c.state for c in change.run.batch.calls]
        assert states == ["awaiting", "allowed", "awaiting", "blocked"]

    def test_response_and_arguments_are_records_and_not_in_the_run(self) -> None:
        change = proposed(asks(0))

        assert [record.kind for record in change.records] == ["response", "arguments"]
        assert "arguments" not in change.run.model_dump_json()

    def test_a_question_goes_to_the_owner_and_a_permission_to_the_approvers(self) -> None:
        permission, ask = proposed(asks(0), question(1)).opened

        assert permission.approvers == ASKING.approvers
        assert ask.approvers == Approvers(people=(ALICE,), four_eyes=False)

    def test_a_batch_with_nothing_to_do_settles_at_once(self) -> None:
        change = proposed(denied(0), Gated(call=call(1), arguments="{}", rejected="no such tool"))

        assert change.run.batch is None
        assert change.run.entry_count == 2
        assert change.run.status is RunStatus.QUEUED
        assert change.claim is ClaimEffect.KEEP

    def test_both_the_ask_and_a_word_to_the_owner_are_wanted(self) -> None:
        roles = [key.role for key in proposed(asks(0)).raised]

        assert roles == [Role.ASK, Role.ASKED]


class TestValidateResume:
    """An answer must match its ticket on every axis, before anything else is looked at."""

    @pytest.mark.parametrize(
        ("axis", "error"),
        [
            ({"approval": "apr_x"}, TicketMismatchError),
            ({"run": "run_x"}, TicketMismatchError),
            ({"conversation": "x"}, TicketMismatchError),
            ({"snapshot": "x"}, TicketMismatchError),
            ({"fingerprint": "x"}, TicketMismatchError),
            ({"digest": "x"}, TicketMismatchError),
            ({"call": "9.9"}, TicketMismatchError),
            ({"now": NOON + HOUR + timedelta(microseconds=1)}, TicketExpiredError),
            ({"decision": Answer(value="x")}, WrongDecisionError),
            ({"decision": Settle(outcome="happened")}, WrongDecisionError),
        ],
    )
    def test_each_difference_is_refused(self, axis: dict[str, Any], error: type[Exception]) -> None:
        run = proposed(asks(0)).run
        command = ResumeCommand.from_ticket(
            run.tickets[0], Allow(), actor=Actor(id=BOB, via=Via.SLACK), now=NOON
        )

        with pytest.raises(error):
            validate_resume(run, command.model_copy(update=axis))

    def test_a_run_that_waits_on_nothing_is_told_first(self) -> None:
        run = proposed(asks(0)).run
        command = ResumeCommand.from_ticket(
            run.tickets[0], Allow(), actor=Actor(id=BOB, via=Via.SLACK), now=NOON
        )

        with pytest.raises(InvalidRunStateError, match="waits on nothing"):
            validate_resume(decide(run, Allow()).run, command.model_copy(update={"run": "x"}))

    def test_an_answer_at_the_deadline_is_in_time(self) -> None:
        run = proposed(asks(0)).run

        assert decide(run, Allow(), now=NOON + HOUR).not_after == NOON + HOUR

    @pytest.mark.parametrize("decision", [Allow(), Settle(outcome="abandon")])
    def test_a_question_takes_an_answer_and_no_permission(self, decision: Decision) -> None:
        with pytest.raises(WrongDecisionError, match="answer, deny"):
            decide(proposed(question(0)).run, decision, by=ALICE)


class TestAnswer:
    """One ticket, one decision."""

    def test_the_run_waits_until_the_last_ticket_is_decided(self) -> None:
        first = decide(proposed(asks(0), asks(1)).run, Allow(), number=1)
        second = decide(first.run, Allow())

        assert first.run.status is RunStatus.WAITING
        assert second.run.status is RunStatus.QUEUED
        assert second.run.attempt != first.run.attempt
        assert second.run.trace == first.run.trace

    def test_a_deny_of_the_last_open_call_settles_the_batch_in_the_same_commit(self) -> None:
        change = decide(proposed(asks(0)).run, Deny(reason="no"))

        assert change.run.batch is None
        assert change.run.entry_count == 2
        assert [r.kind for r in change.records] == [RecordKind.RESULT]
        assert "blocked: no" in change.records[0].body

    def test_a_refusal_comes_before_the_words_are_looked_at(self) -> None:
        with pytest.raises(NotAllowedError):
            decide(proposed(question(0)).run, Answer(value=""), by=BOB)

    @pytest.mark.parametrize("text", ["", "  \n", "x" * 20_000])
    def test_an_answer_that_does_not_fit_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidAnswerError):
            decide(proposed(question(0)).run, Answer(value=text), by=ALICE)

    def test_the_owner_is_told_of_anothers_decision_but_not_of_their_own(self) -> None:
        by_bob = decide(proposed(asks(0)).run, Allow())
        by_alice = decide(proposed(question(0)).run, Answer(value="x"), by=ALICE)

        assert Role.DECIDED in {key.role for key in by_bob.raised}
        assert Role.DECIDED not in {key.role for key in by_alice.raised}

    def test_silence_denies_every_late_ticket_once(self) -> None:
        run = proposed(asks(0), asks(1)).run

        late = expire(run, at(NOON + HOUR + timedelta(microseconds=1)))

        assert expire(run, at(NOON + HOUR)) is None
        assert late is not None
        assert late.not_before == NOON + HOUR
        assert [t.resolution.word for t in late.closed if t.resolution] == ["timed out"] * 2
        assert expire(late.run, at(NOON + 2 * HOUR)) is None


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


def test_events_are_numbered_and_linked() -> None:
    first = proposed(asks(0))
    second = decide(first.run, Allow())

    numbers = [event.seq for event in (*first.events, *second.events)]
    assert numbers == list(range(2, 2 + len(numbers)))
    assert second.run.event_head == second.events[-1].link
    assert len({event.link for event in (*first.events, *second.events)}) == len(numbers)
