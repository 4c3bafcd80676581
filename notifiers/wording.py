"""The words that cards, messages to the owner and forms share: people, moments, what is asked."""

import re
from datetime import UTC, datetime
from typing import assert_never

from engine.cards import Effect, EffectState, TicketNotice
from engine.entries import CallOutcome
from engine.identity import Actor, Approvers, Via, Vote
from engine.ids import PersonId
from engine.remembered import LASTS, Wished
from engine.tickets import Allow, OutcomeUnknown, RemoteInput, Resolution, Risk, ToolPermission
from notifiers import limits
from notifiers.text import Style, clip, made_mrkdwn, mrkdwn, one_line, quote, units

_SLACK_ID = re.compile(r"[UW][A-Z0-9]+\Z")
_GROUP_ID = re.compile(r"S[A-Z0-9]+\Z")
_CHANNEL_ID = re.compile(r"[CG][A-Z0-9]+\Z")
_NAME = 80
_RISKS = {
    Risk.LOW: "Low risk",
    Risk.MEDIUM: "\U0001f7e0 Medium risk",
    Risk.HIGH: "\U0001f534 HIGH RISK",
}


def name(text: str) -> str:
    """Return an agent's or a tool's name for plain text."""
    part = clip(text, _NAME, Style.NAME)
    return part.text if part.complete else f"{part.text}\u2026"


def marked_name(text: str) -> str:
    """Return the same name for mrkdwn, where it reads the same."""
    return made_mrkdwn(name(text), 6 * _NAME)


def is_slack_person(who: PersonId) -> bool:
    """Tell whether this is a Slack user's id: U, or W on Enterprise Grid, then more of the kind.

    https://docs.slack.dev/messaging/formatting-message-text (mentioning users).
    """
    return _SLACK_ID.match(who) is not None


def person(who: PersonId) -> str:
    """Return a mention for mrkdwn, or the bare name of someone whom Slack does not know."""
    return f"<@{who}>" if is_slack_person(who) else mrkdwn(who, _NAME)


def group(which: str) -> str:
    """Return a mention of a user group for mrkdwn: each of them is told.

    https://docs.slack.dev/messaging/formatting-message-text (mentioning groups).
    """
    return f"<!subteam^{which}>" if _GROUP_ID.match(which) else mrkdwn(which, _NAME)


def channel(which: str) -> str:
    """Return a link to a channel for mrkdwn, or its bare name."""
    return f"<#{which}>" if _CHANNEL_ID.match(which) else mrkdwn(which, _NAME)


def deciders(who: Approvers) -> str:
    """Return who may decide, for mrkdwn: anyone of people, groups, and whoever is on call."""
    named = [
        *(person(one) for one in who.people),
        *(group(one) for one in who.groups),
        *(f"anyone in {channel(one)}" for one in who.channels),
    ]
    shown = _first(named)
    if who.on_call:
        shown.append("whoever is on call")
    return either(shown) if shown else "nobody"


def votes(notice: TicketNotice) -> str:
    """Return who has allowed so far, for mrkdwn; empty where one word is enough."""
    if notice.needed <= 1:
        return ""
    seats = len({vote.seat for vote in notice.votes})
    said = f"{seats} of {notice.needed} approved"
    who = [f"{_voter(vote)} {time_of(vote.at)}" for vote in notice.votes]
    return f"{said}: {', '.join(_first(who))}" if who else said


def by(notice: TicketNotice, end: Resolution) -> str:
    """Return by whom a ticket was decided, for mrkdwn: everyone whose word it took."""
    if isinstance(end.decision, Allow) and len(notice.votes) > 1:
        *first, last = _first([_voter(vote) for vote in notice.votes])
        return f"by {', '.join(first)} and {last}"
    place = f" for {person(end.instead_of)}" if end.instead_of else ""
    return f"by {actor(end.actor)}{place}"


def editors(notice: TicketNotice) -> str:
    """Return who edited the arguments, for mrkdwn; empty where nobody did."""
    if notice.edited is None:
        return ""
    *first, last = _first([actor(who) for who in notice.edited.by])
    return f"{', '.join(first)} and {last}" if first else last


def _first(named: list[str]) -> list[str]:
    """Return as many as a card names one by one, and how many more there are."""
    rest = len(named) - limits.PEOPLE
    return [*named[: limits.PEOPLE], f"{rest} more"] if rest > 0 else named


def _voter(vote: Vote) -> str:
    instead = vote.seat not in {vote.person, vote.actor.id}
    return actor(vote.actor) + (f" for {person(vote.seat)}" if instead else "")


def either(shown: list[str]) -> str:
    """Return several things of which one will do, at least one of them, as a list in words."""
    *first, last = shown
    return f"{', '.join(first)} or {last}" if first else last


def actor(who: Actor) -> str:
    """Return who decided, for mrkdwn, and the way they came if it was not Slack."""
    ways = {Via.TERMINAL: " in the terminal", Via.API: " through the API"}
    return person(who.id) + ways.get(who.via, "")


