"""Submitting and closing modals, and what an app may answer to a submission.

Sources: docs.slack.dev/surfaces/modals ("Updating views in response to view submissions"). An
answer that is neither empty nor a valid response action leaves the modal open with an error.
"""

from __future__ import annotations

from typing import Any

from bot.local_slack import inputs
from bot.local_slack.acts.stage import Stage
from bot.local_slack.changes import ChangeKind
from bot.local_slack.dispatch import Kind
from bot.local_slack.errors import ControlError, SlackError
from bot.local_slack.inputs import Values
from bot.local_slack.rules import check_view
from bot.local_slack.verbs import ActResult, CloseView, Submit
from bot.local_slack.views import View
from bot.local_slack.world import User

Json = dict[str, Any]

TROUBLE = "We had some trouble connecting. Try again?"


async def submit(stage: Stage, verb: Submit) -> ActResult:
    """Deliver a view_submission payload and do with the modal what the app answers."""
    user = stage.actor(verb.user)
    view = _top(stage, user, verb.view_id)
    blocks = view.content["blocks"]
    if "submit" not in view.content:
        raise ControlError("nothing_there", "this modal has no submit button")
    view.entered = inputs.enter(blocks, view.entered, verb.values)
    values = inputs.current(blocks, view.entered)
    inputs.refuse_incomplete(blocks, values)
    view.errors = {}
    trigger_id = stage.space.triggers.give(user.id, modal=view.id)
    payload = stage.payloads.submission(
        user, view, values, trigger_id, _response_urls(stage, user, blocks, values)
    )
    delivery = await stage.dispatcher.send(Kind.INTERACTIVE, payload, verb.forge)
    if delivery.answer.acked:
        _react(stage, view, delivery.answer.body)
    else:
        stage.show_failure(delivery, user, "This form")
    return ActResult.of(delivery, trigger_id)


async def close(stage: Stage, verb: CloseView) -> ActResult:
    """Close one modal or all; the app hears of it only if the view says `notify_on_close`."""
    user = stage.actor(verb.user)
    view = _top(stage, user, verb.view_id)
    is_cleared = verb.clear or bool(view.content.get("clear_on_close"))
    gone = stage.space.screens.modals(user.id) if is_cleared else [view]
    for one in gone:
        _close(stage, one)
    if not view.content.get("notify_on_close"):
        return ActResult.nothing_sent()
    payload = stage.payloads.closed(user, view, is_cleared=is_cleared)
    delivery = await stage.dispatcher.send(Kind.INTERACTIVE, payload, verb.forge)
    return ActResult.of(delivery)


def _top(stage: Stage, user: User, view_id: str | None) -> View:
    stack = stage.space.screens.modals(user.id)
    if not stack:
        raise ControlError("not_visible", f"{user.id!r} has no modal open")
    if view_id not in (None, stack[-1].id):
        raise ControlError("not_visible", f"{view_id!r} is not on top for {user.id!r}")
    return stack[-1]


def _response_urls(stage: Stage, user: User, blocks: list[Json], values: Values) -> list[Json]:
    given: list[Json] = []
    for placed in inputs.elements(blocks):
        if not placed.element.get("response_url_enabled"):
            continue
        state = values[placed.block_id][placed.action_id]
        channel_id = state.get("selected_conversation") or state.get("selected_channel")
        channel = stage.space.world.channels.get(channel_id or "")
        if channel is not None:
            url = stage.payloads.response_url(user, channel, None)
            given.append(
                {
                    "block_id": placed.block_id,
                    "action_id": placed.action_id,
                    "channel_id": channel.id,
                    "response_url": url,
                }
            )
    return given


def _react(stage: Stage, view: View, body: object) -> None:
    try:
        _apply(stage, view, body)
    except SlackError as refusal:
        stage.space.notify(view.user, TROUBLE, detail="; ".join((refusal.code, *refusal.messages)))


def _apply(stage: Stage, view: View, body: object) -> None:
    if body in (None, "", {}):
        _close(stage, view)
        return
    if not isinstance(body, dict):
        raise SlackError("invalid_response_action", repr(body))
    _respond(stage, view, body)


def _respond(stage: Stage, view: View, body: Json) -> None:
    action, screens = body.get("response_action"), stage.space.screens
    if action == "clear":
        for one in screens.modals(view.user):
            _close(stage, one)
    elif action == "errors":
        view.errors = _errors(view, body.get("errors"))
        stage.space.tell_view(ChangeKind.VIEW_UPDATED, view)
    elif action == "update":
        screens.update(view, _content(stage, body))
        stage.space.tell_view(ChangeKind.VIEW_UPDATED, view)
    elif action == "push":
        stage.space.tell_view(
            ChangeKind.VIEW_OPENED, screens.push(view.user, _content(stage, body))
        )
    else:
        raise SlackError("invalid_response_action", repr(body))


def _content(stage: Stage, body: Json) -> Json:
    return stage.space.content(check_view(body.get("view"), "modal"))


def _errors(view: View, errors: object) -> dict[str, str]:
    input_ids = {b["block_id"] for b in view.content["blocks"] if b["type"] == "input"}
    if not isinstance(errors, dict) or not errors:
        raise SlackError("invalid_errors", "errors must name at least one input block")
    for block_id, message in errors.items():
        if block_id not in input_ids or not isinstance(message, str):
            raise SlackError("invalid_errors", f"{block_id!r} is no input block of this view")
    return dict(errors)


def _close(stage: Stage, view: View) -> None:
    stage.space.screens.pop(view)
    stage.space.tell_view(ChangeKind.VIEW_CLOSED, view)
