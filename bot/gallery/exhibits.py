"""What the gallery shows: cards, messages to the owner and forms, each under its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, assert_never

from pydantic import SecretStr

from bot.gallery.samples import (
    ANNS_VOTE,
    ASK_RECEIPT,
    BOB,
    EDITED,
    FIELDS,
    HOSTILE,
    LEFT_OUT,
    LONG_QUESTION,
    QUESTION,
    RISKY,
    SECRETS,
    STATES,
    TWO_OF_THREE,
    closed,
    held,
    ticket,
    vote,
)
from bot.gallery.samples import finished as result
from bot.gallery.samples import outcome as ended
from engine.cards import (
    BatchNotice,
    Effect,
    EffectState,
    HeldNotice,
    Notice,
    OutcomeNotice,
    Role,
    TicketNotice,
)
from engine.entries import CallOutcome
from engine.identity import SYSTEM, Approvers
from engine.ids import ApprovalId, CallId, Ref
from engine.runs import RunStatus
from engine.tickets import Allow, Decision, Declared, Deny, RemoteInput, Risk, ToolPermission
from notifiers import (
    Message,
    answer_form,
    ask_card,
    batch_card,
    batch_message,
    deny_form,
    edit_form,
    held_message,
    outcome_message,
    pages,
    remember_form,
    review_form,
    short_batch_card,
    short_card,
    ticket_message,
)

Json = dict[str, Any]
View = dict[str, object]


class Shelf(StrEnum):
    """Where in the gallery an exhibit stands: a channel of this name."""

    OPEN = "open"
    QUESTIONS = "questions"
    BATCHES = "batches"
    CLOSED = "closed"
    SHORTENED = "shortened"
    HELD = "held-back"
    OWNER = "owner"
    FORMS = "forms"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One thing that people see: what is told, and what becomes of it for Slack."""

    name: str
    shelf: Shelf
    notice: Notice
    render: Callable[[Any], Message | View]

    def made(self) -> Message | View:
        """Return the message or the form."""
        return self.render(self.notice)

    def kit(self) -> Json:
        """Return it as Slack is sent it, in Block Kit's JSON."""
        made = self.made()
        if isinstance(made, Message):
            return {"text": made.text, "blocks": list(made.blocks)}
        return made

    def carrying(self, token: str) -> "Exhibit":
        """Return the same with another token on its buttons, where it has any."""
        match self.notice:
            case TicketNotice(token=SecretStr()) as one:
                return replace(self, notice=one.model_copy(update={"token": SecretStr(token)}))
            case _:
                return self


def _shelf(notice: TicketNotice) -> Shelf:
    if notice.resolution is not None:
        return Shelf.CLOSED
    return Shelf.QUESTIONS if isinstance(notice.target, RemoteInput) else Shelf.OPEN


def _cards() -> list[Exhibit]:
    return [Exhibit(name, _shelf(one), one, ask_card) for name, one in STATES.items()]


_NOTES: Mapping[str, tuple[str, str]] = {
    "open_in_a_dm_of_several": (
        "open_for_several_people",
        "Without a channel, this card went to 2 of the 3 it asks.",
    ),
    "open_where_nobody_sees_it": (
        "open",
        "Nobody else sees this card: no channel took it, so tell those who may decide.",
    ),
    "denied_below_a_card_that_is_gone": ("denied", "The card above can no longer be changed."),
}


def _noted() -> list[Exhibit]:
    return [
        Exhibit(name, _shelf(STATES[state]), STATES[state], partial(ask_card, note=note))
        for name, (state, note) in _NOTES.items()
    ]


def _shortened() -> list[Exhibit]:
    states = ("open_high_risk", "question_long", "denied_with_a_reason")
    return [Exhibit(f"{one}_short", Shelf.SHORTENED, STATES[one], short_card) for one in states]


