"""What a person is told of their own answer or request: every such text, for every way in.

An answer is called recorded only when it was. Whatever came of it, the person is told what it
means for them and what they can do.
"""

from datetime import UTC, datetime
from functools import singledispatch
from typing import Protocol, assert_never

from engine import Recorded
from engine.errors import (
    AlreadyDecidedError,
    AlreadyVotedError,
    ConfigurationError,
    DeliveryError,
    DirectoryUnavailableError,
    EditRefusedError,
    HoldshortError,
    IdempotencyConflictError,
    InvalidAnswerError,
    InvalidResumeTokenError,
    InvalidRunStateError,
    ModelRequestError,
    NotAllowedError,
    Refusal,
    RunNotFoundError,
    StoreError,
    StoreUnconfirmedError,
    TicketExpiredError,
    TicketMismatchError,
    TokenFault,
    TooEarlyError,
    ToolCallError,
    UndecodableRecordError,
    UnknownAgentError,
    WrongDecisionError,
)
from engine.identity import SYSTEM, Approvers
from engine.ids import PersonId, Ref
from engine.tickets import OutcomeUnknown, ResumeTicket
from notifiers import text, wording

_TYPED = 80
_SENTENCE = 400
_NAMED = 6


class Words(Protocol):
    """How people, moments and commands are written for one way in."""

    def person(self, who: str) -> str:
        """Name a person."""
        ...

    def group(self, which: str) -> str:
        """Name a user group."""
        ...

    def channel(self, which: str) -> str:
        """Name a channel."""
        ...

    def moment(self, at: datetime) -> str:
        """Write a moment, in the reader's own time zone where that can be."""
        ...

    def inert(self, said: str, most: int = _TYPED) -> str:
        """Write something that somebody typed, so that it can do nothing."""
        ...

    def command(self, verb: str, about: str = "") -> str:
        """Write a command of ours that the reader can type: ``show``, ``list``, ``resolve``."""
        ...


class SlackWords:
    """Slack's mrkdwn."""

    def person(self, who: str) -> str:
        """Mention a person."""
        return wording.person(PersonId(who))

    def group(self, which: str) -> str:
        """Mention a user group. A private reply tells nobody in it."""
        return wording.group(which)

    def channel(self, which: str) -> str:
        """Link a channel."""
        return wording.channel(which)

    def moment(self, at: datetime) -> str:
        """Write a date token: Slack shows it in the reader's time zone."""
        return wording.moment(at)

    def inert(self, said: str, most: int = _TYPED) -> str:
        """Escape what Slack would read."""
        return text.mrkdwn(text.one_line(said), most)

    def command(self, verb: str, about: str = "") -> str:
        """Write the slash command; lost outcomes are settled in a terminal."""
        if verb == "resolve":
            return TerminalWords().command(verb, about) + " in a terminal"
        return f"`/holdshort {verb} {about}`" if about else f"`/holdshort {verb}`"


class TerminalWords:
    """Plain text."""

    def person(self, who: str) -> str:
        """Name a person by their id."""
        return self.inert(who)

    def group(self, which: str) -> str:
        """Name a user group by its id."""
        return self.inert(f"user group {which}")

    def channel(self, which: str) -> str:
        """Name a channel by its id."""
        return self.inert(f"channel {which}")

    def moment(self, at: datetime) -> str:
        """Write a moment in UTC."""
        return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    def inert(self, said: str, most: int = _TYPED) -> str:
        """Show control characters as escapes: they could rewrite the terminal."""
        part = text.clip(text.one_line(said), most)
        return part.text if part.complete else f"{part.text}…"

    def command(self, verb: str, about: str = "") -> str:
        """Write the command line."""
        group = "holdshort" if verb in {"answer", "rules"} else "holdshort runs"
        return f"`{' '.join(filter(None, (group, verb, about)))}`"


FOR_SLACK: Words = SlackWords()
FOR_TERMINAL: Words = TerminalWords()


def told(outcome: Recorded | HoldshortError, words: Words, reader: str = "") -> str:
    """Return what a person is told of their answer, whatever came of it."""
    if isinstance(outcome, HoldshortError):
        return refused(outcome, words, reader)
    return recorded(outcome)


