"""Typing slash commands, and what an app may answer to one."""

from __future__ import annotations

from bot.local_slack.acts.stage import Stage
from bot.local_slack.dispatch import Kind
from bot.local_slack.errors import ControlError, SlackError
from bot.local_slack.response_urls import Reply
from bot.local_slack.verbs import ActResult, Slash
from bot.local_slack.world import Channel, User


async def slash(stage: Stage, verb: Slash) -> ActResult:
    """Deliver a slash command and show the app's direct answer, private unless it says not."""
    user = stage.actor(verb.user)
    channel = stage.channel(user, verb.channel)
    if verb.command not in stage.space.world.app.commands:
        raise ControlError("no_such_command", f"{verb.command} is not a valid command")
    trigger_id = stage.space.triggers.give(user.id)
    payload = stage.payloads.command(user, channel, verb.command, verb.text, trigger_id)
    delivery = await stage.dispatcher.send(Kind.SLASH, payload, verb.forge)
    stage.show_failure(delivery, user, verb.command, channel.id)
    if delivery.answer.acked:
        _show(stage, user, channel, verb.command, delivery.answer.body)
    return ActResult.of(delivery, trigger_id)


def _show(stage: Stage, user: User, channel: Channel, command: str, body: object) -> None:
    if body in (None, "", {}):
        return
    try:
        reply = Reply.read(body if isinstance(body, dict) else {"text": str(body)})
    except SlackError as refusal:
        stage.space.notify(
            user.id,
            f'{command} failed with the error "{refusal.code}"',
            detail="; ".join(refusal.messages),
            channel=channel.id,
        )
        return
    reply.post(stage.space, channel.id, user.id)
