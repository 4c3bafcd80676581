"""Every limit of Slack's that this package relies on, with its source, and our own budgets below.

Slack says "characters" and not which. Here they are UTF-16 code units, the reading by which an
emoji costs most, so that a text that fits by our count fits by any other.
"""

from typing import Final

# Blocks. https://docs.slack.dev/reference/block-kit/blocks and `@slack/types` 3.2.0 blocks.d.ts.
MESSAGE_BLOCKS: Final = 50
VIEW_BLOCKS: Final = 100
SECTION_TEXT: Final = 3000
HEADER_TEXT: Final = 150
CONTEXT_ELEMENTS: Final = 10
ACTIONS_ELEMENTS: Final = 25
BLOCK_ID: Final = 255
ACTION_ID: Final = 255

# Elements. https://docs.slack.dev/reference/block-kit/block-elements, block-elements.d.ts.
BUTTON_TEXT: Final = 75
BUTTON_VALUE: Final = 2000
BUTTON_LABEL: Final = 75
CONFIRM_TITLE: Final = 100
CONFIRM_TEXT: Final = 300
CONFIRM_BUTTON: Final = 30
INPUT_LENGTH: Final = 3000
INPUT_LABEL: Final = 2000
INPUT_HINT: Final = 2000
SELECT_OPTIONS: Final = 100
OPTION_TEXT: Final = 75

# Views. `@slack/types` views.d.ts; 250 KB is the `view_too_large` of views.open.
VIEW_TITLE: Final = 24
VIEW_BUTTON: Final = 24
PRIVATE_METADATA: Final = 3000
VIEW_BYTES: Final = 250_000
CALLBACK_ID: Final = 255

# Messages. chat.update refuses more text than this with `msg_too_long`; chat.postMessage would
# only cut (slack-ruby/slack-api-ref, chat.update.json).
UPDATE_TEXT: Final = 4000

# `msg_blocks_too_long` is not documented. It was seen from about 13,200 characters in one report
# (https://github.com/slackapi/bolt-js/issues/2509) and at 11,341 characters of text alone in
# another (https://github.com/slackapi/bolt-js/issues/2867). We count the whole JSON of the blocks,
# keys, tokens and all, which is stricter.
MESSAGE_JSON: Final = 11_000

# Ours: what a person can take in on a phone before it must be reviewed instead.
CARD_LINES: Final = 20
"""Short arguments on a card, one a line."""
CARD_BOXES: Final = 5
"""Long arguments on a card, each in a box of its own."""
VALUES_LOOKED_AT: Final = 500
"""For a card or a line: beyond so many, values are counted and not tried."""
CARD_UNITS: Final = 1800
"""Characters of arguments on a card."""
CARD_BREAKS: Final = 24
"""Lines that the boxes of a card may take, so that the buttons stay in sight."""
ROW_LINES: Final = 6
"""Short arguments in a row of a card that shows several calls."""
ROW_UNITS: Final = 300
"""Characters of them, so that four rows with their buttons stay below MESSAGE_JSON."""
ROW_TITLE: Final = 40
"""A call in a list of several: in a dialog, a notification, the owner's DM."""
PREVIEW_CHARACTERS: Final = 200
PREVIEW_BREAKS: Final = 4
LINE_VALUE: Final = 80
"""A longer value gets a box of its own."""
NAME: Final = 120
"""A longer argument name does not fit a label."""
QUOTED_NAME: Final = 40
"""A longer name in quotes does not share a line with its value."""
TITLE: Final = 130
"""Someone's words as a title, of the closed card too: below HEADER_TEXT with what is around them."""
QUESTION: Final = 1500
QUOTE: Final = 300
"""The agent's words, a reason, an answer or a result, as quoted on a card."""
WISH: Final = 2000
"""What is to be remembered, where people agree to it."""
SUMMARY: Final = 240
"""All arguments on one line: on a closed card, and in the phone's notification."""
FALLBACK_PART: Final = 300
SAID: Final = 160
"""The same in a notification and in the owner's DM, with its note of what is cut."""
FALLBACK_LINE: Final = 1200
"""Room for such a line when everything in it is escaped."""
PEOPLE: Final = 6
"""People named one by one before "and n more"."""
DIRECT: Final = 8
"""People who are asked one by one where there is no channel; Slack takes about a post a second."""
DESCRIBED: Final = 80
"""What a tool says of its call, as a title."""
PLACEHOLDER: Final = 58
"""A default where an argument is not given; with " · 99 more" it fits OPTION_TEXT."""
HINT: Final = 200
"""What a tool's author says of an argument, under its input."""
EDIT_HEAD: Final = 4
"""Blocks above the inputs of the form for edits."""
EDIT_REST: Final = 20_000
"""Bytes of that form without its inputs, at most."""
EXACT_NUMBER: Final = 10**15
"""A number below this is the same to every reader of JSON, and is written without an exponent."""
RESULT: Final = 2000
REASON: Final = 500
REF: Final = 12
DIGEST: Final = 8
SHORTEST_S: Final = 0.1
MINUTE: Final = 60
BOX_UNITS: Final = 2800
"""Characters in one box of a form; below SECTION_TEXT, as Slack gives rich_text no number."""
PAGE_UNITS: Final = 16_000
PAGE_BOXES: Final = 90
FORM_QUESTION_BOXES: Final = 12
