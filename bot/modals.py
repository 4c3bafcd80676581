"""The forms: a reason, an answer, a review page by page. Who submits is judged, not who opened."""

from slack_bolt.context.ack.async_ack import AsyncAck

from bot.actions import why_closed
from bot.answers import Desk, Outcome
from bot.interactions import Place, Submission
from bot.replies import FOR_SLACK, old_button, refused, slow_store
from engine import Allow, Answer, Decision, Deny
from engine.cards import TicketNotice
from engine.errors import (
    DirectoryUnavailableError,
    HoldshortError,
    InvalidAnswerError,
    InvalidResumeTokenError,
    StoreError,
)
from notifiers import FormMeta, names, pages, read_meta, review_form

_KEEP_TYPED = (InvalidAnswerError, StoreError, DirectoryUnavailableError)
"""What the same person can put right by changing their words, or by sending them again."""


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
        if closed is not None or notice is None:
            await ack()
            await self._desk.tell(place, closed)
        elif isinstance(notice, TicketNotice) and meta.page < pages(notice):
            await ack(response_action="update", view=_next_page(notice, meta))
        else:
            await self._approve(form, meta, ack)

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


def _next_page(notice: TicketNotice, meta: FormMeta) -> dict[str, object]:
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
