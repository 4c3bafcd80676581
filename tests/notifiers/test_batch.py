"""One card for several calls: a row each, within what Slack takes, and Approve all where it may be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.gallery.exhibits import EXHIBITS, batch
from bot.gallery.samples import (
    ANNS,
    ANNS_VOTE,
    BOB,
    EDITED,
    FIELDS,
    HOSTILE,
    RISKY,
    SECRETS,
    TWO_OF_THREE,
    closed,
    ticket,
    vote,
)
from engine.cards import BatchNotice, Role, TicketNotice
from engine.ids import ApprovalId, PersonId, Ref
from engine.lifecycle.propose import CARD_TICKETS
from engine.redaction import HIDDEN
from engine.tickets import Allow, Declared, Deny, Risk
from notifiers import limits, names
from notifiers.batch import Shown, batch_card, read_shown, short_batch_card
from notifiers.blocks import Block, Message
from notifiers.owner import batch_message
from tests.notifiers.effort import QUICK
from tests.notifiers.judge import buttons, check_message, shown
from tests.notifiers.test_text import texts
from tests.notifiers.trees import trees

LONGEST_TOKEN = "t" * 1024
ROW = ["Approve", "Deny", "Deny with reason"]
REVIEWED = ["Review", "Deny", "Deny with reason"]
MINTED = 340
"""Characters of a token as it is minted, and a few more."""


def several(*changes: dict[str, Any]) -> BatchNotice:
    """Return as many tickets, each with a ref, a digest and a token of its own."""
    return batch(*(one(number, change) for number, change in enumerate(changes)))


def one(number: int, changed: dict[str, Any]) -> TicketNotice:
    own = {
        "approval": ApprovalId(f"apr_{number}"),
        "ref": Ref(f"K7F3Q{number}"),
        "digest": f"{number}" * 64,
        "token": SecretStr(f"token-{number}"),
    }
    return ticket(**{**own, **changed})


def pressed(message: Message, action: str) -> list[Block]:
    return [
        button
        for block in message.blocks
        if block["type"] == "actions"
        for button in block["elements"]
        if button["action_id"] == action
    ]


def test_every_call_has_a_row_with_its_own_buttons_and_token() -> None:
    message = batch_card(several({}, {}, {}))

    check_message(message)
    assert buttons(message) == [*ROW * 3, "Approve all 3"]
    assert [one["value"] for one in pressed(message, names.APPROVE)] == [
        "token-0",
        "token-1",
        "token-2",
    ]
    assert message.blocks[0]["text"]["text"] == "Run 3 calls?"


def test_approve_all_names_what_was_shown_and_carries_no_token() -> None:
    (button,) = pressed(batch_card(several({}, {})), names.APPROVE_ALL)

    assert read_shown(button["value"]) == (
        Shown("K7F3Q0", "0" * 16),
        Shown("K7F3Q1", "1" * 16),
    )
    assert "token" not in button["value"]
    assert "K7F3Q0 · args 00000000" in button["confirm"]["text"]["text"]
    assert "K7F3Q1 · args 11111111" in button["confirm"]["text"]["text"]


@pytest.mark.parametrize(
    "changed",
    [
        RISKY,
        {"approvers": TWO_OF_THREE, "needed": 2},
        {"arguments": {"script": "x" * 200}},
        {"token": None},
    ],
    ids=["high risk", "two approvals", "not wholly shown", "not to be answered here"],
)
def test_nothing_is_approved_all_at_once_where_one_of_them_may_not_be(
    changed: dict[str, Any],
) -> None:
    assert not pressed(batch_card(several({}, changed)), names.APPROVE_ALL)


def test_a_high_risk_is_reviewed_here_too() -> None:
    message = batch_card(several(RISKY, {}))
    assert buttons(message) == [*REVIEWED, *ROW]


def test_a_medium_risk_asks_once_more_here_too() -> None:
    message = batch_card(several({"declared": Declared(risk=Risk.MEDIUM)}, {}))
    first, second = pressed(message, names.APPROVE)

    assert "confirm" in first
    assert "confirm" not in second


def test_what_does_not_fit_a_row_is_counted_and_has_to_be_reviewed() -> None:
    many = {f"flag_{number}": number for number in range(40)}
    message = batch_card(several({"arguments": many}, {}))

    assert "34 of 40 values not shown here. Review shows all." in shown(message.blocks)
    assert buttons(message)[:3] == REVIEWED


def test_a_decided_call_keeps_its_row_and_the_others_their_buttons() -> None:
    denied = closed(Deny(reason="Not today."), ref=Ref("K7F3QZ"))
    message = batch_card(batch(denied, one(1, {}), one(2, {})))

    assert message.blocks[0]["text"]["text"] == "Run 2 of 3 calls?"
    assert "Denied: deploy" in shown(message.blocks)
    assert 'Reason: "Not today."' in shown(message.blocks)
    assert buttons(message) == [*ROW * 2, "Approve all 2"]


def test_with_all_decided_there_is_nothing_to_press_and_the_title_counts() -> None:
    message = batch_card(batch(closed(Allow()), closed(Deny()), closed(Deny())))

    assert message.blocks[0]["text"]["text"] == "3 calls: 1 approved, 2 denied"
    assert message.text.startswith("3 calls: 1 approved, 2 denied: deploy; deploy")
    assert not buttons(message)


def test_only_what_answers_at_once_carries_a_token_and_a_form_is_opened_by_its_ref() -> None:
    message = batch_card(several({"fields": FIELDS}, RISKY))

    assert [one["value"] for one in pressed(message, names.DENY)] == ["token-0", "token-1"]
    assert [one["value"] for one in pressed(message, names.DENY_REASON)] == ["K7F3Q0", "K7F3Q1"]
    assert [one["value"] for one in pressed(message, names.EDIT)] == ["K7F3Q0"]
    assert [one["value"] for one in pressed(message, names.REVIEW)] == ["K7F3Q1"]


def test_an_edited_call_says_in_its_row_who_changed_what() -> None:
    edited = {**EDITED, "fields": FIELDS, "approvers": TWO_OF_THREE, "needed": 2}
    message = batch_card(several({**edited, "votes": (ANNS_VOTE,)}, {}))
    said = shown(message.blocks)

    assert buttons(message)[:4] == [*ROW, "Edit\u2026"]
    assert f"*Edited by <@{ANNS.id}>*" in said
    assert "Approvals before that do not count." in said
    assert "version: 1.4.2 \u2192 1.4.3" in said
    assert "version = 1.4.3" in said
    assert f"1 of 2 approved: <@{ANNS.id}>" in said


def test_a_call_that_no_form_holds_says_in_its_row_where_it_is_edited() -> None:
    message = batch_card(several({"fields": FIELDS, "arguments": {"version": "v" * 4000}}, {}))

    assert "Edit\u2026" not in buttons(message)
    assert "In a terminal: holdshort approve K7F3Q0 --with" in shown(message.blocks)


def test_a_decided_call_keeps_what_was_edited() -> None:
    said = shown(batch_card(batch(closed(Allow(), **EDITED), one(1, {}))).blocks)

    assert f"edited by <@{ANNS.id}>" in said
    assert "Edits: version: 1.4.2 \u2192 1.4.3" in said


def test_no_secret_is_in_a_row_and_it_says_that_one_is_hidden() -> None:
    said = shown(batch_card(several(SECRETS, {})).blocks)

    assert "2 values hidden: url (in part), api_key. The call gets the real ones." in said
    assert f"https://deploy:{HIDDEN}@registry.acme.example/v2" in said


@pytest.mark.parametrize("minted", [MINTED, 1024])
def test_a_full_card_of_hostile_arguments_of_100_kb_each_fits_what_slack_takes(minted: int) -> None:
    hostile = {
        **HOSTILE,
        "text": "\u202e<!channel> *&\u0301\U0001f469\u200d\U0001f680\n" * 5_000,
        "deep": [[{"<@U0EVE>": "]]>`"}] * 40] * 40,
    }
    row = {
        "arguments": hostile,
        "fields": FIELDS,
        "token": SecretStr("t" * minted),
        "says": "<!here> `rm`\n" * 900,
        "agent": "*<!here>" * 90,
        "declared": Declared(risk=Risk.MEDIUM, title="\u202e<!here>\n*x* " * 90),
    }
    calls = [one(number, {**row, "ref": Ref(f"K7F{number:03}")}) for number in range(CARD_TICKETS)]
    for made in (batch_card(batch(*calls), "n" * 900), short_batch_card(batch(*calls), "n" * 900)):
        check_message(made)
        assert not pressed(made, names.APPROVE_ALL)
        assert buttons(made).count("Review") == CARD_TICKETS


def test_the_votes_of_each_call_stand_in_its_row() -> None:
    two = {"approvers": TWO_OF_THREE, "needed": 2}
    said = shown(batch_card(several({**two, "votes": (vote(BOB),)}, two)).blocks)

    assert f"1 of 2 approved: <@{BOB}>" in said
    assert "0 of 2 approved" in said


def test_four_calls_with_real_tokens_can_each_be_approved_on_the_card() -> None:
    wide = {f"argument_{number}": "word" * 6 for number in range(6)}
    token = {"token": SecretStr("t" * MINTED)}
    title = Declared(risk=Risk.MEDIUM, title="x" * 80)
    row = {"arguments": wide, "declared": title, **token}
    message = batch_card(several(*[row] * CARD_TICKETS))

    check_message(message)
    assert buttons(message)[:-1] == ROW[:2] * CARD_TICKETS
    usual = {"arguments": wide, "fields": FIELDS, **token}
    assert buttons(batch_card(several(*[usual] * CARD_TICKETS)))[:4] == [*ROW, "Edit\u2026"]


@QUICK
@given(
    st.lists(trees, min_size=2, max_size=CARD_TICKETS),
    texts,
    st.sampled_from(["t", LONGEST_TOKEN]),
)
def test_whatever_they_are_called_with_slack_takes_it(
    arguments: list[Any], words: str, carried: str
) -> None:
    token = {"token": SecretStr(carried)}
    declared = Declared(risk=Risk.MEDIUM, title=words)
    notice = several(
        *({"arguments": some, "says": words, "declared": declared, **token} for some in arguments)
    )
    ends = [closed(Deny(reason=words), arguments=some, declared=declared) for some in arguments]

    for made in (batch_card, short_batch_card):
        check_message(made(notice, words))
        check_message(made(batch(*ends), words))
        check_message(made(batch(*ends[:1], *notice.tickets[1:])))
    check_message(batch_message(notice.model_copy(update={"role": Role.ASKED})))


def test_the_plainest_card_lets_each_be_reviewed_or_denied_even_with_the_longest_tokens() -> None:
    huge = {"arguments": {"a": "x" * 9000}, "token": SecretStr(LONGEST_TOKEN)}
    message = batch_card(several(*[huge] * CARD_TICKETS))

    check_message(message)
    assert buttons(message) == REVIEWED * CARD_TICKETS
    words = {"requester": PersonId("x" * 80), "declared": Declared(title="\u202e" * 80)}
    check_message(short_batch_card(several(*[{**huge, **words}] * CARD_TICKETS), "x" * 300))


@pytest.mark.parametrize("value", ["", "K7F3QD", "K7F3QD:", "K7F3QD:abc", "a:b:c", "x" * 40])
def test_the_value_of_another_button_is_not_taken_for_approve_all(value: str) -> None:
    with pytest.raises(ValueError, match="our buttons"):
        read_shown(value)


def test_the_owner_is_told_once_of_all_of_them() -> None:
    asked = EXHIBITS["owner_waits_for_several"].notice
    assert isinstance(asked, BatchNotice)
    message = batch_message(asked)

    assert message.text.startswith(
        'Waiting for you: 3 calls of deployer: deploy "1.4.2 to prod"; refund; notify'
    )
    assert "|Open the card>" in message.text
    assert not buttons(message)


def test_limits_leave_room_for_every_row() -> None:
    assert CARD_TICKETS * 5 < limits.MESSAGE_BLOCKS
