"""The remembered rules of the store, in the terminal."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import typer

from bot.cli.screen import Screen
from bot.cli.terminal import Terminal, at_terminal
from bot.logs import report_fault
from bot.replies import FOR_TERMINAL
from bot.rule_listing import rule_lines, told_revoked
from bot.settings import Settings, SettingsError
from bot.stores import SETTING, open_source
from engine import Agent, RememberedRule, Risk, Wish
from engine.ids import Surroundings
from engine.redaction import escape_step
from engine.schema import Json

_SPANS = {"1h": 1, "8h": 8, "1d": 24, "24h": 24, "7d": 168}


def remembered(settings: Settings) -> tuple[RememberedRule, ...]:
    """Return the rules that are kept in the store of the settings; none where there is no store."""
    place = settings.store_place
    if place is None or (isinstance(place, Path) and not place.exists()):
        return ()

    async def look() -> tuple[RememberedRule, ...]:
        store = await open_source(place, Surroundings(report=report_fault), SETTING)
        try:
            return await store.rules.listed()
        finally:
            await store.close()

    return asyncio.run(look())


def print_remembered(screen: Screen, rules: Iterable[RememberedRule]) -> None:
    """Print the rules, the newest first."""
    now = Surroundings().clock()
    for rule in reversed(tuple(rules)):
        for line in rule_lines(rule, now, FOR_TERMINAL):
            screen.line(line)


def revoke_rule(name: str) -> None:
    """End a rule as the operator."""

    async def work(terminal: Terminal) -> None:
        actor = terminal.operator
        rule = await terminal.engine.revoking.revoke(name, actor, operator=actor.id)
        Screen().line(told_revoked(rule, actor, FOR_TERMINAL))

    at_terminal(work)


def would_settle(
    rules: Iterable[RememberedRule], agent: Agent, tool: str, arguments: Json
) -> tuple[RememberedRule, ...]:
    """Return the rules that hold and would let a call run, as far as can be told from here.

    Whether the tool is as it was, and whether those who gave a rule still could, is only known
    where the call is made.
    """
    if agent.option(tool).danger is Risk.HIGH:
        return ()
    now = Surroundings().clock()
    return tuple(
        rule
        for rule in rules
        if rule.live(now)
        and (rule.agent, rule.tool) == (agent.name, tool)
        and rule.approvers == agent.who.resolve(rule.owner)
        and rule.fits(arguments)
    )


def check_together(*, edits: bool, remember: bool, once: bool, agree: bool, narrower: str) -> None:
    """Check that what is said of an approval goes together; ``narrower`` is an option of a wish.

    Raises:
        BadParameter: it does not.

    """
    if once + agree + remember > 1:
        raise typer.BadParameter("say one of --once, --agree, --remember")
    if edits and (remember or agree):
        option = "--remember" if remember else "--agree"
        raise typer.BadParameter("edited arguments are approved once", param_hint=option)
    if narrower and not remember:
        raise typer.BadParameter("goes with --remember", param_hint=narrower)


def read_wish(span: str, loose: Iterable[str], *, conversation: bool) -> Wish:
    """Return what is to be remembered, as it was typed.

    Raises:
        SettingsError: it is for another time than may be chosen.

    """
    if span not in _SPANS:
        known = ", ".join(word for word in _SPANS if word != "24h")
        raise SettingsError([f"--remember {span}: choose one of {known}"])
    said = {"hours": _SPANS[span], "loose": tuple(map(_pointer, loose))}
    return Wish.model_validate({**said, "conversation": conversation})


def _pointer(name: str) -> str:
    """Return where an argument is: typed as a JSON pointer, or as ``order.items.0``."""
    if name.startswith("/"):
        return name
    return "".join(f"/{escape_step(step)}" for step in name.split("."))
