"""What happened to a run, told in the terminal: one short phrase for each fact."""

from typing import assert_never

from engine.entries import CallOutcome
from engine.events import (
    AnswerRefused,
    ApprovalRemembered,
    ArgumentsEdited,
    CallDropped,
    CallFinished,
    CallGated,
    CallLost,
    CallNotAsked,
    CallRejected,
    CallStarted,
    CallTightened,
    CallWithheld,
    CancelRequested,
    Fact,
    RememberDropped,
    RememberWished,
    RunCancelled,
    RunFailed,
    RunStarted,
    RunSucceeded,
    TicketClosed,
    TicketHeld,
    TicketOpened,
    TicketReleased,
    VoteCast,
)
from engine.identity import Actor, ActorKind
from engine.policy import Verdict
from engine.redaction import mask
from engine.remembered import LASTS, MAX_LIVE
from engine.tickets import Answer, Deny, Resolution, Settle
from notifiers.wording import short_digest

_RunFact = RunStarted | CancelRequested | RunSucceeded | RunFailed | RunCancelled
_JudgedFact = CallGated | CallTightened | CallRejected | CallDropped | CallNotAsked
_TicketFact = TicketOpened | TicketClosed | VoteCast | ArgumentsEdited | AnswerRefused
_HeldFact = TicketHeld | TicketReleased

_VERDICTS = {
    Verdict.ALLOW: "is allowed",
    Verdict.ASK: "needs a person",
    Verdict.DENY: "is denied",
}
_TIGHTENED = {
    Verdict.ALLOW: "is allowed still",
    Verdict.ASK: "needs a person after all",
    Verdict.DENY: "is denied after all",
}
_OUTCOMES = {
    CallOutcome.SUCCEEDED: "ran",
    CallOutcome.FAILED: "failed",
    CallOutcome.RETRY: "is to be called anew",
    CallOutcome.DENIED: "did not run",
}
_WITHOUT_THE_TOOL = {**_OUTCOMES, CallOutcome.SUCCEEDED: "has its answer"}
_ASKED = {
    "tool_permission": "waits for an approval",
    "remote_input": "asks a question",
    "outcome_unknown": "waits to be told whether the call happened",
}


def tell_fact(fact: Fact) -> str:
    """Return a fact as a phrase, without anything that looks like a secret."""
    return mask(_tell(fact))


def _tell(fact: Fact) -> str:
    match fact:
        case RunStarted() | CancelRequested() | RunSucceeded() | RunFailed() | RunCancelled():
            return _tell_run(fact)
        case TicketOpened() | TicketClosed() | VoteCast() | ArgumentsEdited() | AnswerRefused():
            return _tell_ticket(fact)
        case TicketHeld() | TicketReleased():
            return _tell_held(fact)
        case RememberWished() | RememberDropped() | ApprovalRemembered():
            return _tell_remembered(fact)
        case CallGated() | CallTightened() | CallRejected() | CallDropped() | CallNotAsked():
            return _tell_judged(fact)
        case CallStarted() | CallFinished() | CallLost() | CallWithheld():
            return _tell_call(fact)
        case _:
            assert_never(fact)


def tell_resolution(end: Resolution) -> str:
    """Return how a ticket ended, by whom, and what they said."""
    by = (
        ""
        if end.timed_out or end.actor.kind is ActorKind.SYSTEM
        else f" by {tell_actor(end.actor)}"
    )
    place = f" for {end.instead_of}" if end.instead_of else ""
    said = "" if end.timed_out or end.withdrawn else _said(end)
    return f"{end.word}{by}{place}{said}"


def tell_actor(actor: Actor) -> str:
    """Return who acted and the way they came."""
    return f"{actor.id} ({actor.via.value})"


def _said(end: Resolution) -> str:
    match end.decision:
        case Deny(reason=words) | Answer(value=words) | Settle(value=words) if words:
            return f": {words}"
        case _:
            return ""


