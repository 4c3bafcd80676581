"""The Bolt app: which listener hears what, and what surrounds every listener."""

import contextlib
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.actions import Buttons
from bot.answers import Desk
from bot.bootstrap import SlackSide
from bot.commands import Commands
from bot.directory import SlackIdentity
from bot.interactions import (
    Press,
    Submission,
    read_command,
    read_place,
    read_press,
    read_submission,
)
from bot.logs import BOLT, get_log, quieten
from bot.modals import Forms
from bot.replies import unforeseen
from bot.tasks import Tasks
from notifiers import names

_READ_BY_BOLT = (
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_VERIFICATION_TOKEN",
    "SLACK_CLIENT_ID",
    "SLACK_CLIENT_SECRET",
)
_ANYTHING = re.compile(".*", re.DOTALL)
_log = get_log(__name__)

T = TypeVar("T")
Handler = Callable[[T, AsyncAck], Awaitable[None]]
Listener = Callable[..., Awaitable[None]]
Name = str | re.Pattern[str]


class Guard:
    """Surrounds listeners: none lets an exception out, and each is held until it ends.

    An exception soon after ``ack()`` would cost the ack
    (https://github.com/slackapi/bolt-python/issues/75), and Bolt keeps no reference to the task.
    """

    def __init__(self, desk: Desk, tasks: Tasks) -> None:
        """Take a way to tell people, and where tasks are held."""
        self._desk = desk
        self._tasks = tasks

    def around(self, read: Callable[[Mapping[str, Any]], T], handle: Handler[T]) -> Listener:
        """Return the listener that reads a payload and handles it."""

        async def listen(ack: AsyncAck, body: dict[str, Any]) -> None:
            with self._tasks.current():
                try:
                    await handle(read(body), ack)
                except Exception:  # noqa: BLE001 - see the class
                    _log.exception("a listener failed", kind=body.get("type", "command"))
                    await self._apologise(ack, body)

        return listen

    async def _apologise(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        if ack.response is None:
            await ack()
        try:
            await self._desk.whispers.tell(read_place(body), unforeseen())
        except Exception:  # noqa: BLE001 - the second failure must not cost the ack either
            _log.exception("a person was not told that a listener failed")


def make_app(slack: SlackSide, desk: Desk, tasks: Tasks) -> AsyncApp:
    """Return the app with every listener; it is asked nothing that is not proven to be Slack's.

    Its own check of signatures is off: it knows one secret, stumbles over malformed headers, and
    logs the whole body when it refuses. Over HTTP the server's own check comes first; a socket
    needs none.
    """
    with _bolt_reads_no_environment():
        app = AsyncApp(
            name="holdshort",
            logger=_quiet_logger(),
            # Never used: what we call, we call with the one client that retries nothing.
            client=AsyncWebClient(base_url=slack.client.base_url, retry_handlers=[]),
            authorize=_authorize_as(slack.identity),
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
        )
    _listen(app, Guard(desk, tasks), slack, desk)
    return app


def _quiet_logger() -> logging.Logger:
    """Return the logger for Bolt, and through Bolt for the socket: it writes no bodies."""
    quieten()
    return logging.getLogger(BOLT)


def _listen(app: AsyncApp, guard: Guard, slack: SlackSide, desk: Desk) -> None:
    # The first listener that matches hears it, so what we do not know comes last.
    for action, press in _presses(Buttons(desk, slack.client)):
        app.action(action)(guard.around(read_press, press))
    for form, submit in _submissions(Forms(desk)):
        app.view(form)(guard.around(read_submission, submit))
    commands = Commands(desk, slack.directory)
    app.command(_ANYTHING)(guard.around(read_command, commands.run))
    app.event(_ANYTHING)(_hear_nothing)


def _presses(buttons: Buttons) -> Iterator[tuple[Name, Handler[Press]]]:
    yield names.APPROVE, buttons.approve
    yield names.APPROVE_ONCE, buttons.approve_once
    yield names.APPROVE_ALL, buttons.approve_all
    yield names.DENY, buttons.deny
    yield names.DECLINE, buttons.deny
    yield names.DENY_REASON, buttons.deny_with_reason
    yield names.ANSWER, buttons.answer
    yield names.REVIEW, buttons.review
    yield names.EDIT, buttons.edit
    yield names.REMEMBER, buttons.remember
    yield names.REVOKE, buttons.revoke
    yield _ANYTHING, buttons.unknown


def _submissions(forms: Forms) -> Iterator[tuple[Name, Handler[Submission]]]:
    yield names.DENY_FORM, forms.deny
    yield names.ANSWER_FORM, forms.answer
    yield names.REVIEW_FORM, forms.review
    yield names.EDIT_FORM, forms.edit
    yield names.REMEMBER_FORM, forms.remember
    yield _ANYTHING, forms.unknown


async def _hear_nothing(ack: AsyncAck) -> None:
    """Take an event that nothing here is about; unanswered, Slack would send it again."""
    await ack()


def _authorize_as(identity: SlackIdentity) -> Callable[[], Awaitable[AuthorizeResult]]:
    """Return an ``authorize`` that asks nobody.

    Bolt's own calls ``auth.test`` on the first request; when that fails, it tells Slack that all is
    well and drops the click.
    """
    result = AuthorizeResult(
        enterprise_id=identity.enterprise or None,
        team_id=identity.team,
        bot_user_id=identity.bot_user,
        bot_id=identity.bot_id,
        bot_token="",
    )

    async def authorize() -> AuthorizeResult:
        return result

    return authorize


@contextlib.contextmanager
def _bolt_reads_no_environment() -> Iterator[None]:
    """Hide what AsyncApp would take from the environment unasked: an OAuth flow, other tokens."""
    hidden = {name: os.environ.pop(name) for name in _READ_BY_BOLT if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
