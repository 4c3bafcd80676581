"""What happened to a run: a tagged union of facts, each linked to the one before by a hash."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from engine.entries import CallOutcome
from engine.errors import Refusal
from engine.identity import Actor, Vote
from engine.ids import ApprovalId, CallId, OpId, PersonId, Ref
from engine.policy import Verdict
from engine.schema import Frozen, canonical_json, digest_of
from engine.tickets import Resolution


class RunStarted(Frozen):
    """The run was queued."""

    kind: Literal["run_started"] = "run_started"
    agent: str
    owner: PersonId
    requester: PersonId


class CallGated(Frozen):
    """A call was proposed by the model and judged, by a rule if one is named.

    ``granted_by`` are the people whose remembered approval that rule is, if it is one.
    """

    kind: Literal["call_gated"] = "call_gated"
    call: CallId
    tool: str
    digest: str
    verdict: Verdict
    rule: str = ""
    granted_by: tuple[PersonId, ...] = ()


class CallTightened(Frozen):
    """A call that was allowed, by its policy or a person, is so no longer: a rule says otherwise."""

    kind: Literal["call_tightened"] = "call_tightened"
    call: CallId
    tool: str
    verdict: Verdict
    rule: str


class CallRejected(Frozen):
    """A call never reached its policy: bad arguments, unknown tool, too large."""

    kind: Literal["call_rejected"] = "call_rejected"
    call: CallId
    tool: str
    reason: str


class CallDropped(Frozen):
    """A call was left out of the model's step: another one asks first, and only that is asked."""

    kind: Literal["call_dropped"] = "call_dropped"
    call: CallId
    tool: str


class CallNotAsked(Frozen):
    """A call was blocked rather than asked: people had denied it, or its tool, often enough."""

    kind: Literal["call_not_asked"] = "call_not_asked"
    call: CallId
    tool: str
    digest: str
    denials: int


class TicketOpened(Frozen):
    """The run waits for an answer."""

    kind: Literal["ticket_opened"] = "ticket_opened"
    approval: ApprovalId
    ref: Ref
    target: str
    call: CallId
    digest: str
    deadline: datetime | None


class TicketHeld(Frozen):
    """A ticket is not asked yet: so many others are open of what it counts for (``full``)."""

    kind: Literal["ticket_held"] = "ticket_held"
    approval: ApprovalId
    ref: Ref
    call: CallId
    full: tuple[str, ...] = ()


class TicketReleased(Frozen):
    """A ticket that was held back is asked from here on."""

    kind: Literal["ticket_released"] = "ticket_released"
    approval: ApprovalId
    ref: Ref
    call: CallId
    deadline: datetime


class VoteCast(Frozen):
    """Somebody allowed a call that takes several: so many have by now, so many are needed."""

    kind: Literal["vote_cast"] = "vote_cast"
    approval: ApprovalId
    call: CallId
    vote: Vote
    votes: int
    needed: int


class ArgumentsEdited(Frozen):
    """Somebody allowed a call with other arguments: the digests of what was asked and of these.

    ``voided`` counts the votes that were for what was asked before, and count no more.
    """

    kind: Literal["arguments_edited"] = "arguments_edited"
    approval: ApprovalId
    call: CallId
    actor: Actor
    before: str
    after: str
    voided: int = 0


class RememberWished(Frozen):
    """Somebody allowed a call and asked that like calls be settled by it, for so many hours.

    ``loose`` are the arguments that may be anything in these.
    """

    kind: Literal["remember_wished"] = "remember_wished"
    approval: ApprovalId
    call: CallId
    actor: Actor
    hours: int
    loose: tuple[str, ...] = ()
    conversation: bool = False


class RememberDropped(Frozen):
    """Somebody allowed a call alone: what others wished to be remembered of it will not be."""

    kind: Literal["remember_dropped"] = "remember_dropped"
    approval: ApprovalId
    call: CallId
    actor: Actor


class ApprovalRemembered(Frozen):
    """From here on a rule settles calls like this one; ``kept`` is false where there were too many."""

    kind: Literal["approval_remembered"] = "approval_remembered"
    approval: ApprovalId
    call: CallId
    rule: str
    until: datetime
    kept: bool = True


class AnswerRefused(Frozen):
    """Somebody who may not decide a ticket tried to. Told once for each person and ticket."""

    kind: Literal["answer_refused"] = "answer_refused"
    approval: ApprovalId
    call: CallId
    actor: Actor
    decision: str
    refusal: Refusal


class TicketClosed(Frozen):
    """A ticket got its answer, timed out, or was withdrawn with the run.

    ``refused`` counts all attempts by people who may not decide it, also those that are no event.
    """

    kind: Literal["ticket_closed"] = "ticket_closed"
    approval: ApprovalId
    call: CallId
    resolution: Resolution
    refused: int = 0


class CallStarted(Frozen):
    """The effect of a call may begin from here on."""

    kind: Literal["call_started"] = "call_started"
    call: CallId
    tool: str
    op: OpId
    attempt: int


class CallFinished(Frozen):
    """A call has its result."""

    kind: Literal["call_finished"] = "call_finished"
    call: CallId
    tool: str
    outcome: CallOutcome
    seconds: float | None = None


class CallLost(Frozen):
    """A call was found executing after its worker was lost."""

    kind: Literal["call_lost"] = "call_lost"
    call: CallId
    tool: str
    op: OpId


class CallWithheld(Frozen):
    """A call was to start and did not: no second server confirmed that it was begun."""

    kind: Literal["call_withheld"] = "call_withheld"
    call: CallId
    tool: str
    op: OpId


class CancelRequested(Frozen):
    """A cancel came while a tool ran."""

    kind: Literal["cancel_requested"] = "cancel_requested"
    actor: Actor


class RunSucceeded(Frozen):
    """The run ended with an output."""

    kind: Literal["run_succeeded"] = "run_succeeded"


class RunFailed(Frozen):
    """The run ended with a failure."""

    kind: Literal["run_failed"] = "run_failed"
    code: str
    message: str


class RunCancelled(Frozen):
    """The run was cancelled."""

    kind: Literal["run_cancelled"] = "run_cancelled"
    actor: Actor


Fact = Annotated[
    RunStarted
    | CallGated
    | CallTightened
    | CallRejected
    | CallDropped
    | CallNotAsked
    | TicketOpened
    | TicketHeld
    | TicketReleased
    | VoteCast
    | ArgumentsEdited
    | RememberWished
    | RememberDropped
    | ApprovalRemembered
    | AnswerRefused
    | TicketClosed
    | CallStarted
    | CallFinished
    | CallLost
    | CallWithheld
    | CancelRequested
    | RunSucceeded
    | RunFailed
    | RunCancelled,
    Field(discriminator="kind"),
]


class RunEvent(Frozen):
    """One fact of a run: its number from 1, when, and the hash that links it to the one before."""

    seq: int
    at: datetime
    fact: Fact
    link: str


def link_event(previous: str, seq: int, at: datetime, fact: Fact) -> RunEvent:
    """Return the event that follows the one whose link is ``previous`` (empty for the first)."""
    body = canonical_json(fact.model_dump(mode="json"))
    return RunEvent(
        seq=seq, at=at, fact=fact, link=digest_of(previous, str(seq), at.isoformat(), body)
    )
