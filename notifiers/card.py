"""The card in the channel: a ticket that can be answered, and what it says once it is closed.

Nothing untrusted reaches mrkdwn but names, people and moments (``wording``). The closed card has no
buttons and does not grow with the arguments.
"""

from typing import assert_never

from engine.cards import TicketNotice
from engine.tickets import OutcomeUnknown, RemoteInput, Risk, ToolPermission
from notifiers import limits, names, wording
from notifiers.arguments import summary
from notifiers.blocks import (
    Block,
    Message,
    actions,
    button,
    confirmation,
    context,
    header,
    marked,
    message,
    plain,
    quotation,
    section,
)
from notifiers.closed import closed_card
from notifiers.edits import edits
from notifiers.inputs import can_edit
from notifiers.remember import can_remember, wish_blocks
from notifiers.sheet import argument_blocks, needs_review, secret_of, sheet_of
from notifiers.text import Style, clip, clip_prose, made_mrkdwn, mrkdwn, one_line

DOT = " \u00b7 "


def ask_card(notice: TicketNotice, note: str = "") -> Message:
    """Return the card of a ticket as it is now; ``note`` says why it is where it is."""
    if notice.resolution is not None:
        return closed_card(notice, notice.resolution, note)
    made = message(_notification(notice), [*_open(notice), *_foot(notice, note)])
    return made if made.size <= limits.MESSAGE_JSON else short_card(notice, note)


def short_card(notice: TicketNotice, note: str = "") -> Message:
    """Return the plainest card that can still be answered, for when Slack refuses the full one."""
    if notice.resolution is not None:
        return closed_card(notice, notice.resolution, note, brief=True)
    said = f"{wording.name(notice.agent)} asks: {wording.title(notice)}"
    short = "This card is shortened. Nothing else on it could be shown."
    blocks = [section(plain(f"{said}\n{short}")), section(marked(_who(notice)))]
    buttons = _buttons(notice, complete=False)
    body = [*blocks, *wish_blocks(notice, once=False), *buttons]
    return message(_notification(notice), [*body, *_foot(notice, note)])


def _open(notice: TicketNotice) -> list[Block]:
    top = [header(_heading(notice)), section(marked(_who(notice)))]
    match notice.target:
        case ToolPermission():
            return [*top, *_permission(notice)]
        case RemoteInput(prompt=prompt):
            return [*top, *_question(prompt), *_buttons(notice, complete=True)]
        case OutcomeUnknown():
            return [*top, *_lost(notice, notice.target)]
        case _:
            assert_never(notice.target)


def _heading(notice: TicketNotice) -> str:
    """Return the title; a question that is more than a title stands whole below it instead."""
    target = notice.target
    long = isinstance(target, RemoteInput) and not wording.fits_a_title(target.prompt)
    return wording.question(notice) if long else wording.title(notice)


def _who(notice: TicketNotice) -> str:
    danger = wording.risk(notice)
    parts = [f"*{danger}*", *asks(notice)] if danger else asks(notice)
    return "\n".join(filter(None, (DOT.join(parts), wording.votes(notice))))


def asks(notice: TicketNotice) -> list[str]:
    """Return who asks whom until when, and who started it, for mrkdwn."""
    asked = f"*{wording.marked_name(notice.agent)}* asks {wording.deciders(notice.approvers)}"
    until = f"until {wording.moment(notice.deadline)}" if notice.deadline else "no deadline"
    parts = [asked, until]
    if notice.requester and notice.requester not in notice.approvers.people:
        parts.append(f"started by {wording.person(notice.requester)}")
    return parts


def _permission(notice: TicketNotice) -> list[Block]:
    sheet, complete = sheet_of(notice), not needs_review(notice)
    return [
        *_edited(notice),
        *argument_blocks(sheet, "Review shows everything."),
        *says(notice),
        *_untitled(notice),
        *map(_small, edit_elsewhere(notice)),
        *wish_blocks(notice, once=complete),
        *_buttons(notice, complete=complete),
    ]


def _edited(notice: TicketNotice) -> list[Block]:
    """Return who changed what since the model asked."""
    if notice.edited is None:
        return []
    at = wording.moment(notice.edited.at)
    said = f"*Edited by {wording.editors(notice)}* {at}. Approvals before that do not count."
    return [section(marked(said)), *_changes(notice)]


def _changes(notice: TicketNotice) -> list[Block]:
    changed = edits(notice, limits.QUOTE)
    return [section(plain(changed))] if changed else []


def edit_elsewhere(notice: TicketNotice) -> list[str]:
    """Return where else it can be edited, for plain text; nothing where it can be here."""
    if notice.fields is None or notice.token is None or can_edit(notice):
        return []
    command = f"holdshort approve {clip(notice.ref, limits.REF).text}"
    return [f'Too large to edit here. In a terminal: {command} --with \'{{"name": "value"}}\'']


def _small(said: str) -> Block:
    return context(plain(said))


def says(notice: TicketNotice) -> list[Block]:
    """Return the model's words beside the call, labelled as such."""
    said = clip_prose(notice.says, limits.QUOTE)
    label = f"{wording.name(notice.agent)} says"
    return [quotation(said.text, label, said.note)] if said.text else []


def _untitled(notice: TicketNotice) -> list[Block]:
    if not notice.declared.untitled:
        return []
    why = wording.name(notice.declared.untitled)
    return [context(plain(f"Its tool could not describe this call: {why}."))]


