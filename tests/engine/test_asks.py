"""Several calls of one step that ask: together, one by one, or only the first."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from engine import Agent, Allow, Answer, Deny, Run, RunStatus, ask_human
from engine.errors import AlreadyDecidedError, InvalidAgentDefinitionError
from engine.events import CallDropped
from engine.ids import PersonId
from engine.tickets import Decision
from tests.engine.scripted import ALICE, Call, Ledger, Stage, person, repeat_results, script, stage

A: Call = ("deploy", {"version": "A"})
B: Call = ("refund", {"order": 2})
C: Call = ("deploy", {"version": "C"})
D: Call = ("erase", {"what": "D"})
QUESTION: Call = ("ask_human", {"question": "Which ticket?"})
WRONG: Call = ("deploy", {"nonsense": 1})


def agent(ledger: Ledger, asks: Any, *steps: Any) -> Agent:
    def erase(what: str) -> str:
        """Erase."""
        ledger.effects.append(f"erase {what}")
        return what

    approvals: Any = {"deploy": "user", "erase": "deny"}
    return Agent(
        name="a",
        model=script(*steps, repeat_results),
        tools=[ledger.deploy, ledger.refund, erase, ask_human],
        approvals=approvals,
        approval_timeout=timedelta(hours=1),
        asks=asks,
    )


async def started(asks: str, *steps: Any) -> tuple[Stage, Run]:
    on = stage(lambda ledger: agent(ledger, asks, *steps))
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(begun.run)


async def say(on: Stage, run: Run, decision: Decision) -> Run:
    """Answer the one open ticket by its card, and go on as far as it goes."""
    (ticket,) = run.tickets
    token = on.token(run.id, ticket.approval)
    await on.engine.resume(token, decision, actor=person(PersonId(ALICE)))
    await on.settle()
    return await on.engine.get_run(run.id)


def states(run: Run) -> list[str]:
    return [call.state.value for call in run.batch.calls] if run.batch else []


class TestOneByOne:
    """The calls take turns in the model's order; one ticket is open at a time."""

    async def test_the_worked_case(self) -> None:
        on, run = await started("one_by_one", [A, B, C, D])
        assert states(run) == ["awaiting", "requested", "requested", "requested"]
        assert len(on.inbox.tokens) == 1
        first = on.token(run.id, run.tickets[0].approval)

        run = await say(on, run, Allow())
        assert states(run) == ["completed", "completed", "awaiting", "requested"]
        assert on.ledger.effects == ["deploy A prod", "refund 2"]
        assert len(on.inbox.tokens) == 2
        with pytest.raises(AlreadyDecidedError):
            await on.engine.resume(first, Deny(), actor=person(PersonId(ALICE)))

        run = await say(on, run, Deny(reason="no"))
        assert run.status is RunStatus.SUCCEEDED
        assert run.output == (
            "deploy=success:release A live in prod | refund=success:refunded 2"
            " | deploy=denied:blocked: no | erase=denied:blocked: policy does not allow this call"
        )
        assert on.ledger.effects == ["deploy A prod", "refund 2"]

    async def test_what_needs_no_asking_is_done_before_the_first_ask(self) -> None:
        on, run = await started("one_by_one", [B, A])

        assert states(run) == ["completed", "awaiting"]
        assert on.ledger.effects == ["refund 2"]

    async def test_a_denied_call_lets_the_next_one_ask(self) -> None:
        on, run = await started("one_by_one", [A, C])

        run = await say(on, run, Deny())

        assert states(run) == ["blocked", "awaiting"]
        run = await say(on, run, Allow())
        assert on.ledger.effects == ["deploy C prod"]
        assert run.status is RunStatus.SUCCEEDED

    async def test_a_question_waits_for_its_turn_too(self) -> None:
        on, run = await started("one_by_one", [A, QUESTION, B])
        run = await say(on, run, Allow())
        assert states(run) == ["completed", "awaiting", "requested"]
        assert run.tickets[0].target.prompt == "Which ticket?"  # type: ignore[union-attr]

        run = await say(on, run, Answer(value="CHG-7"))

        assert run.output == (
            "deploy=success:release A live in prod | ask_human=success:CHG-7"
            " | refund=success:refunded 2"
        )

    async def test_a_call_that_never_reaches_its_policy_holds_up_nobody(self) -> None:
        _, run = await started("one_by_one", [WRONG, A])
        assert states(run) == ["completed", "awaiting"]

    async def test_silence_denies_one_after_another(self) -> None:
        on, run = await started("one_by_one", [A, C])
        for _ in range(2):
            on.clock.move(timedelta(hours=1, seconds=1))
            await on.settle()

        run = await on.engine.get_run(run.id)
        assert run.status is RunStatus.SUCCEEDED
        assert on.ledger.effects == []

    async def test_a_cancel_withdraws_the_one_that_is_open(self) -> None:
        on, run = await started("one_by_one", [A, C])

        run = await on.engine.cancel(run.id, actor=person(PersonId(ALICE)))

        assert run.status is RunStatus.CANCELLED
        assert on.ledger.effects == []

    async def test_calls_that_need_no_asking_run_once_each_at_a_commit_a_call(self) -> None:
        on, run = await started("one_by_one", [B, B, B])
        assert on.ledger.effects == ["refund 2"] * 3
        assert run.status is RunStatus.SUCCEEDED
        # Start, the step, begin, three results of which two begin the next call, finish.
        assert run.version == 7


class TestFirstOnly:
    """Later asks leave the model's step; it may propose them again."""

    async def test_the_worked_case(self) -> None:
        seen: list[Sequence[ModelMessage]] = []

        def again(messages: list[ModelMessage]) -> ModelResponse:
            seen.append(messages)
            return ModelResponse(
                parts=[ToolCallPart("deploy", '{"version":"C"}', tool_call_id="again")]
            )

        on, run = await started("first_only", [A, B, C, D], again)
        assert states(run) == ["awaiting", "allowed", "blocked"]
        events = [e.fact for e in await on.engine.events(run.id)]
        assert [(f.call, f.tool) for f in events if isinstance(f, CallDropped)] == [
            ("1.2", "deploy")
        ]

        run = await say(on, run, Allow())

        (messages,) = seen
        proposed = [
            (part.tool_name, part.args)
            for message in messages
            if isinstance(message, ModelResponse)
            for part in message.parts
            if isinstance(part, ToolCallPart)
        ]
        assert proposed == [
            ("deploy", '{"version": "A"}'),
            ("refund", '{"order": 2}'),
            ("erase", '{"what": "D"}'),
        ]
        run = await say(on, run, Allow())
        assert on.ledger.effects == ["deploy A prod", "refund 2", "deploy C prod"]
        assert run.status is RunStatus.SUCCEEDED

    async def test_a_single_ask_leaves_nothing_out(self) -> None:
        on, run = await started("first_only", [B, A, D])

        assert states(run) == ["allowed", "awaiting", "blocked"]
        assert not [e for e in await on.engine.events(run.id) if isinstance(e.fact, CallDropped)]

    async def test_a_question_and_a_permission_are_both_asks(self) -> None:
        on, run = await started("first_only", [QUESTION, A])

        run = await say(on, run, Answer(value="CHG-7"))

        assert run.output == "ask_human=success:CHG-7"
        assert on.ledger.effects == []


def test_a_way_of_asking_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="asks is 'all'; use one of together"):
        agent(Ledger(), "all")
