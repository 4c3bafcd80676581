"""The examination: everything that can keep a bot from its work, asked for before it matters."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.askable import REMEDY, unaskable
from bot.bootstrap import load_agents
from bot.doctor_findings import Finding, failure, ok, warning
from bot.doctor_slack import check_slack
from bot.doctor_store import check_store
from bot.house_rules import house_rules
from bot.logs import Mask
from bot.settings import Purpose, Settings, SettingsError, read_settings
from engine.agents import Agent, AgentRegistry
from engine.errors import ConfigurationError
from engine.ids import Clock, utc_now

_ENOUGH_SECRETS = 3
_FEW_CHARACTERS = 12


async def examine(clock: Clock = utc_now) -> list[Finding]:
    """Look at the settings of the environment, and at all they lead to; no secret is repeated."""
    settings, found = _settings()
    if settings is None:
        return found
    found += _secrets(settings)
    found += await check_store(settings, clock)
    agents, said = _agents(settings)
    found += said
    found += _rules(settings)
    if settings.slack_bot_token is not None:
        found += await check_slack(settings, agents, clock)
    return list(_masked(found, Mask(settings.secrets)))


def _settings() -> tuple[Settings | None, list[Finding]]:
    """Return what serving needs, or as much as a terminal needs, and what is wrong with it."""
    try:
        return read_settings(Purpose.SERVE), [ok("settings", "all that serving needs is set")]
    except SettingsError as error:
        found = [_as_finding(problem) for problem in error.problems]
    try:
        return read_settings(Purpose.TERMINAL), found
    except SettingsError:
        return None, found


def _as_finding(problem: str) -> Finding:
    text, _, remedy = problem.partition(": ")
    return failure("settings", text, remedy or "see the settings in the README")


def _secrets(settings: Settings) -> list[Finding]:
    values = [one.get_secret_value() for one in settings.resume_secrets]
    shortest = min(len(value.encode()) for value in values)
    keys = "1 key" if len(values) == 1 else f"{len(values)} keys, the first signs"
    found = [ok("resume secrets", f"{keys}; {shortest} bytes or more each")]
    if any(len(set(value)) < _FEW_CHARACTERS for value in values):
        remedy = 'make one with `python -c "import secrets; print(secrets.token_urlsafe(48))"`'
        found.append(warning("resume secrets", "one looks made by hand", remedy))
    if len(values) > _ENOUGH_SECRETS:
        remedy = "take away those that signed no card that is still open"
        found.append(warning("resume secrets", "more than a rotation needs", remedy))
    return found


def _agents(settings: Settings) -> tuple[Sequence[Agent], list[Finding]]:
    if not settings.agents:
        return (), []
    try:
        agents = tuple(AgentRegistry(load_agents(settings.agents)))
    except ConfigurationError as error:
        return (), [failure("agents", str(error), "put the module right; serving needs it too")]
    names = ", ".join(agent.name for agent in agents)
    if not names:
        return (), [failure("agents", "HOLDSHORT_AGENTS leads to none", "name at least one")]
    silent = [failure("agents", line, REMEDY) for line in unaskable(agents)]
    return agents, silent or [ok("agents", f"loaded: {names}")]


def _rules(settings: Settings) -> list[Finding]:
    try:
        book = house_rules(settings)
    except ConfigurationError as error:
        return [failure("rules", str(error), "put the file right; serving needs it too")]
    if book is None:
        return []
    count = len(book.rules)
    rules = "1 rule" if count == 1 else f"{count} rules"
    return [ok("rules", f"{rules} in {book.name}; what none matches: {book.default.value}")]


def _masked(found: Iterable[Finding], mask: Mask) -> Iterable[Finding]:
    return (replace(one, text=mask(one.text), remedy=mask(one.remedy)) for one in found)
