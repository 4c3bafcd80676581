"""The rules of the house: the file that ``HOLDSHORT_RULES`` names, over every agent."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bot.settings import Settings, SettingsError
from engine import Agent, RuleBook
from engine.rulefile import read_rules


def house_rules(settings: Settings) -> RuleBook | None:
    """Return the rules of the house; None where no file is named.

    Raises:
        SettingsError: the file cannot be read.
        InvalidRuleError: something in it is malformed; with line and column.

    """
    if not settings.rules:
        return None
    path = Path(settings.rules)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError([f"HOLDSHORT_RULES: {path}: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise SettingsError([f"HOLDSHORT_RULES: {path} is not UTF-8 text"]) from error
    return read_rules(text, path.name)


def under_house_rules(agents: Iterable[Agent], settings: Settings) -> tuple[Agent, ...]:
    """Return agents under the rules of the house besides their own, and its limit of open asks.

    Raises:
        ConfigurationError: as ``house_rules``; only where there is an agent.

    """
    most = settings.max_open_asks_per_approver
    known = tuple(
        one if most is None else replace(one, max_open_asks_per_approver=most) for one in agents
    )
    book = house_rules(settings) if known else None
    return known if book is None else tuple(agent.under(book) for agent in known)