def recorded(outcome: Recorded) -> str:
    """Return what a person is told whose answer is recorded."""
    said = f"Recorded: {outcome.resolution.word} ({outcome.ref}).{wording.wish(outcome.wished)}"
    if outcome.missing:
        others = "one more" if outcome.missing == 1 else f"{outcome.missing} more"
        return f"{said} {outcome.votes} of {outcome.needed}; waiting for {others}."
    match outcome.still_open:
        case 0:
            return said
        case 1:
            return f"{said} One more decision is open in this run."
        case more:
            return f"{said} {more} more decisions are open in this run."


def started(agent: str, ref: Ref, words: Words) -> str:
    """Return what a person is told whose run was queued."""
    look = words.command("show", ref)
    return f"Started {words.inert(agent)}: run {ref}. You will be told how it ends; {look}"


_INCOMPLETE = {
    "answer": "Which one, and what is your answer? `/holdshort answer REF your answer`",
    "show": "Which one? `/holdshort show REF`",
    "run": "Which agent, and to do what? `/holdshort run AGENT what to do`",
}


def incomplete(verb: str) -> str:
    """Return what a person is told who left out what the slash command needs."""
    return _INCOMPLETE[verb]


def no_member() -> str:
    """Return what someone is told who is no member of the home workspace."""
    return "Only members of this workspace can use Holdshort here; nothing changed."


def not_a_question(ticket: ResumeTicket, words: Words) -> str:
    """Return what a person is told who answers in words what takes something else."""
    if isinstance(ticket.target, OutcomeUnknown):
        how = words.command("resolve", ticket.ref)
        return f"{ticket.ref} asks whether a call happened; say so with {how}. Nothing changed."
    return (
        f"{ticket.ref} asks for a permission, not for an answer; nothing changed."
        " Press Approve or Deny on its card."
    )


def unforeseen() -> str:
    """Return what a person is told when we failed in a way that nobody foresaw."""
    return "Something went wrong here, and it is not known whether this was recorded. " + _AGAIN


def slow_store() -> str:
    """Return what a person is told when the store did not answer while they could wait."""
    return f"Not recorded, as far as is known: the store did not answer. {_AGAIN}"


def form_too_late(words: Words, ref: str = "") -> str:
    """Return what a person is told when Slack no longer lets a form open."""
    other = f", or use {words.command('answer', f'{ref} your answer')}" if ref else ""
    return (
        "The form could not open: Slack allows 3 seconds for it, and they had passed. "
        f"Please press the button again{other}."
    )


def form_refused(code: str, words: Words) -> str:
    """Return what a person is told when Slack does not open a form."""
    return f"The form could not open: Slack said {words.inert(code)}. Please try again."


def old_button(words: Words) -> str:
    """Return what a person is told who pressed something that we do not know."""
    look = words.command("list")
    return f"This button is of another version of Holdshort; nothing changed. See {look}"


_AGAIN = "Please try again; it counts only once."
_OPERATOR = "Please tell whoever runs Holdshort."


