"""Notifiers: what tells people. ``notifiers.slack`` is imported by name, as it loads slack_sdk."""

from notifiers.batch import Shown, batch_card, may_be_bulk, read_shown, short_batch_card
from notifiers.blocks import Message
from notifiers.card import ask_card, short_card
from notifiers.inbox import InboxNotifier
from notifiers.inputs import Input, can_edit, inputs_of, read_inputs
from notifiers.modals import (
    FormMeta,
    answer_form,
    deny_form,
    edit_form,
    pages,
    read_meta,
    review_form,
)
from notifiers.owner import batch_message, outcome_message, ticket_message
from notifiers.sheet import needs_review

__all__ = [
    "FormMeta",
    "InboxNotifier",
    "Input",
    "Message",
    "Shown",
    "answer_form",
    "ask_card",
    "batch_card",
    "batch_message",
    "can_edit",
    "deny_form",
    "edit_form",
    "inputs_of",
    "may_be_bulk",
    "needs_review",
    "outcome_message",
    "pages",
    "read_inputs",
    "read_meta",
    "read_shown",
    "review_form",
    "short_batch_card",
    "short_card",
    "ticket_message",
]
