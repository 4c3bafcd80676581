"""What the owner is told in their DM: short, without buttons, and true."""

import pytest
from hypothesis import given

from bot.gallery.samples import (
    ASK_RECEIPT,
    BOB,
    QUESTION,
    RISKY,
    closed,
    finished,
    outcome,
    ticket,
)
from engine.cards import Effect, EffectState, Receipt, Role
from engine.entries import CallOutcome
from engine.identity import SYSTEM, Approvers
from engine.ids import PersonId
from engine.runs import RunStatus
from engine.tickets import Allow, Answer, Deny
from notifiers.owner import outcome_message, ticket_message
from tests.notifiers.effort import QUICK
from tests.notifiers.judge import buttons, check_message, shown
from tests.notifiers.test_text import texts

UNTIL = " · until <!date^1772809200^{date_short_pretty} at {time}|2026-03-06 15:00 UTC>"
LINK = "https://acme.slack.com/archives/C0OPS/p12?thread_ts=1.1&amp;cid=C0OPS"


def test_the_owner_is_led_to_the_card_and_gets_no_buttons() -> None:
    message = ticket_message(ticket(role=Role.ASKED, ask=ASK_RECEIPT, token=None))

    check_message(message)
    assert message.text == f"Waiting for you: Run deploy? · <{LINK}|Open the card>{UNTIL}"
    assert not buttons(message)


def test_the_owner_is_told_whom_it_waits_for() -> None:
    approvers = Approvers(people=(BOB, PersonId("U0CAROL")))
    message = ticket_message(ticket(role=Role.ASKED, approvers=approvers))
    assert message.text == f"Waiting for <@U0BOB> or <@U0CAROL>: Run deploy?{UNTIL}"


@pytest.mark.parametrize(
    "link",
    ["", "javascript:x", "https://e.example/|Approve>", "https://e.example/<!channel>", "https://"],
)
def test_a_link_that_is_not_just_a_link_is_left_out(link: str) -> None:
    ask = Receipt(place="C0OPS", id="1.2", link=link)
    message = ticket_message(ticket(role=Role.ASKED, ask=ask))
    assert message.text == f"Waiting for you: Run deploy?{UNTIL}"


def test_how_a_ticket_ended_is_not_told_twice() -> None:
    message = ticket_message(closed(Allow(), role=Role.ASKED, ask=ASK_RECEIPT))
    assert message.text == f"No longer waiting: Run deploy? · <{LINK}|Open the card>"


def test_the_owner_reads_the_question_itself() -> None:
    asked = ticket_message(ticket(role=Role.ASKED, target=QUESTION))
    assert asked.text == (
        f'Waiting for you: deployer asks "Which change ticket covers this?"{UNTIL}'
    )


def test_the_owner_is_told_how_it_was_decided() -> None:
    running = Effect(state=EffectState.RUNNING)
    ran = finished(CallOutcome.SUCCEEDED, "live", 3.2)
    late = {"role": Role.DECIDED, "actor": SYSTEM, "timed_out": True}
    notices = [
        closed(Allow(), role=Role.DECIDED, effect=running),
        closed(Allow(), role=Role.DECIDED, effect=ran),
        closed(Deny(reason="Not on a Friday."), role=Role.DECIDED),
        closed(Answer(value="CHG-1"), role=Role.DECIDED, target=QUESTION),
        closed(Deny(reason="approval timed out"), **late),
        closed(Deny(), target=QUESTION, **late),
    ]
    told = [ticket_message(notice).text for notice in notices]

    at = "<!date^1772805720^{time}|2026-03-06 14:02 UTC>"
    assert told == [
        "Approved by <@U0BOB>: deploy. Running.",
        'Approved by <@U0BOB>: deploy. Ran in 3.2 s: "live"',
        'Denied by <@U0BOB>: deploy. Reason: "Not on a Friday."',
        'Answered by <@U0BOB>: "Which change ticket covers this?" Answer: "CHG-1"',
        f"Nobody decided: deploy was denied at {at}.",
        f'Nobody decided: "Which change ticket covers this?" was declined at {at}.',
    ]


def test_a_long_result_is_told_in_part_and_says_of_how_much() -> None:
    ran = finished(CallOutcome.SUCCEEDED, "*" * 12_340)
    message = ticket_message(closed(Allow(), role=Role.DECIDED, effect=ran, **RISKY))

    check_message(message)
    assert message.text.startswith('Approved by <@U0BOB>: deploy "Deploy 1.4.2 to prod". Ran in')
    assert message.text.endswith(
        "(first 160 of 12,340 characters; all of it: /holdshort show K7F3QD)"
    )


def test_a_notice_of_a_decision_that_comes_too_early_does_not_claim_one() -> None:
    assert ticket_message(ticket(role=Role.DECIDED)).text == "Still open: Run deploy?"


def test_the_card_itself_is_not_made_here() -> None:
    with pytest.raises(ValueError, match="not for the owner's DM"):
        ticket_message(ticket(role=Role.ASK))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (RunStatus.SUCCEEDED, "Done: deployer. release 1.4.2 live"),
        (RunStatus.FAILED, "Failed: deployer. release 1.4.2 live"),
        (RunStatus.CANCELLED, "Cancelled: deployer. release 1.4.2 live"),
        (RunStatus.WAITING, "Waiting: deployer. release 1.4.2 live"),
    ],
)
def test_the_end_of_a_run_is_told(status: RunStatus, said: str) -> None:
    message = outcome_message(outcome(status, "release 1.4.2 live"))

    check_message(message)
    assert message.text == said
    assert "run R4T8AB" in shown(message.blocks)


def test_a_run_that_ends_without_a_word_is_told_in_one() -> None:
    message = outcome_message(outcome(RunStatus.CANCELLED, " \n"))
    check_message(message)
    assert message.text == "Cancelled: deployer"


def test_a_long_answer_is_cut_and_says_so() -> None:
    message = outcome_message(outcome(RunStatus.SUCCEEDED, "x" * 9000))
    check_message(message)
    assert "first 2,000 of 9,000 characters" in shown(message.blocks)


@QUICK
@given(texts)
def test_whatever_anyone_writes_the_owner_sees_it_inert(words: str) -> None:
    waits = ticket(role=Role.ASKED, agent=words, ask=Receipt(place="C", id="1", link=words))
    check_message(ticket_message(waits))
    check_message(ticket_message(closed(Deny(reason=words), role=Role.DECIDED, agent=words)))
    check_message(outcome_message(outcome(RunStatus.SUCCEEDED, words)))
