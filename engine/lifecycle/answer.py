"""Answer: one person's decision on one ticket, and silence as a decision."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from engine.entries import CallOutcome, CallResult
from engine.errors import (
    AlreadyVotedError,
    InvalidAnswerError,
    InvalidRunStateError,
    TicketExpiredError,
    TicketMismatchError,
    TooEarlyError,
    WrongDecisionError,
)
from engine.events import VoteCast
from engine.identity import SYSTEM, Actor, Claimant, Vote, judge
from engine.ids import ApprovalId, Moment, PersonId, Ref, RunId
from engine.lifecycle.denials import with_denial
from engine.lifecycle.draft import Draft, keep_open, raise_ticket
from engine.lifecycle.edit import Edit, put_edit
from engine.lifecycle.propose import told
from engine.lifecycle.remember import check_wish, drop_wish, put_wish
from engine.lifecycle.seal import check_open
from engine.lifecycle.table import CallCause
from engine.remembered import Term, Wished
from engine.runs import Run, ToolCall
from engine.schema import Frozen, digest_of
from engine.store import Change, KeyRecord
from engine.tickets import (
    Allow,
    Answer,
    Decision,
    Deny,
    OutcomeUnknown,
    Resolution,
    ResumeCommand,
    ResumeTicket,
    Settle,
    accepted_kinds,
)

TIMED_OUT = "approval timed out"
MAX_ANSWER_CHARS = 16_384
MAX_REASON_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an answer is judged with besides the run: the command, who gives it, checked edits.

    ``terms`` are those of what is to be remembered.
    """

    command: ResumeCommand
    claimant: Claimant
    edit: Edit | None = None
    terms: tuple[Term, ...] = ()


class Recorded(Frozen):
    """What an actor is told of a recorded answer; the same for every repeat of its key.

    ``resolution`` is their own word. It ended the ticket unless it was one vote of several:
    ``votes`` of the ``needed`` were there with it. ``wished`` is what will be remembered.
    """

    run: RunId
    run_ref: Ref
    approval: ApprovalId
    ref: Ref
    resolution: Resolution
    still_open: int
    votes: int = 1
    needed: int = 1
    wished: Wished | None = None

    @property
    def missing(self) -> int:
        """Return how many more must allow before it is decided."""
        allowed = isinstance(self.resolution.decision, Allow)
        return max(0, self.needed - self.votes) if allowed else 0


def key_scope(run: RunId) -> str:
    """Return the scope of idempotency keys of answers to a run."""
    return f"run:{run}"


def key_body(approval: str, decision: Decision, actor: Actor) -> str:
    """Return the digest of what is asked under a key: this answer, by this actor."""
    return digest_of("answer", approval, spelled(decision), actor.key)


def spelled(decision: Decision) -> str:
    """Return a decision as a key names it: edited arguments by their values, in any order."""
    if isinstance(decision, Allow) and decision.arguments is not None:
        # Not canonical_json: this comes before any check, and must do with whatever it is given.
        return digest_of("edited", json.dumps(decision.arguments, sort_keys=True))
    return decision.model_dump_json(exclude_none=True)


def _recorded(run: Run, ticket: ResumeTicket, resolution: Resolution) -> Recorded:
    """Return what the actor of this resolution is told; ``run`` and ``ticket`` are as after it."""
    others = [one for one in run.tickets if one.approval != ticket.approval]
    return Recorded(
        run=run.id,
        run_ref=run.ref,
        approval=ticket.approval,
        ref=ticket.ref,
        resolution=resolution,
        still_open=len(others),
        votes=ticket.counted,
        needed=ticket.needed,
        wished=ticket.wished if isinstance(resolution.decision, Allow) else None,
    )


