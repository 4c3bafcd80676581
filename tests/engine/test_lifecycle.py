"""The pure transitions up to an answer: what each writes, and that an illegal one changes nothing."""

from datetime import timedelta
from typing import Any

import pytest

from engine.cards import Role
from engine.entries import RecordKind
from engine.errors import (
    InvalidAnswerError,
    InvalidRunStateError,
    NotAllowedError,
    TicketExpiredError,
    TicketMismatchError,
    WrongDecisionError,
)
from engine.identity import Actor, Approvers, Via
from engine.lifecycle.answer import expire, validate_resume
from engine.lifecycle.propose import Gated
from engine.lifecycle.table import CALL_MOVES, RUN_MOVES, CallCause, RunCause, move_call, move_run
from engine.runs import CallState, RunStatus
from engine.store import ClaimEffect
from engine.tickets import Allow, Answer, Decision, Deny, ResumeCommand, Settle
from tests.engine.steps import (
    ALICE,
    ASKING,
    BOB,
    HOUR,
    NOON,
    allowed,
    asks,
    at,
    call,
    decide,
    denied,
    proposed,
    question,
)


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


def test_events_are_numbered_and_linked() -> None:
    first = proposed(asks(0))
    second = decide(first.run, Allow())

    numbers = [event.seq for event in (*first.events, *second.events)]
    assert numbers == list(range(2, 2 + len(numbers)))
    assert second.run.event_head == second.events[-1].link
    assert len({event.link for event in (*first.events, *second.events)}) == len(numbers)
