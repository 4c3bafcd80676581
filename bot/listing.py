"""What ``/holdshort list`` and ``show`` say: Slack's mrkdwn, with everything untrusted inert."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.facts import tell_fact
from bot.replies import FOR_SLACK
from engine import Run
from engine.cards import TicketNotice
from engine.events import RunEvent
from engine.redaction import mask
from engine.tickets import OutcomeUnknown, RemoteInput, Resolution, ResumeTicket
from notifiers import wording
from notifiers.arguments import summary
from notifiers.sheet import secret_of
from notifiers.text import made_mrkdwn, mrkdwn, one_line

_MOST_LINES = 20
_EVENTS = 5
_WORDS = 300
_RESULT = 2_000
HELD = "held back"

USAGE = (
    "*What I understand*",
    "`/holdshort list` what waits for you, and your runs",
    "`/holdshort show REF` how something stands",
    "`/holdshort answer REF your answer` answer a question",
    "`/holdshort rules` approvals that are remembered; `/holdshort rules revoke ID` ends one",
    "`/holdshort run AGENT what to do` start a run",
    "`/holdshort help` this",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A run as it is shown to someone.

    Attributes:
        concerned: The reader owns it, started it, or may decide; only they see its contents.
        ending: What it came to, as it may be shown; empty while it goes on.

    """

    run: Run
    notices: Sequence[TicketNotice]
    events: Sequence[RunEvent]
    concerned: bool
    ending: str = ""


def usage(agents: Sequence[str], unknown: str = "") -> str:
    """Return what the command can do; and before it, that a word was not understood."""
    hint = [f"I do not know `{mrkdwn(one_line(unknown), 40)}`."] if unknown else []
    known = ", ".join(mrkdwn(name, 80) for name in agents) or "none"
    return "\n".join([*hint, *USAGE, f"Agents: {known}"])


def list_for(
    reader: str,
    mine: Sequence[tuple[Run, ResumeTicket]],
    waiting: Sequence[Run],
    going: Sequence[Run],
) -> str:
    """Return what waits for someone (``mine``), and what else of theirs is going on."""
    own = [run for run in (*waiting, *going) if reader in {run.owner, run.requester}]
    elsewhere = [run for run in own if run.id not in {asked.id for asked, _ in mine}]
    parts = [
        _section("Waiting for you", [_waiting_line(reader, *one) for one in mine]),
        _section("Your other runs", [_run_line(run) for run in elsewhere]),
    ]
    return "\n".join(filter(None, parts)) or "Nothing waits for you, and no run of yours goes on."


def show(shown: Shown) -> str:
    """Return how a run stands, and its tickets."""
    run = shown.run
    people = f"for {wording.person(run.owner)}, started by {wording.person(run.requester)}"
    lines = [f"*{wording.marked_name(run.agent)}* · run `{run.ref}` · {run.status} · {people}"]
    for notice in shown.notices:
        lines += _ticket_lines(notice, concerned=shown.concerned)
    if not shown.concerned:
        lines.append("_What it says and does is shown to its owner and to those who decide._")
        return "\n".join(lines)
    if shown.ending:
        lines.append(f"> {mrkdwn(one_line(shown.ending), _WORDS)}")
    lines += [_event_line(event) for event in shown.events[-_EVENTS:]]
    return "\n".join(lines)


def _waiting_line(reader: str, run: Run, ticket: ResumeTicket) -> str:
    until = f" · until {wording.moment(ticket.deadline)}" if ticket.deadline else ""
    until = f" · {HELD}" if ticket.held else until
    so_far = f" · {ticket.counted} of {ticket.needed} approved" if ticket.needed > 1 else ""
    if any(vote.actor.id == reader for vote in ticket.votes):
        so_far += ", you among them"
    return f"`{ticket.ref}` {wording.marked_name(run.agent)}: {_asked(ticket)}{so_far}{until}"


def _asked(ticket: ResumeTicket) -> str:
    if isinstance(ticket.target, RemoteInput):
        return mrkdwn(one_line(mask(ticket.target.prompt)), _WORDS)
    tool = wording.marked_name(ticket.target.tool)
    lost = isinstance(ticket.target, OutcomeUnknown)
    return f"whether {tool} happened" if lost else f"to run {tool}"


def _run_line(run: Run) -> str:
    waits = tuple(dict.fromkeys(wording.deciders(ticket.approvers) for ticket in run.tickets))
    on = f" for {', and for '.join(waits)}" if waits else ""
    held = sum(ticket.held is not None for ticket in run.tickets)
    back = f" · {held} {HELD}" if held else ""
    return f"`{run.ref}` {wording.marked_name(run.agent)}: {run.status}{on}{back}"


def _section(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    rest = len(lines) - _MOST_LINES
    more = [f"and {rest} more"] if rest > 0 else []
    return "\n".join([f"*{title}*", *lines[:_MOST_LINES], *more])


def _ticket_lines(notice: TicketNotice, *, concerned: bool) -> list[str]:
    state = _state(notice, notice.resolution)
    if not concerned:
        return [f"`{notice.ref}` {made_mrkdwn(wording.question(notice), _WORDS)} {state}"]
    asks = isinstance(notice.target, RemoteInput)
    asked = wording.question(notice) if asks else wording.title(notice)
    danger = f"{wording.risk(notice)} · " if wording.risk(notice) else ""
    lines = [f"`{notice.ref}` {danger}{made_mrkdwn(asked, _WORDS)} {state}"]
    if isinstance(notice.target, RemoteInput):
        return [*lines, f"> {mrkdwn(one_line(notice.target.prompt), _WORDS)}"]
    arguments = made_mrkdwn(summary(notice.arguments, secret_of(notice)), 2 * _WORDS)
    about = [f"> {arguments}"] if arguments else []
    return [*lines, *about, *_effect_lines(notice)]


def _effect_lines(notice: TicketNotice) -> list[str]:
    if notice.effect is None:
        return []
    elsewhere = f"all of it, in a terminal: holdshort runs show {notice.ref}"
    return [f"> {made_mrkdwn(wording.effect(notice.effect, elsewhere, _RESULT), 2 * _RESULT)}"]


def _state(notice: TicketNotice, ended: Resolution | None) -> str:
    if ended is None:
        until = f" until {wording.moment(notice.deadline)}" if notice.deadline else ""
        if notice.held:
            until = f" already; it is {HELD}, as too many others are open"
        votes = wording.votes(notice)
        return f"{wording.deciders(notice.approvers)} may decide{until}." + (votes and f" {votes}.")
    if ended.timed_out:
        return f"Nobody decided; denied {wording.moment(ended.at)}."
    return f"{ended.word.capitalize()} {wording.by(notice, ended)} {wording.moment(ended.at)}."


def _event_line(event: RunEvent) -> str:
    return f"• {FOR_SLACK.moment(event.at)} {mrkdwn(one_line(tell_fact(event.fact)), _WORDS)}"
