"""One Web API call: its arguments, however they were sent, and what a method is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.local_slack.errors import SlackError
from bot.local_slack.workspace import Workspace

Json = dict[str, Any]


class TokenKind(StrEnum):
    """Whose token a call carries."""

    BOT = "bot"
    APP = "app"


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call and the workspace it is about.

    Form-encoded and JSON calls look alike here: structures sent as JSON text are parsed when a
    method asks for them, and numbers and flags sent as text are read as such.
    """

    arguments: Mapping[str, Any]
    workspace: Workspace

    def has(self, name: str) -> bool:
        """Tell whether an argument was sent and is not null."""
        return self.arguments.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """Return a text argument, or the default if it was not sent."""
        value = self.arguments.get(name)
        return default if value is None else str(value)

    def required(self, name: str) -> str:
        """Return a text argument. Raises SlackError `invalid_arguments` if it is not there."""
        value = self.text(name)
        if not value:
            raise SlackError("invalid_arguments", f"missing required field: {name}")
        return value

    def flag(self, name: str) -> bool:
        """Return a yes-or-no argument; absent is no."""
        value = self.arguments.get(name)
        return value in (True, 1) or (isinstance(value, str) and value.lower() in ("true", "1"))

    def structure(self, name: str, refusal: str) -> object:
        """Return a structured argument, parsed if it came as text.

        Raises SlackError with the code `refusal` if it is not JSON.
        """
        value = self.arguments.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise SlackError(refusal) from None


@dataclass(frozen=True, slots=True)
class Method:
    """A Web API method: what it does, and what one needs to call it.

    `scopes`: any one of them is enough; none means that every token may call it.
    """

    run: Callable[[Call], Json]
    scopes: tuple[str, ...] = ()
    token: TokenKind = TokenKind.BOT
