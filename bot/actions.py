"""The buttons of a card: Approve, Deny, Decline in one tap; the others open a form."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.alike import approve_all
from bot.answers import Desk
from bot.directory import error_code
from bot.interactions import Press
from bot.logs import get_log
from bot.replies import FOR_SLACK, form_refused, form_too_late, old_button, slow_store
from bot.rule_listing import told_revoked
from engine import Allow, AlreadyDecidedError, Decision, Deny, Recorded, Via
from engine.cards import TicketNotice
from engine.errors import (
    EditFault,
    EditRefusedError,
    HoldshortError,
    StoreUnavailableError,
    WrongDecisionError,
)
from engine.remembered import RememberedRule, RememberFault, RememberRefusedError
from engine.tickets import RemoteInput, Risk, accepted_kinds
from notifiers import (
    answer_form,
    can_edit,
    can_remember,
    deny_form,
    edit_form,
    needs_review,
    read_shown,
    remember_form,
    review_form,
)

View = dict[str, object]
Form = Callable[..., View]
TRIGGER_S = 3.0
"""A trigger id lives this long (bolt-python, docs/english/concepts/opening-modals.md)."""
_KINDS: dict[Form, str] = {
    deny_form: "deny",
    answer_form: "answer",
    review_form: "allow",
    edit_form: "allow",
    remember_form: "allow",
}
EXPIRED = "expired_trigger_id"
_LATE = frozenset({EXPIRED, "exchanged_trigger_id", "invalid_trigger_id", "TimeoutError"})
_REVIEW_FIRST = (
    "Not recorded: this has to be reviewed first. Press Review on its card; Approve is on the last"
    " page."
)
_log = get_log(__name__)


class Buttons:
    """What each button does."""

    def __init__(self, desk: Desk, client: AsyncWebClient) -> None:
        """Take the way to the engine, and the client that opens forms."""
        self._desk = desk
        self._client = client

    async def approve(self, press: Press, ack: AsyncAck) -> None:
        """Record an Allow, unless the call is to be reviewed first: that card has no Approve."""
        await self._allow(press, Allow(), ack)

    async def approve_once(self, press: Press, ack: AsyncAck) -> None:
        """Record an Allow of this call alone, whatever others wished to be remembered."""
        await self._allow(press, Allow(once=True), ack)

    async def approve_all(self, press: Press, ack: AsyncAck) -> None:
        """Record an Allow for each ticket that the button was for; say which were not recorded."""
        try:
            shown = read_shown(press.token)
        except ValueError:
            await self.unknown(press, ack)
            return
        attempt = self._desk.attempt(approve_all(self._desk, shown, press))
        outcome = await attempt.soon()
        await ack()
        if outcome is None:
            outcome = await attempt.at_last()
        told = outcome if isinstance(outcome, str) else slow_store()
        await self._desk.whispers.tell(press.place, told)

    async def deny(self, press: Press, ack: AsyncAck) -> None:
        """Record a Deny without a reason; on a question, that it was declined."""
        await self._decide(press, Deny(), ack)

    async def deny_with_reason(self, press: Press, ack: AsyncAck) -> None:
        """Open the form for a reason."""
        await self._open(press, ack, deny_form)

    async def answer(self, press: Press, ack: AsyncAck) -> None:
        """Open the form for an answer."""
        await self._open(press, ack, answer_form)

    async def review(self, press: Press, ack: AsyncAck) -> None:
        """Open the review of all arguments."""
        await self._open(press, ack, review_form)

    async def edit(self, press: Press, ack: AsyncAck) -> None:
        """Open the form to change the arguments and approve them."""
        await self._open(press, ack, edit_form)

    async def remember(self, press: Press, ack: AsyncAck) -> None:
        """Open the form to approve and have it settle like calls."""
        await self._open(press, ack, remember_form)

    async def revoke(self, press: Press, ack: AsyncAck) -> None:
        """End a remembered rule, which the button names; whoever pressed is judged."""
        await ack()
        revoking, operator = self._desk.engine.revoking, self._desk.operator
        work = revoking.revoke(press.token, press.actor, operator=operator)
        done = await self._desk.attempt(work).at_last()
        if isinstance(done, RememberedRule):
            said = told_revoked(done, press.actor, FOR_SLACK)
            await self._desk.whispers.tell(press.place, said)
        else:
            await self._desk.tell(press.place, done)

    async def unknown(self, press: Press, ack: AsyncAck) -> None:
        """Answer a button that we do not know, so that no press goes unanswered."""
        await ack()
        await self._desk.whispers.tell(press.place, old_button(FOR_SLACK))

    async def _allow(self, press: Press, decision: Allow, ack: AsyncAck) -> None:
        attempt = self._desk.attempt(self._approve(press, decision))
        outcome = await attempt.soon()
        await ack()
        if outcome is None:
            outcome = await attempt.at_last()
        if isinstance(outcome, str):
            await self._desk.whispers.tell(press.place, outcome)
        else:
            await self._desk.tell(press.place, outcome)
        await self._desk.adopt(press.token, press.card)

    async def _approve(self, press: Press, decision: Allow) -> Recorded | str:
        # In this order: should it be edited after this look, the token is superseded by then.
        notice = await self._desk.engine.notice(press.token, Via.SLACK)
        if notice.resolution is None and needs_review(notice):
            return _REVIEW_FIRST
        return await self._desk.record(press.token, decision, press.actor)

    async def _decide(self, press: Press, decision: Decision, ack: AsyncAck) -> None:
        # Durable before the ack, so that nothing is lost with a socket or a process; a slow store
        # must not cost the ack all the same.
        attempt = self._desk.submit(press.token, decision, press.actor)
        outcome = await attempt.soon()
        await ack()
        if outcome is None:
            outcome = await attempt.at_last()
        await self._desk.tell(press.place, outcome)
        await self._desk.adopt(press.token, press.card)

    async def _open(self, press: Press, ack: AsyncAck, form: Form) -> None:
        await ack()
        seen = await self._desk.attempt(self._look(press)).soon()
        if isinstance(seen, HoldshortError) or seen is None:
            await self._desk.tell(press.place, seen)
            await self._desk.adopt(press.token, press.card)
            return
        token, notice = seen
        await self._show(press, notice, form)
        await self._desk.adopt(token, press.card)

    async def _look(self, press: Press) -> tuple[str, TicketNotice]:
        """Return what a button is about: on a shared card, one that opens a form has only a ref."""
        engine, token = self._desk.engine, press.token
        if token.isalnum():  # a token never is
            token = await engine.token_for(token, Via.SLACK)
        return token, await engine.notice(token, Via.SLACK)

    async def _show(self, press: Press, notice: TicketNotice, form: Form) -> None:
        closed = why_closed(notice) or _why_not_this(notice, form)
        if closed is not None:
            await self._desk.tell(press.place, closed)
            return
        message = press.card.id if press.card else ""
        # Arguments may be large: laid out in a thread, they hold up nobody else.
        view: Any = await asyncio.to_thread(
            form, notice, channel=press.place.channel, message=message
        )
        trouble = await self._open_view(press.trigger, view)
        if trouble:
            await self._desk.whispers.tell(press.place, _not_opened(trouble, notice))

    async def _open_view(self, trigger: str, view: Any) -> str:  # noqa: ANN401 - as the SDK has it
        """Open a form; return what Slack said against it, if anything."""
        try:
            async with asyncio.timeout(TRIGGER_S):
                await self._client.views_open(trigger_id=trigger, view=view)
        except SlackApiError as error:
            trouble = error_code(error)
            # What the older form of the error is about stands beside it.
            if "trigger_id" in str(error.response.get("response_metadata", "")):
                trouble = EXPIRED
        except (TimeoutError, aiohttp.ClientError) as error:
            trouble = type(error).__name__
        else:
            return ""
        _log.warning("a form was not opened", why=trouble)
        return trouble


def _not_opened(trouble: str, notice: TicketNotice) -> str:
    if trouble not in _LATE:
        return form_refused(trouble, FOR_SLACK)
    return form_too_late(FOR_SLACK, notice.ref if isinstance(notice.target, RemoteInput) else "")


def why_closed(notice: TicketNotice) -> HoldshortError | None:
    """Return what to tell someone who comes to a ticket that is closed; None if it is open."""
    ended = notice.resolution
    if ended is not None:
        return AlreadyDecidedError(decision=ended.word, by=ended.actor.id, at=ended.at)
    if notice.token is None:
        return StoreUnavailableError("the ticket is neither open nor closed")
    return None


def why_not_remembered(notice: TicketNotice) -> RememberRefusedError:
    """Return what to tell someone who wants remembered what cannot be."""
    if notice.declared.risk is Risk.HIGH:
        return RememberRefusedError(RememberFault.HIGH_RISK)
    if notice.edited is not None:
        return RememberRefusedError(RememberFault.EDITED)
    late = notice.votes or notice.wished is not None
    return RememberRefusedError(RememberFault.LATE if late else RememberFault.TOO_LARGE)


def _why_not_this(notice: TicketNotice, form: Form) -> HoldshortError | None:
    """Refuse a form for another kind of ticket: its button was not on this card."""
    kind = _KINDS[form]
    accepted = accepted_kinds(notice.target)
    if kind not in accepted:
        return WrongDecisionError(kind, accepted)
    if form is edit_form and not can_edit(notice):
        return EditRefusedError(EditFault.NOT_EDITABLE, notice.target.tool)
    if form is remember_form and not can_remember(notice):
        return why_not_remembered(notice)
    return None