_WORDS = "Both were asked for in the incident review."
_LIVE = result(CallOutcome.SUCCEEDED, "release 1.4.2 live")
_CALLS = (
    ticket(declared=Declared(risk=Risk.MEDIUM, title="1.4.2 to prod"), says=_WORDS),
    ticket(
        approval=ApprovalId("apr_2"),
        ref=Ref("M2W8TA"),
        target=ToolPermission(call=CallId("2.1"), tool="refund"),
        arguments={"order": 4711, "amount": "12.50 EUR"},
        digest="41bb07d2" * 8,
    ),
    ticket(
        approval=ApprovalId("apr_3"),
        ref=Ref("P9X4ZC"),
        target=ToolPermission(call=CallId("2.2"), tool="notify"),
        arguments={"list": "customers", "text": "We are live again.\n" * 20},
        digest="c70e55f1" * 8,
    ),
)
_FEW = _CALLS[:2]


def _decided(notice: TicketNotice, decision: Decision, **more: Any) -> TicketNotice:  # noqa: ANN401
    """Return one of the calls as it is once Bob has decided it."""
    end = closed(decision, **more)
    same = {"resolution": end.resolution, "effect": end.effect, "token": None}
    return notice.model_copy(update=same)


def batch(*tickets: TicketNotice, role: Role = Role.ASK) -> BatchNotice:
    """Return what the card of several tickets is told."""
    key = f"run_1:{'+'.join(one.approval for one in tickets)}"
    ask = None if role is Role.ASK else ASK_RECEIPT
    return BatchNotice(role=role, idempotency=key, tickets=tickets, ask=ask)


_BATCHES: Mapping[str, BatchNotice] = {
    "batch_of_two": batch(*_FEW),
    "batch_with_one_to_review": batch(*_CALLS),
    "batch_with_a_high_risk": batch(ticket(**RISKY), _CALLS[1]),
    "batch_with_defaults": batch(ticket(**LEFT_OUT), _CALLS[1]),
    "batch_with_votes": batch(
        *(
            one.model_copy(update={"approvers": TWO_OF_THREE, "needed": 2, "votes": votes})
            for one, votes in zip(_FEW, ((vote(BOB),), ()), strict=True)
        )
    ),
    "batch_to_edit": batch(
        ticket(
            **EDITED,
            fields=FIELDS,
            approvers=TWO_OF_THREE,
            needed=2,
            votes=(ANNS_VOTE,),
            declared=_CALLS[0].declared,
        ),
        ticket(
            approval=ApprovalId("apr_2"),
            ref=Ref("M2W8TA"),
            **SECRETS,
            fields=FIELDS,
            approvers=TWO_OF_THREE,
            needed=2,
            digest="41bb07d2" * 8,
        ),
    ),
    "batch_of_four": batch(
        *(
            _CALLS[1].model_copy(
                update={
                    "approval": ApprovalId(f"apr_{number}"),
                    "ref": Ref(f"M2W8T{number}"),
                    "arguments": {"order": 4711 + number, "amount": "12.50 EUR"},
                    "digest": f"{number}1bb07d2" * 8,
                }
            )
            for number in range(4)
        )
    ),
    "batch_partly_decided": batch(_decided(_CALLS[0], Deny(reason="Not today.")), *_CALLS[1:]),
    "batch_hostile": batch(
        STATES["open_hostile"],
        ticket(declared=Declared(title="x <!here> *y*"), arguments=HOSTILE),
    ),
    "batch_running": batch(
        _decided(
            _CALLS[0].model_copy(update=EDITED),
            Allow(),
            effect=Effect(state=EffectState.RUNNING),
        ),
        _decided(_CALLS[1], Allow(), effect=Effect(state=EffectState.PENDING)),
    ),
    "batch_decided": batch(
        _decided(_CALLS[0], Allow(), effect=_LIVE),
        _decided(_CALLS[1], Deny(reason="Ask the customer first.")),
        _decided(_CALLS[2], Deny(), actor=SYSTEM, timed_out=True),
    ),
}


def _batches() -> list[Exhibit]:
    return [
        *(Exhibit(name, Shelf.BATCHES, one, batch_card) for name, one in _BATCHES.items()),
        Exhibit("batch_short", Shelf.BATCHES, batch(*_CALLS), short_batch_card),
        Exhibit("batch_decided_short", Shelf.BATCHES, _BATCHES["batch_decided"], short_batch_card),
    ]


