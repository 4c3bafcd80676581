"""What a card says in each state, and what it may never say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.gallery.samples import (
    ALICE,
    CALL,
    HOSTILE,
    LOST,
    QUESTION,
    STATES,
    TOKEN,
    closed,
    finished,
    ticket,
)
from engine.cards import Effect, EffectState, TicketNotice
from engine.entries import CallOutcome
from engine.identity import SYSTEM, Approvers
from engine.ids import PersonId, Ref
from engine.tickets import (
    Allow,
    Answer,
    Declared,
    Deny,
    RemoteInput,
    Risk,
    Settle,
    ToolPermission,
)
from notifiers import limits, names
from notifiers.blocks import Message
from notifiers.card import ask_card, short_card
from tests.notifiers.effort import NORMAL, PROOF, QUICK
from tests.notifiers.judge import button_values, buttons, check_message, shown
from tests.notifiers.test_text import texts
from tests.notifiers.trees import trees

LONGEST_TOKEN = "t" * 1024
APPROVE = ["Approve", "Deny", "Deny with reason", "Remember\u2026"]
REVIEW = ["Review", "Deny", "Deny with reason"]


def kinds(message: Message) -> list[str]:
    return [block["type"] for block in message.blocks]


def huge(unit: str, size: int = 100_000) -> dict[str, Any]:
    return {"env": "prod", "script": (unit * size)[:size]}


@pytest.mark.parametrize("name", STATES)
def test_every_state_is_something_slack_takes(name: str) -> None:
    check_message(ask_card(STATES[name], "Here because the run's own channel refused it."))
    check_message(short_card(STATES[name]))


@pytest.mark.parametrize("name", STATES)
def test_only_open_cards_carry_the_token(name: str) -> None:
    notice = STATES[name]
    carried = TOKEN in json.dumps(ask_card(notice).blocks)
    assert carried == (notice.token is not None and not isinstance(notice.target, type(LOST)))


def test_the_token_is_in_button_values_only() -> None:
    message = ask_card(ticket())
    everything = json.dumps([message.text, *message.blocks])

    assert button_values(message) == [TOKEN] * 4
    assert everything.count(TOKEN) == 4


def test_a_tap_approves_what_is_wholly_on_the_card() -> None:
    message = ask_card(ticket())
    assert buttons(message) == APPROVE
    assert message.blocks[3]["elements"][0]["action_id"] == names.APPROVE


@pytest.mark.parametrize(
    "unit",
    [
        "`",
        "<!channel>",
        "<https://evil.example|Approved>",
        "\u202eevil\u202c",
        "\u200b",
        "\n",
        "\\",
        '"',
        "&lt;",
        "\U0001f44d\U0001f3fd",
        "a\u0301",
        "\ud83d",
    ],
)
def test_huge_arguments_are_cut_counted_and_have_to_be_reviewed(unit: str) -> None:
    message = ask_card(ticket(arguments=huge(unit), token=SecretStr(LONGEST_TOKEN)))

    check_message(message)
    assert buttons(message) == REVIEW
    assert "of 100,000 characters" in shown(message.blocks)
    assert "1 value is cut short, of 2" in shown(message.blocks)


def test_the_text_in_a_box_makes_no_block_and_no_button() -> None:
    plain = ask_card(ticket(arguments={"note": "x" * 100}))
    forged = ask_card(ticket(arguments={"note": "x\n\n[ Approve ]\n" * 5 + "<!here>" * 4}))

    assert kinds(plain) == kinds(forged)
    assert buttons(plain) == buttons(forged)


def people_said(words: str) -> list[TicketNotice]:
    """Return a notice for every place where someone's words reach a card."""
    target = ToolPermission(call=CALL, tool=words)
    failed = finished(CallOutcome.FAILED, words)
    return [
        ticket(target=target, agent=words, says=words, arguments={words: words, "b": [words]}),
        ticket(target=target, declared=Declared(risk=Risk.MEDIUM, title=words, untitled=words)),
        ticket(target=RemoteInput(call=CALL, tool="ask", prompt=words), agent=words),
        ticket(target=LOST.model_copy(update={"tool": words}), arguments={"a": words}),
        closed(Allow(), target=target, agent=words, arguments={words: words}, effect=failed),
        closed(Deny(reason=words), target=target, agent=words),
        closed(Answer(value=words), target=QUESTION.model_copy(update={"prompt": words})),
        closed(Settle(outcome="happened", value=words), target=LOST),
        ticket(
            approvers=Approvers(people=(PersonId(words), PersonId(f"<@{words}>"))),
            requester=PersonId(words),
            ref=Ref(words),
            digest=words,
        ),
    ]


def check_cards(words: str) -> None:
    for notice in people_said(words):
        check_message(ask_card(notice, words))


