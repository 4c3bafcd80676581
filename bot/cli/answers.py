"""Starting runs and answering tickets from the terminal: a way in like any other."""

import json
import re
import sys

import typer

from bot.cli.screen import Screen, print_notice
from bot.cli.terminal import Terminal, at_terminal
from bot.replies import FOR_TERMINAL, recorded, started
from bot.settings import SettingsError
from engine import Allow, Decision, Origin, Via
from engine.arguments import canonical_arguments
from engine.cards import TicketNotice
from engine.errors import ToolCallError
from engine.schema import Json
from notifiers import limits, needs_review, wording
from notifiers.remember import terms_line


def decide(ref: str, decision: Decision) -> None:
    """Answer the ticket that goes by this ref, and say what was recorded."""

    async def work(terminal: Terminal) -> None:
        Screen().line(recorded(await terminal.decide(ref, decision)))

    at_terminal(work)


def approve(ref: str, decision: Allow, reviewed: str, *, heard: bool) -> None:
    """Approve the call of this ref, once it is reviewed.

    ``heard``: the operator has said what to do about what others want remembered.
    """

    async def work(terminal: Terminal) -> None:
        def review(notice: TicketNotice) -> None:
            if decision.remember is None and not heard:
                _check_seen(notice)
            _review(notice, reviewed)

        Screen().line(recorded(await terminal.approve(ref, decision, review)))

    at_terminal(work)


def _check_seen(notice: TicketNotice) -> None:
    """Refuse an approval that would agree to more than was typed.

    Raises:
        SettingsError: others want it remembered; the text says what.

    """
    wished = notice.wished
    if wished is None or notice.resolution is not None:
        return
    terms = terms_line(wished.terms, limits.WISH)
    asks = f"{FOR_TERMINAL.person(wished.by.id)} asks to remember this for"
    choose = "say --agree to approve that too, or --once to approve this call alone"
    raise SettingsError([f"{asks} {wording.span(wished.hours)} ({terms}): {choose}"])


def approve_with(ref: str, edits: str, reviewed: str) -> None:
    """Approve the call of this ref with some of its arguments changed, once it is reviewed."""
    try:
        given = json.loads(canonical_arguments(edits))
    except ToolCallError as error:
        raise SettingsError([f"--with: {error}"]) from None

    async def work(terminal: Terminal) -> None:
        def review(notice: TicketNotice) -> None:
            _review(notice, reviewed)

        Screen().line(recorded(await terminal.edit(ref, given, review)))

    at_terminal(work, with_agents=True)


def _review(notice: TicketNotice, reviewed: str) -> None:
    """Have the operator go through a call whose card would have it reviewed, or say that they did.

    Raises:
        SettingsError: they reviewed another call, or none.

    """
    if notice.resolution is not None:
        return
    if reviewed:
        if len(reviewed) < limits.DIGEST or not notice.digest.startswith(reviewed):
            told = f"--yes {reviewed}: this call has the digest {notice.digest}; review it first"
            raise SettingsError([told])
        return
    if not needs_review(notice):
        return
    print_notice(Screen(), notice)
    if not sys.stdin.isatty() or not typer.confirm("Approve exactly this?"):
        told = f"not approved; to say that you reviewed it: --yes {notice.digest[: limits.DIGEST]}"
        raise SettingsError([told])


def start_run(agent: str, text: str, *, owner: str, context: str, key: str) -> None:
    """Queue a run for an owner, and say its ref."""
    given = _read_context(context)
    if owner and not re.fullmatch(r"[\w.@+:-]+", owner, re.ASCII):
        raise SettingsError(["--owner is nobody: name a Slack user id (U...)"])

    async def work(terminal: Terminal) -> None:
        queued = await terminal.engine.start(
            agent,
            text,
            owner=owner or terminal.operator.id,
            requester=terminal.settings.operator,
            origin=Origin(via=Via.TERMINAL),
            context=given,
            idempotency_key=key,
        )
        Screen().line(started(agent, queued.ref, FOR_TERMINAL))

    at_terminal(work, with_agents=True, makes=True)


def _read_context(text: str) -> Json:
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant)
        text.encode()
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SettingsError(["--context holds text that is no Unicode (half of a pair)"]) from None
    except ValueError as error:
        raise SettingsError([f"--context is not JSON: {error}"]) from None
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
