"""What is told of remembering: offered where it may be, shown to whoever agrees, never too little."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.gallery.exhibits import batch
from bot.gallery.samples import (
    BOB,
    EDITED,
    FIELDS,
    QUESTION,
    RISKY,
    TO_PROD,
    TWO_OF_THREE,
    closed,
    ticket,
    vote,
    wished,
)
from engine.cards import TicketNotice
from engine.errors import InvalidAnswerError
from engine.redaction import HIDDEN, redact
from engine.remembered import Term, Wish, leaves, terms_of
from engine.schema import Json
from engine.tickets import Allow, Declared, Deny, Risk
from notifiers import (
    ask_card,
    can_remember,
    limits,
    names,
    read_wish,
    remember_form,
    review_form,
    short_card,
)
from notifiers.batch import batch_card, short_batch_card
from notifiers.remember import terms_line
from tests.notifiers.judge import buttons, check_message, check_view, shown
from tests.notifiers.trees import trees

REMEMBER = "Remember\u2026"
PENDING: dict[str, Any] = {
    "approvers": TWO_OF_THREE,
    "needed": 2,
    "votes": (vote(BOB),),
    "wished": wished(TO_PROD, "/version"),
}


def form_inputs(notice: TicketNotice) -> dict[str, list[str]]:
    """Return the choices of the form by their blocks."""
    blocks: Any = remember_form(notice)["blocks"]
    return {
        block["block_id"]: [option["value"] for option in block["element"]["options"]]
        for block in blocks
        if block["type"] == "input"
    }


class TestOffered:
    """Remember is offered where everything is in sight and nobody has voted."""

    @pytest.mark.parametrize(
        "more", [{}, {"needed": 2}, {"arguments": {}}, {"declared": Declared(risk=Risk.MEDIUM)}]
    )
    def test_on_a_card_that_shows_everything(self, more: dict[str, Any]) -> None:
        assert can_remember(ticket(**more))
        assert REMEMBER in buttons(ask_card(ticket(**more)))

    @pytest.mark.parametrize(
        "more",
        [
            RISKY,
            PENDING,
            EDITED,
            {"needed": 2, "votes": (vote(BOB),)},
            {"token": None},
            {"target": QUESTION},
            {"arguments": {"script": "x" * 5000}},
            {"arguments": {f"n{n}": n for n in range(65)}},
            {"arguments": {f"{HIDDEN} (24 characters) \u2022\u2022\u2022": 1}},
            {"arguments": {"n" * 200: 1}},
        ],
    )
    def test_and_nowhere_else(self, more: dict[str, Any]) -> None:
        notice = ticket(**more)
        assert not can_remember(notice)
        assert REMEMBER not in buttons(ask_card(notice))
        with pytest.raises(ValueError, match="cannot be remembered"):
            remember_form(notice)

    def test_not_on_the_shortened_card(self) -> None:
        assert REMEMBER not in buttons(short_card(ticket()))


class TestForm:
    """Every argument stays as it is unless the form says otherwise."""

    def test_nothing_touched_is_one_hour_of_exactly_this_for_the_owner(self) -> None:
        notice = ticket()
        first = {block: options[0] for block, options in form_inputs(notice).items()}
        assert read_wish(notice, first) == Wish(hours=1)

    def test_each_argument_may_be_loosened_alone(self) -> None:
        notice = ticket(arguments={"b": 1, "a": {"x": [1, "two"]}})
        assert len(form_inputs(notice)) == 5
        typed = {names.REMEMBER_HOURS: "168", f"{names.REMEMBER_BLOCK}.1": "anything"}
        assert read_wish(notice, typed) == Wish(hours=168, loose=("/a/x/1",))

    def test_for_one_conversation(self) -> None:
        typed = {names.REMEMBER_HOURS: "8", names.REMEMBER_SCOPE: "conversation"}
        assert read_wish(ticket(), typed) == Wish(hours=8, conversation=True)

    def test_a_scope_that_is_not_offered_is_the_narrow_one(self) -> None:
        typed = {names.REMEMBER_HOURS: "8", names.REMEMBER_SCOPE: "everybody"}
        assert read_wish(ticket(), typed).conversation

    @pytest.mark.parametrize("hours", ["", "0", "2", "9999", "-1", "forever", "1.5", "8h"])
    def test_a_span_that_is_not_offered_is_refused(self, hours: str) -> None:
        with pytest.raises(InvalidAnswerError, match="how long"):
            read_wish(ticket(), {names.REMEMBER_HOURS: hours})

    def test_a_secret_has_no_choice(self) -> None:
        notice = ticket(arguments={"key": HIDDEN, "env": "prod"}, hidden=("/key",))
        assert f"{names.REMEMBER_BLOCK}.0" in form_inputs(notice)
        assert f"{names.REMEMBER_BLOCK}.1" not in form_inputs(notice)
        assert "key: kept as it is" in shown(remember_form(notice)["blocks"])

    def test_a_single_argument_has_no_choice_as_it_has_to_stay(self) -> None:
        inputs = form_inputs(ticket(arguments={"env": "prod"}))
        assert set(inputs) == {names.REMEMBER_HOURS, names.REMEMBER_SCOPE}

    @settings(max_examples=150, deadline=None)
    @given(trees)
    def test_any_arguments_make_a_form_that_slack_takes_or_none(self, arguments: Any) -> None:
        notice = ticket(arguments=arguments)
        if can_remember(notice):
            check_view(remember_form(notice))


class TestAgreeing:
    """Whoever approves what will be remembered has it before them, wherever they approve."""

    def test_the_card_says_who_asks_for_what_and_for_how_long(self) -> None:
        said = shown(ask_card(ticket(**PENDING)).blocks)
        assert "<@U0BOB> asks to remember this for 8 hours" in said
        assert "all runs for the same owner" in said
        assert 'deploy: version: anything \u00b7 env = "prod"' in said
        assert "Approve and remember agrees to that" in said

    def test_the_first_button_says_what_it_agrees_to(self) -> None:
        assert buttons(ask_card(ticket(**PENDING)))[0] == "Approve and remember"
        assert buttons(ask_card(ticket()))[0] == "Approve"
        assert "Approve and remember" in str(review_form(ticket(**PENDING))["submit"])
        assert "remember" not in str(review_form(ticket())["submit"])

    def test_so_do_the_shortened_card_and_the_last_page_of_the_review(self) -> None:
        wanted = 'deploy: version: anything \u00b7 env = "prod"'
        assert wanted in shown(short_card(ticket(**PENDING)).blocks)
        assert wanted in shown(review_form(ticket(**PENDING))["blocks"])

    @pytest.mark.parametrize("render", [batch_card, short_batch_card])
    def test_so_does_its_row_on_the_card_of_a_whole_step(self, render: Any) -> None:
        made = render(batch(ticket(), ticket(**PENDING, ref="K7F3Q2")))
        said = shown(made.blocks)
        assert said.count("asks to remember this for 8 hours") == 1
        assert 'deploy: version: anything \u00b7 env = "prod"' in said
        assert buttons(made).count("Approve once") == (render is batch_card)
        assert REMEMBER not in buttons(made)

    @pytest.mark.parametrize("filler", [0, 500])
    @pytest.mark.parametrize("count", [2, 4])
    def test_a_row_that_can_be_approved_there_can_be_approved_once_there(
        self, count: int, filler: int
    ) -> None:
        can_be_edited = {**PENDING, "fields": FIELDS, "says": "", "token": SecretStr("t" * 340)}
        rows = [ticket(**can_be_edited, ref=f"K7F3Q{number}") for number in range(count)]
        title = Declared(title="d" * min(filler, 300))
        made = batch_card(batch(*(r.model_copy(update={"declared": title}) for r in rows)))
        check_message(made)
        found = buttons(made)
        assert found.count("Approve once") == found.count("Approve and remember")
        assert "Deny" in found

    def test_where_it_cannot_be_approved_once_there_it_says_where(self) -> None:
        elsewhere = "This call alone: holdshort approve K7F3QD --once, in a terminal."
        large = {**PENDING, "arguments": {"notes": "x" * 5_000}}
        assert elsewhere not in shown(ask_card(ticket(**PENDING)).blocks)
        assert elsewhere in shown(short_card(ticket(**PENDING)).blocks)
        assert elsewhere in shown(ask_card(ticket(**large)).blocks)
        assert elsewhere in shown(review_form(ticket(**PENDING))["blocks"])
        assert elsewhere in shown(batch_card(batch(ticket(**large), ticket())).blocks)

    def test_without_a_wish_nothing_is_said_of_it(self) -> None:
        said = shown(ask_card(ticket()).blocks)
        assert "asks to remember" not in said
        assert "agrees" not in said

    @settings(max_examples=100, deadline=None)
    @given(trees, st.data())
    def test_what_may_be_anything_is_named_or_counted(
        self, arguments: Json, data: st.DataObject
    ) -> None:
        secret = redact(arguments)
        places = [at for at, _ in leaves(secret.arguments)]
        if not 1 < len(places) <= 64 or secret.hidden or secret.masked or len(max(places)) > 300:
            return
        loose = data.draw(st.lists(st.sampled_from(places[1:]), unique=True))
        try:
            terms = terms_of(arguments, (), loose, "apr_1")
        except InvalidAnswerError:
            return
        notice = ticket(arguments=arguments, **{**PENDING, "wished": _as_wish(terms)})
        check_message(ask_card(notice))
        line = terms_line(terms, limits.WISH)
        assert line.count(": anything") >= len(loose) or " more" in line or "not shown" in line

    def test_a_value_cannot_pass_for_a_word_of_ours(self) -> None:
        forged: Json = {"env": 'prod" \u00b7 version: anything', "version": "1"}
        line = terms_line(terms_of(forged, (), (), "apr_1"))
        assert line == 'env = "prod\\" \u00b7 version: anything" \u00b7 version = "1"'

    def test_what_may_be_anything_comes_before_what_does_not_fit(self) -> None:
        terms = terms_of({"a": "x" * 190, "b": "y" * 190, "z": 1}, (), ("/z",), "apr_1")
        assert terms_line(terms, 240).startswith("z: anything \u00b7 a = ")
        assert terms_line(terms, 240).endswith("\u00b7 1 more")

    def test_a_text_that_reads_like_a_hidden_value_stands_in_quotes(self) -> None:
        secret = "sk-abcdefghijklmnop1234"
        terms = terms_of({"a": HIDDEN, "b": secret}, (), (), "apr_1")
        assert terms_line(terms) == f'a = "{HIDDEN}" \u00b7 b = {HIDDEN}'

    def test_no_arguments_are_called_so(self) -> None:
        assert terms_line(()) == "no arguments"
        assert terms_line((Term(at="/a"),), 1) == "1 not shown here"


class TestClosed:
    """The closed card tells what was to be remembered, if it was approved."""

    def test_approved(self) -> None:
        said = shown(ask_card(closed(Allow(), wished=wished(TO_PROD, "/version"))).blocks)
        assert "To remember for 8 hours (rule R" in said
        assert 'version: anything \u00b7 env = "prod".' in said

    def test_denied(self) -> None:
        said = shown(ask_card(closed(Deny(), wished=wished(TO_PROD, "/version"))).blocks)
        assert "remember" not in said.lower()

    def test_the_card_does_not_grow_with_the_arguments(self) -> None:
        large: dict[str, Json] = {f"n{n}": "x" * 300 for n in range(60)}
        made = ask_card(closed(Allow(), arguments=large, wished=wished(large, "/n1")))
        assert len(json.dumps(made.blocks)) < 3000


def _as_wish(terms: tuple[Term, ...]) -> Any:
    return wished(TO_PROD).model_copy(update={"terms": terms})