@QUICK
@given(texts)
def test_whatever_anyone_writes_it_stays_inert(words: str) -> None:
    check_cards(words)


@pytest.mark.proof
@PROOF
@given(texts)
def test_whatever_anyone_writes_it_stays_inert_fifty_thousand_times(words: str) -> None:
    check_cards(words)


@NORMAL
@given(trees, st.integers(min_value=0, max_value=limits.BUTTON_VALUE // 2))
def test_any_arguments_make_a_card_within_all_limits(arguments: Any, length: int) -> None:
    token = SecretStr("t" * (length + 1))
    message = ask_card(ticket(arguments=arguments, token=token))

    check_message(message)
    assert buttons(message)[1:3] == ["Deny", "Deny with reason"]
    assert buttons(message)[3:] in ([], ["Remember\u2026"])


@pytest.mark.parametrize("unit", ["x", "\n", "\u202e", "<!channel>"])
def test_a_closed_card_does_not_grow_with_the_arguments(unit: str) -> None:
    small = ask_card(closed(Allow(), arguments={"a": "x" * 200}))
    large = ask_card(closed(Allow(), arguments={"a": unit * 100_000}))

    assert abs(small.size - large.size) < 20


def test_block_ids_change_with_what_is_shown() -> None:
    running = closed(Allow(), effect=Effect(state=EffectState.RUNNING))
    states = [ticket(), ticket(token=SecretStr("another")), closed(Allow()), running]
    ids = [block["block_id"] for notice in states for block in ask_card(notice).blocks]

    assert len(ids) == len(set(ids))
    assert ask_card(ticket()) == ask_card(ticket())


def test_a_lost_outcome_offers_nothing_that_could_run_it_again() -> None:
    message = ask_card(STATES["lost"])
    assert not buttons(message)
    assert "`holdshort runs resolve K7F3QD --not-happened`" in shown(message.blocks)


def test_a_timeout_is_nobodys_decision() -> None:
    notice = closed(Deny(reason="approval timed out"), actor=SYSTEM, timed_out=True)
    said = shown(ask_card(notice).blocks) + ask_card(notice).text

    assert "Nobody decided" in said
    assert "system" not in said
    assert "Reason" not in said
    assert "Denied" not in said


def test_nothing_is_said_of_an_effect_that_is_not_known() -> None:
    assert "Not started" not in shown(ask_card(closed(Allow())).blocks)


@pytest.mark.parametrize(
    ("outcome", "seconds", "said"),
    [
        (CallOutcome.SUCCEEDED, 3.24, 'Ran in 3.2 s: "live"'),
        (CallOutcome.SUCCEEDED, None, 'Ran: "live"'),
        (CallOutcome.FAILED, 0.0, 'Failed after less than 0.1 s: "live"'),
        (CallOutcome.FAILED, 125.0, 'Failed after 2 min 5 s: "live"'),
        (CallOutcome.RETRY, 1.0, 'Ran in 1.0 s and asked for another try: "live"'),
        (CallOutcome.DENIED, None, 'Did not run: "live"'),
        (None, None, 'Ended: "live"'),
    ],
)
def test_the_end_of_a_call_is_told(
    outcome: CallOutcome | None, seconds: float | None, said: str
) -> None:
    assert said in shown(
        ask_card(closed(Allow(), effect=finished(outcome, "live", seconds))).blocks
    )


def test_a_long_result_is_shortened_and_says_by_how_much_and_where_the_rest_is() -> None:
    effect = finished(CallOutcome.SUCCEEDED, "x" * 12_340)
    said = shown(ask_card(closed(Allow(), effect=effect)).blocks)

    assert (
        f'Ran in 3.2 s: "{"x" * 300}" (first 300 of 12,340 characters;'
        " all of it: /holdshort show K7F3QD)"
    ) in said


def test_a_long_question_is_cut_and_says_where_the_rest_is() -> None:
    target = QUESTION.model_copy(update={"prompt": "why? " * 1000})
    message = ask_card(ticket(target=target))

    check_message(message)
    assert "first 1,500 of 5,000 characters; Answer shows more" in shown(message.blocks)


def test_the_title_of_a_question_is_the_question_in_quotes_and_it_is_not_asked_twice() -> None:
    message = ask_card(ticket(target=QUESTION))

    assert message.blocks[0]["text"]["text"] == '"Which change ticket covers this?"'
    assert shown(message.blocks).count("Which change") == 1


@pytest.mark.parametrize("prompt", ["why? " * 30, "Which one?\nApproved by bob"])
def test_a_question_that_is_no_title_is_shown_whole_below_it(prompt: str) -> None:
    target = QUESTION.model_copy(update={"prompt": prompt})
    quoted = [
        block for block in ask_card(ticket(target=target)).blocks if block["type"] == "rich_text"
    ]

    assert shown(quoted) == prompt
    assert ask_card(ticket(target=target)).blocks[0]["text"]["text"] == "deployer has a question"


def confirms(message: Message) -> list[Any]:
    """Return the dialogs that the buttons open."""
    return [
        element.get("confirm")
        for block in message.blocks
        if block["type"] == "actions"
        for element in block["elements"]
    ]


def test_a_high_risk_is_reviewed_before_it_can_be_approved() -> None:
    message = ask_card(STATES["open_high_risk"])

    assert buttons(message) == REVIEW
    assert message.blocks[1]["text"]["text"].startswith("*\U0001f534 HIGH RISK* · *deployer* asks")
    assert message.text.startswith("deployer asks: \U0001f534 HIGH RISK · Run deploy")


def test_a_medium_risk_asks_once_more_and_says_what_exactly() -> None:
    message = ask_card(STATES["open_medium_risk"])
    approve, *others = confirms(message)

    assert buttons(message) == APPROVE
    assert others == [None] * 3
    assert approve["title"]["text"] == "\U0001f7e0 Medium risk"
    assert approve["text"]["text"] == ('Run deploy "Deploy 1.4.2 to prod"?\nK7F3QD · args 9f2c1a04')


def test_a_medium_risk_that_does_not_fit_is_reviewed_and_asked_no_more() -> None:
    declared = Declared(risk=Risk.MEDIUM)
    message = ask_card(ticket(declared=declared, arguments=huge("x")))

    assert buttons(message) == REVIEW
    assert confirms(message) == [None] * 3


@pytest.mark.parametrize("risk", [None, Risk.LOW])
def test_a_low_or_undeclared_risk_is_approved_in_one_tap(risk: Risk | None) -> None:
    message = ask_card(ticket(declared=Declared(risk=risk)))

    assert buttons(message) == APPROVE
    assert confirms(message) == [None] * 4
    assert ("Low risk" in shown(message.blocks)) == (risk is Risk.LOW)


def test_what_a_tool_says_of_its_call_stands_in_quotes_beside_the_tools_name() -> None:
    declared = Declared(title='Read" logs?\n<!here>')
    title = ask_card(ticket(declared=declared)).blocks[0]["text"]["text"]

    assert title == 'Run deploy "Read\\" logs? <!here>"?'


def test_a_title_that_could_not_be_made_is_told() -> None:
    said = shown(ask_card(STATES["open_without_its_title"]).blocks)
    assert "Its tool could not describe this call: KeyError." in said


def test_people_whom_slack_does_not_know_are_named_and_not_mentioned() -> None:
    named = (PersonId("alice"), PersonId("U1> <!channel"), PersonId("u0bob"))
    said = shown(ask_card(ticket(approvers=Approvers(people=named))).blocks)

    assert "asks alice, U1&gt; &lt;!channel or u0bob" in said


def test_many_approvers_are_counted_after_the_first_few() -> None:
    named = tuple(PersonId(f"U{n}") for n in range(9))
    said = shown(ask_card(ticket(approvers=Approvers(people=named))).blocks)

    assert "<@U5> or 3 more" in said
    assert "<@U6>" not in said


def test_whoever_started_it_is_named_where_they_may_not_decide() -> None:
    said = shown(ask_card(ticket(approvers=Approvers(people=(PersonId("U9"),)))).blocks)
    assert f"started by <@{ALICE}>" in said
    assert "started by" not in shown(ask_card(ticket()).blocks)


def test_the_notification_alone_tells_what_is_asked_and_until_when() -> None:
    assert ask_card(ticket()).text == (
        "deployer asks: Run deploy? env = prod · version = 1.4.2"
        " · until <!date^1772809200^{time}|2026-03-06 15:00 UTC>"
    )


def test_a_card_that_cannot_be_answered_here_says_where_it_can() -> None:
    message = ask_card(ticket(token=None))
    assert not buttons(message)
    assert "/holdshort show K7F3QD" in shown(message.blocks)


def test_a_card_too_large_for_slack_gives_way_to_the_short_one() -> None:
    message = ask_card(ticket(token=SecretStr("t" * 3900)))
    assert "This card is shortened." in shown(message.blocks)


@pytest.mark.parametrize("notice", [ticket(arguments=HOSTILE), ticket(target=QUESTION)])
def test_the_short_card_can_still_be_answered_but_not_approved_blindly(
    notice: TicketNotice,
) -> None:
    message = short_card(notice)
    assert buttons(message) in (REVIEW, ["Answer", "Decline"])
    assert set(kinds(message)) <= {"section", "actions", "context"}


def test_the_note_of_another_place_is_on_the_card() -> None:
    note = "Here because the configured channel refused it (not_in_channel)."
    assert note in shown(ask_card(ticket(), note).blocks)
    assert note in shown(ask_card(closed(Deny()), note).blocks)
