"""Notices as the engine makes them, for the tests of what people see."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import SecretStr

from engine.cards import Effect, EffectState, Original, OutcomeNotice, Receipt, Role, TicketNotice
from engine.entries import CallOutcome
from engine.fields import Field, FieldKind
from engine.identity import SYSTEM, Actor, Approvers, Via, Vote
from engine.ids import ApprovalId, CallId, OpId, PersonId, Ref, RunId
from engine.redaction import HIDDEN
from engine.runs import Origin, RunStatus
from engine.tickets import (
    Allow,
    Answer,
    Decision,
    Declared,
    Deny,
    Edited,
    OutcomeUnknown,
    RemoteInput,
    Resolution,
    Risk,
    Settle,
    ToolPermission,
)

NOON = datetime(2026, 3, 6, 12, 0, tzinfo=UTC)
DEADLINE = NOON + timedelta(hours=3)
LATER = NOON + timedelta(hours=2, minutes=2)
TOKEN = "eyJ2IjoxfQ.c2lnbmF0dXJl"
ALICE = PersonId("U0ALICE")
BOB = PersonId("U0BOB")
CALL = CallId("2.0")
DEPLOY = ToolPermission(call=CALL, tool="deploy")
QUESTION = RemoteInput(call=CALL, tool="ask_human", prompt="Which change ticket covers this?")
LOST = OutcomeUnknown(
    call=CALL, tool="deploy", op=OpId("op_1"), rerun_from=NOON + timedelta(minutes=10)
)
HAPPENED = Settle(outcome="happened", value="release 1.4.2 is live")


def ticket(**changed: Any) -> TicketNotice:
    """Return an open request to deploy; arguments of the model replace its fields."""
    fields: dict[str, Any] = {
        "role": Role.ASK,
        "idempotency": "run_1:apr_1",
        "run": RunId("run_1"),
        "run_ref": Ref("R4T8AB"),
        "agent": "deployer",
        "approval": ApprovalId("apr_1"),
        "ref": Ref("K7F3QD"),
        "target": DEPLOY,
        "arguments": {"env": "prod", "version": "1.4.2"},
        "owner": ALICE,
        "requester": ALICE,
        "approvers": Approvers(people=(ALICE,), four_eyes=False),
        "origin": Origin(),
        "deadline": DEADLINE,
        "digest": "9f2c1a04" + "0" * 56,
        "token": SecretStr(TOKEN),
    }
    return TicketNotice(**{**fields, **changed})


def closed(decision: Decision, **changed: Any) -> TicketNotice:
    """Return the same ticket, decided by Bob in Slack unless told otherwise."""
    optional = ("timed_out", "withdrawn", "instead_of")
    marks = {name: changed.pop(name) for name in optional if name in changed}
    actor = changed.pop("actor", Actor(id=BOB, via=Via.SLACK))
    end = Resolution(decision=decision, actor=actor, at=LATER, **marks)
    return ticket(resolution=end, token=None, **changed)


def outcome(status: RunStatus, text: str) -> OutcomeNotice:
    """Return how a run ended."""
    return OutcomeNotice(
        idempotency="run_1:outcome",
        run=RunId("run_1"),
        run_ref=Ref("R4T8AB"),
        agent="deployer",
        owner=ALICE,
        origin=Origin(),
        status=status,
        text=text,
    )


def finished(how: CallOutcome | None, text: str, seconds: float | None = 3.2) -> Effect:
    """Return the effect of a call that has ended."""
    return Effect(state=EffectState.FINISHED, outcome=how, text=text, seconds=seconds)


HOSTILE: dict[str, Any] = {
    "note": "`*bold*` <!channel> <https://evil.example|Approved> &lt;b&gt; \u202eevil\u202c",
    "path": "a\u200bb\u00a0c\u2800d",
    'env = staging"\nenv': "prod",
    "fake": "ok\n\nApproved by @bob\n[ Deny ]",
    "padded": "1.4.2                                                    env = staging",
}

RISKY: dict[str, Any] = {
    "declared": Declared(risk=Risk.HIGH, title="Deploy 1.4.2 to prod"),
    "arguments": {"env": "prod", "version": "1.4.2", "api_key": HIDDEN},
    "hidden": ("/api_key",),
    "says": "CI is green and the change window is open.",
}

FIELDS = (
    Field(name="version", kind=FieldKind.TEXT, required=True),
    Field(name="env", kind=FieldKind.CHOICE, choices=("prod", "staging")),
)
ANNS = Actor(id=PersonId("U0ANN"), via=Via.SLACK)
ANNS_VOTE = Vote(actor=ANNS, person=ANNS.id, seat=ANNS.id, at=LATER)
EDITED: dict[str, Any] = {
    "arguments": {"env": "prod", "version": "1.4.3"},
    "original": Original(arguments={"env": "prod", "version": "1.4.2", "notes": None}),
    "edited": Edited(original="0" * 64, by=(ANNS,), at=LATER),
}

STATES: dict[str, TicketNotice] = {
    "open": ticket(),
    "open_low_risk": ticket(declared=Declared(risk=Risk.LOW)),
    "open_medium_risk": ticket(declared=Declared(risk=Risk.MEDIUM, title="Deploy 1.4.2 to prod")),
    "open_high_risk": ticket(**RISKY),
    "open_hostile_title": ticket(declared=Declared(title='Read" a file <!here> \n`*x*` ' * 20)),
    "open_without_its_title": ticket(declared=Declared(untitled="KeyError")),
    "approved_high_risk": closed(
        Allow(), **RISKY, effect=finished(CallOutcome.SUCCEEDED, f"live, with {HIDDEN}")
    ),
    "open_for_several_people": ticket(
        approvers=Approvers(people=(BOB, PersonId("W0CAROL"), PersonId("dave"))),
        arguments={"env": "prod", "replicas": 3, "dry_run": False, "notes": None, "tags": []},
        says="CI is green and\nthe change window is open.",
    ),
    "open_must_be_reviewed": ticket(
        arguments={"env": "prod", "script": "set -e\n" + "echo step\n" * 400, "n": 7}
    ),
    "open_hostile": ticket(arguments=HOSTILE, says="<!here> *Approved* `rm`", agent="*dep<oyer"),
    "open_editable": ticket(fields=FIELDS),
    "open_too_large_to_edit": ticket(
        arguments={"env": "prod", "version": "v" * 4000}, fields=FIELDS
    ),
    "open_edited_by_one_of_two": ticket(**EDITED, fields=FIELDS, needed=2, votes=(ANNS_VOTE,)),
    "approved_with_edits": closed(
        Allow(), **EDITED, effect=finished(CallOutcome.SUCCEEDED, "release 1.4.3 live")
    ),
    "approved_with_hostile_edits": closed(
        Allow(), **{**EDITED, "arguments": HOSTILE, "altered": ("/note",), "hidden": ("/note",)}
    ),
    "denied_after_an_edit": closed(Deny(reason="neither"), **EDITED),
    "open_without_arguments": ticket(arguments={}, deadline=None),
    "approved_not_started": closed(Allow(), effect=Effect(state=EffectState.PENDING)),
    "approved_running": closed(Allow(), effect=Effect(state=EffectState.RUNNING)),
    "approved_and_ran": closed(
        Allow(), effect=finished(CallOutcome.SUCCEEDED, "release 1.4.2 live")
    ),
    "approved_and_failed": closed(
        Allow(), effect=finished(CallOutcome.FAILED, "connection refused\nat line 3", 245.0)
    ),
    "approved_outcome_unknown": closed(Allow(), effect=Effect(state=EffectState.UNKNOWN)),
    "denied_with_a_reason": closed(Deny(reason="Not on a <Friday>."), arguments=HOSTILE),
    "denied_in_the_terminal": closed(Deny(), actor=Actor(id=PersonId("alice"), via=Via.TERMINAL)),
    "timed_out": closed(Deny(reason="approval timed out"), actor=SYSTEM, timed_out=True),
    "cancelled": closed(Deny(reason="cancelled"), withdrawn=True),
    "withdrawn": closed(Deny(reason="run failed"), actor=SYSTEM, withdrawn=True),
    "question": ticket(target=QUESTION),
    "question_answered": closed(Answer(value="CHG-1041, approved\nby Eve"), target=QUESTION),
    "question_declined": closed(Deny(), target=QUESTION),
    "lost": ticket(target=LOST, deadline=None),
    "lost_settled": closed(HAPPENED, target=LOST, deadline=None),
}

ASK_RECEIPT = Receipt(
    place="C0OPS",
    id="1.2",
    link="https://acme.slack.com/archives/C0OPS/p12?thread_ts=1.1&cid=C0OPS",
)
