"""One card for several calls of a step: a row for each, with buttons of its own while it is open."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.cards import BatchNotice, TicketNotice
from engine.tickets import Resolution, Risk
from notifiers import limits, names, wording
from notifiers.arguments import Sheet, summary
from notifiers.blocks import (
    Block,
    Message,
    actions,
    box,
    button,
    confirmation,
    context,
    divider,
    header,
    marked,
    message,
    plain,
    section,
)
from notifiers.card import DOT, answers, asks, edit_elsewhere, says
from notifiers.closed import lines, verdict, who_and_when
from notifiers.edits import edits
from notifiers.remember import wish_blocks
from notifiers.sheet import secret_of, sheet_of
from notifiers.text import clip, made_mrkdwn, units

_EVERY_BUTTON = 4
_FEW_BUTTONS = 2
_BINDING = 16
"""Characters of a digest in the value of Approve all: what was shown is what is approved."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A ticket on the card of several, as far as its person saw it: its ref, its digest's start."""

    ref: str
    digest: str

    def shows(self, notice: TicketNotice) -> bool:
        """Tell whether a ticket is still what was shown."""
        return notice.ref == self.ref and notice.digest.startswith(self.digest)


@dataclass(frozen=True, slots=True)
class _Row:
    """An open ticket with what its row shows of its arguments: the lines that fit."""

    notice: TicketNotice
    sheet: Sheet
    shown: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Tell whether these lines are all there is."""
        return len(self.shown) == self.sheet.values

    @classmethod
    def of(cls, notice: TicketNotice) -> "_Row":
        """Return the row of a ticket."""
        sheet = sheet_of(notice)
        room, shown = limits.ROW_UNITS, []
        for line in sheet.lines[: limits.ROW_LINES]:
            room -= units(line) + 1
            if room < 0:
                break
            shown.append(line)
        return cls(notice, sheet, tuple(shown))


def batch_card(notice: BatchNotice, note: str = "") -> Message:
    """Return the card of several tickets as they are now; ``note`` says why it is where it is.

    Where not all of it fits what Slack takes, it has fewer buttons a row, and then less to read.
    """
    blocks = _full(notice, note)
    for most in (_EVERY_BUTTON, _FEW_BUTTONS):
        made = message(_notification(notice), _at_most(blocks, most))
        if made.size <= limits.MESSAGE_JSON:
            return made
    return short_batch_card(notice, note)


def short_batch_card(notice: BatchNotice, note: str = "") -> Message:
    """Return the plainest card on which each of them can still be answered."""
    blocks = _short_blocks(notice, note)
    for most in (_EVERY_BUTTON, _FEW_BUTTONS):
        made = message(_notification(notice), _at_most(blocks, most))
        if made.size <= limits.MESSAGE_JSON:
            return made
    return message(_notification(notice), _at_most(blocks, 1))


def _full(notice: BatchNotice, note: str) -> list[Block]:
    blocks, rows = [header(_title(notice)), *_head(notice)], []
    for one in notice.tickets:
        if one.resolution is not None:
            blocks += [divider(), *_closed_row(one, one.resolution)]
        else:
            rows.append(_Row.of(one))
            blocks += [divider(), *_open_row(rows[-1])]
    return [*blocks, *_all_alike(rows), *_foot(note)]


def _short_blocks(notice: BatchNotice, note: str) -> list[Block]:
    blocks = [header(_title(notice)), *_head(notice)[:1]]
    for one in notice.tickets:
        end = one.resolution
        said = f"{verdict(one, end)}: {wording.subject(one)}" if end else wording.title(one)
        blocks.append(section(plain(f"{said}\n{wording.reference(one)}")))
        if end is None:
            blocks += [*wish_blocks(one, once=False), *answers(one, complete=False)]
    return [*blocks, *_foot(note)]


def may_be_bulk(notice: TicketNotice) -> bool:
    """Tell whether one press may approve this with others: one word is enough, and no high risk."""
    return notice.needed <= 1 and notice.declared.risk is not Risk.HIGH


def read_shown(value: str) -> tuple[Shown, ...]:
    """Return what an Approve all button was for.

    Raises:
        ValueError: it is not something that we wrote.

    """
    parts = [part.split(":") for part in value.split()]
    if not parts or any(len(part) != 2 or len(part[1]) != _BINDING for part in parts):  # noqa: PLR2004
        raise ValueError("not the value of one of our buttons")
    return tuple(Shown(ref, digest) for ref, digest in parts)


def _title(notice: BatchNotice) -> str:
    if notice.resolution is not None:
        return f"{len(notice.tickets)} calls: {_tally(notice)}"
    count, every = len(notice.open), len(notice.tickets)
    return f"Run {every} calls?" if count == every else f"Run {count} of {every} calls?"


def _tally(notice: BatchNotice) -> str:
    ends = [verdict(one, one.resolution) for one in notice.tickets if one.resolution]
    return ", ".join(f"{count} {word.lower()}" for word, count in Counter(ends).items())


def _head(notice: BatchNotice) -> list[Block]:
    if notice.resolution is not None:
        return []
    return [section(marked(DOT.join(asks(notice.first)))), *says(notice.first)]


def _open_row(row: _Row) -> list[Block]:
    notice = row.notice
    complete = row.complete and notice.declared.risk is not Risk.HIGH
    votes = wording.votes(notice)
    return [
        box("\n".join(row.shown), wording.subject(notice), wording.risk(notice)),
        *_edited(notice),
        *([context(marked(votes))] if votes else []),
        context(*map(plain, _small(row))),
        *wish_blocks(notice, once=complete),
        *answers(notice, complete=complete),
    ]


def _edited(notice: TicketNotice) -> list[Block]:
    """Return who changed what since the model asked."""
    if notice.edited is None:
        return []
    at = wording.moment(notice.edited.at)
    who = f"*Edited by {wording.editors(notice)}* {at}. Approvals before that do not count."
    changed = edits(notice, limits.SAID)
    return [context(marked(who), *([plain(changed)] if changed else []))]


def _small(row: _Row) -> list[str]:
    notice, sheet = row.notice, row.sheet
    said = [wording.reference(notice)]
    if not sheet.values:
        said.append("It takes no arguments.")
    said += [told for told in (sheet.withheld, sheet.untold) if told]
    if not row.complete:
        missing = sheet.values - len(row.shown)
        said.append(f"{missing:,} of {sheet.values:,} values not shown here. Review shows all.")
    if notice.declared.untitled:
        said.append(f"It could not be described: {wording.name(notice.declared.untitled)}.")
    return [*said, *edit_elsewhere(notice)]


def _closed_row(notice: TicketNotice, end: Resolution) -> list[Block]:
    told = lines(notice, end, limits.SAID)
    about = summary(notice.arguments, secret_of(notice))
    return [
        box("", f"{verdict(notice, end)}: {wording.subject(notice)}", wording.risk(notice)),
        *([section(plain("\n".join(told)))] if told else []),
        context(marked(who_and_when(notice, end)), *([plain(about)] if about else [])),
        context(plain(wording.reference(notice))),
    ]


def _all_alike(rows: Sequence[_Row]) -> list[Block]:
    """Return one button for all, where one person may decide all and has them all before them."""
    rest = [row.notice for row in rows]
    ready = all(row.complete and row.notice.token and may_be_bulk(row.notice) for row in rows)
    if len(rest) < 2 or not ready:  # noqa: PLR2004 - several
        return []
    value = " ".join(f"{one.ref}:{one.digest[:_BINDING]}" for one in rest)
    said = "\n".join(f"{_short(one)} {DOT.strip()} {wording.reference(one)}" for one in rest)
    sure = confirmation(f"Approve all {len(rest)}?", said, "Approve all")
    label = f"Approve all {len(rest)}"
    return [divider(), actions(button(label, names.APPROVE_ALL, value, label=label, confirm=sure))]


def _short(notice: TicketNotice) -> str:
    part = clip(wording.subject(notice), limits.ROW_TITLE)
    return part.text if part.complete else f"{part.text}\u2026"


def _at_most(blocks: list[Block], most: int) -> list[Block]:
    """Return the blocks with only the first buttons of each row, and what agrees to the call alone.

    Where Approve agrees to more, whoever presses it could have pressed that.
    """
    return [
        {**one, "elements": [*_kept(one["elements"], most)]} if one["type"] == "actions" else one
        for one in blocks
    ]


def _kept(buttons: Sequence[Block], most: int) -> Iterator[Block]:
    for number, one in enumerate(buttons):
        if number < most or one["action_id"] == names.APPROVE_ONCE:
            yield one


def _foot(note: str) -> list[Block]:
    return [context(plain(clip(note, limits.QUOTE).text))] if note else []


def calls_in_short(notice: BatchNotice) -> str:
    """Return what the calls are, for mrkdwn."""
    named = (made_mrkdwn(_short(one), limits.FALLBACK_PART) for one in notice.tickets)
    return "; ".join(named)


def _notification(notice: BatchNotice) -> str:
    title = _title(notice)
    if notice.resolution is not None:
        return f"{title}: {calls_in_short(notice)}"
    agent, deadline = wording.marked_name(notice.first.agent), notice.first.deadline
    until = f"{DOT}until {wording.time_of(deadline)}" if deadline else ""
    return f"{agent} asks: {title} {calls_in_short(notice)}{until}"