def _tell_run(fact: _RunFact) -> str:
    match fact:
        case RunStarted():
            return f"started by {fact.requester} for {fact.owner}"
        case CancelRequested():
            return f"to be cancelled once the tool has ended, says {tell_actor(fact.actor)}"
        case RunSucceeded():
            return "succeeded"
        case RunFailed():
            return f"failed ({fact.code}): {fact.message}"
        case RunCancelled():
            return f"cancelled by {fact.actor.id}"
        case _:
            assert_never(fact)


def _tell_ending(fact: CallFinished) -> str:
    if fact.seconds is None:
        return _WITHOUT_THE_TOOL[fact.outcome]
    return f"{_OUTCOMES[fact.outcome]} in {fact.seconds:.1f} s"


def _tell_ticket(fact: _TicketFact) -> str:
    match fact:
        case TicketOpened():
            return f"{fact.ref} {_ASKED.get(fact.target, fact.target)}"
        case TicketClosed():
            return tell_resolution(fact.resolution)
        case VoteCast():
            actor = tell_actor(fact.vote.actor)
            return f"approved by {actor}: {fact.votes} of {fact.needed}"
        case ArgumentsEdited(actor=actor, before=before, after=after, voided=voided):
            void = f"; votes before that do not count ({voided:,})" if voided else ""
            forms = f"{short_digest(before)} to {short_digest(after)}"
            return f"{tell_actor(actor)} edits its arguments ({forms}){void}"
        case AnswerRefused():
            why = fact.refusal.value.replace("_", " ")
            return f"{tell_actor(fact.actor)} tried to {fact.decision} and may not ({why})"
        case _:
            assert_never(fact)


def _tell_held(fact: _HeldFact) -> str:
    match fact:
        case TicketHeld():
            return f"{fact.ref} is held back: too many others are open"
        case TicketReleased():
            return f"{fact.ref} is put to people now"
        case _:
            assert_never(fact)


def _tell_remembered(fact: RememberWished | RememberDropped | ApprovalRemembered) -> str:
    match fact:
        case RememberWished():
            return f"{tell_actor(fact.actor)} asks to remember it for {LASTS[fact.hours]}"
        case RememberDropped():
            return f"{tell_actor(fact.actor)} allows it once: it will not be remembered"
        case ApprovalRemembered():
            if not fact.kept:
                return f"was not remembered: {MAX_LIVE} rules hold already"
            return f"is remembered as the rule {fact.rule} until {fact.until:%Y-%m-%d %H:%M} UTC"
        case _:
            assert_never(fact)


def _tell_judged(fact: _JudgedFact) -> str:
    match fact:
        case CallGated(granted_by=people) if people:
            whose = f"{' and '.join(people)}'s rule {fact.rule}"
            return f"{fact.tool} is allowed by {whose} ({short_digest(fact.digest)})"
        case CallGated():
            by = f" by the rule {fact.rule}" if fact.rule else ""
            return f"{fact.tool} {_VERDICTS[fact.verdict]}{by} ({short_digest(fact.digest)})"
        case CallTightened():
            return f"{fact.tool} {_TIGHTENED[fact.verdict]}, by the rule {fact.rule}"
        case CallRejected():
            return f"{fact.tool} was refused before its policy: {fact.reason}"
        case CallDropped():
            return f"{fact.tool} was left out: another call asks first"
        case CallNotAsked():
            return f"{fact.tool} was not asked: denied {fact.denials} times in this run"
        case _:
            assert_never(fact)


def _tell_call(fact: CallStarted | CallFinished | CallLost | CallWithheld) -> str:
    match fact:
        case CallStarted():
            return f"{fact.tool} starts"
        case CallFinished():
            return f"{fact.tool} {_tell_ending(fact)}"
        case CallLost():
            return f"{fact.tool} was lost while it ran"
        case CallWithheld():
            return f"{fact.tool} was not started: no second server confirmed that it may"
        case _:
            assert_never(fact)
