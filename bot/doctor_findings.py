"""What an examination finds: well, to be looked at, or broken, with what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. Its texts may repeat what others chose: whoever prints them makes them inert.

    Attributes:
        check: What was looked at, in one or two words.
        remedy: What to do, in one line; empty exactly where all is well.

    """

    check: str
    level: Level
    text: str
    remedy: str = ""


def ok(check: str, text: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(check, Level.OK, text)


def warning(check: str, text: str, remedy: str) -> Finding:
    """Return a finding that somebody should look at."""
    return Finding(check, Level.WARNING, text, remedy)


def failure(check: str, text: str, remedy: str) -> Finding:
    """Return a finding that keeps the bot from its work."""
    return Finding(check, Level.FAILURE, text, remedy)
