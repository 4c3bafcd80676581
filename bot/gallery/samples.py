"""Notices as the engine makes them: one for every state of a card, for the gallery and the tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import SecretStr

from engine.cards import (
    Effect,
    EffectState,
    HeldNotice,
    Original,
    OutcomeNotice,
    Receipt,
    Role,
    TicketNotice,
)
from engine.entries import CallOutcome
from engine.fields import Field, FieldKind
from engine.identity import SYSTEM, Actor, Approvers, Via, Vote
from engine.ids import ApprovalId, CallId, OpId, PersonId, Ref, RunId
from engine.redaction import HIDDEN
from engine.remembered import Wished, terms_of
from engine.runs import Origin, RunStatus
from engine.schema import Json
from engine.tickets import (
    Allow,
    Answer,
    Decision,
    Declared,
    Default,
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
TOKEN = "eyJ2IjoxfQ.c2lnbmF0dXJl"  # noqa: S105 - signed by nobody
ALICE = PersonId("U0ALICE")
BOB = PersonId("U0BOB")
CAROL = PersonId("U0CAROL")
ROBIN = PersonId("U0ROBIN")
CALL = CallId("2.0")
DEPLOY = ToolPermission(call=CALL, tool="deploy")
QUESTION = RemoteInput(call=CALL, tool="ask_human", prompt="Which change ticket covers this?")
LOST = OutcomeUnknown(
    call=CALL, tool="deploy", op=OpId("op_1"), rerun_from=NOON + timedelta(minutes=10)
)
HAPPENED = Settle(outcome="happened", value="release 1.4.2 is live")
LONG_QUESTION = QUESTION.model_copy(
    update={
        "prompt": "Two change tickets are open for this release.\n\n"
        "- CHG-1041 covers the schema change.\n- CHG-1042 covers the service itself.\n\n"
        "Which of them shall I write into the release notes, or shall I open a third one?"
    }
)
TWO_OF_THREE = Approvers(people=(ALICE, BOB, CAROL), quorum=2)
ON_CALL = Approvers(people=(BOB,), groups=("S0ONCALL",), channels=("C0OPEN",), on_call=True)


def ticket(**changed: Any) -> TicketNotice:  # noqa: ANN401 - fields, checked by the model
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


def closed(decision: Decision, **changed: Any) -> TicketNotice:  # noqa: ANN401 - same
    """Return the same ticket, decided by Bob in Slack unless told otherwise."""
    optional = ("timed_out", "withdrawn", "instead_of")
    marks = {name: changed.pop(name) for name in optional if name in changed}
    actor = changed.pop("actor", Actor(id=BOB, via=Via.SLACK))
    end = Resolution(decision=decision, actor=actor, at=LATER, **marks)
    return ticket(resolution=end, token=None, **changed)


def vote(who: PersonId, seat: PersonId | None = None, minutes: int = 0) -> Vote:
    """Return the Allow of someone, for the seat of someone else if one is given."""
    at = LATER + timedelta(minutes=minutes)
    actor = Actor(id=who, via=Via.SLACK)
    return Vote(actor=actor, person=actor.id, seat=seat or who, at=at)


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


def held(**changed: Any) -> HeldNotice:  # noqa: ANN401 - same
    """Return that asks wait, as too many are open."""
    fields: dict[str, Any] = {
        "role": Role.HELD,
        "idempotency": "run_1:apr_1:held",
        "run": RunId("run_1"),
        "run_ref": Ref("R4T8AB"),
        "agent": "deployer",
        "owner": ALICE,
        "requester": ALICE,
        "origin": Origin(),
        "approvers": Approvers(people=(BOB,)),
        "full": "agent",
        "opened": 20,
        "waiting": 37,
        "at": LATER,
    }
    return HeldNotice(**{**fields, **changed})


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
SECRETS: dict[str, Any] = {
    "arguments": {
        "url": f"https://deploy:{HIDDEN}@registry.acme.example/v2",
        "api_key": HIDDEN,
        "env": "prod",
    },
    "hidden": ("/api_key",),
    "masked": ("/url",),
}
SEVERAL_HIDDEN: dict[str, Any] = {
    "arguments": {"keys": {f"region_{n}": HIDDEN for n in range(9)}, "env": "prod"},
    "hidden": tuple(f"/keys/region_{n}" for n in range(9)),
}

LEFT_OUT: dict[str, Any] = {
    "arguments": {"version": "1.4.2"},
    "declared": Declared(
        risk=Risk.MEDIUM,
        defaults=(
            Default(at="/env", value="prod"),
            Default(at="/options", value={"replicas": 3, "regions": ["eu-1", "us 1"]}),
            Default(at="/api_key", value=HIDDEN, hidden=("/api_key",)),
            Default(at="/banner", value="We are live again.\n" * 12),
            Default(at="/notes", value=None),
        ),
        more_defaults=2,
    ),
    "fields": (
        Field(name="version", kind=FieldKind.TEXT, required=True),
        Field(name="env", kind=FieldKind.CHOICE, choices=("prod", "staging")),
        Field(name="options", kind=FieldKind.JSON),
        Field(name="api_key", kind=FieldKind.TEXT),
        Field(name="banner", kind=FieldKind.TEXT),
        Field(name="notes", kind=FieldKind.TEXT, nullable=True),
    ),
}


def wished(arguments: Json, *loose: str, hours: int = 8, **more: Any) -> Wished:  # noqa: ANN401
    """Return Bob's wish to remember a call, with these arguments loose."""
    terms = terms_of(arguments, (), loose, "apr_1")
    bob = Actor(id=BOB, via=Via.SLACK)
    return Wished(
        **{"terms": terms, "hours": hours, "conversation": False, "by": bob, "at": LATER, **more}
    )


