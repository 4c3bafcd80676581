"""The views.* methods."""

from __future__ import annotations

from typing import Any

from bot.local_slack.changes import ChangeKind
from bot.local_slack.errors import SlackError
from bot.local_slack.methods import find
from bot.local_slack.methods.call import Call, Json, Method
from bot.local_slack.rules import check_view
from bot.local_slack.views import View, view_as_slack


def open_view(call: Call) -> Json:
    """views.open: show a modal to the person whose act gave the trigger."""
    content = _content(call, "modal")
    trigger_id = call.required("trigger_id")
    space = call.workspace
    user = space.triggers.look(trigger_id).user
    view = space.screens.open(user, content)
    space.triggers.exchange(trigger_id)
    return _shown(call, ChangeKind.VIEW_OPENED, view)


def push(call: Call) -> Json:
    """views.push: show a modal on top of the one the trigger came from.

    A trigger from outside a modal is refused with `not_found`; Slack's own answer is not written
    down anywhere.
    """
    content = _content(call, "modal")
    trigger_id = call.required("trigger_id")
    space = call.workspace
    trigger = space.triggers.look(trigger_id)
    if trigger.modal is None or space.screens.find(trigger.modal) is None:
        raise SlackError("not_found")
    view = space.screens.push(trigger.user, content)
    space.triggers.exchange(trigger_id)
    return _shown(call, ChangeKind.VIEW_OPENED, view)


def update(call: Call) -> Json:
    """views.update: change a view by its id or its external id; `hash` guards against races."""
    screens = call.workspace.screens
    if not call.has("view_id") and not call.has("external_id"):
        raise SlackError("invalid_arguments", "missing required field: view_id")
    found = (
        screens.find(call.text("view_id"))
        if call.has("view_id")
        else screens.by_external_id(call.text("external_id"))
    )
    if found is None:
        raise SlackError("not_found")
    content = _content(call, found.kind)
    screens.update(found, content, call.text("hash") or None)
    kind = ChangeKind.HOME if found.kind == "home" else ChangeKind.VIEW_UPDATED
    return _shown(call, kind, found)


def publish(call: Call) -> Json:
    """views.publish: show a person's Home tab."""
    space = call.workspace
    user = find.user(call, "user_id")
    content = _content(call, "home")
    if not space.world.app.home_enabled:
        raise SlackError("not_enabled")
    view = space.screens.publish(user.id, content, call.text("hash") or None)
    return _shown(call, ChangeKind.HOME, view)


def _content(call: Call, kind: str) -> dict[str, Any]:
    if not call.has("view"):
        raise SlackError("invalid_arguments", "missing required field: view")
    view = call.structure("view", "invalid_arguments")
    return call.workspace.content(check_view(view, kind))


def _shown(call: Call, kind: ChangeKind, view: View) -> Json:
    call.workspace.tell_view(kind, view)
    return {"view": view_as_slack(view, call.workspace.world, view.entered)}


METHODS = {
    "views.open": Method(open_view),
    "views.push": Method(push),
    "views.update": Method(update),
    "views.publish": Method(publish),
}
