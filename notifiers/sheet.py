"""A call's arguments as blocks, the same on the card and on the forms that are opened over it."""

from engine.cards import TicketNotice
from engine.tickets import Risk, ToolPermission
from notifiers.arguments import Secret, Sheet, on_card
from notifiers.blocks import Block, box, context, plain, section


def sheet_of(notice: TicketNotice) -> Sheet:
    """Return what a card or a form shows of a ticket's arguments."""
    return on_card(notice.arguments, secret_of(notice))


def needs_review(notice: TicketNotice) -> bool:
    """Tell whether all of a call is to be gone through before it can be approved."""
    if not isinstance(notice.target, ToolPermission):
        return False
    return notice.declared.risk is Risk.HIGH or not sheet_of(notice).complete


def secret_of(notice: TicketNotice) -> Secret:
    """Return what a ticket's arguments do not say by themselves."""
    declared = notice.declared
    return Secret(notice.hidden, notice.masked, declared.defaults, declared.more_defaults)


def argument_blocks(sheet: Sheet, elsewhere: str) -> list[Block]:
    """Return the blocks of a sheet; ``elsewhere`` says where what does not fit can be seen."""
    blocks = [box("\n".join(sheet.lines))] if sheet.lines else []
    blocks += [box(one.text, one.name, one.note) for one in sheet.boxes]
    if not sheet.values:
        blocks.append(context(plain("It takes no arguments.")))
    if sheet.withheld:
        blocks.append(context(plain(sheet.withheld)))
    if sheet.untold:
        blocks.append(context(plain(sheet.untold)))
    if sheet.hidden:
        blocks.append(section(plain(f"Not all of it fits here: {sheet.hidden}. {elsewhere}")))
    return blocks
