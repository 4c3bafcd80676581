"""What the gallery shows: cards, messages to the owner and forms, each under its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

from pydantic import SecretStr

from bot.gallery.samples import ASK_RECEIPT, BOB, LONG_QUESTION, QUESTION, STATES, closed, ticket
from bot.gallery.samples import finished as result
from bot.gallery.samples import outcome as ended
from engine.cards import Notice, Role, TicketNotice
from engine.entries import CallOutcome
from engine.identity import SYSTEM, Approvers
from engine.runs import RunStatus
from engine.tickets import Allow, Deny, RemoteInput
from notifiers import (
    Message,
    answer_form,
    ask_card,
    deny_form,
    outcome_message,
    pages,
    remember_form,
    review_form,
    short_card,
    ticket_message,
)

Json = dict[str, Any]
View = dict[str, object]


class Shelf(StrEnum):
    """Where in the gallery an exhibit stands: a channel of this name."""

    OPEN = "open"
    QUESTIONS = "questions"
    CLOSED = "closed"
    SHORTENED = "shortened"
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
        notice = self.notice
        if not isinstance(notice, TicketNotice) or notice.token is None:
            return self
        return replace(self, notice=notice.model_copy(update={"token": SecretStr(token)}))


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


_ASKED: Json = {"role": Role.ASKED, "ask": ASK_RECEIPT, "token": None}
_OTHERS = Approvers(people=(BOB,), groups=("S0ONCALL",))
_LIVE = result(CallOutcome.SUCCEEDED, "release 1.4.2 live")
_OWNER: Mapping[str, Notice] = {
    "owner_waits_for_you": ticket(**_ASKED),
    "owner_waits_for_others": ticket(**_ASKED, approvers=_OTHERS),
    "owner_is_asked_a_question": ticket(**_ASKED, target=QUESTION),
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
    return ticket_message if isinstance(notice, TicketNotice) else outcome_message


def _forms() -> list[Exhibit]:
    long = STATES["open_must_be_reviewed"]
    kinds: list[tuple[str, TicketNotice, Callable[[Any], View]]] = [
        ("form_deny", STATES["open"], deny_form),
        ("form_deny_high_risk", STATES["open_high_risk"], deny_form),
        ("form_deny_hostile", STATES["open_hostile"], deny_form),
        ("form_decline", STATES["question"], deny_form),
        ("form_answer", STATES["question"], answer_form),
        ("form_answer_long", ticket(target=LONG_QUESTION), answer_form),
        ("form_remember", STATES["open"], remember_form),
        ("form_remember_secrets", STATES["open_secrets"], remember_form),
        ("form_remember_hostile", STATES["open_hostile"], remember_form),
        ("form_remember_nested_arguments", STATES["open_nested_arguments"], remember_form),
        ("form_remember_without_arguments", STATES["open_without_arguments"], remember_form),
        ("form_review_high_risk", STATES["open_high_risk"], review_form),
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
    one.name: one for one in (*_cards(), *_noted(), *_shortened(), *_owner(), *_forms())
}
