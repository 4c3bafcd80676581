"""The forms: a reason, an answer, and a review that shows everything before it can approve."""

import json
from typing import Any

import pytest
from hypothesis import given
from pydantic import SecretStr

from bot.gallery.samples import HOSTILE, LOST, QUESTION, RISKY, TOKEN, closed, ticket
from engine.errors import InvalidResumeTokenError
from engine.schema import Json
from engine.tickets import Deny
from notifiers import limits, names
from notifiers.arguments import on_card, read_rows
from notifiers.modals import (
    FormMeta,
    View,
    answer_form,
    deny_form,
    pages,
    read_meta,
    review_form,
)
from notifiers.text import Style, inert
from tests.notifiers.effort import QUICK
from tests.notifiers.judge import check_view, shown
from tests.notifiers.test_text import texts
from tests.notifiers.trees import trees

UNITS = ["x", "`", "<!channel>", "\u202e", "\u200b", "\n", '"', "\\", "\U0001f44d\U0001f3fd", "日"]


def submit(view: View) -> str:
    label = view["submit"]
    assert isinstance(label, dict)
    return str(label["text"])


def all_pages(arguments: Json) -> list[View]:
    notice = ticket(arguments=arguments)
    return [review_form(notice, page) for page in range(1, pages(notice) + 1)]


def boxes(views: list[View]) -> str:
    """Return the text of all boxes, one after the other."""
    found: list[str] = []
    for view in views:
        blocks: Any = view["blocks"]
        for block in blocks:
            found += [
                element["elements"][0]["text"]
                for element in block.get("elements", [])
                if element["type"] == "rich_text_preformatted"
            ]
    return "".join(found)


def check_review(arguments: Json) -> None:
    views = all_pages(arguments)
    together = boxes(views)
    for view in views:
        check_view(view)
    for row in read_rows(arguments):
        assert (row.line or inert(row.raw, Style.BOX)) in together
    assert [submit(view) for view in views] == ["Next"] * (len(views) - 1) + ["Approve"]


@QUICK
@given(trees)
def test_the_pages_together_show_every_value_and_only_the_last_approves(
    arguments: dict[str, Json],
) -> None:
    check_review(arguments)


@pytest.mark.parametrize("unit", UNITS)
def test_a_hundred_kilobytes_are_shown_page_by_page(unit: str) -> None:
    times = 100_000 // len(unit.encode())
    check_review({"env": "prod", "script": unit * times, **HOSTILE})


@pytest.mark.parametrize(
    "arguments",
    [
        {"items": ["two words"] * 4000},
        {"items": ["a\nb"] * 900},
        {f"key number {n}": n for n in range(5000)},
        {"k" * 9000: "prod", "\u202e" * 1000: "x" * 9000},
        {"a": 10**400, "b": -(10**90)},
        {"k" * 200: ""},
    ],
)
def test_many_values_and_long_names_are_shown_too(arguments: Json) -> None:
    check_review_names(arguments)


def check_review_names(arguments: Json) -> None:
    together = boxes(all_pages(arguments))
    check_review(arguments)
    for row in read_rows(arguments):
        assert row.line or len(row.name) <= limits.NAME or row.name in together


def test_a_page_says_which_it_is_what_is_asked_and_what_exactly() -> None:
    view = review_form(ticket(arguments={"script": "x" * 40_000}), 2)
    said = shown(view["blocks"])

    assert view["title"] == {"type": "plain_text", "text": "Page 2 of 3", "emoji": False}
    assert "Page 2" not in said
    assert "Run deploy?" in shown(review_form(ticket())["blocks"])
    assert "deployer asks · K7F3QD · args 9f2c1a04" in said
    assert "Next shows page 3. Nothing is approved before the last page." in said
    assert read_meta(str(view["private_metadata"])).page == 2


def test_the_last_page_says_that_it_runs_exactly_this() -> None:
    view = review_form(ticket())
    assert submit(view) == "Approve"
    assert view["title"] == {"type": "plain_text", "text": "Review", "emoji": False}
    assert "This is all of it. Approve runs exactly this." in shown(view["blocks"])


@pytest.mark.parametrize(("wanted", "got"), [(0, 1), (-3, 1), (1, 1), (99, 3)])
def test_a_page_that_is_not_there_is_the_nearest_that_is(wanted: int, got: int) -> None:
    view = review_form(ticket(arguments={"script": "x" * 40_000}), wanted)
    assert read_meta(str(view["private_metadata"])).page == got


