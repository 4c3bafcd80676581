"""Modals and Home tabs, as each person has them on screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bot.local_slack.errors import SlackError
from bot.local_slack.ids import Mint
from bot.local_slack.world import World

MAX_STACK = 3
"""Views that may lie on each other (views.push: `push_limit_reached`, "currently the limit is 3")."""


@dataclass(slots=True)
class View:
    """One view on one person's screen; `content` is what the app sent, with its ids filled in.

    `entered` is what the person has put into it so far, by block_id and action_id. `errors` are
    what the app said is wrong with it, by block_id.
    """

    id: str
    user: str
    content: dict[str, Any]
    hash: str
    root_id: str
    previous_id: str | None = None
    entered: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return `modal` or `home`."""
        return str(self.content["type"])


class Screens:
    """What every person has open: a stack of modals and a Home tab."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._modals: dict[str, list[View]] = {}
        self._homes: dict[str, View] = {}

    def modals(self, user: str) -> list[View]:
        """Return a person's modals, the topmost last."""
        return list(self._modals.get(user, ()))

    def home(self, user: str) -> View | None:
        """Return a person's Home tab, if the app has published one."""
        return self._homes.get(user)

    def find(self, view_id: str) -> View | None:
        """Return the view with this id, if it is still on someone's screen."""
        return next((view for view in self._all() if view.id == view_id), None)

    def by_external_id(self, external_id: str) -> View | None:
        """Return the view that the app gave this name."""
        return next((v for v in self._all() if v.content.get("external_id") == external_id), None)

    def open(self, user: str, content: dict[str, Any]) -> View:
        """Show a modal, in place of whatever stack there was."""
        self._refuse_taken_name(content, None)
        view = self._new(user, content)
        self._modals[user] = [view]
        return view

    def push(self, user: str, content: dict[str, Any]) -> View:
        """Show a modal on top of another. Raises SlackError `push_limit_reached`, `not_found`."""
        stack = self._modals.get(user)
        if not stack:
            raise SlackError("not_found")
        if len(stack) >= MAX_STACK:
            raise SlackError("push_limit_reached")
        self._refuse_taken_name(content, None)
        view = self._new(user, content)
        view.root_id, view.previous_id = stack[0].id, stack[-1].id
        stack.append(view)
        return view

    def publish(self, user: str, content: dict[str, Any], hash_: str | None) -> View:
        """Show a Home tab. Raises SlackError `hash_conflict`."""
        shown = self._homes.get(user)
        if shown is not None:
            return self.update(shown, content, hash_)
        if hash_:
            raise SlackError("hash_conflict")
        self._refuse_taken_name(content, None)
        self._homes[user] = self._new(user, content)
        return self._homes[user]

    def update(self, view: View, content: dict[str, Any], hash_: str | None = None) -> View:
        """Change a view in place. Raises SlackError `hash_conflict`, `duplicate_external_id`."""
        if hash_ and hash_ != view.hash:
            raise SlackError("hash_conflict")
        self._refuse_taken_name(content, view)
        view.content, view.hash, view.errors = content, self._new_hash(), {}
        return view

    def pop(self, view: View) -> None:
        """Close one modal; the one beneath it shows again."""
        stack = self._modals.get(view.user, [])
        if view in stack:
            stack.remove(view)

    def clear(self, user: str) -> None:
        """Close all of a person's modals."""
        self._modals.pop(user, None)

    def _all(self) -> Iterator[View]:
        for stack in self._modals.values():
            yield from stack
        yield from self._homes.values()

    def _new(self, user: str, content: dict[str, Any]) -> View:
        view_id = self._mint.word("V0")
        return View(view_id, user, content, self._new_hash(), root_id=view_id)

    def _new_hash(self) -> str:
        return f"{int(self._mint.now())}.{self._mint.secret(8)}"

    def _refuse_taken_name(self, content: dict[str, Any], self_: View | None) -> None:
        name = content.get("external_id")
        taken = self.by_external_id(name) if name else None
        if taken is not None and taken is not self_:
            raise SlackError("duplicate_external_id")


def view_as_slack(
    view: View, world: World, values: dict[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Render a view as the views methods and the interaction payloads do."""
    content = view.content
    body: dict[str, Any] = {
        "id": view.id,
        "team_id": world.team.id,
        "type": view.kind,
        "blocks": content["blocks"],
        "private_metadata": content.get("private_metadata", ""),
        "callback_id": content.get("callback_id", ""),
        "state": {"values": values if values is not None else {}},
        "hash": view.hash,
        "title": content.get("title"),
        "clear_on_close": content.get("clear_on_close", False),
        "notify_on_close": content.get("notify_on_close", False),
        "close": content.get("close"),
        "submit": content.get("submit"),
        "previous_view_id": view.previous_id,
        "root_view_id": view.root_id,
        "app_id": world.app.id,
        "external_id": content.get("external_id", ""),
        "app_installed_team_id": world.team.id,
        "bot_id": world.app.bot_id,
    }
    return body
