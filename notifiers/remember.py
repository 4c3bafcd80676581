"""What is told of remembering an approval: on cards, in the form that asks for it, and in lists."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from engine.cards import TicketNotice
from engine.errors import InvalidAnswerError
from engine.redaction import HIDDEN
from engine.remembered import LASTS, MAX_TERMS, Term, Wish, Wished, leaves, rule_id
from engine.schema import canonical_json
from engine.tickets import Risk, ToolPermission
from notifiers import limits, names, wording
from notifiers.arguments import name_of
from notifiers.blocks import Block, context, marked, plain, section
from notifiers.sheet import sheet_of
from notifiers.text import clip, inert, units

_DOT = " \u00b7 "
_ONLY = "only "
_EXACT, _ANYTHING = "exact", "anything"
_OWNER, _CONVERSATION = "owner", "conversation"
_SCOPES = {_OWNER: "all runs for the same owner", _CONVERSATION: "this conversation only"}


def can_remember(notice: TicketNotice) -> bool:
    """Tell whether an approval from here may be remembered: all is in sight, and nobody has voted."""
    open_here = notice.token is not None and isinstance(notice.target, ToolPermission)
    untouched = not notice.votes and notice.wished is None and notice.edited is None
    if not open_here or not untouched or notice.declared.risk is Risk.HIGH:
        return False
    return sheet_of(notice).complete and _can_be_told([at for at, _ in leaves(notice.arguments)])


def _can_be_told(places: Sequence[str]) -> bool:
    short = all(HIDDEN not in at and units(name_of(at)) <= limits.NAME for at in places)
    return short and len(places) <= MAX_TERMS


def terms_line(terms: Iterable[Term], limit: int = limits.SUMMARY) -> str:
    """Return what a rule wants of each argument on one line of plain text, the rest counted.

    What may be anything comes first. A value stands as JSON, so none of it passes for a word of ours.
    """
    shown: list[str] = []
    left, more = limit, 0
    for term in sorted(terms, key=lambda one: not one.loose):
        said = "anything" if term.loose else inert(term.shown)
        line = f"{name_of(term.at)}: {said}" if term.loose else f"{name_of(term.at)} = {said}"
        cost = units(line) + len(_DOT)
        if cost > left:
            more += 1
            continue
        shown.append(line)
        left -= cost
    if more:
        shown.append(f"{more:,} more" if shown else f"{more:,} not shown here")
    return _DOT.join(shown) or "no arguments"


def wish_blocks(notice: TicketNotice, *, once: bool) -> list[Block]:
    """Return what will be remembered if an open ticket is approved, and who asks for that.

    Where no Approve once stands beside it, it says where else this call alone can be approved.
    """
    wished = notice.wished
    if wished is None:
        return []
    who = wording.actor(wished.by)
    said = f"*{who} asks to remember this for {wording.span(wished.hours)}*{_DOT}{_scope(wished)}"
    told = f"{wording.name(notice.target.tool)}: {terms_line(wished.terms, limits.WISH)}"
    agrees = "Approve and remember agrees to that: calls like this will not be asked then."
    if not once:
        agrees += f" This call alone: holdshort approve {notice.ref} --once, in a terminal."
    return [section(marked(said)), section(plain(told)), context(plain(agrees))]


def remembered_line(notice: TicketNotice, limit: int) -> str:
    """Return what an approval was to settle besides its own call; empty if nothing."""
    wished = notice.wished
    if wished is None:
        return ""
    terms = terms_line(wished.terms, limit)
    return (
        f"To remember for {wording.span(wished.hours)} (rule {rule_id(notice.approval)}): {terms}"
    )


def form_blocks(notice: TicketNotice) -> list[Block]:
    """Return the inputs of the form: for how long, for which runs, and which arguments may differ."""
    spans = {str(hours): told for hours, told in LASTS.items()}
    places = [at for at, _ in leaves(notice.arguments)]
    does = (
        "Approves this call, and lets calls like it run unasked: the same tool with the same"
        " arguments, but for those that you say may be anything. Rules that deny always win."
    )
    told = [does, "To end it: /holdshort rules"]
    if kept := [name_of(at) for at in places if at in _secret(notice)]:
        told.append(f"Kept secret, so it stays as it is: {', '.join(kept)}")
    return [
        _select(names.REMEMBER_HOURS, "For how long", spans),
        _select(names.REMEMBER_SCOPE, "For which runs", _SCOPES),
        *(_loosen(number, at, notice) for number, at in enumerate(places) if len(places) > 1),
        context(*map(plain, told)),
    ]


def read_wish(notice: TicketNotice, typed: Mapping[str, str]) -> Wish:
    """Return what was asked for in the form of a ticket.

    Raises:
        InvalidAnswerError: it is not among what the form offers.

    """
    scope = typed.get(names.REMEMBER_SCOPE, _OWNER)
    loose = tuple(
        at
        for number, (at, _) in enumerate(leaves(notice.arguments))
        if typed.get(_block(number), _EXACT) != _EXACT
    )
    try:
        said: dict[str, Any] = {"hours": int(typed.get(names.REMEMBER_HOURS, "")), "loose": loose}
        return Wish(**said, conversation=scope != _OWNER)
    except (ValueError, ValidationError):
        raise InvalidAnswerError("choose for how long") from None


def _loosen(number: int, at: str, notice: TicketNotice) -> Block:
    if at in _secret(notice):
        return context(plain(f"{name_of(at)}: kept as it is"))
    value = canonical_json(dict(leaves(notice.arguments))[at])
    shown = clip(value, limits.OPTION_TEXT - len(_ONLY) - 1)
    only = f"{_ONLY}{shown.text}" + ("" if shown.complete else "\u2026")
    return _select(_block(number), name_of(at), {_EXACT: only, _ANYTHING: "anything"})


def _block(number: int) -> str:
    return f"{names.REMEMBER_BLOCK}.{number}"


def _secret(notice: TicketNotice) -> frozenset[str]:
    return frozenset((*notice.hidden, *notice.masked))


def _scope(wished: Wished) -> str:
    return _SCOPES[_CONVERSATION if wished.conversation else _OWNER]


def _select(block: str, label: str, options: Mapping[str, str]) -> Block:
    """Return a choice of which the first option stands in it already."""
    made = [{"text": plain(told), "value": value} for value, told in options.items()]
    element: Block = {
        "type": "static_select",
        "action_id": names.REMEMBER_INPUT,
        "options": made,
        "initial_option": made[0],
    }
    return {"type": "input", "block_id": block, "label": plain(label), "element": element}
