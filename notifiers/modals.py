"""The forms that Slack opens over a card: deny with a reason, answer, edit, review page by page.

Pure functions from a notice. A form carries the token in ``private_metadata``, which people do not
see (`@slack/types` views.d.ts); it is read back with ``read_meta``.
"""

from typing import Literal

from pydantic import Field, SecretStr, ValidationError

from engine.cards import TicketNotice
from engine.errors import InvalidResumeTokenError, TokenFault
from engine.schema import Frozen, canonical_json
from engine.tickets import RemoteInput, ToolPermission
from engine.tokens import MAX_TOKEN_CHARS
from notifiers import limits, names, wording
from notifiers.arguments import NO_SECRET, read_rows, tell_secrets
from notifiers.blocks import Block, context, marked, plain, quotation, section, stamped
from notifiers.inputs import can_edit, input_block, inputs_of
from notifiers.remember import can_remember, form_blocks, wish_blocks
from notifiers.review import Page, paginate
from notifiers.sheet import argument_blocks, secret_of, sheet_of
from notifiers.text import Style, pieces

View = dict[str, object]


class FormMeta(Frozen):
    """What a form carries: the token, which page it shows, and where the card is (if told)."""

    v: Literal[1] = 1
    token: SecretStr = Field(min_length=1, max_length=MAX_TOKEN_CHARS)
    page: int = Field(default=1, ge=1, le=100_000, strict=True)
    channel: str = Field(default="", max_length=64)
    message: str = Field(default="", max_length=64)

    def dump(self) -> str:
        """Return the private_metadata, at most 3,000 characters."""
        values = {**self.model_dump(exclude_defaults=True), "token": self.token.get_secret_value()}
        return canonical_json({**values, "v": self.v})


def read_meta(private_metadata: str) -> FormMeta:
    """Return what a submitted form carries.

    Raises:
        InvalidResumeTokenError: it is not something that we wrote.

    """
    if len(private_metadata) > limits.PRIVATE_METADATA:
        raise InvalidResumeTokenError(TokenFault.MALFORMED)
    try:
        return FormMeta.model_validate_json(private_metadata)
    except ValidationError:
        raise InvalidResumeTokenError(TokenFault.MALFORMED) from None


def deny_form(notice: TicketNotice, *, channel: str = "", message: str = "") -> View:
    """Return the form for a denial with a reason, which may stay empty."""
    word = "Decline" if isinstance(notice.target, RemoteInput) else "Deny"
    blocks = [
        *_what(notice),
        context(marked(_asked_by(notice))),
        _input(names.REASON_BLOCK, names.REASON_INPUT, "Why", limits.REASON, optional=True),
    ]
    meta = _meta(notice, channel=channel, message=message)
    return _form(names.DENY_FORM, word, word, blocks, meta)


def answer_form(notice: TicketNotice, *, channel: str = "", message: str = "") -> View:
    """Return the form for the answer to a question, which is shown again.

    Raises:
        ValueError: the ticket does not ask a question.

    """
    if not isinstance(notice.target, RemoteInput):
        raise ValueError("this ticket does not ask for an answer")  # noqa: TRY004 - same
    blocks = [
        *_whole_question(notice.target.prompt),
        context(marked(_asked_by(notice))),
        _input(names.ANSWER_BLOCK, names.ANSWER_INPUT, "Your answer", limits.INPUT_LENGTH),
    ]
    meta = _meta(notice, channel=channel, message=message)
    return _form(names.ANSWER_FORM, "Answer", "Send", blocks, meta)


def review_form(
    notice: TicketNotice, page: int = 1, *, channel: str = "", message: str = ""
) -> View:
    """Return one page of the review of all arguments; only the last one's submit approves.

    A page beyond the last is the last; ``pages(notice)`` tells how many there are.

    Raises:
        ValueError: the ticket does not ask for a tool permission.

    """
    if not isinstance(notice.target, ToolPermission):
        raise ValueError("this ticket has nothing to approve")  # noqa: TRY004 - a value's kind
    found = paginate(notice.arguments, secret_of(notice))
    shown = found[min(max(page, 1), len(found)) - 1]
    meta = _meta(notice, page=shown.number, channel=channel, message=message)
    approve = "Approve and remember" if notice.wished else "Approve"
    submit = approve if shown.last else "Next"
    blocks = [*_review_head(notice, shown), *shown.blocks, *_review_end(notice, shown)]
    title = "Review" if shown.of == 1 else f"Page {shown.number} of {shown.of}"
    return _form(names.REVIEW_FORM, title, submit, blocks, meta)


