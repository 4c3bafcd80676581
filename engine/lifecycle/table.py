"""Which moves there are. Data, from which ``docs/lifecycle.md`` is generated.

Every state of a call or a run changes through ``move_call`` or ``move_run``; a move that is not in
the table is a fault of the caller, and nothing changes.
"""

from enum import StrEnum

from engine.errors import InvalidRunStateError
from engine.runs import CallState, RunStatus


class CallCause(StrEnum):
    """Why a call moves."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    REJECT = "reject"
    ANSWER = "answer"
    BEGIN = "begin"
    CANCEL = "cancel"
    RE_ASK = "re-ask"
    RESULT = "result"
    LOST = "lost"
    REPLAY = "replay"
    WITHHOLD = "withhold"
    HAPPENED = "happened"
    NOT_HAPPENED = "not happened"
    ABANDON = "abandon"


CALL_MOVES: dict[tuple[CallState, CallCause], CallState] = {
    (CallState.REQUESTED, CallCause.ALLOW): CallState.ALLOWED,
    (CallState.REQUESTED, CallCause.DENY): CallState.BLOCKED,
    (CallState.REQUESTED, CallCause.ASK): CallState.AWAITING,
    (CallState.REQUESTED, CallCause.REJECT): CallState.COMPLETED,
    (CallState.AWAITING, CallCause.ALLOW): CallState.ALLOWED,
    (CallState.AWAITING, CallCause.DENY): CallState.BLOCKED,
    (CallState.AWAITING, CallCause.ANSWER): CallState.COMPLETED,
    (CallState.ALLOWED, CallCause.BEGIN): CallState.EXECUTING,
    (CallState.ALLOWED, CallCause.CANCEL): CallState.BLOCKED,
    (CallState.ALLOWED, CallCause.RE_ASK): CallState.AWAITING,
    (CallState.EXECUTING, CallCause.RESULT): CallState.COMPLETED,
    (CallState.EXECUTING, CallCause.LOST): CallState.UNKNOWN,
    (CallState.EXECUTING, CallCause.REPLAY): CallState.ALLOWED,
    (CallState.EXECUTING, CallCause.WITHHOLD): CallState.ALLOWED,
    (CallState.UNKNOWN, CallCause.RESULT): CallState.COMPLETED,
    (CallState.UNKNOWN, CallCause.HAPPENED): CallState.COMPLETED,
    (CallState.UNKNOWN, CallCause.NOT_HAPPENED): CallState.ALLOWED,
    (CallState.UNKNOWN, CallCause.ABANDON): CallState.BLOCKED,
}


class RunCause(StrEnum):
    """Why a run moves."""

    PARK = "park"
    ANSWERED = "answered"
    FINISH = "finish"
    FAIL = "fail"
    CANCEL = "cancel"


RUN_MOVES: dict[tuple[RunStatus, RunCause], RunStatus] = {
    (RunStatus.QUEUED, RunCause.PARK): RunStatus.WAITING,
    (RunStatus.QUEUED, RunCause.FINISH): RunStatus.SUCCEEDED,
    (RunStatus.QUEUED, RunCause.FAIL): RunStatus.FAILED,
    (RunStatus.QUEUED, RunCause.CANCEL): RunStatus.CANCELLED,
    (RunStatus.WAITING, RunCause.ANSWERED): RunStatus.QUEUED,
    (RunStatus.WAITING, RunCause.CANCEL): RunStatus.CANCELLED,
}


def move_call(state: CallState, cause: CallCause) -> CallState:
    """Return the state that a call moves to.

    Raises:
        InvalidRunStateError: there is no such move.

    """
    after = CALL_MOVES.get((state, cause))
    if after is None:
        raise InvalidRunStateError(f"a call that is {state} cannot {cause}", code="illegal_move")
    return after


def move_run(status: RunStatus, cause: RunCause) -> RunStatus:
    """Return the status that a run moves to.

    Raises:
        InvalidRunStateError: there is no such move.

    """
    after = RUN_MOVES.get((status, cause))
    if after is None:
        raise InvalidRunStateError(f"a run that is {status} cannot {cause}", code="illegal_move")
    return after
