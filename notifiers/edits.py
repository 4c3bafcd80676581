"""What people changed of a call's arguments: each value before and after, inert, or counted."""

from engine.cards import TicketNotice
from notifiers import limits
from notifiers.arguments import Row, Secret, read_rows
from notifiers.text import Style, clip, units

_NOT_GIVEN = "not given"
_DOT = " \u00b7 "
_ARROW = "\u2192"


def edits(notice: TicketNotice, limit: int = limits.SUMMARY) -> str:
    """Return what was changed on one line of about ``limit`` units; empty where nothing was."""
    shown: list[str] = []
    left, more = limit, 0
    for line in _changes(notice):
        cost = units(line) + len(_DOT)
        if cost > left:
            more += 1
            continue
        shown.append(line)
        left -= cost
    if more:
        shown.append(f"{more:,} more" if shown else f"{more:,} not shown here")
    return _DOT.join(shown)


def _changes(notice: TicketNotice) -> list[str]:
    own = notice.original
    if own is None:
        return []
    before = {row.pointer: row for row in read_rows(own.arguments, Secret(own.hidden, own.masked))}
    secret = Secret(notice.hidden, notice.masked)
    after = {row.pointer: row for row in read_rows(notice.arguments, secret)}
    return [
        _change(before.get(at), after.get(at), altered=at in notice.altered)
        for at in dict.fromkeys((*after, *before))
        if _differ(before.get(at), after.get(at)) or at in notice.altered
    ]


def _differ(before: Row | None, after: Row | None) -> bool:
    if before is None or after is None:
        return True
    # A text "1" and the number 1 have the same characters.
    return (before.raw, before.line, before.withheld) != (after.raw, after.line, after.withheld)


def _change(before: Row | None, after: Row | None, *, altered: bool) -> str:
    row = after or before
    if row is None:
        raise ValueError("nothing changed here")
    name = clip(row.name, limits.QUOTED_NAME, Style.MADE)
    named = name.text if name.complete else f"{name.text}\u2026"
    if altered and before is not None:
        return f"{named}: changed, hidden"
    return f"{named}: {_value(before)} {_ARROW} {_value(after)}"


def _value(row: Row | None) -> str:
    if row is None:
        return _NOT_GIVEN
    if row.line:
        return row.line.removeprefix(f"{row.name} = ")
    return f"({row.note})" if row.note else "(hidden)"
