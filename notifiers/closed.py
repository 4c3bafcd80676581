"""What a decided ticket says: who, what, when, and what became of the call. Nothing to press."""

from typing import assert_never

from engine.cards import TicketNotice
from engine.identity import ActorKind
from engine.tickets import (
    Allow,
    Answer,
    Deny,
    OutcomeUnknown,
    RemoteInput,
    Resolution,
    Settle,
    ToolPermission,
)
from notifiers import limits, wording
from notifiers.arguments import summary
from notifiers.blocks import Block, Message, context, header, marked, message, plain, section
from notifiers.edits import edits
from notifiers.remember import remembered_line
from notifiers.sheet import secret_of
from notifiers.text import clip, made_mrkdwn, quote

_FOUND = {
    "happened": "It happened.",
    "not_happened": "It did not happen, so it may run again.",
    "abandon": "Given up: whether it happened stays unknown.",
}
_STOPS = ('?"', '!"', '."')


def closed_card(
    notice: TicketNotice, end: Resolution, note: str = "", *, brief: bool = False
) -> Message:
    """Return the card of a closed ticket; the brief one leaves out what anyone else wrote."""
    blocks = [header(f"{verdict(notice, end)}: {wording.subject(notice)}")]
    blocks.append(section(marked(who_and_when(notice, end))))
    if not brief:
        blocks += _what(notice, end)
    small = [
        plain(" \u00b7 ".join(filter(None, (wording.risk(notice), wording.reference(notice)))))
    ]
    if note:
        small.append(plain(clip(note, limits.QUOTE).text))
    return message(sentence(notice, end), [*blocks, context(*small)])


def verdict(notice: TicketNotice, end: Resolution) -> str:
    """Return how it ended, in a word or two."""
    if end.timed_out:
        return "Timed out"
    if end.withdrawn:
        return "Cancelled" if _by_a_person(end) else "Withdrawn"
    match end.decision:
        case Allow():
            return "Approved"
        case Deny():
            return "Declined" if isinstance(notice.target, RemoteInput) else "Denied"
        case Answer():
            return "Answered"
        case Settle():
            return "Settled"
        case _:
            assert_never(end.decision)


def who_and_when(notice: TicketNotice, end: Resolution) -> str:
    """Return by whom and when, for mrkdwn. A timeout is nobody's decision."""
    at = wording.moment(end.at)
    if end.timed_out:
        until = wording.moment(notice.deadline) if notice.deadline else at
        return f"Nobody decided until {until}, so it {_silence(notice)}."
    if not _by_a_person(end):
        return f"The run ended before anyone decided \u00b7 {at}"
    edited = f" \u00b7 edited by {wording.editors(notice)}" if notice.edited else ""
    return f"{wording.by(notice, end)} \u00b7 {at}{edited}"


def sentence(notice: TicketNotice, end: Resolution) -> str:
    """Return the whole outcome as one line of mrkdwn, for notifications and the owner."""
    about = made_mrkdwn(wording.subject(notice), limits.FALLBACK_PART)
    if end.timed_out:
        return f"Nobody decided: {about} {_silence(notice)} at {wording.time_of(end.at)}."
    if not _by_a_person(end):
        return f"{verdict(notice, end)}: {about}. The run ended before anyone decided."
    stop = "" if about.endswith(_STOPS) else "."
    parts = [f"{verdict(notice, end)} {wording.by(notice, end)}: {about}{stop}"]
    parts += [made_mrkdwn(line, limits.FALLBACK_LINE) for line in lines(notice, end, limits.SAID)]
    return " ".join(parts)


def _by_a_person(end: Resolution) -> bool:
    return end.actor.kind is ActorKind.HUMAN


def _silence(notice: TicketNotice) -> str:
    return "was declined" if isinstance(notice.target, RemoteInput) else "was denied"


def _what(notice: TicketNotice, end: Resolution) -> list[Block]:
    told = lines(notice, end, limits.QUOTE)
    blocks = [section(plain("\n".join(told)))] if told else []
    about = _about(notice)
    return [*blocks, context(plain(about))] if about else blocks


def lines(notice: TicketNotice, end: Resolution, limit: int) -> list[str]:
    """Return what the person said, what was edited and what became of the call, as plain text."""
    changed = edits(notice, limit)
    kept = remembered_line(notice, limit) if isinstance(end.decision, Allow) else ""
    became = _became(notice, end, limit)
    told = (_said(end, limit), changed and f"Edits: {changed}.", kept and f"{kept}.", became)
    return [line for line in told if line]


def _said(end: Resolution, limit: int) -> str:
    """Return what the person said; a timeout's or a cancel's reason is the machine's, not said."""
    if end.timed_out or end.withdrawn:
        return ""
    match end.decision:
        case Deny(reason=reason):
            return f"Reason: {quote(reason, limit)}" if reason else ""
        case Answer(value=value):
            return f"Answer: {quote(value, limit)}"
        case Settle(outcome=outcome, value=value):
            found = _FOUND[outcome]
            return f"{found} {quote(value, limit)}" if value else found
        case Allow():
            return ""
        case _:
            assert_never(end.decision)


def _became(notice: TicketNotice, end: Resolution, limit: int) -> str:
    """Return what became of the call, where the decision let it run."""
    match end.decision:
        case Allow() | Settle(outcome="not_happened"):
            elsewhere = f"all of it: /holdshort show {clip(notice.ref, limits.REF).text}"
            return wording.effect(notice.effect, elsewhere, limit) if notice.effect else ""
        case _:
            return ""


def _about(notice: TicketNotice) -> str:
    match notice.target:
        case ToolPermission() | OutcomeUnknown():
            return summary(notice.arguments, secret_of(notice))
        case RemoteInput(prompt=prompt):
            fits = wording.fits_a_title(prompt)
            return "" if fits else f"Asked: {quote(prompt, limits.SUMMARY)}"
        case _:
            assert_never(notice.target)
