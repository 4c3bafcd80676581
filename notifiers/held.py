"""What people are told where asks wait, as too many are open: one small message, without buttons."""

from engine.cards import HeldNotice
from notifiers import limits, wording
from notifiers.blocks import Message, context, marked, message, plain, section
from notifiers.text import clip


def held_message(notice: HeldNotice) -> Message:
    """Return the message that asks of an agent wait, or that none does any more."""
    said = _waits(notice) if notice.waiting else _all_put(notice)
    when = marked(f"As of {wording.moment(notice.at)}")
    run = plain(f"run {clip(notice.run_ref, limits.REF).text}")
    return message(said, [section(marked(said)), context(when, run)])


def _waits(notice: HeldNotice) -> str:
    agent, waiting = wording.marked_name(notice.agent), notice.waiting
    come = "waits and comes" if waiting == 1 else "wait and come"
    if notice.full == "agent":
        whose, more = f"{agent} has", f"{waiting:,} more"
    else:
        whose, more = f"{wording.deciders(notice.approvers)} has", f"{waiting:,} more of {agent}"
    return f"{whose} {_asks(notice.opened)}; {more} {come} as these are answered"


def _all_put(notice: HeldNotice) -> str:
    return f"No ask of {wording.marked_name(notice.agent)} waits its turn any more"


def _asks(count: int) -> str:
    return "1 open ask" if count == 1 else f"{count:,} open asks"
