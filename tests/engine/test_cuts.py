"""Where a text is cut, no half of a secret is left that nobody would know for one."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart

from engine import Agent, Allow
from engine.cards import TicketNotice
from engine.fields import MAX_ABOUT, read_fields
from engine.guard import MAX_TEXT_CHARS, clip
from engine.lifecycle.propose import MAX_WORDS
from engine.redaction import HIDDEN, mask
from tests.engine.scripted import ALICE, person, repeat_results, script, stage
from tests.engine.test_declared import ask_of

pytestmark = pytest.mark.plants_secrets("a secret is kept as it must run", where=":memory:")
KEY = "AKIAIOSFODNN7EXAMPLE"
PASSWORD = "correct-horse-battery"
CUT = range(1, len(KEY))


@pytest.mark.parametrize("part", CUT)
def test_a_text_is_not_cut_within_what_looks_like_a_secret(part: int) -> None:
    text = f"{'x' * 30} {KEY} and more"

    kept = clip(text, 31 + part)

    assert kept == f"{'x' * 30}  … (60 characters, clipped)"


@pytest.mark.parametrize("limit", [30, 31, 51, 52])
def test_a_text_is_cut_beside_a_secret_where_it_should_be(limit: int) -> None:
    text = f"{'x' * 30} {KEY} and more"

    assert clip(text, limit).startswith(f"{text[:limit]} … (")


@pytest.mark.parametrize("part", CUT)
def test_a_description_of_a_field_is_not_cut_within_one_either(part: int) -> None:
    about = "x" * (MAX_ABOUT - part) + KEY + " and more"

    (field,) = read_fields({"properties": {"a": {"description": about}}}, {})

    assert field.about == "x" * (MAX_ABOUT - part)


@pytest.mark.parametrize("part", range(6, len(PASSWORD)))
def test_half_of_a_known_secret_at_a_cut_is_masked(part: int) -> None:
    cut = clip("x" * 40 + PASSWORD + " and more", 40 + part)

    assert mask(cut, [PASSWORD]).startswith("x" * 40 + HIDDEN)


def test_what_stands_before_half_a_secret_stays() -> None:
    cut = clip(f"corr {PASSWORD[:8]} {PASSWORD}", 20)

    shown = mask(cut, [PASSWORD])

    assert shown.startswith(f"corr {PASSWORD[:8]} {HIDDEN}")
    assert shown.endswith("characters, clipped)")


def test_no_half_is_looked_for_where_nothing_was_cut() -> None:
    assert mask(f"it begins with {PASSWORD[:7]}", [PASSWORD]) == f"it begins with {PASSWORD[:7]}"


def test_many_beginnings_take_no_time() -> None:
    text = clip("a" * 300_000, 262_144)

    assert mask(text, ["a" * 100_000 + "b"]) != ""


def login(password: SecretStr, note: str) -> str:
    """Log in."""
    raise ValueError("x" * (MAX_TEXT_CHARS - 30) + f" {note} {password.get_secret_value()}")


def saying(words: str) -> Callable[[list[ModelMessage]], ModelResponse]:
    call = ToolCallPart("login", {"password": PASSWORD, "note": KEY[:4]}, tool_call_id="p")

    def say(_: list[ModelMessage]) -> ModelResponse:
        return ModelResponse(parts=[TextPart(words), call])

    return say


async def asked(words: str, *, decide: bool = False) -> TicketNotice:
    def make(_: Any) -> Agent:
        model = script(saying(words), repeat_results)
        return Agent(name="a", model=model, tools=[login], approvals={"login": "user"})

    on = stage(make)
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(begun.run)
    if decide:
        assert run.waiting is not None
        token = on.token(run.id, run.waiting.approval)
        await on.engine.resume(token, Allow(), actor=person(ALICE))
        await on.settle()
    return ask_of(on, run)


@pytest.mark.parametrize("secret", [KEY, PASSWORD])
@pytest.mark.parametrize("part", [2, 6, 12, 19])
async def test_the_model_s_words_are_masked_before_they_are_cut(secret: str, part: int) -> None:
    words = "x" * (MAX_WORDS - part) + secret + " and so on" * 20

    notice = await asked(words)

    assert secret[:2] not in notice.says
    assert f"xx{HIDDEN[:part]}"[:20] in notice.says
    assert notice.says.endswith("characters, clipped)")


async def test_an_error_that_was_cut_within_a_marked_secret_shows_no_half_of_it() -> None:
    notice = await asked("please", decide=True)

    assert notice.effect is not None
    assert notice.effect.text.endswith("characters, clipped)")
    assert PASSWORD[:6] not in notice.effect.text
    assert HIDDEN in notice.effect.text
