"""The forms: a reason, an answer, an edit, a review page by page. Who submits is judged, not who opened."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from slack_bolt.context.ack.async_ack import AsyncAck

from bot.actions import why_closed
from bot.answers import Desk, Outcome
from bot.interactions import Place, Submission
from bot.replies import FOR_SLACK, old_button, refused, slow_store
from engine import Allow, Answer, Decision, Deny, Recorded, Via
from engine.cards import TicketNotice
from engine.errors import (
    DirectoryUnavailableError,
    EditRefusedError,
    HoldshortError,
    InvalidAnswerError,
    InvalidArgumentsError,
    InvalidResumeTokenError,
    StoreError,
)
from notifiers import (
    FormMeta,
    inputs_of,
    names,
    pages,
    read_inputs,
    read_meta,
    read_wish,
    review_form,
)

_KEEP_TYPED = (InvalidAnswerError, EditRefusedError, StoreError, DirectoryUnavailableError)
"""What the same person can put right by changing their words, or by sending them again."""


@dataclass(frozen=True, slots=True)
class Mistakes:
    """What is wrong with edited arguments, and the block of the input of each."""

    error: InvalidArgumentsError
    blocks: Mapping[str, str]


class Forms:
    """What submitting each form does."""

    def __init__(self, desk: Desk) -> None:
        """Take the way to the engine."""
        self._desk = desk

    async def deny(self, form: Submission, ack: AsyncAck) -> None:
        """Record a Deny with its reason."""
        reason = form.typed.get(names.REASON_BLOCK, "").strip()
        await self._typed(form, Deny(reason=reason), names.REASON_BLOCK, ack)

    async def answer(self, form: Submission, ack: AsyncAck) -> None:
        """Record an answer."""
        value = form.typed.get(names.ANSWER_BLOCK, "")
        await self._typed(form, Answer(value=value), names.ANSWER_BLOCK, ack)

    async def review(self, form: Submission, ack: AsyncAck) -> None:
        """Show the next page; on the last one, record an Allow."""
        meta = await self._meta(form, ack)
        if meta is None:
            return
        notice = await self._desk.look(meta.token.get_secret_value()).soon()
        place = _place(form, meta)
        closed = why_closed(notice) if isinstance(notice, TicketNotice) else notice
        if closed is not None or not isinstance(notice, TicketNotice):
            await ack()
            await self._desk.tell(place, closed)
            return
        # Arguments may be large: laid out in a thread, they hold up nobody else.
        view = await asyncio.to_thread(_next_page, notice, meta)
        if view is None:
            await self._approve(form, meta, ack)
        else:
            await ack(response_action="update", view=view)

    async def edit(self, form: Submission, ack: AsyncAck) -> None:
        """Record an Allow of the arguments as they were edited."""
        meta = await self._meta(form, ack)
        if meta is None:
            return
        outcome = await self._desk.attempt(self._edited(form, meta)).soon()
        errors = _errors(form, outcome)
        if errors:
            await ack(response_action="errors", errors=errors)
            return
        await ack()
        await self._desk.tell(_place(form, meta), _recorded(outcome))

    async def remember(self, form: Submission, ack: AsyncAck) -> None:
        """Record an Allow that is to settle like calls."""
        meta = await self._meta(form, ack)
        if meta is None:
            return
        outcome = await self._desk.attempt(self._remembered(form, meta)).soon()
        again = _again(outcome)
        if again:
            await ack(response_action="errors", errors={names.REMEMBER_HOURS: again})
            return
        await ack()
        await self._desk.tell(_place(form, meta), outcome)

    async def _remembered(self, form: Submission, meta: FormMeta) -> Recorded:
        token = meta.token.get_secret_value()
        editing = await self._desk.engine.answers.editing(token, Via.SLACK)
        decision = Allow(remember=read_wish(editing.notice, form.typed))
        return await self._desk.record(token, decision, form.actor)

    async def _edited(self, form: Submission, meta: FormMeta) -> Recorded | Mistakes:
        token = meta.token.get_secret_value()
        editing = await self._desk.engine.answers.editing(token, Via.SLACK)
        inputs = inputs_of(editing.notice)
        try:
            arguments = read_inputs(inputs, editing.arguments, form.typed)
            return await self._desk.record(token, Allow(arguments=arguments), form.actor)
        except InvalidArgumentsError as error:
            return Mistakes(error, {one.field.name: one.block for one in inputs})

    async def unknown(self, form: Submission, ack: AsyncAck) -> None:
        """Answer a form that we do not know."""
        await ack()
        await self._desk.whispers.tell(form.place, old_button(FOR_SLACK))

    async def _approve(self, form: Submission, meta: FormMeta, ack: AsyncAck) -> None:
        attempt = self._desk.submit(meta.token.get_secret_value(), Allow(), form.actor)
        outcome = await attempt.soon()
        await ack()
        await self._desk.tell(_place(form, meta), outcome or await attempt.at_last())

    async def _typed(self, form: Submission, decision: Decision, block: str, ack: AsyncAck) -> None:
        meta = await self._meta(form, ack)
        if meta is None:
            return
        outcome = await self._desk.submit(
            meta.token.get_secret_value(), decision, form.actor
        ).soon()
        again = _again(outcome)
        if again:
            await ack(response_action="errors", errors={block: again})
            return
        await ack()
        await self._desk.tell(_place(form, meta), outcome)

    async def _meta(self, form: Submission, ack: AsyncAck) -> FormMeta | None:
        try:
            return read_meta(form.metadata)
        except InvalidResumeTokenError as error:
            await ack()
            await self._desk.tell(form.place, error)
            return None


def _errors(form: Submission, outcome: Outcome | Mistakes | None) -> dict[str, str]:
    """Return what to say under which input, so that nothing has to be put in again; or nothing."""
    first = min(form.typed, default=names.EDIT_BLOCK)
    if isinstance(outcome, Mistakes):
        faults = outcome.error.faults
        return {
            outcome.blocks.get(name, first): refused(InvalidAnswerError(what), FOR_SLACK)
            for name, what in faults
        }
    again = _again(outcome)
    return {first: again} if again else {}


def _recorded(outcome: Outcome | Mistakes | None) -> Outcome | None:
    return outcome.error if isinstance(outcome, Mistakes) else outcome


def _next_page(notice: TicketNotice, meta: FormMeta) -> dict[str, object] | None:
    """Return the next page; None after the last one."""
    if meta.page >= pages(notice):
        return None
    # With the token of the first page: should the arguments change between two pages, then what
    # was read is not what would run, and the engine refuses the token as superseded.
    first = notice.model_copy(update={"token": meta.token})
    return review_form(first, meta.page + 1, channel=meta.channel, message=meta.message)


def _again(outcome: Outcome | None) -> str:
    """Return what to say under the field, so that nobody has to type it again; or nothing."""
    if outcome is None:
        return slow_store()
    if isinstance(outcome, HoldshortError) and isinstance(outcome, _KEEP_TYPED):
        return refused(outcome, FOR_SLACK)
    return ""


def _place(form: Submission, meta: FormMeta) -> Place:
    return Place(form.actor.id, meta.channel)