def validate_resume(run: Run, command: ResumeCommand) -> ResumeTicket:
    """Return the open ticket that a command matches on every axis.

    The order is that of the resume contract: not waiting, approval, run, conversation, snapshot,
    fingerprint, digest, deadline, kind of decision, call.

    Raises:
        InvalidRunStateError: the run waits on nothing.
        TicketMismatchError: one axis differs.
        TicketExpiredError: the deadline has passed; silence is being written by the sweeper.
        WrongDecisionError: this kind of decision cannot answer this kind of ticket.

    """
    if not run.tickets:
        raise InvalidRunStateError(f"run {run.ref} is {run.status} and waits on nothing")
    ticket = run.ticket(command.approval)
    if ticket is None:
        raise TicketMismatchError("approval")
    for axis in ("run", "conversation", "snapshot", "fingerprint", "digest"):
        if getattr(ticket, axis) != getattr(command, axis):
            raise TicketMismatchError(axis)
    if ticket.deadline is not None and command.now > ticket.deadline:
        raise TicketExpiredError(ticket.deadline)
    accepted = accepted_kinds(ticket.target)
    if command.decision.kind not in accepted:
        raise WrongDecisionError(command.decision.kind, accepted)
    if ticket.target.call != command.call:
        raise TicketMismatchError("call")
    return ticket


def admit(run: Run, judgement: Judgement) -> tuple[ResumeTicket, PersonId]:
    """Return the open ticket, and the seat of whoever answers it; or refuse them.

    Who asks comes before what they ask: whoever may not decide is told nothing else.

    Raises:
        ResumeError: as for ``answer``.

    """
    command, claimant = judgement.command, judgement.claimant
    asked = run.ticket(command.approval) or validate_resume(run, command)
    seat = judge(asked.approvers, claimant)
    ticket = validate_resume(run, command)
    check_open(run, ticket)
    _check_words(command)
    check_wish(ticket, command.decision)
    return ticket, seat


def answer(
    run: Run, judgement: Judgement, moment: Moment, key: str | None
) -> tuple[Change, Recorded]:
    """Return the Change that a person's answer makes and what they are told; or refuse it.

    Raises:
        ResumeError: the answer does not match, comes too late or too early, is of the wrong kind,
            does not fit, is a second vote, or comes from someone who may not decide.

    """
    command, claimant = judgement.command, judgement.claimant
    ticket, seat = admit(run, judgement)
    draft = Draft(run, moment)
    edit = _edit_in(ticket, judgement)
    if edit is not None:
        ticket = put_edit(draft, ticket, edit, command.actor)
    ticket = _wished(draft, ticket, judgement)
    instead_of = seat if seat not in {claimant.person.id, command.actor.id} else None
    word = Resolution(
        decision=_kept(command.decision),
        actor=command.actor,
        at=command.now,
        instead_of=instead_of,
        edited=edit is not None,
    )
    if isinstance(command.decision, Allow):
        vote = Vote(actor=command.actor, person=claimant.person.id, seat=seat, at=command.now)
        ticket = _voted(draft, ticket, vote)
    if not isinstance(command.decision, Allow) or ticket.counted >= ticket.needed:
        _apply(draft, ticket, word)
    told_so = _recorded(draft.run, ticket, word)
    record = _key_record(told_so, command, key) if key is not None else None
    return draft.change(key=record, not_after=ticket.deadline, confirm=True), told_so


def _wished(draft: Draft, ticket: ResumeTicket, judgement: Judgement) -> ResumeTicket:
    command = judgement.command
    if isinstance(command.decision, Allow) and command.decision.remember is not None:
        return put_wish(draft, ticket, command, judgement.terms)
    if isinstance(command.decision, Allow) and (
        command.decision.once or command.decision.arguments is not None
    ):
        # A form of edits, though nothing was edited in it, shows no wish.
        return drop_wish(draft, ticket, command.actor)
    return ticket


def _edit_in(ticket: ResumeTicket, judgement: Judgement) -> Edit | None:
    """Return the edit, where it changes anything."""
    decision, edit = judgement.command.decision, judgement.edit
    if not isinstance(decision, Allow) or decision.arguments is None:
        return None
    if edit is None:
        raise ValueError("edited arguments come with their check")
    return edit if edit.digest != ticket.digest else None


def _kept(decision: Decision) -> Decision:
    """Return what is kept of a decision: edited arguments are a record of their own."""
    return Allow() if isinstance(decision, Allow) else decision


