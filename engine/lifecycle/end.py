"""End: a run succeeds, fails or is cancelled."""

from engine.cards import Role
from engine.entries import RecordKind
from engine.errors import InvalidRunStateError
from engine.events import CancelRequested, RunCancelled, RunFailed, RunSucceeded
from engine.identity import SYSTEM, Actor
from engine.ids import Moment
from engine.lifecycle.draft import OUTCOME_SUBJECT, Draft
from engine.lifecycle.table import RunCause
from engine.runs import CallState, CancelRequest, Failure, Run, Usage
from engine.store import Change, ClaimEffect
from engine.tickets import Deny, Resolution


def finish(run: Run, response: str, output: str, usage: Usage, moment: Moment) -> Change:
    """Return the Change that ends a run with the model's last words."""
    draft = Draft(run, moment)
    draft.write(RecordKind.RESPONSE, run.entry_count, response)
    draft.set(entry_count=run.entry_count + 1, usage=usage, output=output)
    draft.move(RunCause.FINISH)
    draft.note(RunSucceeded())
    draft.raise_card(OUTCOME_SUBJECT, Role.OUTCOME)
    return draft.change(ClaimEffect.RELEASE)


def fail(run: Run, failure: Failure, moment: Moment) -> Change:
    """Return the Change that ends a run with a failure."""
    draft = Draft(run, moment)
    draft.set(failure=failure)
    draft.move(RunCause.FAIL)
    draft.note(RunFailed(code=failure.code, message=failure.message))
    draft.raise_card(OUTCOME_SUBJECT, Role.OUTCOME)
    return draft.change(ClaimEffect.RELEASE)


def cancel(run: Run, actor: Actor, moment: Moment) -> Change:
    """Return the Change that cancels a run, or asks for it where a tool is running.

    Raises:
        InvalidRunStateError: the run has ended.

    """
    if not run.live:
        raise InvalidRunStateError(f"run {run.ref} is already {run.status}", code="ended")
    draft = Draft(run, moment)
    if _tool_is_running(run):
        draft.set(cancel=CancelRequest(by=actor.id, at=moment.now))
        draft.note(CancelRequested(actor=actor))
        return draft.change(confirm=True)
    return _cancelled(draft, actor).change(ClaimEffect.RELEASE, confirm=True)


def carry_out_cancel(run: Run, moment: Moment) -> Change:
    """Return the Change that ends a run whose cancel had to wait for a tool."""
    if run.cancel is None:
        raise InvalidRunStateError("nobody asked to cancel this run", code="illegal_move")
    actor = SYSTEM.model_copy(update={"id": run.cancel.by})
    return _cancelled(Draft(run, moment), actor).change(ClaimEffect.RELEASE)


def _cancelled(draft: Draft, actor: Actor) -> Draft:
    for ticket in draft.run.tickets:
        withdrawn = Resolution(
            decision=Deny(reason="cancelled"), actor=actor, at=draft.now, withdrawn=True
        )
        draft.close_ticket(ticket, withdrawn)
    draft.set(cancel=None)
    draft.move(RunCause.CANCEL)
    draft.note(RunCancelled(actor=actor))
    draft.raise_card(OUTCOME_SUBJECT, Role.OUTCOME)
    return draft


def _tool_is_running(run: Run) -> bool:
    calls = run.batch.calls if run.batch else ()
    return any(call.state is CallState.EXECUTING for call in calls)
