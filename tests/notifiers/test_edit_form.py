"""The form for edits: nothing secret stands in it, and what it does not hold has none."""

import json
from typing import ClassVar

import pytest
from hypothesis import given, settings
from pydantic import SecretStr

from bot.gallery.samples import ticket
from engine.fields import read_fields
from engine.redaction import HIDDEN, redact
from engine.schema import Json
from engine.tickets import Risk
from notifiers import ask_card, can_edit, edit_form, inputs_of, limits, names, read_inputs
from tests.notifiers.judge import check_view, shown
from tests.notifiers.test_inputs import EVERY, asked, read, untyped
from tests.notifiers.trees import SECRETS, Salted, salted


class TestFit:
    """Where no form holds a call, there is no Edit, and the card says where else."""

    @pytest.mark.parametrize(
        "arguments",
        [
            {"a": "x" * 3001},
            {"n" * 200: "x"},
            {f"k{n}": 1 for n in range(97)},
            {"sk-proj-abcdefghijklmnop1234": "x"},
        ],
    )
    def test_what_no_form_holds_has_no_edit_and_says_where_else(
        self, arguments: dict[str, Json]
    ) -> None:
        notice = untyped(arguments)

        card = shown(ask_card(notice).blocks)

        assert not can_edit(notice)
        assert "Edit\u2026" not in card
        assert 'holdshort approve K7F3QD --with \'{"name": "value"}\'' in card
        with pytest.raises(ValueError, match="no form"):
            edit_form(notice)

    def test_as_many_as_a_form_holds_fit(self) -> None:
        notice = untyped({f"k{n:02}": "x" for n in range(96)})

        assert can_edit(notice)
        check_view(edit_form(notice))

    def test_what_is_larger_in_all_than_a_view_may_be_has_no_form(self) -> None:
        large = [untyped({f"k{n:02}": "\u4e2d" * 1000 for n in range(many)}) for many in (30, 60)]

        assert [can_edit(notice) for notice in large] == [True, False]
        assert len(json.dumps(edit_form(large[0]))) <= limits.VIEW_BYTES

    def test_where_nothing_may_be_edited_the_card_says_nothing_of_it(self) -> None:
        card = shown(ask_card(ticket()).blocks)

        assert "Edit" not in card
        assert "--with" not in card

    def test_an_edit_is_offered_at_every_risk(self) -> None:
        for risk in Risk:
            notice = asked(EVERY)
            declared = notice.declared.model_copy(update={"risk": risk})
            card = ask_card(notice.model_copy(update={"declared": declared}))
            assert names.EDIT in json.dumps(card.blocks)


class TestSecrets:
    """Nothing secret stands in a form, and what nobody touched keeps its secret."""

    @staticmethod
    def tool(host: str, password: SecretStr, script: str, config: dict[str, str]) -> None: ...

    ARGUMENTS: ClassVar[dict[str, Json]] = {
        "host": "a",
        "password": "correct horse",
        "script": "use sk-proj-abcdefghijklmnop1234 now",
        "config": {"key": "AKIAIOSFODNN7EXAMPLE", "b": "c"},
    }

    def test_a_secret_is_never_filled_in_and_stays_when_left_empty(self) -> None:
        notice = asked(self.ARGUMENTS, self.tool)
        form = json.dumps(edit_form(notice))

        for secret in ("horse", "sk-proj", "AKIA", HIDDEN):
            assert secret not in form
        assert [one.secret for one in inputs_of(notice)] == [False, True, True, True]
        assert read(notice, self.ARGUMENTS, host="b") == {**self.ARGUMENTS, "host": "b"}

    def test_a_secret_can_be_replaced(self) -> None:
        notice = asked(self.ARGUMENTS, self.tool)

        edited = read(notice, self.ARGUMENTS, password="staple", config="{}")

        assert edited == {**self.ARGUMENTS, "password": "staple", "config": {}}

    @given(salted)
    @settings(max_examples=300)
    def test_no_secret_of_any_arguments_stands_in_a_form(self, salt: Salted) -> None:
        hidden = redact(salt.arguments, salt.marked)
        notice = ticket(
            arguments=hidden.arguments,
            hidden=hidden.hidden,
            masked=hidden.masked,
            fields=read_fields({}, salt.arguments),
        )
        found = inputs_of(notice)
        standing = "\n".join(one.initial for one in found)
        assert not [secret for secret in SECRETS if secret in standing]
        if can_edit(notice):
            untouched = {one.block: one.initial for one in found}
            assert read_inputs(found, salt.arguments, untouched) == salt.arguments
