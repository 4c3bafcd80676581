"""Notifiers: what tells people. ``notifiers.slack`` is imported by name, as it loads slack_sdk."""

from notifiers.batch import Shown, batch_card, may_be_bulk, read_shown, short_batch_card
from notifiers.blocks import Message
from notifiers.card import ask_card, short_card
from notifiers.held import held_message
from notifiers.inbox import InboxNotifier
from notifiers.inputs import Input, can_edit, inputs_of, read_inputs
from notifiers.modals import (
    FormMeta,
    answer_form,
    deny_form,
    edit_form,
    pages,
    read_meta,
    remember_form,
    review_form,
)
from notifiers.owner import batch_message, outcome_message, ticket_message
from notifiers.remember import can_remember, read_wish
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
    "can_remember",
    "deny_form",
    "edit_form",
    "held_message",
    "inputs_of",
    "may_be_bulk",
    "needs_review",
    "outcome_message",
    "pages",
    "read_inputs",
    "read_meta",
    "read_shown",
    "read_wish",
    "remember_form",
    "review_form",
    "short_batch_card",
    "short_card",
    "ticket_message",
]
