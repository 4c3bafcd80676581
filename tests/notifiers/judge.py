"""What must hold of anything we hand to Slack, whoever wrote the text in it."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slack_sdk.models.blocks import Block as SdkBlock
from slack_sdk.models.views import View as SdkView

from bot.local_slack.rules import check_blocks
from bot.local_slack.rules import check_view as check_view_strictly
from notifiers import limits
from notifiers.blocks import Message
from notifiers.text import units

HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
BLANKS = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
OUR_TOKENS = re.compile(
    r"<@[UW][A-Z0-9]+>"
    r"|<!subteam\^S[A-Z0-9]+>"
    r"|<#[CG][A-Z0-9]+>"
    r"|<!date\^\d+\^[{}a-z_ ]+\|\d{4}-\d\d-\d\d \d\d:\d\d UTC>"
    r"|<https?://[^<>|]+\|Open the card>"
)
ENTITIES = re.compile(r"&(?:amp|lt|gt);")


def texts(piece: Any) -> Iterator[tuple[str, str]]:
    """Yield every text a person may see, with the type of the object that holds it."""
    if isinstance(piece, Mapping):
        if isinstance(piece.get("text"), str):
            yield str(piece["type"]), piece["text"]
        if isinstance(piece.get("accessibility_label"), str):
            yield "label", piece["accessibility_label"]
        for inner in piece.values():
            yield from texts(inner)
    elif isinstance(piece, Sequence) and not isinstance(piece, str):
        for inner in piece:
            yield from texts(inner)


def shown(piece: Any) -> str:
    """Return all that a person sees, one text a line."""
    return "\n".join(text for _, text in texts(piece))


def check_visible(text: str, allowed: str = "") -> None:
    """Refuse characters that nobody can see or that reorder what stands around them."""
    for character in text:
        hidden = unicodedata.category(character) in HIDDEN or character in BLANKS
        assert not hidden or character in f" {allowed}", f"U+{ord(character):04X} in {text!r}"


def check_mrkdwn(text: str) -> None:
    """Refuse any control character of Slack's that is not in a token of ours or an entity."""
    check_visible(text, "\n")
    rest = ENTITIES.sub("", OUR_TOKENS.sub("", text))
    assert not set("<>&") & set(rest), text


def check_texts(piece: Any) -> None:
    for kind, text in texts(piece):
        if kind == "mrkdwn":
            check_mrkdwn(text)
        else:
            check_visible(text, "\n\t")


def check_message(message: Message) -> None:
    """Refuse what Slack would refuse, what could mislead, and what says nothing to a phone."""
    blocks = list(message.blocks)
    assert message.text
    assert units(message.text) <= limits.UPDATE_TEXT
    assert len(blocks) <= limits.MESSAGE_BLOCKS
    assert units(json.dumps(blocks, ensure_ascii=False)) <= limits.MESSAGE_JSON
    check_lengths(blocks)
    check_mrkdwn(message.text)
    check_texts(blocks)
    check_by_the_sdk(blocks)
    check_blocks(blocks)


def check_view(view: Mapping[str, Any]) -> None:
    """The same of a form."""
    assert len(json.dumps(view).encode()) <= limits.VIEW_BYTES
    assert len(view["blocks"]) <= limits.VIEW_BLOCKS
    assert units(view["private_metadata"]) <= limits.PRIVATE_METADATA
    assert units(view["callback_id"]) <= limits.CALLBACK_ID
    assert units(view["title"]["text"]) <= limits.VIEW_TITLE
    assert units(view["submit"]["text"]) <= limits.VIEW_BUTTON
    check_lengths(view["blocks"])
    check_texts(view["blocks"])
    assert SdkView(**view).to_dict() == view
    check_view_strictly(view, "modal")


def check_lengths(blocks: Sequence[Any]) -> None:
    """Hold every block to the limits by which we count, in UTF-16 units."""
    for block in blocks:
        assert units(block["block_id"]) <= limits.BLOCK_ID
        match block:
            case {"type": "header" | "section" as kind, "text": {"text": text}}:
                longest = limits.HEADER_TEXT if kind == "header" else limits.SECTION_TEXT
                assert 0 < units(text) <= longest
            case {"type": "context", "elements": elements}:
                assert len(elements) <= limits.CONTEXT_ELEMENTS
            case {"type": "actions", "elements": elements}:
                check_buttons(elements)
            case {"type": "input", "label": {"text": text}, "element": element}:
                assert units(text) <= limits.INPUT_LABEL
                assert element.get("max_length", 0) <= limits.INPUT_LENGTH
            case {"type": "rich_text"}:
                assert all(units(text) <= limits.SECTION_TEXT for _, text in texts(block))


def check_buttons(row: Sequence[Mapping[str, Any]]) -> None:
    assert len(row) <= limits.ACTIONS_ELEMENTS
    for button in row:
        assert units(button["text"]["text"]) <= limits.BUTTON_TEXT
        assert units(button["value"]) <= limits.BUTTON_VALUE
        assert units(button["action_id"]) <= limits.ACTION_ID
        assert units(button["accessibility_label"]) <= limits.BUTTON_LABEL
        check_confirmation(button.get("confirm"))


def check_confirmation(dialog: Mapping[str, Any] | None) -> None:
    if dialog is not None:
        assert 0 < units(dialog["title"]["text"]) <= limits.CONFIRM_TITLE
        assert 0 < units(dialog["text"]["text"]) <= limits.CONFIRM_TEXT
        assert 0 < units(dialog["confirm"]["text"]) <= limits.CONFIRM_BUTTON
        assert 0 < units(dialog["deny"]["text"]) <= limits.CONFIRM_BUTTON


def check_by_the_sdk(blocks: Sequence[Any]) -> None:
    for block in blocks:
        parsed = SdkBlock.parse(dict(block))
        assert parsed is not None
        assert parsed.to_dict() == block


def buttons(message: Message) -> list[str]:
    """Return the labels of the buttons."""
    return [
        element["text"]["text"]
        for block in message.blocks
        if block["type"] == "actions"
        for element in block["elements"]
    ]


def button_values(message: Message) -> list[str]:
    return [
        element["value"]
        for block in message.blocks
        if block["type"] == "actions"
        for element in block["elements"]
    ]
