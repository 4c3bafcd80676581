"""The one place to tell people what to do."""

from __future__ import annotations

from bot.local_slack.acts import clicks, commands, modals
from bot.local_slack.acts.stage import Stage
from bot.local_slack.changes import Notice
from bot.local_slack.dispatch import Delivery, Kind
from bot.local_slack.errors import ControlError
from bot.local_slack.messages import Message
from bot.local_slack.verbs import (
    ActResult,
    Click,
    CloseView,
    OpenHome,
    Raw,
    Resend,
    Say,
    Slash,
    Submit,
)


class People:
    """The people of the workspace.

    Every act returns what came of it, and raises ControlError if a person could not do it.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    @property
    def deliveries(self) -> list[Delivery]:
        """Return everything sent to the app so far, oldest first."""
        return list(self._stage.dispatcher.deliveries)

    async def click(self, verb: Click) -> ActResult:
        """Press or pick something."""
        return await clicks.click(self._stage, verb)

    async def submit(self, verb: Submit) -> ActResult:
        """Fill in and submit a modal."""
        return await modals.submit(self._stage, verb)

    async def close_view(self, verb: CloseView) -> ActResult:
        """Close a modal."""
        return await modals.close(self._stage, verb)

    async def slash(self, verb: Slash) -> ActResult:
        """Type a slash command."""
        return await commands.slash(self._stage, verb)

    async def open_home(self, verb: OpenHome) -> ActResult:
        """Open the app's Home tab."""
        stage = self._stage
        user = stage.actor(verb.user)
        home = stage.space.screens.home(user.id)
        payload = stage.payloads.home_opened(user, stage.space.world.direct(user.id), home)
        return ActResult.of(await stage.dispatcher.send(Kind.EVENT, payload, verb.forge))

    async def raw(self, verb: Raw) -> ActResult:
        """Send any payload at all."""
        return ActResult.of(await self._stage.dispatcher.send(verb.kind, verb.payload, verb.forge))

    async def resend(self, verb: Resend) -> ActResult:
        """Send the identical bytes of an earlier delivery again."""
        extra = {}
        if verb.retry_num is not None:
            extra["X-Slack-Retry-Num"] = str(verb.retry_num)
            extra["X-Slack-Retry-Reason"] = verb.retry_reason
        try:
            delivery = await self._stage.dispatcher.resend(
                verb.delivery_id, extra, fresh_signature=verb.fresh_signature
            )
        except KeyError:
            raise ControlError("no_such_delivery", f"there is no {verb.delivery_id}") from None
        return ActResult.of(delivery)

    def say(self, verb: Say) -> Message:
        """Write a message in a channel."""
        user = self._stage.actor(verb.user)
        channel = self._stage.channel(user, verb.channel)
        return self._stage.space.post(channel.id, user.id, verb.text, thread_ts=verb.thread_ts)

    def notices(self, user: str) -> list[Notice]:
        """Return what Slack's client told this person went wrong, oldest first."""
        return [notice for notice in self._stage.space.notices if notice.user == user]
