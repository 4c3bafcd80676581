"""What a call leaves out is shown like what it gives, and said to be the tool's default."""

from typing import Any

import pytest

from bot.gallery.samples import LEFT_OUT, closed, ticket
from engine.redaction import HIDDEN
from engine.schema import Json
from engine.tickets import Allow, Declared, Default
from notifiers import ask_card, edit_form, inputs_of, limits, read_inputs
from notifiers.arguments import Secret, on_card, read_rows, summary
from notifiers.modals import deny_form, pages, review_form
from tests.notifiers.judge import check_message, check_view, shown


def of(*defaults: Default, more: int = 0) -> Secret:
    return Secret(defaults=defaults, more_defaults=more)


def lines(arguments: Json, *defaults: Default) -> list[str]:
    return list(on_card(arguments, of(*defaults)).lines)


@pytest.mark.parametrize(
    ("default", "line"),
    [
        (Default(at="/env", value="prod"), "env = prod (default)"),
        (Default(at="/env", value="us 1"), 'env = "us 1" (default)'),
        (Default(at="/n", value=None), "n = null (default)"),
        (Default(at="/n", value=[]), "n = [] (default)"),
        (Default(at="/o", value={"a": 1}), "o.a = 1 (default)"),
        (Default(at="/o", value=[{"a": 1}]), "o[0].a = 1 (default)"),
        (Default(at="/all/1/env", value="prod"), "all[1].env = prod (default)"),
        (Default(at="/map/1/env", value="prod"), 'map."1".env = prod (default)'),
        (Default(at="/a~1b", value=1), '"a/b" = 1 (default)'),
        (Default(at="/key", value=HIDDEN, hidden=("/key",)), f"key = {HIDDEN} (default)"),
    ],
)
def test_a_default_is_on_a_line_that_says_so(default: Default, line: str) -> None:
    arguments: Json = {"all": [{}, {}], "map": {"1": {}}}

    assert lines(arguments, default)[-1] == line


def test_a_default_comes_after_what_the_call_gives_and_counts_like_it() -> None:
    given: Json = {f"k{n:02}": n for n in range(limits.CARD_LINES)}

    sheet = on_card(given, of(Default(at="/env", value="prod")))

    assert (sheet.values, sheet.missing) == (limits.CARD_LINES + 1, 1)
    assert not sheet.complete


def test_no_argument_can_pass_for_a_default() -> None:
    assert lines({"env": "prod (default)"}) == ['env = "prod (default)"']
    assert lines({"env = prod (default)": 1}) == ['"env = prod (default)" = 1']


def test_a_long_default_says_in_its_box_that_it_is_one() -> None:
    sheet = on_card({}, of(Default(at="/script", value="x" * 4812)))
    (box,) = sheet.boxes

    assert box.note == "first 200 of 4,812 characters; default"
    assert sheet.cut == 1


def test_a_secret_default_is_named_among_what_is_hidden() -> None:
    sheet = on_card({}, of(Default(at="/key", value=HIDDEN, hidden=("/key",))))

    assert sheet.withheld == "1 value hidden: key. The call gets the real one."


def test_a_summary_has_defaults_and_counts_those_that_it_has_not() -> None:
    assert summary({"v": 1}, of(Default(at="/env", value="prod"))) == "v = 1 · env = prod (default)"
    assert summary({"v": 1}, of(more=3)) == "v = 1 · 3 more"


@pytest.mark.parametrize("more", [0, 1, 2])
def test_every_surface_tells_defaults_and_how_many_it_does_not(more: int) -> None:
    declared = Declared(defaults=(Default(at="/env", value="prod"),), more_defaults=more)
    notice = ticket(arguments={"v": 1}, declared=declared)
    surfaces = [
        shown(ask_card(notice).blocks),
        shown(deny_form(notice)["blocks"]),
        shown(review_form(notice, pages(notice))["blocks"]),
    ]
    words = ["", "1 more default is too large", "2 more defaults are too large"]

    check_message(ask_card(notice))
    for said in surfaces:
        assert "env = prod (default)" in said
        assert words[more] in said
        assert more or "too large" not in said
    assert ("Else this is all of it." in surfaces[2]) == bool(more)
    assert "env = prod (default)" in ask_card(notice).text


def test_a_closed_card_keeps_what_was_told() -> None:
    done = ask_card(closed(Allow(), **LEFT_OUT))

    check_message(done)
    assert "env = prod (default)" in shown(done.blocks)


def test_what_is_not_given_is_no_edit() -> None:
    declared = Declared(defaults=(Default(at="/env", value="prod"),))
    sample: Any = ticket(arguments={"v": 2}, original={"arguments": {"v": 1}}, declared=declared)

    assert "env = prod (default) →" not in shown(ask_card(sample).blocks)
    assert "env: not given" not in shown(ask_card(sample).blocks)


class TestForm:
    """The form for edits: an empty input stands for the default, and says for which."""

    def form(self) -> str:
        view = edit_form(ticket(**LEFT_OUT))
        check_view(view)
        return str(view)

    def test_the_default_stands_where_nothing_is_put_in(self) -> None:
        form = self.form()

        assert "'options': [" in form
        assert "env = prod (default)" in form
        assert "(not given)" not in form
        assert f"api_key = {HIDDEN} (default)" in form
        assert "options.replicas = 3 (default) · 2 more" in form
        assert "(default, see the card)" in form

    def test_an_input_that_nobody_touched_leaves_the_argument_out(self) -> None:
        found = inputs_of(ticket(**LEFT_OUT))
        typed = {one.block: one.initial for one in found}

        assert read_inputs(found, {"version": "1.4.2"}, typed) == {"version": "1.4.2"}


def test_rows_point_at_what_they_are_of() -> None:
    rows = list(read_rows({"v": 1}, of(Default(at="/o", value={"a": {"b": 1}}))))

    assert [(row.pointer, row.default) for row in rows] == [("/v", False), ("/o/a/b", True)]
