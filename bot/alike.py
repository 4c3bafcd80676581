"""Approve all: one press, and one answer for each of the tickets that it was for."""

from collections.abc import Sequence

from bot.answers import Desk
from bot.interactions import Press
from bot.replies import FOR_SLACK, refused
from engine import Allow, Via
from engine.errors import HoldshortError
from notifiers import Shown, may_be_bulk, needs_review

_CHANGED = "it is not what this card showed; look at it and answer it by itself."
_BY_ITSELF = "it has to be approved by itself."


async def approve_all(desk: Desk, shown: Sequence[Shown], press: Press) -> str:
    """Record an Allow for each ticket, under a key of its own; return what to tell the person.

    What one comes to changes nothing about the others. Each is judged like a press on its own
    Approve, and again on what this button may be for: the same call as was shown, no high risk,
    and one word is enough.
    """
    done: list[str] = []
    not_done: list[str] = []
    for one in shown:
        trouble = await _approve(desk, one, press)
        (not_done if trouble else done).append(f"{one.ref}: {trouble}" if trouble else one.ref)
    return _told(done, not_done)


async def _approve(desk: Desk, shown: Shown, press: Press) -> str:
    """Approve one; return why that was not recorded, or nothing."""
    try:
        token = await desk.engine.token_for(shown.ref, Via.SLACK)
        await desk.adopt(token, press.card)
        # In this order: should it be edited after this look, the token is superseded by then.
        notice = await desk.engine.notice(token, Via.SLACK)
        if notice.resolution is None and not shown.shows(notice):
            return _CHANGED
        if not may_be_bulk(notice) or needs_review(notice):
            return _BY_ITSELF
        await desk.record(token, Allow(), press.actor)
    except HoldshortError as error:
        return refused(error, FOR_SLACK, press.actor.id)
    return ""


def _told(done: Sequence[str], not_done: Sequence[str]) -> str:
    every = len(done) + len(not_done)
    if not not_done:
        return f"Recorded: approved all {every} ({', '.join(done)})."
    said = f"Recorded: approved {len(done)} of {every}"
    head = f"{said} ({', '.join(done)})." if done else f"{said}."
    return "\n".join([head, *(f"Not recorded {line}" for line in not_done)])
