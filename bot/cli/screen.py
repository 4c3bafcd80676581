"""How the terminal shows runs: tables and plain lines, or JSON for programs."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from bot.console import open_console
from bot.facts import tell_actor, tell_fact, tell_resolution
from bot.replies import FOR_TERMINAL, named
from engine.cards import TicketNotice
from engine.events import RunEvent
from engine.runs import Run
from engine.tickets import OutcomeUnknown, RemoteInput, ResumeTicket, ToolPermission
from notifiers.arguments import read_rows, tell_secrets
from notifiers.remember import remembered_line
from notifiers.sheet import secret_of
from notifiers.text import Style, inert, one_line
from notifiers.wording import effect, question, risk, short_digest, title

_TEXT = 60
_WISH = 4_000


class Screen:
    """Prints to standard output; errors go to standard error, one line each."""

    def __init__(self) -> None:
        """Print to this process's standard output."""
        self._out = open_console()

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line. Nothing in it can steer the terminal."""
        self._out.print(Text(inert(text), style=style), soft_wrap=True)

    def box(self, text: str) -> None:
        """Print text with its line breaks, set in."""
        for line in inert(text, Style.BOX).split("\n"):
            self._out.print(Text(f"    {line}"), soft_wrap=True)

    def json(self, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Print a value for a program."""
        sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows under a head."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in head:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(Text(inert(one_line(cell))) for cell in row))
        self._out.print(table)


def print_runs(screen: Screen, runs: Sequence[tuple[Run, str]]) -> None:
    """Print one line for each run, with what it came to as it may be shown."""
    if not runs:
        screen.line("No runs.")
        return
    rows = [
        (run.ref, run.status.value, run.agent, run.owner, _moment(run.updated_at), _about(run, end))
        for run, end in runs
    ]
    screen.table(("RUN", "STATUS", "AGENT", "OWNER", "SINCE", "ABOUT"), rows)


def print_run(
    screen: Screen, run: Run, notices: Sequence[TicketNotice], events: Sequence[RunEvent]
) -> None:
    """Print all there is to know of one run."""
    by = "" if run.requester == run.owner else f", started by {run.requester}"
    screen.line(f"{run.agent} {run.ref}: {run.status.value}", "bold")
    screen.line(f"for {run.owner}{by}, since {_moment(run.created_at)}; id {run.id}")
    for notice in notices:
        screen.line()
        print_notice(screen, notice)
    screen.line()
    for event in events:
        screen.line(f"{_moment(event.at)}  {one_line(tell_fact(event.fact))}")


def print_ending(screen: Screen, run: Run, ending: str) -> None:
    """Print what a run answered, as it may be shown."""
    if run.output is not None:
        screen.line()
        screen.line("It answered:", "bold")
        screen.box(ending)


def run_as_json(run: Run) -> dict[str, Any]:
    """Return what a program may rely on."""
    return {
        "id": run.id,
        "ref": run.ref,
        "agent": run.agent,
        "status": run.status.value,
        "owner": run.owner,
        "requester": run.requester,
        "created_at": run.created_at.isoformat(),
        "updated_at": run.updated_at.isoformat(),
        "waits_for": [_ticket_as_json(ticket) for ticket in run.tickets],
        "output": run.output,
        "failure": run.failure.model_dump() if run.failure else None,
    }


def event_as_json(event: RunEvent) -> dict[str, Any]:
    """Return one event of a run."""
    return event.model_dump(mode="json")


def _ticket_as_json(ticket: ResumeTicket) -> dict[str, Any]:
    return {
        "ref": ticket.ref,
        "target": ticket.target.model_dump(mode="json"),
        "people": list(ticket.approvers.people),
        "groups": list(ticket.approvers.groups),
        "channels": list(ticket.approvers.channels),
        "on_call": ticket.approvers.on_call,
        "needed": ticket.needed,
        "votes": [{"by": vote.actor.id, "at": vote.at.isoformat()} for vote in ticket.votes],
        "held_back": ticket.held is not None,
        "deadline": ticket.deadline.isoformat() if ticket.deadline else None,
        "digest": ticket.digest,
    }


def _about(run: Run, ending: str) -> str:
    if run.tickets:
        asked = [f"{one.ref} {_subject(one)}" for one in run.tickets if one.held is None]
        held = len(run.tickets) - len(asked)
        return ", ".join([*asked, f"{held} held back"] if held else asked)
    text = one_line(ending)
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"


def _subject(ticket: ResumeTicket) -> str:
    match ticket.target:
        case ToolPermission(tool=tool):
            return f"to run {tool}"
        case RemoteInput():
            return "an answer"
        case OutcomeUnknown(tool=tool):
            return f"whether {tool} happened"


def print_notice(screen: Screen, notice: TicketNotice) -> None:
    """Print all there is to know of one ticket."""
    asked = question(notice) if isinstance(notice.target, RemoteInput) else title(notice)
    screen.line(f"{notice.ref}: {asked} {risk(notice)}".rstrip(), "bold")
    screen.line(f"  {_stands(notice)}")
    for vote in notice.votes if notice.needed > 1 else ():
        screen.line(f"  approved by {tell_actor(vote.actor)} {_moment(vote.at)}")
    if notice.needed > 1:
        screen.line(f"  {len({vote.seat for vote in notice.votes})} of {notice.needed} needed")
    if isinstance(notice.target, RemoteInput):
        screen.box(notice.target.prompt)
    else:
        _print_arguments(screen, notice)
    if notice.says:
        screen.line(f"  {notice.agent} says: {one_line(notice.says)}")
    if notice.resolution is None:
        for command in _commands(notice):
            screen.line(f"  holdshort {command}", "cyan")
    if notice.effect is not None:
        screen.line(f"  {effect(notice.effect, limit=0)}")
        screen.box(notice.effect.text)


def _stands(notice: TicketNotice) -> str:
    end = notice.resolution
    if end is not None:
        return f"{tell_resolution(end)}, {_moment(end.at)}"
    people = named(notice.approvers, FOR_TERMINAL) or "nobody"
    until = f", until {_moment(notice.deadline)}" if notice.deadline else ""
    if notice.held:
        until = "; held back, as too many others are open"
    return f"for {people} to decide{until}"


def _print_arguments(screen: Screen, notice: TicketNotice) -> None:
    secret = secret_of(notice)
    rows = list(read_rows(notice.arguments, secret))
    for row in rows:
        if row.line:
            screen.box(row.line)
        else:
            screen.box(f"{row.name} ({row.note}):" if row.note else f"{row.name}:")
            screen.box(row.raw)
    for told in filter(None, (tell_secrets(rows), secret.untold)):
        screen.box(told)
    screen.box(short_digest(notice.digest))
    if notice.wished is not None:
        screen.box(f"{tell_actor(notice.wished.by)}: {remembered_line(notice, _WISH)}")


def _commands(notice: TicketNotice) -> Iterator[str]:
    ref = notice.ref
    match notice.target:
        case ToolPermission():
            yield from (f"approve {ref}", f"deny {ref} [REASON]")
        case RemoteInput():
            yield from (f"answer {ref} TEXT", f"deny {ref} [REASON]")
        case OutcomeUnknown():
            yield f"runs resolve {ref} --happened RESULT | --not-happened | --abandon"


def _moment(at: datetime) -> str:
    # In UTC, as the replies are: whoever reads may be elsewhere than the server.
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