@singledispatch
def refused(error: HoldshortError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    """Return what a person is told whose answer or request was not taken."""
    return unforeseen()


@refused.register
def _(error: AlreadyDecidedError, words: Words, reader: str = "") -> str:
    at = words.moment(error.at)
    if error.by == SYSTEM.id and error.decision == "timed out":
        return f"Nobody decided in time, so it was denied, {at}; nothing changed."
    by = "you" if reader and error.by == reader else words.person(error.by)
    if error.decision == "withdrawn":
        return f"The run was cancelled by {by}, {at}; nothing changed."
    return f"Already {error.decision} by {by}, {at}; nothing changed."


@refused.register
def _(error: AlreadyVotedError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    said = f"You approved this already, {words.moment(error.at)}"
    return f"{said}: {error.votes} of {error.needed}. Nothing changed."


@refused.register
def _(error: TicketExpiredError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    at = words.moment(error.deadline)
    return f"Expired, {at}: silence is a denial; nothing changed."


_WHY = {
    Refusal.NOT_AN_APPROVER: "",
    Refusal.REQUESTER: "You started this run, so someone else must decide. ",
    Refusal.BOT: "Bots cannot decide anything. ",
    Refusal.GUEST: "Guests of this workspace cannot decide. ",
    Refusal.OUTSIDER: "Only members of this workspace can decide. ",
    Refusal.DEACTIVATED: "Your account is deactivated. ",
    Refusal.UNKNOWN: "Slack does not know you here. ",
}


@refused.register
def _(error: NotAllowedError, words: Words, reader: str = "") -> str:
    if error.refusal is Refusal.NOBODY:
        return f"Nobody is named who may decide this; nothing changed. {_OPERATOR}"
    only = named(error, words, reader)
    why = _WHY[error.refusal]
    if not only:
        return f"{why}Nobody else is named who may decide this; nothing changed. {_OPERATOR}"
    return f"{why}Only {only} can decide this; nothing changed."


@refused.register
def _(error: InvalidResumeTokenError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    look = words.command("list")
    match error.fault:
        case TokenFault.SUPERSEDED:
            return f"What is asked changed after this was shown; nothing changed. See {look}"
        case TokenFault.EXPIRED:
            return "This has expired, and silence is a denial; nothing changed."
        case TokenFault.MALFORMED | TokenFault.FORGED | TokenFault.WRONG_AUDIENCE:
            return f"This cannot be answered from here; nothing changed. See {look}"
        case _:
            assert_never(error.fault)


@refused.register
def _(error: RunNotFoundError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return f"Nothing here goes by {words.inert(error.name)}. See {words.command(error.listed)}"


@refused.register(EditRefusedError)
@refused.register(InvalidRunStateError)
def _(error: HoldshortError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    said = words.inert(str(error), _SENTENCE)
    return f"{said[:1].upper()}{said[1:]}; nothing changed."


@refused.register
def _(error: TicketMismatchError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    look = words.command("list")
    return f"What is asked changed after this was shown; nothing changed. See {look}"


_TAKES = {
    "allow": "an approval",
    "deny": "a denial",
    "answer": "an answer in words",
    "settle": "word of what happened",
}


@refused.register
def _(error: WrongDecisionError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    takes = wording.either([_TAKES.get(kind, kind) for kind in error.accepted])
    how = f": {words.command('resolve', 'REF')}" if "settle" in error.accepted else "."
    return f"Nothing changed: this takes {takes}{how}"


@refused.register
def _(error: InvalidAnswerError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return f"Not recorded: {words.inert(str(error), _SENTENCE)}."


@refused.register
def _(error: TooEarlyError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    at = words.moment(error.until)
    return f"Not before {at}: the first attempt may still be at work. Nothing changed."


@refused.register
def _(error: IdempotencyConflictError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return f"Not recorded: the same request came before with something else in it. {_AGAIN}"


@refused.register
def _(error: UnknownAgentError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    known = ", ".join(words.inert(name) for name in error.known) or "none"
    return f"There is no agent {words.inert(error.name)}; there are: {known}."


@refused.register
def _(error: ConfigurationError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return f"Not done: something is set up wrongly here. {_OPERATOR}"


@refused.register
def _(error: StoreError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return slow_store()


@refused.register
def _(error: StoreUnconfirmedError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return (
        "Not yet confirmed: this is recorded on one server only; if that one is lost now, so"
        " may this be. No tool starts before it is confirmed. Say the same again to see whether"
        " it stands."
    )


@refused.register
def _(error: UndecodableRecordError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return f"Another version of Holdshort wrote this, and it was left as it is. {_OPERATOR}"


@refused.register
def _(error: DirectoryUnavailableError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return "Could not check who may decide; nothing was recorded. Please try again."


@refused.register(ToolCallError)
@refused.register(ModelRequestError)
@refused.register(DeliveryError)
def _(error: HoldshortError, words: Words, reader: str = "") -> str:  # noqa: ARG001
    return unforeseen()


def named(who: Approvers | NotAllowedError, words: Words, reader: str = "") -> str:
    """Name whoever may decide, but for the reader, who knows already that they may not."""
    them = [
        *(words.person(one) for one in who.people if one != reader),
        *(words.group(one) for one in who.groups),
        *(f"anyone in {words.channel(one)}" for one in who.channels),
    ]
    shown = them[:_NAMED]
    rest = len(them) - len(shown)
    if rest:
        shown.append(f"{rest} more")
    if who.on_call:
        shown.append("whoever is on call")
    return wording.either(shown) if shown else ""
