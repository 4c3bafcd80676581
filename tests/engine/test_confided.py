"""What a run was told in confidence is not in what people are told of its end."""

from typing import Any, cast

import pytest
from pydantic import SecretStr

from engine import Agent, Allow
from engine.cards import OutcomeNotice
from engine.redaction import HIDDEN
from engine.runs import Run, RunStatus
from tests.engine.scripted import ALICE, Line, Stage, person, script, stage

pytestmark = pytest.mark.plants_secrets(
    "a secret argument is kept as it must run", where=":memory:"
)
FIRST, SECOND = "open-sesame", "swordfish"


def unlock(code: SecretStr) -> str:
    """Unlock."""
    return "done"


def enter(pin: SecretStr) -> str:
    """Enter."""
    return "in"


async def ended(*lines: Line, **given: Any) -> tuple[Stage, Run]:
    def make(_: Any) -> Agent:
        return Agent(name="a", model=script(*lines), tools=[unlock, enter], **given)

    on = stage(make)
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(begun.run)


def outcome(on: Stage, run: Run) -> OutcomeNotice:
    return cast("OutcomeNotice", on.inbox.latest[f"{run.id}:outcome"])


async def test_the_last_words_do_not_repeat_what_any_call_was_given() -> None:
    on, run = await ended(
        [("unlock", {"code": FIRST})],
        [("enter", {"pin": SECOND})],
        f"I used {FIRST} and {SECOND}.",
    )

    told = outcome(on, run)

    assert told.text == f"I used {HIDDEN} (11 characters) ••• and {HIDDEN} (9 characters) •••."
    assert await on.engine.ending(run) == told.text
    assert run.output == f"I used {FIRST} and {SECOND}."


async def test_nor_what_a_person_put_in_its_place() -> None:
    asked = {"approvals": {"unlock": "user"}}
    on, run = await ended([("unlock", {"code": FIRST})], f"{FIRST}, {SECOND}", **asked)
    assert run.waiting is not None
    token = on.token(run.id, run.waiting.approval)
    edit = Allow(arguments={"code": SECOND})
    await on.engine.resume(token, edit, actor=person(ALICE))
    await on.settle()

    told = outcome(on, await on.engine.get_run(run.id))

    assert told.text == f"{HIDDEN} (11 characters) •••, {HIDDEN} (9 characters) •••"


async def test_a_failure_does_not_repeat_it_either() -> None:
    def broken(_: object) -> Any:
        raise ValueError(f"cannot go on with {FIRST}")

    on, run = await ended([("unlock", {"code": FIRST})], broken)

    assert run.status is RunStatus.FAILED
    assert "cannot go on with" in outcome(on, run).text
    assert FIRST not in outcome(on, run).text


async def test_a_secret_too_short_to_be_told_from_other_words_stands_in_prose() -> None:
    on, run = await ended([("enter", {"pin": "1234"})], "At 1234 kWh it went in.")

    assert outcome(on, run).text == "At 1234 kWh it went in."


async def test_a_run_that_goes_on_has_come_to_nothing() -> None:
    on, run = await ended([("unlock", {"code": FIRST})], "x", approvals={"unlock": "user"})

    assert await on.engine.ending(run) == ""
