"""What an attacker, or a broken network, may change on the way to the app."""

from __future__ import annotations

import copy
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bot.local_slack.errors import ControlError


class Forgery(BaseModel):
    """Changes to a payload and its envelope; the default changes nothing.

    `set` and `unset` take dotted paths into the payload, list places as numbers
    (`actions.0.value`). The signature is made over the changed body unless `signature` is given,
    with `signing_secret` if given, else the true one. `timestamp` is text, so that it may be
    nonsense. `body` replaces the whole HTTP body.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    set: dict[str, Any] = Field(default_factory=dict)
    unset: tuple[str, ...] = ()
    signature: str | None = None
    signing_secret: str | None = None
    timestamp: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    drop_headers: tuple[str, ...] = ()
    body: str | None = None

    def apply(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the changed payload. Raises ControlError if a path leads nowhere."""
        changed = copy.deepcopy(payload)
        for path, value in self.set.items():
            place, last = _place(changed, path)
            place[last] = value
        for path in self.unset:
            place, last = _place(changed, path)
            try:
                del place[last]
            except LookupError:
                raise _nowhere(path) from None
        return changed


def _place(payload: dict[str, Any], path: str) -> tuple[Any, str | int]:
    *steps, last = path.split(".")
    place: Any = payload
    try:
        for step in steps:
            place = place[_key(place, step)]
        return place, _key(place, last)
    except (LookupError, TypeError, ValueError):
        raise _nowhere(path) from None


def _key(place: object, step: str) -> str | int:
    return int(step) if isinstance(place, list) else step


def _nowhere(path: str) -> ControlError:
    return ControlError("no_such_path", f"the payload has nothing at {path!r}")
