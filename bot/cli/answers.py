"""Starting runs and answering tickets from the terminal: a way in like any other."""

import json
import re

from bot.cli.screen import Screen
from bot.cli.terminal import Terminal, at_terminal
from bot.replies import FOR_TERMINAL, recorded, started
from bot.settings import SettingsError
from engine import Allow, Decision, Origin, Via
from engine.arguments import canonical_arguments
from engine.errors import ToolCallError
from engine.schema import Json
from notifiers import limits, wording
from notifiers.remember import terms_line


def decide(ref: str, decision: Decision, *, heard: bool = False) -> None:
    """Answer the ticket that goes by this ref, and say what was recorded.

    ``heard``: the operator has said what to do about what others want remembered.
    """

    async def work(terminal: Terminal) -> None:
        if isinstance(decision, Allow) and decision.remember is None and not heard:
            await _check_seen(terminal, ref)
        Screen().line(recorded(await terminal.decide(ref, decision)))

    at_terminal(work)


async def _check_seen(terminal: Terminal, ref: str) -> None:
    """Refuse an approval that would agree to more than was typed.

    Raises:
        SettingsError: others want it remembered; the text says what.

    """
    _, ticket = await terminal.engine.answers.find(ref)
    wished = ticket.wished
    if wished is None or ticket.resolution is not None:
        return
    terms = terms_line(wished.terms, limits.WISH)
    asks = f"{FOR_TERMINAL.person(wished.by.id)} asks to remember this for"
    choose = "say --agree to approve that too, or --once to approve this call alone"
    raise SettingsError([f"{asks} {wording.span(wished.hours)} ({terms}): {choose}"])


def approve_with(ref: str, edits: str) -> None:
    """Approve the call of this ref with some of its arguments changed."""
    try:
        given = json.loads(canonical_arguments(edits))
    except ToolCallError as error:
        raise SettingsError([f"--with: {error}"]) from None

    async def work(terminal: Terminal) -> None:
        Screen().line(recorded(await terminal.edit(ref, given)))

    at_terminal(work, with_agents=True)


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