TO_PROD: dict[str, Json] = {"env": "prod", "version": "1.4.2"}

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
    "open_for_a_group_and_on_call": ticket(approvers=ON_CALL),
    "open_started_by_someone_else": ticket(
        requester=CAROL, approvers=Approvers(people=(ALICE, BOB))
    ),
    "open_no_vote_of_two": ticket(approvers=TWO_OF_THREE, needed=2),
    "open_one_vote_of_two": ticket(approvers=TWO_OF_THREE, needed=2, votes=(vote(BOB),)),
    "open_one_vote_for_someone_away": ticket(
        approvers=TWO_OF_THREE, needed=2, votes=(vote(ROBIN, seat=BOB),)
    ),
    "open_defaults": ticket(**LEFT_OUT),
    "approved_with_defaults": closed(Allow(), **LEFT_OUT),
    "open_to_be_remembered": ticket(
        approvers=TWO_OF_THREE, needed=2, votes=(vote(BOB),), wished=wished(TO_PROD, "/version")
    ),
    "open_hostile_to_be_remembered": ticket(
        arguments=HOSTILE,
        approvers=TWO_OF_THREE,
        needed=2,
        votes=(vote(BOB),),
        wished=wished(HOSTILE, "/note", hours=168, conversation=True),
    ),
    "approved_and_remembered": closed(
        Allow(),
        wished=wished(TO_PROD, "/version"),
        effect=finished(CallOutcome.SUCCEEDED, "release 1.4.2 live"),
    ),
    "denied_so_not_remembered": closed(
        Deny(reason="Ask me each time."),
        approvers=TWO_OF_THREE,
        needed=2,
        votes=(vote(BOB),),
        wished=wished(TO_PROD, "/version"),
    ),
    "open_secrets": ticket(**SECRETS),
    "open_many_secrets": ticket(**SEVERAL_HIDDEN),
    "open_many_arguments": ticket(
        arguments={f"flag_{n:02}": f"value-{n}" for n in range(48)}, says="All flags at once."
    ),
    "open_nested_arguments": ticket(
        arguments={
            "service": {"name": "billing", "replicas": 3, "limits": {"cpu": "500m"}},
            "steps": [{"run": "migrate"}, {"run": "restart", "after": "migrate"}],
        }
    ),
    "open_in_other_letters": ticket(
        arguments={
            "\u0627\u0633\u0645": "\u0645\u0631\u062d\u0628\u0627",
            "\u540d": "\u6771\u4eac",
            "user": "\u0430dmin",
        }
    ),
    "open_elsewhere_only": ticket(token=None),
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
    "approved_by_two": closed(
        Allow(),
        approvers=TWO_OF_THREE,
        needed=2,
        votes=(vote(ALICE), vote(BOB, minutes=2)),
        effect=finished(CallOutcome.SUCCEEDED, "release 1.4.2 live"),
    ),
    "approved_for_someone_away": closed(
        Allow(),
        instead_of=ALICE,
        effect=finished(CallOutcome.SUCCEEDED, "release 1.4.2 live"),
    ),
    "approved_and_asked_again": closed(
        Allow(), effect=finished(CallOutcome.RETRY, "no such version; did you mean 1.4.1?")
    ),
    "approved_long_result": closed(
        Allow(), effect=finished(CallOutcome.SUCCEEDED, "line of the log\n" * 90)
    ),
    "approved_and_refused_later": closed(
        Allow(), effect=finished(CallOutcome.DENIED, "the policy denies it by now", None)
    ),
    "denied": closed(Deny()),
    "denied_after_one_vote": closed(
        Deny(reason="Not while the release is frozen."),
        approvers=TWO_OF_THREE,
        needed=2,
        votes=(vote(ALICE),),
    ),
    "denied_high_risk": closed(Deny(reason="Not tonight."), **RISKY),
    "question": ticket(target=QUESTION),
    "question_long": ticket(target=LONG_QUESTION),
    "question_timed_out": closed(
        Deny(reason="approval timed out"), target=QUESTION, actor=SYSTEM, timed_out=True
    ),
    "question_answered": closed(Answer(value="CHG-1041, approved\nby Eve"), target=QUESTION),
    "question_declined": closed(Deny(), target=QUESTION),
    "lost": ticket(target=LOST, deadline=None),
    "lost_settled": closed(HAPPENED, target=LOST, deadline=None),
    "lost_to_run_again": closed(
        Settle(outcome="not_happened"),
        target=LOST,
        deadline=None,
        effect=Effect(state=EffectState.RUNNING),
    ),
    "lost_given_up": closed(Settle(outcome="abandon"), target=LOST, deadline=None),
}

ASK_RECEIPT = Receipt(
    place="C0OPS",
    id="1.2",
    link="https://acme.slack.com/archives/C0OPS/p12?thread_ts=1.1&cid=C0OPS",
)