def _question(prompt: str) -> list[Block]:
    """Return the question once more where the title is not all of it."""
    if wording.fits_a_title(prompt):
        return []
    asked = clip(prompt, limits.QUESTION, Style.BOX, breaks=limits.CARD_BREAKS)
    note = f"{asked.note}; Answer shows more" if asked.note else ""
    return [quotation(asked.text or "(empty)", "The question" if note else "", note)]


def _lost(notice: TicketNotice, target: OutcomeUnknown) -> list[Block]:
    tool = wording.marked_name(target.tool)
    command = f"holdshort runs resolve {_ref(notice)}"
    told = (
        f"{tool} was started, and its result was lost: it may have happened. Look where it would"
        f" show, then say in a terminal what you found:\n`{command} --happened VALUE`"
        f"\n`{command} --not-happened`\n`{command} --abandon`"
    )
    rerun = (
        f"`--not-happened` runs {tool} again, and is accepted from"
        f" {wording.moment(target.rerun_from)}; before that the first attempt may still be at work."
    )
    return [
        *argument_blocks(sheet_of(notice), f"See: holdshort runs show {notice.run_ref}"),
        section(marked(told)),
        context(marked(rerun)),
    ]


def _buttons(notice: TicketNotice, *, complete: bool, shared: bool = False) -> list[Block]:
    if isinstance(notice.target, OutcomeUnknown):
        return []
    if notice.token is None:
        return [context(marked(f"No buttons here: use `/holdshort show {_ref(notice)}`"))]
    token = notice.token.get_secret_value()
    about = clip(notice.ref, limits.REF).text
    if isinstance(notice.target, RemoteInput):
        return [
            actions(
                button("Answer", names.ANSWER, token, style="primary", label=f"Answer {about}"),
                button("Decline", names.DECLINE, token, label=f"Decline to answer {about}"),
            )
        ]
    # A form shows the ticket as it is and carries a token of its own: to open one takes a ref.
    opens = about if shared else token
    approve = "Approve and remember" if notice.wished else "Approve"
    first = (approve, names.APPROVE, token) if complete else ("Review", names.REVIEW, opens)
    return [
        actions(
            button(
                *first,
                style="primary",
                label=f"{first[0]} {about}",
                confirm=_once_more(notice) if complete else None,
            ),
            button("Deny", names.DENY, token, style="danger", label=f"Deny {about}"),
            button(
                "Deny with reason", names.DENY_REASON, opens, label=f"Deny with reason, {about}"
            ),
            *_edit_button(notice, opens, about),
            *(_once_button(notice, token, about) if complete else ()),
            *(_remember_button(notice, opens, about) if complete and not shared else ()),
        )
    ]


def _edit_button(notice: TicketNotice, opens: str, about: str) -> list[Block]:
    if not can_edit(notice):
        return []
    return [button("Edit\u2026", names.EDIT, opens, label=f"Edit and approve {about}")]


def answers(notice: TicketNotice, *, complete: bool) -> list[Block]:
    """Return what a ticket is answered with, on a card that it shares with others.

    Only what answers at once carries a token there: four of them are a third of a message.
    """
    return _buttons(notice, complete=complete, shared=True)


def _once_button(notice: TicketNotice, token: str, about: str) -> list[Block]:
    """Return the way to allow a call alone, where Approve agrees to more."""
    if notice.wished is None:
        return []
    label, sure = f"Approve {about} once, not to be remembered", _once_more(notice)
    return [button("Approve once", names.APPROVE_ONCE, token, label=label, confirm=sure)]


def _remember_button(notice: TicketNotice, token: str, about: str) -> list[Block]:
    if not can_remember(notice):
        return []
    label = f"Approve and remember {about}"
    return [button("Remember\u2026", names.REMEMBER, token, label=label)]


def _once_more(notice: TicketNotice) -> Block | None:
    if notice.declared.risk is not Risk.MEDIUM:
        return None
    said = f"{wording.title(notice)}\n{wording.reference(notice)}"
    return confirmation(wording.risk(notice), said, "Approve")


def _ref(notice: TicketNotice) -> str:
    return mrkdwn(notice.ref, limits.REF)


def _foot(notice: TicketNotice, note: str) -> list[Block]:
    small = [plain(wording.reference(notice))]
    if notice.resolution is None and isinstance(notice.target, RemoteInput):
        small.append(
            plain(f"or type: /holdshort answer {clip(notice.ref, limits.REF).text} <text>")
        )
    if note:
        small.append(plain(clip(note, limits.QUOTE).text))
    return [context(*small)]


def _notification(notice: TicketNotice) -> str:
    agent = wording.marked_name(notice.agent)
    match notice.target:
        case ToolPermission():
            arguments = made_mrkdwn(
                summary(notice.arguments, secret_of(notice)), limits.FALLBACK_PART
            )
            title = made_mrkdwn(wording.title(notice), limits.FALLBACK_PART)
            danger = f"{wording.risk(notice)}{DOT}" if wording.risk(notice) else ""
            asked = f"{agent} asks: {danger}{title} {arguments}"
        case RemoteInput(prompt=prompt):
            asked = f"{agent} asks: {mrkdwn(one_line(prompt), limits.FALLBACK_PART)}"
        case OutcomeUnknown(tool=tool):
            asked = f"{agent}: did {wording.marked_name(tool)} happen? Its result was lost."
        case _:
            assert_never(notice.target)
    until = f"{DOT}until {wording.time_of(notice.deadline)}" if notice.deadline else ""
    return asked.rstrip() + until