def edit_form(notice: TicketNotice, *, channel: str = "", message: str = "") -> View:
    """Return the form to change the arguments and approve them: every one is in it.

    Raises:
        ValueError: there is nothing to edit, or no form holds it.

    """
    if not can_edit(notice):
        raise ValueError("no form holds this")
    told = "Approve with edits runs exactly what stands here."
    if notice.needed > 1:
        told = "Approvals so far will not count: everyone is asked anew for what stands here."
    blocks = [
        section(plain(wording.title(notice))),
        context(marked(_asked_by(notice))),
        *map(input_block, inputs_of(notice)),
        context(plain(told)),
    ]
    meta = _meta(notice, channel=channel, message=message)
    return _form(names.EDIT_FORM, "Edit and approve", "Approve with edits", blocks, meta)


def remember_form(notice: TicketNotice, *, channel: str = "", message: str = "") -> View:
    """Return the form to approve a call and have it settle calls like it for a while.

    Raises:
        ValueError: this cannot be remembered from here.

    """
    if not can_remember(notice):
        raise ValueError("this cannot be remembered")
    blocks = [*_what(notice), context(marked(_asked_by(notice))), *form_blocks(notice)]
    meta = _meta(notice, channel=channel, message=message)
    title = "Approve and remember"
    return _form(names.REMEMBER_FORM, title, title, blocks, meta)


def pages(notice: TicketNotice) -> int:
    """Return how many pages the review has."""
    return len(paginate(notice.arguments, secret_of(notice)))


def _what(notice: TicketNotice) -> list[Block]:
    """Return what is about to be denied, as the card shows it."""
    if isinstance(notice.target, RemoteInput):
        return _whole_question(notice.target.prompt)
    sheet = sheet_of(notice)
    return [
        section(plain(wording.title(notice))),
        *argument_blocks(sheet, "Review, on the card, shows everything."),
    ]


def _meta(notice: TicketNotice, *, page: int = 1, channel: str, message: str) -> FormMeta:
    if notice.token is None:
        raise ValueError("this ticket cannot be answered from here")
    return FormMeta(token=notice.token, page=page, channel=channel, message=message)


def _asked_by(notice: TicketNotice) -> str:
    until = f" \u00b7 until {wording.moment(notice.deadline)}" if notice.deadline else ""
    danger = f"*{wording.risk(notice)}* \u00b7 " if wording.risk(notice) else ""
    asks = f"{wording.marked_name(notice.agent)} asks"
    return f"{danger}{asks} \u00b7 {wording.reference(notice)}{until}"


def _whole_question(prompt: str) -> list[Block]:
    parts = list(pieces(prompt, limits.BOX_UNITS, Style.BOX)) or ["(empty)"]
    shown = [quotation(part) for part in parts[: limits.FORM_QUESTION_BOXES]]
    left = len(parts) - len(shown)
    if left:
        hidden = f"The question goes on for {left:,} more parts like these, not shown."
        shown.append(section(plain(hidden)))
    return shown


def _review_head(notice: TicketNotice, page: Page) -> list[Block]:
    title = [section(plain(wording.title(notice)))] if page.number == 1 else []
    return [*title, context(marked(_asked_by(notice)))]


def _review_end(notice: TicketNotice, page: Page) -> list[Block]:
    if not page.last:
        said = f"Next shows page {page.number + 1}. Nothing is approved before the last page."
        return [context(plain(said))]
    secret = secret_of(notice)
    # Large arguments have many rows, and mostly no secret among them.
    secrets = "" if secret == NO_SECRET else tell_secrets(read_rows(notice.arguments, secret))
    all_of_it = "Else this" if secret.untold else "This"
    end = f"{all_of_it} is all of it. Approve runs exactly this."
    small = context(*(plain(said) for said in (secrets, secret.untold, end) if said))
    return [*wish_blocks(notice, once=False), small]


def _input(block: str, action: str, label: str, most: int, *, optional: bool = False) -> Block:
    """Return a text input; Slack allows at most 3,000 characters in one (block-elements.d.ts)."""
    element = {"type": "plain_text_input", "action_id": action, "multiline": True}
    element |= {"max_length": most, "min_length": 0 if optional else 1}
    return {
        "type": "input",
        "block_id": block,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }


def _form(callback: str, title: str, submit: str, blocks: list[Block], meta: FormMeta) -> View:
    return {
        "type": "modal",
        "callback_id": callback,
        "title": plain(title),
        "submit": plain(submit),
        "close": plain("Cancel"),
        "private_metadata": meta.dump(),
        "blocks": list(stamped(blocks)),
    }