def moment(at: datetime) -> str:
    """Return a moment for mrkdwn: Slack shows it in each reader's own time zone.

    https://docs.slack.dev/messaging/formatting-message-text (date formatting).
    """
    return f"<!date^{_seconds(at)}^{{date_short_pretty}} at {{time}}|{_utc(at)}>"


def time_of(at: datetime) -> str:
    """Return only the time of day, for a notification."""
    return f"<!date^{_seconds(at)}^{{time}}|{_utc(at)}>"


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def duration(seconds: float | None) -> str:
    """Return how long a tool ran: ``less than 0.1 s``, ``3.2 s``, ``4 min 5 s``; empty if unknown."""
    if seconds is None:
        return ""
    if seconds < limits.SHORTEST_S:
        return f"less than {limits.SHORTEST_S} s"
    if seconds < limits.MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), limits.MINUTE)
    return f"{minutes} min {rest} s"


def title(notice: TicketNotice) -> str:
    """Return what is asked, for plain text, to those whom it concerns."""
    match notice.target:
        case RemoteInput():
            return subject(notice)
        case ToolPermission():
            return f"Run {subject(notice)}?"
        case OutcomeUnknown():
            return f"Did {subject(notice)} happen?"
        case _:
            assert_never(notice.target)


def subject(notice: TicketNotice) -> str:
    """Return what a ticket is about in a few words, for plain text."""
    match notice.target:
        case ToolPermission(tool=tool) | OutcomeUnknown(tool=tool):
            called, said = name(tool), notice.declared.title
            return f"{called} {_in_short(said, _room(called))}" if said.strip() else called
        case RemoteInput(prompt=prompt):
            return _in_short(prompt, limits.TITLE)
        case _:
            assert_never(notice.target)


def _room(called: str) -> int:
    return min(limits.DESCRIBED, limits.TITLE - units(called))


def _in_short(said: str, room: int) -> str:
    """Return someone's words in quotes, so that they pass for no word of ours."""
    part = clip(one_line(said), room, Style.QUOTED)
    return f'"{part.text}"' if part.complete else f'"{part.text}\u2026"'


def risk(notice: TicketNotice) -> str:
    """Return how risky a call is, by its tool's word; empty where the tool says nothing.

    The colour adds to the words and says nothing by itself.
    """
    return _RISKS[notice.declared.risk] if notice.declared.risk is not None else ""


def fits_a_title(prompt: str) -> bool:
    """Tell whether a title shows all of a question, as it is."""
    return prompt == one_line(prompt) and clip(prompt, limits.TITLE, Style.QUOTED).complete


def question(notice: TicketNotice) -> str:
    """Return what kind of thing is asked, for plain text: nothing of what it contains."""
    match notice.target:
        case ToolPermission(tool=tool):
            return f"Run {name(tool)}?"
        case RemoteInput():
            return f"{name(notice.agent)} has a question"
        case OutcomeUnknown(tool=tool):
            return f"Did {name(tool)} happen?"
        case _:
            assert_never(notice.target)


def effect(what: Effect, elsewhere: str = "", limit: int = limits.QUOTE) -> str:
    """Return what became of a call that may run, for plain text: no more than is known.

    ``elsewhere`` says where a result can be read of which only the beginning fits ``limit``;
    with a limit of 0 nothing of it is quoted.
    """
    match what.state:
        case EffectState.PENDING:
            return "Not started yet."
        case EffectState.RUNNING:
            return "Running."
        case EffectState.UNKNOWN:
            return "Outcome unknown: it was started, and its result was lost."
        case EffectState.FINISHED:
            return _finished(what, elsewhere, limit)
        case _:
            assert_never(what.state)


def _finished(what: Effect, elsewhere: str, limit: int) -> str:
    took = duration(what.seconds)
    said = f": {quote(what.text, limit, elsewhere)}" if what.text and limit else "."
    match what.outcome:
        case CallOutcome.SUCCEEDED:
            return (f"Ran in {took}" if took else "Ran") + said
        case CallOutcome.FAILED:
            return (f"Failed after {took}" if took else "Failed") + said
        case CallOutcome.RETRY:
            return (f"Ran in {took}" if took else "Ran") + f" and asked for another try{said}"
        case CallOutcome.DENIED:
            return f"Did not run{said}"
        case None:
            return f"Ended{said}"
        case _:
            assert_never(what.outcome)


def wish(wished: Wished | None) -> str:
    """Return what whoever approved is told of remembering, after the rest; empty if nothing."""
    return f" To be remembered for {span(wished.hours)}." if wished is not None else ""


def span(hours: int) -> str:
    """Return for how long something is remembered."""
    return LASTS.get(hours, f"{hours:,} hours")


def reference(notice: TicketNotice) -> str:
    """Return the small print: what to type, and what exactly is decided."""
    shown = clip(notice.ref, _NAME).text
    if isinstance(notice.target, RemoteInput):
        return shown
    return f"{shown} \u00b7 {short_digest(notice.digest)}"


def short_digest(digest: str) -> str:
    """Return what a person compares: the same on the card, in the forms and in the events."""
    return f"args {clip(digest, limits.DIGEST).text}"
