"""The names by which Slack hands our buttons, forms and inputs back to us."""

from typing import Final

APPROVE: Final = "holdshort.approve"
APPROVE_ONCE: Final = "holdshort.approve_once"
APPROVE_ALL: Final = "holdshort.approve_all"
DENY: Final = "holdshort.deny"
DENY_REASON: Final = "holdshort.deny_reason"
REVIEW: Final = "holdshort.review"
ANSWER: Final = "holdshort.answer"
DECLINE: Final = "holdshort.decline"
EDIT: Final = "holdshort.edit"
REMEMBER: Final = "holdshort.remember"
REVOKE: Final = "holdshort.revoke"

DENY_FORM: Final = "holdshort.deny_form"
ANSWER_FORM: Final = "holdshort.answer_form"
REVIEW_FORM: Final = "holdshort.review_form"
EDIT_FORM: Final = "holdshort.edit_form"
REMEMBER_FORM: Final = "holdshort.remember_form"

REASON_BLOCK: Final = "holdshort.reason"
REASON_INPUT: Final = "holdshort.reason.input"
ANSWER_BLOCK: Final = "holdshort.answer"
ANSWER_INPUT: Final = "holdshort.answer.input"

EDIT_BLOCK: Final = "holdshort.edit"
"""The block of each input of that form is this, a dot and the input's number."""
EDIT_INPUT: Final = "holdshort.edit.input"

REMEMBER_HOURS: Final = "holdshort.remember.hours"
REMEMBER_SCOPE: Final = "holdshort.remember.scope"
REMEMBER_BLOCK: Final = "holdshort.remember.argument"
"""The block of each argument in that form is this, a dot and the argument's number."""
REMEMBER_INPUT: Final = "holdshort.remember.input"

METADATA_EVENT: Final = "holdshort_card"
