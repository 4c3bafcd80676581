"""Pressing buttons and picking from menus, in messages, modals and Home tabs."""

from __future__ import annotations

from typing import Any

from bot.local_slack import inputs
from bot.local_slack.acts.stage import Stage
from bot.local_slack.dispatch import Kind
from bot.local_slack.errors import ControlError
from bot.local_slack.inputs import Placed, Values
from bot.local_slack.messages import Message
from bot.local_slack.verbs import ActResult, Click
from bot.local_slack.views import View
from bot.local_slack.world import User

Json = dict[str, Any]

_SHOWN = ("action_id", "text", "value", "style", "confirm", "placeholder")


async def click(stage: Stage, verb: Click) -> ActResult:
    """Deliver a block_actions payload for what the person pressed, if they can see it."""
    user = stage.actor(verb.user)
    if verb.view_id is not None:
        return await _click_in_view(stage, user, _visible_view(stage, user, verb.view_id), verb)
    return await _click_in_message(stage, user, _visible_message(stage, user, verb), verb)


async def _click_in_message(stage: Stage, user: User, message: Message, verb: Click) -> ActResult:
    placed, entered = _press(message.blocks, message.entered.get(user.id, {}), verb)
    if _declined(placed, verb):
        return ActResult.nothing_sent("not_confirmed")
    message.entered[user.id] = entered
    trigger_id = stage.space.triggers.give(user.id)
    payload = stage.payloads.message_action(
        user,
        message,
        _action(stage, placed, entered, verb),
        inputs.current(message.blocks, entered),
        trigger_id,
    )
    delivery = await stage.dispatcher.send(Kind.INTERACTIVE, payload, verb.forge)
    stage.show_failure(delivery, user, "This action", message.channel)
    return ActResult.of(delivery, trigger_id)


async def _click_in_view(stage: Stage, user: User, view: View, verb: Click) -> ActResult:
    blocks = view.content["blocks"]
    placed, entered = _press(blocks, view.entered, verb)
    if _declined(placed, verb):
        return ActResult.nothing_sent("not_confirmed")
    view.entered = entered
    trigger_id = stage.space.triggers.give(user.id, modal=view.id if view.kind == "modal" else None)
    payload = stage.payloads.view_action(
        user,
        view,
        _action(stage, placed, entered, verb),
        inputs.current(blocks, entered),
        trigger_id,
    )
    delivery = await stage.dispatcher.send(Kind.INTERACTIVE, payload, verb.forge)
    stage.show_failure(delivery, user, "This action")
    return ActResult.of(delivery, trigger_id)


def _visible_message(stage: Stage, user: User, verb: Click) -> Message:
    if verb.channel is None or verb.ts is None:
        raise ControlError("nowhere", "say channel and ts, or view_id")
    channel = stage.channel(user, verb.channel)
    message = stage.space.messages.find(channel.id, verb.ts)
    if message is None or message.ephemeral_to not in (None, user.id):
        raise ControlError("not_visible", f"{user.id!r} sees no message {verb.ts!r}")
    return message


def _visible_view(stage: Stage, user: User, view_id: str) -> View:
    modals, home = stage.space.screens.modals(user.id), stage.space.screens.home(user.id)
    on_top = modals[-1] if modals else home
    if on_top is None or on_top.id != view_id:
        raise ControlError("not_visible", f"{user.id!r} does not have the view {view_id!r} on top")
    return on_top


def _press(blocks: list[Json], entered: Values, verb: Click) -> tuple[Placed, Values]:
    placed = inputs.find(blocks, verb.action_id, verb.block_id)
    if placed.block["type"] == "input" and not placed.block.get("dispatch_action"):
        raise ControlError("silent_input", "this input is sent only when the form is submitted")
    after = inputs.enter(blocks, entered, verb.values)
    if placed.keeps_state:
        if verb.value is not None:
            picked = inputs.choose(placed, verb.value)
            after.setdefault(placed.block_id, {})[placed.action_id] = picked
    elif placed.element["type"] == "button":
        _refuse_other_value(placed, verb.value)
    return placed, after


def _refuse_other_value(placed: Placed, value: object) -> None:
    shown = placed.element.get("value")
    if value is not None and value != shown:
        raise ControlError("other_value", "the button has another value; use forge to send this")


def _declined(placed: Placed, verb: Click) -> bool:
    return "confirm" in placed.element and not verb.confirm


def _action(stage: Stage, placed: Placed, entered: Values, verb: Click) -> Json:
    element = placed.element
    action: Json = {name: element[name] for name in _SHOWN if name in element}
    action |= {"block_id": placed.block_id, "type": element["type"]}
    if placed.keeps_state:
        known = entered.get(placed.block_id, {}).get(placed.action_id)
        action |= known or inputs.initial(placed)
    elif element["type"] == "overflow":
        action["selected_option"] = inputs.overflow_option(placed, verb.value)
    return action | {"action_ts": stage.space.mint.ts()}
