"""Execute: a call begins, ends, or is found lost."""

from datetime import datetime, timedelta

from engine.entries import CallOutcome, CallResult
from engine.errors import InvalidRunStateError
from engine.events import (
    ApprovalRemembered,
    CallLost,
    CallStarted,
    CallTightened,
    CallWithheld,
)
from engine.identity import SYSTEM, Approvers
from engine.ids import ApprovalId, CallId, Moment, OpId, TokenId, place_of
from engine.lifecycle.draft import Draft, raise_ask_of
from engine.lifecycle.propose import Asking, open_permission, park_if_asking, told
from engine.lifecycle.table import CallCause
from engine.policy import Verdict
from engine.rules import Ruling
from engine.runs import CallState, Replay, Run, ToolCall
from engine.store import Change, ClaimEffect
from engine.tickets import OutcomeUnknown, Resolution, ResumeTicket, Settle

MAX_REPLAYS = 3


def operation(run: Run, call: CallId) -> OpId:
    """Return the name of a call's effect: the same for every attempt, never the provider's id."""
    return OpId(f"{run.id}:{call}")


def begin(
    run: Run, call_id: CallId, moment: Moment, remembered: ApprovalRemembered | None = None
) -> Change:
    """Return the Change to be committed before the effect of a call may start.

    ``remembered``: the rule that its approval made.

    Raises:
        InvalidRunStateError: a ticket of the run is open, or the call is not allowed.

    """
    if run.tickets:
        raise InvalidRunStateError("no tool starts while a ticket is open", code="illegal_move")
    draft = Draft(run, moment)
    call = draft.batch.call(call_id)
    op = operation(run, call_id)
    if remembered is not None and call.attempts == 0:
        draft.note(remembered)
    started = draft.move_call(
        call, CallCause.BEGIN, op=op, attempts=call.attempts + 1, started_at=moment.now
    )
    draft.note(CallStarted(call=call_id, tool=call.tool, op=op, attempt=started.attempts))
    raise_ask_of(draft, call)
    return draft.change(ClaimEffect.KEEP, confirm=True)


def withhold(run: Run, moment: Moment) -> Change | None:
    """Return the Change for a call whose beginning was not confirmed; None where there is none.

    Only for the worker that committed the beginning: it alone knows that the tool was not started.
    """
    draft = Draft(run, moment)
    calls = [c for c in run.batch.calls if c.state is CallState.EXECUTING] if run.batch else []
    for call in calls:
        draft.move_call(call, CallCause.WITHHOLD)
        draft.note(CallWithheld(call=call.id, tool=call.tool, op=operation(run, call.id)))
        raise_ask_of(draft, call)
    return draft.change(ClaimEffect.KEEP) if calls else None


def complete(run: Run, result: CallResult, moment: Moment) -> Change:
    """Return the Change that keeps the result of an executing call, settling the batch if last."""
    draft = Draft(run, moment)
    draft.give_result(draft.batch.call(result.call), result, CallCause.RESULT)
    draft.settle()
    return draft.change(ClaimEffect.KEEP)


def complete_late(run: Run, op: OpId, result: CallResult, moment: Moment) -> Change | None:
    """Return the Change that takes a result from a worker that lost its claim.

    None where it is too late: the call is no longer unknown under this operation.
    """
    call = _unknown_call(run, op)
    if call is None:
        return None
    draft = Draft(run, moment)
    ticket = next(t for t in run.tickets if t.target.call == call.id)
    found = Settle(outcome="happened")
    draft.close_ticket(ticket, Resolution(decision=found, actor=SYSTEM, at=moment.now))
    draft.give_result(call, result, CallCause.RESULT)
    draft.settle()
    return draft.change()


def recover(run: Run, asking: Asking, moment: Moment) -> Change | None:
    """Return the Change for calls found executing by a new claim; None where there are none.

    A call whose tool says that it may be replayed is allowed again, a bounded number of times;
    any other has an unknown outcome, which only a person can settle.
    """
    lost = [c for c in run.batch.calls if c.state is CallState.EXECUTING] if run.batch else []
    if not lost:
        return None
    draft = Draft(run, moment)
    for call in lost:
        if call.replay is not Replay.NEVER and call.attempts < MAX_REPLAYS:
            draft.move_call(call, CallCause.REPLAY)
        else:
            _ask_what_happened(draft, call, asking.approvers)
    return park_if_asking(draft)


