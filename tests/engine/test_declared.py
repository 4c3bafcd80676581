"""What a tool declares of its calls is recorded at the park and shown; the call is as it was."""

from typing import Any, cast

import pytest
from pydantic import SecretStr

from engine import Agent, Allow, Deny, InvalidAgentDefinitionError, Risk, ToolOptions
from engine.cards import OutcomeNotice, TicketNotice
from engine.lifecycle.propose import permission_digest
from engine.redaction import HIDDEN
from engine.runs import Run
from engine.schema import canonical_json
from tests.engine.scripted import ALICE, Ledger, Stage, person, repeat_results, script, stage

KEY = "AKIAIOSFODNN7EXAMPLE"
CALL = {"user": "bob", "password": "hunter2", "note": f"with {KEY} and hunter2"}


def login(user: str, password: SecretStr, note: str) -> str:
    """Log in."""
    return f"{user} got in with {password.get_secret_value()}, {note}"


def agent_of(**options: Any) -> Any:
    def make(_: Ledger) -> Agent:
        return Agent(
            name="clerk",
            model=script([("login", CALL)], repeat_results),
            tools=[login],
            approvals={"login": "user"},
            options={"login": ToolOptions(**options)},
        )

    return make


async def parked(**options: Any) -> tuple[Stage, Run, TicketNotice]:
    on = stage(agent_of(**options))
    started = await on.engine.start("clerk", "log in", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    return on, run, ask_of(on, run)


def ask_of(on: Stage, run: Run) -> TicketNotice:
    found = [
        n for key, n in on.inbox.latest.items() if key.count(":") == 1 and "outcome" not in key
    ]
    return cast("TicketNotice", found[-1])


async def test_a_secret_is_in_no_notice_and_the_call_gets_it() -> None:
    on, run, asked = await parked()
    assert run.waiting is not None
    await on.engine.resume(on.token(run.id, run.waiting.approval), Allow(), actor=person(ALICE))
    await on.settle()
    done = ask_of(on, run)
    outcome = cast("OutcomeNotice", on.inbox.latest[f"{run.id}:outcome"])

    assert asked.arguments == {
        "user": "bob",
        "password": HIDDEN,
        "note": f"with {HIDDEN} (20 characters) ••• and hunter2",
    }
    assert (asked.hidden, asked.masked) == (("/password",), ("/note",))
    assert done.effect is not None
    assert done.effect.text.startswith(f"bob got in with {HIDDEN} (7 characters) •••, with ")
    assert KEY not in done.effect.text + outcome.text
    assert f"bob got in with {HIDDEN} (7 characters) •••, with {HIDDEN}" in outcome.text
    assert "hunter2" not in outcome.text
    ended = await on.engine.get_run(run.id)
    assert ended.output is not None
    assert f"bob got in with hunter2, with {KEY}" in ended.output


async def test_the_approval_is_bound_to_the_real_arguments() -> None:
    _, run, asked = await parked()
    assert run.waiting is not None

    assert asked.digest == run.waiting.digest == permission_digest("login", canonical_json(CALL))


async def test_what_the_tool_declares_is_kept_with_the_ticket() -> None:
    _, run, asked = await parked(
        risk="high", describe=lambda call: f"Log {call['user']} in with {call['password']!r} {KEY}"
    )
    assert run.waiting is not None

    assert asked.declared == run.waiting.declared
    assert asked.declared.risk is Risk.HIGH
    assert asked.declared.title == (
        f"Log bob in with SecretStr('**********') {HIDDEN} (20 characters) •••"
    )
    assert asked.declared.secrets == ("/password",)


async def test_a_redeploy_does_not_change_what_a_waiting_card_says() -> None:
    on, run, _ = await parked(risk="low")
    assert run.waiting is not None
    after = stage(agent_of(risk="high"), store=lambda _: on.store)

    token = await after.engine.token_for(run.waiting.ref, after.inbox.audience)
    notice = await after.engine.notice(token, after.inbox.audience)

    assert notice.declared.risk is Risk.LOW


async def test_a_description_that_fails_costs_the_card_only_its_title() -> None:
    def broken(call: dict[str, Any]) -> str:
        return str(call["nowhere"])

    _, _, asked = await parked(describe=broken)

    assert (asked.declared.title, asked.declared.untitled) == ("", "KeyError")


async def test_a_reason_that_holds_a_secret_is_masked_where_it_is_shown() -> None:
    on, run, _ = await parked()
    assert run.waiting is not None
    reason = Deny(reason=f"not with {KEY}")
    await on.engine.resume(on.token(run.id, run.waiting.approval), reason, actor=person(ALICE))
    await on.settle()

    closed = ask_of(on, run).resolution
    assert closed is not None
    assert KEY not in str(closed.decision)


def test_an_unknown_risk_is_refused_when_it_is_declared() -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="use one of: low, medium, high"):
        ToolOptions(risk=cast("Any", "extreme"))
