"""What the owner is told in their own DM: that something waits, how it ended, how the run ended."""

import re
from typing import assert_never

from engine.cards import BatchNotice, OutcomeNotice, Receipt, Role, TicketNotice
from engine.runs import RunStatus
from engine.tickets import RemoteInput
from notifiers import limits, wording
from notifiers.batch import calls_in_short
from notifiers.blocks import Block, Message, context, marked, message, plain, quotation, section
from notifiers.closed import sentence
from notifiers.text import Style, clip, made_mrkdwn, mrkdwn, one_line

_LINK = re.compile(r"https?://[A-Za-z0-9.:-]+/[A-Za-z0-9._~/?=&%-]*\Z")

_ENDS = {
    RunStatus.SUCCEEDED: "Done",
    RunStatus.FAILED: "Failed",
    RunStatus.CANCELLED: "Cancelled",
}


def ticket_message(notice: TicketNotice) -> Message:
    """Return the DM about a ticket, for the roles ASKED and DECIDED."""
    match notice.role:
        case Role.ASKED:
            return _small(_waits(notice), notice)
        case Role.DECIDED:
            return _small(_ended(notice), notice)
        case Role.ASK | Role.OUTCOME | Role.HELD | Role.HELD_OWNER:
            raise ValueError(f"a ticket's {notice.role.value} card is not for the owner's DM")
        case _:
            assert_never(notice.role)


def batch_message(notice: BatchNotice) -> Message:
    """Return the DM about several tickets of one card."""
    count = len(notice.tickets)
    about = f"{count} calls of {wording.marked_name(notice.first.agent)}: {calls_in_short(notice)}"
    if notice.resolution is not None:
        said = f"No longer waiting: {about}{_link(notice.ask)}"
    else:
        deadline = notice.first.deadline
        until = f" \u00b7 until {wording.moment(deadline)}" if deadline else ""
        said = f"Waiting for {_whom(notice.first)}: {about}{_link(notice.ask)}{until}"
    refs = " \u00b7 ".join(clip(one.ref, limits.REF).text for one in notice.tickets)
    return message(said, [section(marked(said)), context(plain(refs))])


def outcome_message(notice: OutcomeNotice) -> Message:
    """Return the DM about the end of a run."""
    ended = _ENDS.get(notice.status, notice.status.value.capitalize())
    said = f"{ended}: {wording.marked_name(notice.agent)}"
    part = clip(notice.text.strip(), limits.RESULT, Style.BOX, breaks=limits.CARD_BREAKS)
    blocks: list[Block] = [section(marked(said))]
    if part.text:
        blocks.append(quotation(part.text, _result_label(notice, part.note), part.note))
    blocks.append(context(plain(f"run {clip(notice.run_ref, limits.REF).text}")))
    text = f"{said}. {mrkdwn(one_line(notice.text), limits.FALLBACK_PART)}".rstrip(" .")
    return message(text, blocks)


def _result_label(notice: OutcomeNotice, note: str) -> str:
    return f"{wording.name(notice.agent)}'s answer" if note else ""


def _small(said: str, notice: TicketNotice) -> Message:
    return message(said, [section(marked(said)), context(plain(wording.reference(notice)))])


def _waits(notice: TicketNotice) -> str:
    about = _about(notice)
    if notice.resolution is not None:
        # How it ended is a message of its own, or what the owner did and was told of.
        return f"No longer waiting: {about}{_link(notice.ask)}"
    until = f" \u00b7 until {wording.moment(notice.deadline)}" if notice.deadline else ""
    return f"Waiting for {_whom(notice)}: {about}{_link(notice.ask)}{until}"


def _about(notice: TicketNotice) -> str:
    title = made_mrkdwn(wording.title(notice), limits.FALLBACK_PART)
    asks = isinstance(notice.target, RemoteInput)
    return f"{wording.marked_name(notice.agent)} asks {title}" if asks else title


def _whom(notice: TicketNotice) -> str:
    who = notice.approvers
    return "you" if who.just(notice.owner) else wording.deciders(who)


def _link(ask: Receipt | None) -> str:
    """Return the way to the card, if Slack told a link that is nothing but a link."""
    if ask is None or not _LINK.match(ask.link):
        return ""
    return f" \u00b7 <{ask.link.replace('&', '&amp;')}|Open the card>"


def _ended(notice: TicketNotice) -> str:
    if notice.resolution is None:
        return f"Still open: {_about(notice)}"
    return sentence(notice, notice.resolution)