def block(run: Run, call_id: CallId, reason: str, moment: Moment) -> Change:
    """Return the Change that blocks an allowed call: the tool is gone, or policy tightened."""
    draft = Draft(run, moment)
    call = draft.batch.call(call_id)
    text = f"blocked: {reason}"
    draft.give_result(call, told(call, CallOutcome.DENIED, text), CallCause.CANCEL)
    draft.settle()
    return draft.change(ClaimEffect.KEEP)


def ask_again(run: Run, anew: ToolCall, asking: Asking, moment: Moment) -> Change:
    """Return the Change that asks anew for an allowed call whose tool has changed since.

    ``anew`` is the call with what its tool declares of it now.
    """
    draft = Draft(run, moment)
    open_permission(draft, _re_asked(draft, anew), asking)
    return park_if_asking(draft)


def tighten(run: Run, anew: ToolCall, ruling: Ruling, asking: Asking, moment: Moment) -> Change:
    """Return the Change for an allowed call that a rule now denies, or wants a person asked for."""
    draft = Draft(run, moment)
    call = draft.batch.call(anew.id)
    draft.note(
        CallTightened(call=call.id, tool=call.tool, verdict=ruling.verdict, rule=ruling.rule)
    )
    if ruling.verdict is Verdict.ASK:
        open_permission(draft, _re_asked(draft, anew), asking)
        return park_if_asking(draft)
    text = f"blocked: {ruling.reason or 'policy no longer allows this call'}"
    draft.give_result(call, told(call, CallOutcome.DENIED, text), CallCause.CANCEL)
    draft.settle()
    return draft.change(ClaimEffect.KEEP)


def _re_asked(draft: Draft, anew: ToolCall) -> ToolCall:
    """Move a call to be asked for, with what its tool declares of it by now."""
    return draft.move_call(
        draft.batch.call(anew.id),
        CallCause.RE_ASK,
        fingerprint=anew.fingerprint,
        declared=anew.declared,
        verdict=Verdict.ASK,
        settled="",
    )


def _ask_what_happened(draft: Draft, call: ToolCall, approvers: Approvers) -> None:
    op = call.op or operation(draft.run, call.id)
    draft.note(CallLost(call=call.id, tool=call.tool, op=op))
    ids = draft.moment.ids
    approval = ApprovalId(ids.new("apr"))
    raise_ask_of(draft, call)
    draft.move_call(call, CallCause.LOST, inquiry=approval)
    target = OutcomeUnknown(
        call=call.id, tool=call.tool, op=op, rerun_from=_rerun_from(call, draft.now)
    )
    draft.open_ticket(_lost_ticket(draft, call, target, approval, approvers))


def _lost_ticket(
    draft: Draft,
    call: ToolCall,
    target: OutcomeUnknown,
    approval: ApprovalId,
    approvers: Approvers,
) -> ResumeTicket:
    ids, run = draft.moment.ids, draft.run
    return ResumeTicket(
        approval=approval,
        ref=ids.ref(place_of(run.id)),
        run=run.id,
        conversation=run.conversation,
        snapshot=run.snapshot,
        fingerprint=call.fingerprint,
        token=TokenId(ids.new("tok")),
        target=target,
        digest=call.digest,
        opened_at=draft.now,
        deadline=None,
        approvers=approvers.resolve(run.owner),
        declared=call.declared,
        edited=call.edited,
        requester=run.requester,
    )


def _rerun_from(call: ToolCall, now: datetime) -> datetime:
    started = call.started_at or now
    return max(now, started + timedelta(seconds=call.timeout_s))


def _unknown_call(run: Run, op: OpId) -> ToolCall | None:
    calls = run.batch.calls if run.batch else ()
    return next((c for c in calls if c.state is CallState.UNKNOWN and c.op == op), None)
