"""Consent and secrets: every value is shown, counted as not shown, or declared as hidden."""

import json

import pytest
from hypothesis import given

from bot.gallery.samples import closed, ticket
from engine.cards import Effect, EffectState
from engine.redaction import HIDDEN, redact
from engine.schema import Json, canonical_json
from engine.tickets import Allow
from notifiers import limits
from notifiers.arguments import Secret, on_card, read_rows, summary
from notifiers.card import ask_card
from notifiers.modals import deny_form, pages, review_form
from tests.notifiers.effort import EVERY_SECRET, PROOF_OF_SECRETS
from tests.notifiers.judge import buttons, check_message, check_view, shown
from tests.notifiers.trees import SECRETS, Salted, count, leaves, salted


def check_consent(given: Salted) -> None:
    before = canonical_json(given.arguments)
    found = redact(given.arguments, given.marked)
    secret = Secret(found.hidden, found.masked)
    sheet = on_card(found.arguments, secret)
    rows = list(read_rows(found.arguments, secret))
    real = list(leaves(given.arguments))

    assert canonical_json(given.arguments) == before
    assert sheet.values == count(given.arguments) == len(rows)
    assert sheet.values == len(sheet.lines) + len(sheet.boxes) + sheet.missing
    assert len(sheet.secrets) == sum(bool(row.withheld) for row in rows)
    for row, value in zip(rows, real, strict=False):
        if row.withheld:
            assert row.raw == HIDDEN or HIDDEN in row.raw
        else:
            assert row.raw == value
    hidden = [row for row in rows if row.withheld == "whole"]
    assert len(hidden) == len(found.hidden)
    check_surfaces(found.arguments, secret)


def check_surfaces(arguments: object, secret: Secret) -> None:
    told = {"arguments": arguments, "hidden": secret.hidden, "masked": secret.masked}
    notice = ticket(**told)
    done = closed(Allow(), effect=Effect(state=EffectState.RUNNING), **told)
    cards = [ask_card(notice), ask_card(done)]
    forms = [deny_form(notice)]
    forms += [review_form(notice, page) for page in range(1, pages(notice) + 1)]
    everything = json.dumps([*(card.blocks for card in cards), forms], ensure_ascii=False)

    for card in cards:
        check_message(card)
    for form in forms:
        check_view(form)
    assert not [one for one in SECRETS if one in everything]


@EVERY_SECRET
@given(salted)
def test_every_value_is_shown_counted_or_declared_as_hidden(given: Salted) -> None:
    check_consent(given)


@pytest.mark.proof
@PROOF_OF_SECRETS
@given(salted)
def test_every_value_is_shown_counted_or_declared_as_hidden_five_thousand_times(
    given: Salted,
) -> None:
    check_consent(given)


def test_a_hidden_value_is_named_and_the_call_is_said_to_get_the_real_one() -> None:
    message = ask_card(ticket(arguments={"api_key": HIDDEN, "env": "prod"}, hidden=("/api_key",)))
    said = shown(message.blocks)

    assert f"api_key = {HIDDEN}\nenv = prod" in said
    assert "1 value hidden: api_key. The call gets the real one." in said
    assert buttons(message)[0] == "Approve"


def test_a_value_hidden_in_part_is_named_too() -> None:
    arguments: Json = {"script": f"curl {HIDDEN} (20 characters) •••", "key": HIDDEN}
    sheet = on_card(arguments, Secret(("/key",), ("/script",)))
    assert sheet.withheld == (
        "2 values hidden: script (in part), key. The call gets the real ones."
    )


def test_many_hidden_values_are_counted_after_the_first_few() -> None:
    arguments: Json = {f"k{n}": HIDDEN for n in range(50)}
    sheet = on_card(arguments, Secret(tuple(f"/k{n}" for n in range(50))))

    assert sheet.withheld.startswith("50 values hidden: k0, k1, k2, k3, k4, k5, 44 more.")
    assert sheet.missing == 50 - limits.CARD_LINES


def test_an_argument_cannot_pass_for_a_hidden_one() -> None:
    sheet = on_card({"env": HIDDEN})
    assert sheet.lines == (f'env = "{HIDDEN}"',)
    assert not sheet.withheld


def test_a_secret_under_a_name_that_fits_no_line_is_declared_too() -> None:
    sheet = on_card({"שלום": HIDDEN}, Secret(("/שלום",)))
    (box,) = sheet.boxes

    assert (box.text, box.note) == (HIDDEN, "")
    assert len(sheet.secrets) == 1


def test_a_summary_hides_it_too() -> None:
    assert summary({"key": HIDDEN, "n": 1}, Secret(("/key",))) == f"key = {HIDDEN} · n = 1"


def test_the_last_page_of_the_review_declares_what_it_does_not_show() -> None:
    notice = ticket(arguments={"api_key": HIDDEN}, hidden=("/api_key",))
    said = shown(review_form(notice)["blocks"])

    assert "1 value hidden: api_key. The call gets the real one." in said
    assert "This is all of it. Approve runs exactly this." in said