def test_a_denial_may_have_a_reason_of_limited_length() -> None:
    view = deny_form(ticket())
    block = find_input(view)

    check_view(view)
    assert view["callback_id"] == names.DENY_FORM
    assert submit(view) == "Deny"
    assert block["optional"]
    assert block["block_id"] == names.REASON_BLOCK
    assert block["element"]["action_id"] == names.REASON_INPUT
    assert block["element"]["max_length"] == limits.REASON


@pytest.mark.parametrize("arguments", [{"env": "prod"}, HOSTILE, {"script": "set -e\n" * 900}, {}])
def test_whoever_denies_sees_the_same_arguments_as_on_the_card(arguments: Json) -> None:
    view = deny_form(ticket(arguments=arguments))
    sheet = on_card(arguments)
    said = shown(view["blocks"])

    check_view(view)
    assert all(line in said for line in sheet.lines)
    assert all(box.text in said and box.note in said for box in sheet.boxes)
    assert sheet.hidden in said


def test_whoever_declines_sees_the_question() -> None:
    assert QUESTION.prompt in shown(deny_form(ticket(target=QUESTION))["blocks"])


def test_the_forms_of_a_risky_call_tell_its_risk() -> None:
    notice = ticket(**RISKY)
    for view in (review_form(notice), deny_form(notice)):
        check_view(view)
        assert "\U0001f534 HIGH RISK" in shown(view["blocks"])
        assert 'Run deploy "Deploy 1.4.2 to prod"?' in shown(view["blocks"])


def find_input(view: View) -> dict[str, Any]:
    blocks: Any = view["blocks"]
    (found,) = [block for block in blocks if block["type"] == "input"]
    assert isinstance(found, dict)
    return found


def test_declining_a_question_is_not_called_denying() -> None:
    assert submit(deny_form(ticket(target=QUESTION))) == "Decline"


def test_an_answer_is_required_and_the_question_is_shown_again() -> None:
    view = answer_form(ticket(target=QUESTION))
    block = find_input(view)

    check_view(view)
    assert QUESTION.prompt in shown(view["blocks"])
    assert not block["optional"]
    assert block["block_id"] == names.ANSWER_BLOCK
    assert (block["element"]["min_length"], block["element"]["max_length"]) == (1, 3000)


@QUICK
@given(texts)
def test_whatever_anyone_writes_the_forms_stay_inert(words: str) -> None:
    question = ticket(target=QUESTION.model_copy(update={"prompt": words}), agent=words)
    check_view(answer_form(question))
    check_view(deny_form(question))
    check_view(review_form(ticket(agent=words, arguments={words: words})))


@pytest.mark.parametrize("unit", UNITS)
def test_a_question_beyond_the_form_says_that_it_goes_on(unit: str) -> None:
    target = QUESTION.model_copy(update={"prompt": unit * 100_000})
    view = answer_form(ticket(target=target))

    check_view(view)
    assert "The question goes on for" in shown(view["blocks"])


def test_the_metadata_comes_back_as_it_went() -> None:
    view = review_form(ticket(), channel="C0OPS", message="1.2")
    text = str(view["private_metadata"])
    meta = read_meta(text)

    assert meta == FormMeta(token=SecretStr(TOKEN), page=1, channel="C0OPS", message="1.2")
    assert meta.token.get_secret_value() == TOKEN
    assert TOKEN not in repr(meta)
    assert " " not in text


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "null",
        "[]",
        "{}",
        "x" * 3001,
        '{"v":1}',
        '{"v":2,"token":"t"}',
        '{"v":1,"token":""}',
        '{"v":1,"token":7}',
        '{"v":1,"token":"t","page":0}',
        '{"v":1,"token":"t","page":"1"}',
        '{"v":1,"token":"t","page":1.5}',
        '{"v":1,"token":"t","page":true}',
        '{"v":1,"token":"t","more":1}',
        json.dumps({"v": 1, "token": "t" * 1025}),
    ],
)
def test_metadata_that_is_not_ours_is_refused_without_repeating_it(junk: str) -> None:
    with pytest.raises(InvalidResumeTokenError) as refused:
        read_meta(junk)
    assert refused.value.__cause__ is None
    assert str(refused.value) == "this resume token cannot be used (malformed)"


def test_a_form_is_only_made_for_a_ticket_that_it_can_answer() -> None:
    for notice in (closed(Deny()), ticket(token=None)):
        with pytest.raises(ValueError, match="cannot be answered"):
            deny_form(notice)
    with pytest.raises(ValueError, match="does not ask for an answer"):
        answer_form(ticket())
    with pytest.raises(ValueError, match="nothing to approve"):
        review_form(ticket(target=LOST))