_ASKED: Json = {"role": Role.ASKED, "ask": ASK_RECEIPT, "token": None}
_OTHERS = Approvers(people=(BOB,), groups=("S0ONCALL",))
_HELD: Mapping[str, HeldNotice] = {
    "held_by_an_agents_limit": held(),
    "held_by_an_approvers_limit": held(full="approver", opened=50, waiting=1, approvers=_OTHERS),
    "held_no_more": held(waiting=0),
}
_OWNER: Mapping[str, Notice] = {
    "owner_waits_for_you": ticket(**_ASKED),
    "owner_waits_for_others": ticket(**_ASKED, approvers=_OTHERS),
    "owner_is_asked_a_question": ticket(**_ASKED, target=QUESTION),
    "owner_waits_for_several": batch(*_CALLS, role=Role.ASKED),
    "owner_no_longer_waits_for_several": _BATCHES["batch_decided"].model_copy(
        update={"role": Role.ASKED, "ask": ASK_RECEIPT}
    ),
    "owner_no_longer_waits": closed(Allow(), role=Role.ASKED, ask=ASK_RECEIPT),
    "owner_hears_of_an_approval": closed(Allow(), role=Role.DECIDED, effect=_LIVE),
    "owner_hears_of_a_denial": closed(Deny(reason="Not on a Friday."), role=Role.DECIDED),
    "owner_hears_that_nobody_decided": closed(
        Deny(reason="approval timed out"), role=Role.DECIDED, actor=SYSTEM, timed_out=True
    ),
    "owner_run_succeeded": ended(RunStatus.SUCCEEDED, "Release 1.4.2 is live in prod."),
    "owner_run_failed": ended(RunStatus.FAILED, "the model did not answer"),
    "owner_run_cancelled": ended(RunStatus.CANCELLED, ""),
}


def _owner() -> list[Exhibit]:
    return [Exhibit(name, Shelf.OWNER, one, _for_the_owner(one)) for name, one in _OWNER.items()]


def _for_the_owner(notice: Notice) -> Callable[[Any], Message]:
    match notice:
        case TicketNotice():
            return ticket_message
        case BatchNotice():
            return batch_message
        case OutcomeNotice():
            return outcome_message
        case HeldNotice():
            return held_message
        case _:
            assert_never(notice)


def _held() -> list[Exhibit]:
    return [Exhibit(name, Shelf.HELD, one, held_message) for name, one in _HELD.items()]


def _forms() -> list[Exhibit]:
    long = STATES["open_must_be_reviewed"]
    kinds: list[tuple[str, TicketNotice, Callable[[Any], View]]] = [
        ("form_deny", STATES["open"], deny_form),
        ("form_deny_high_risk", STATES["open_high_risk"], deny_form),
        ("form_deny_hostile", STATES["open_hostile"], deny_form),
        ("form_decline", STATES["question"], deny_form),
        ("form_answer", STATES["question"], answer_form),
        ("form_answer_long", ticket(target=LONG_QUESTION), answer_form),
        ("form_edit_defaults", STATES["open_defaults"], edit_form),
        ("form_remember", STATES["open"], remember_form),
        ("form_remember_secrets", STATES["open_secrets"], remember_form),
        ("form_remember_hostile", STATES["open_hostile"], remember_form),
        ("form_remember_nested_arguments", STATES["open_nested_arguments"], remember_form),
        ("form_remember_without_arguments", STATES["open_without_arguments"], remember_form),
        ("form_review_high_risk", STATES["open_high_risk"], review_form),
        ("form_review_defaults", STATES["open_defaults"], review_form),
        ("form_review_hostile", STATES["open_hostile"], review_form),
        ("form_review_long", long, review_form),
        ("form_review_first_page", _BOOK, review_form),
        ("form_review_last_page", _BOOK, partial(review_form, page=pages(_BOOK))),
    ]
    return [Exhibit(name, Shelf.FORMS, one, render) for name, one, render in kinds]


_BOOK = ticket(
    arguments={"env": "prod", "script": "".join(f"step {n}: restart\n" for n in range(2500))}
)

EXHIBITS: Mapping[str, Exhibit] = {
    one.name: one
    for one in (
        *_cards(),
        *_noted(),
        *_batches(),
        *_shortened(),
        *_held(),
        *_owner(),
        *_forms(),
    )
}
