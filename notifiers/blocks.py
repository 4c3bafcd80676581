"""The few Block Kit pieces that our messages and forms are made of, each safe by construction.

Sources: https://docs.slack.dev/reference/block-kit. Untrusted text goes into ``plain``, ``label``
or ``box``, where Slack parses nothing; ``marked`` takes only text made by ``text.mrkdwn`` and the
tokens of ``wording``.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from engine.schema import canonical_json

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its blocks, and the text that notifications and screen readers use."""

    text: str
    blocks: tuple[Block, ...]

    @property
    def size(self) -> int:
        """Return the length of the blocks as JSON, which Slack limits."""
        return len(json.dumps(self.blocks, ensure_ascii=False).encode("utf-16-le")) // 2


def plain(text: str) -> Block:
    """Return a plain_text object; ``emoji: false`` keeps ``:name:`` as it is."""
    return {"type": "plain_text", "text": text, "emoji": False}


def marked(text: str) -> Block:
    """Return a mrkdwn object; ``verbatim`` makes Slack link no bare URL, name or channel.

    https://docs.slack.dev/reference/block-kit/composition-objects/text-object
    """
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def header(text: str) -> Block:
    """Return a header."""
    return {"type": "header", "text": plain(text)}


def divider() -> Block:
    """Return a line between what belongs apart."""
    return {"type": "divider"}


def section(text: Block) -> Block:
    """Return a section of one text object."""
    return {"type": "section", "text": text}


def context(*elements: Block) -> Block:
    """Return small print."""
    return {"type": "context", "elements": list(elements)}


def box(text: str, label: str = "", note: str = "") -> Block:
    """Return text in a preformatted box, under a bold label and a note if there are any.

    rich_text elements of type ``text`` are shown as they are: no markup, mention or entity in
    them is read (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block).
    """
    elements: list[Block] = []
    if label:
        elements.append(_label(label, note))
    if text:
        preformatted = {"type": "rich_text_preformatted", "elements": [_literal(text)]}
        elements.append(preformatted)
    return {"type": "rich_text", "elements": elements}


def quotation(text: str, label: str = "", note: str = "") -> Block:
    """Return prose behind a bar, so that no line of it passes for one of ours."""
    elements = [_label(label, note)] if label else []
    elements.append({"type": "rich_text_quote", "elements": [_literal(text)]})
    return {"type": "rich_text", "elements": elements}


def _label(label: str, note: str) -> Block:
    parts = [{**_literal(label), "style": {"bold": True}}]
    if note:
        parts.append(_literal(f"  {note}"))
    return {"type": "rich_text_section", "elements": parts}


def _literal(text: str) -> Block:
    return {"type": "text", "text": text}


def button(
    text: str,
    action: str,
    value: str,
    *,
    style: str = "",
    label: str = "",
    confirm: Block | None = None,
) -> Block:
    """Return a button that carries a token; ``style`` is ``primary``, ``danger`` or empty."""
    made: Block = {"type": "button", "action_id": action, "text": plain(text), "value": value}
    if style:
        made["style"] = style
    if label:
        made["accessibility_label"] = label
    if confirm:
        made["confirm"] = confirm
    return made


def confirmation(title: str, text: str, yes: str) -> Block:
    """Return the dialog that a button opens before anything is sent."""
    return {
        "title": plain(title),
        "text": plain(text),
        "confirm": plain(yes),
        "deny": plain("Go back"),
    }


def actions(*buttons: Block) -> Block:
    """Return a row of buttons."""
    return {"type": "actions", "elements": list(buttons)}


def stamped(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks with ids that change whenever the content does.

    "If a message is updated, use a new block_id"
    (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block). An id that is there
    already (an input's) stays.
    """
    state = sha256(canonical_json(list(blocks)).encode()).hexdigest()[:10]
    return tuple({"block_id": f"hs.{state}.{n}", **block} for n, block in enumerate(blocks))


def message(text: str, blocks: Sequence[Block]) -> Message:
    """Return a message with stamped blocks."""
    return Message(text, stamped(blocks))