def _voted(draft: Draft, ticket: ResumeTicket, vote: Vote) -> ResumeTicket:
    known = ticket.vote_of(vote.person)
    if known is not None:
        raise AlreadyVotedError(at=known.at, votes=ticket.counted, needed=ticket.needed)
    call = draft.batch.call(ticket.target.call)
    voted = ticket.model_copy(update={"votes": (*ticket.votes, vote)})
    if voted.needed > 1:
        so_far = VoteCast(
            approval=voted.approval,
            call=call.id,
            vote=vote,
            votes=voted.counted,
            needed=voted.needed,
        )
        draft.note(so_far)
        raise_ticket(draft, voted)
    # A vote that decides closes the ticket, which is sealed then.
    return voted if voted.counted >= voted.needed else keep_open(draft, voted)


def _key_record(told_so: Recorded, command: ResumeCommand, key: str) -> KeyRecord:
    return KeyRecord(
        scope=key_scope(told_so.run),
        key=key,
        body=key_body(told_so.approval, command.decision, command.actor),
        outcome=told_so.model_dump_json(),
    )


def expire(run: Run, moment: Moment) -> Change | None:
    """Return the Change that denies every late ticket of a run; None where none is late."""
    late = [t for t in run.tickets if t.deadline is not None and moment.now > t.deadline]
    if not late:
        return None
    draft = Draft(run, moment)
    for ticket in late:
        silence = Resolution(
            decision=Deny(reason=TIMED_OUT), actor=SYSTEM, at=moment.now, timed_out=True
        )
        _apply(draft, ticket, silence)
    latest = max(t.deadline for t in late if t.deadline is not None)
    return draft.change(not_before=latest)


def _apply(draft: Draft, ticket: ResumeTicket, resolution: Resolution) -> None:
    call = draft.batch.call(ticket.target.call)
    draft.close_ticket(ticket, resolution)
    match resolution.decision:
        case Allow():
            draft.move_call(call, CallCause.ALLOW)
        case Deny(reason=reason):
            draft.set(denials=with_denial(draft.run.denials, call))
            draft.give_result(call, _blocked(call, reason), CallCause.DENY)
        case Answer(value=value):
            result = told(call, CallOutcome.SUCCEEDED, value)
            draft.give_result(call, result, CallCause.ANSWER)
        case Settle() as settle:
            _settle_unknown(draft, ticket, call, settle)
        case _:
            assert_never(resolution.decision)
    draft.settle()


def _settle_unknown(draft: Draft, ticket: ResumeTicket, call: ToolCall, settle: Settle) -> None:
    match settle.outcome:
        case "happened":
            text = settle.value or "a person confirmed that this happened"
            draft.give_result(call, told(call, CallOutcome.SUCCEEDED, text), CallCause.HAPPENED)
        case "not_happened":
            _check_not_too_early(ticket, draft.now)
            draft.move_call(call, CallCause.NOT_HAPPENED)
        case "abandon":
            text = f"blocked: {settle.value or 'the outcome is unknown and was given up'}"
            draft.give_result(call, told(call, CallOutcome.DENIED, text), CallCause.ABANDON)
        case _:
            assert_never(settle.outcome)


def _check_not_too_early(ticket: ResumeTicket, now: datetime) -> None:
    target = ticket.target
    if isinstance(target, OutcomeUnknown) and now <= target.rerun_from:
        raise TooEarlyError(target.rerun_from)


def _blocked(call: ToolCall, reason: str) -> CallResult:
    return told(call, CallOutcome.DENIED, f"blocked: {reason or 'denied'}")


def _check_words(command: ResumeCommand) -> None:
    match command.decision:
        case Answer(value=value):
            if not value.strip():
                raise InvalidAnswerError("the answer is empty")
            _check_length("answer", value, MAX_ANSWER_CHARS)
        case Deny(reason=reason):
            _check_length("reason", reason, MAX_REASON_CHARS)
        case Settle(value=value):
            _check_length("value", value, MAX_ANSWER_CHARS)
        case Allow():
            pass
        case _:
            assert_never(command.decision)


def _check_length(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise InvalidAnswerError(f"the {what} has {len(text):,} characters; at most {most:,} fit")
