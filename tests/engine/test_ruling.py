"""Rules at work: at the gate, in what the model is offered, and again before a call runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from engine import Agent, Allow, Run, RunStatus, ask_human
from engine.agents import RunScope
from engine.errors import (
    EditRefusedError,
    IdempotencyConflictError,
    InvalidAgentDefinitionError,
    InvalidRuleError,
)
from engine.events import CallGated, CallTightened
from engine.gate import LastLook, plain
from engine.ids import CallId, RunId
from engine.patterns import HIDDEN
from engine.policy import Verdict
from engine.rules import Rule, RuleBook
from engine.runs import ToolCall
from engine.threads import ToolThreads
from engine.tools import Toolbox
from tests.engine.scripted import (
    ALICE,
    Call,
    Ledger,
    Stage,
    advance,
    call_tools,
    person,
    repeat_results,
    script,
    stage,
)
from tests.engine.test_redeploy import redeployed

PROD: Call = ("deploy", {"version": "1"})
DEV: Call = ("deploy", {"version": "1", "env": "dev"})
NO_PROD = Rule(
    id="no-prod", verdict="deny", tool="deploy", when=('env = "prod"',), reason="not on Fridays"
)
ASK_PROD = Rule(id="ask-prod", verdict="ask", tool="deploy", when=('env = "prod"',))
RUN = RunScope(RunId("run_1"), "a", ALICE, ALICE, None)
LET = Rule(id="let", verdict="allow", tool="*")


def agent(ledger: Ledger, *steps: Any, **given: Any) -> Agent:
    usual: dict[str, Any] = {"tools": [ledger.deploy, ledger.refund, ask_human]}
    return Agent(name="deployer", model=script(*steps, repeat_results), **{**usual, **given})


async def started(*steps: Any, run_rules: Sequence[Rule] = (), **given: Any) -> tuple[Stage, Run]:
    on = stage(lambda ledger: agent(ledger, *steps, **given))
    begun = await on.engine.start("deployer", "go", owner=ALICE, rules=run_rules)
    await on.settle()
    return on, await on.engine.get_run(begun.run)


async def facts(on: Stage, run: Run, kind: type) -> list[Any]:
    return [e.fact for e in await on.engine.events(run.id) if isinstance(e.fact, kind)]


async def test_a_rule_sees_the_arguments_as_the_tool_gets_them_with_defaults() -> None:
    on, run = await started([PROD, DEV], rules=[NO_PROD])

    assert on.ledger.effects == ["deploy 1 dev"]
    assert run.output == (
        "deploy=denied:blocked: not on Fridays | deploy=success:release 1 live in dev"
    )
    gated = await facts(on, run, CallGated)
    assert [(one.verdict, one.rule) for one in gated] == [
        (Verdict.DENY, "no-prod"),
        (Verdict.ALLOW, ""),
    ]


async def test_a_rule_that_denies_without_a_reason_says_what_policies_say() -> None:
    _, run = await started([PROD], rules=[NO_PROD.model_copy(update={"reason": ""})])
    assert run.output == "deploy=denied:blocked: policy does not allow this call"


@pytest.mark.parametrize(
    ("policy", "rules", "verdict", "rule"),
    [
        ("user", [LET], Verdict.ASK, ""),
        ("allow", [ASK_PROD], Verdict.ASK, "ask-prod"),
        ("allow", [LET], Verdict.ALLOW, "let"),
        ("user", [ASK_PROD], Verdict.ASK, "ask-prod"),
        ("allow", [LET, NO_PROD], Verdict.DENY, "no-prod"),
        ("deny", [LET], Verdict.DENY, ""),
    ],
)
async def test_of_policy_and_rules_the_strictest_is_the_verdict(
    policy: Any, rules: list[Rule], verdict: Verdict, rule: str
) -> None:
    on, run = await started([PROD], approvals={"deploy": policy}, rules=rules)
    (gated,) = await facts(on, run, CallGated)
    assert (gated.verdict, gated.rule) == (verdict, rule)


async def test_a_policy_is_not_asked_about_what_a_rule_denies() -> None:
    def policy(_values: Mapping[str, Any], _context: object) -> str:
        raise AssertionError("asked")

    _, run = await started([PROD], approvals={"deploy": policy}, rules=[NO_PROD])
    assert run.status is RunStatus.SUCCEEDED


async def test_an_agent_is_under_the_rules_of_the_house_besides_its_own() -> None:
    ledger = Ledger()
    house = RuleBook((ASK_PROD,), Verdict.DENY, "house")
    under = agent(ledger, [PROD], rules=[LET]).under(house)
    on = stage(lambda _: under)
    begun = await on.engine.start("deployer", "go", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(begun.run)

    assert run.status is RunStatus.WAITING
    (gated,) = await facts(on, run, CallGated)
    assert (gated.verdict, gated.rule) == (Verdict.ASK, "ask-prod")


async def test_a_question_to_a_person_can_be_denied_by_a_rule() -> None:
    question: Call = ("ask_human", {"question": "Which?"})
    _, run = await started([question], rules=[Rule(verdict="deny", tool="ask_*")])
    assert run.output == "ask_human=denied:blocked: policy does not allow this call"
    _, run = await started([question], rules=[Rule(verdict="ask", tool="*"), LET])
    assert run.status is RunStatus.WAITING


class TestHidden:
    """What can never run is not offered; a call of it is blocked all the same."""

    async def test_a_tool_that_every_call_of_is_denied_is_not_offered(self) -> None:
        offered: list[set[str]] = []

        def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            offered.append({tool.name for tool in info.function_tools})
            if len(messages) == 1:
                return call_tools(0, [("refund", {"order": 1})])
            return ModelResponse(parts=[TextPart("done")])

        on, run = await self._with(FunctionModel(say))

        assert offered == [{"deploy", "ask_human"}] * 2
        assert on.ledger.effects == []
        (gated,) = await facts(on, run, CallGated)
        assert (gated.verdict, gated.rule) == (Verdict.DENY, "never")

    async def _with(self, model: FunctionModel) -> tuple[Stage, Run]:
        rules = [Rule(id="never", verdict="deny", tool="ref*"), NO_PROD]
        on = stage(
            lambda ledger: Agent(
                name="deployer",
                model=model,
                tools=[ledger.deploy, ledger.refund, ask_human],
                rules=rules,
            )
        )
        begun = await on.engine.start("deployer", "go", owner=ALICE)
        await on.settle()
        return on, await on.engine.get_run(begun.run)


class TestOneRun:
    """A run may be given rules of its own, which only tighten."""

    async def test_a_runs_rules_hold_for_it_alone(self) -> None:
        on, run = await started([PROD], run_rules=[NO_PROD])
        assert run.output == "deploy=denied:blocked: not on Fridays"
        assert run.rules == (NO_PROD,)

        begun = await on.engine.start("deployer", "go", owner=ALICE)
        await on.settle()
        assert on.ledger.effects == ["deploy 1 prod"]
        assert (await on.engine.get_run(begun.run)).rules == ()

    async def test_a_run_may_not_be_given_what_its_agent_has_not(self) -> None:
        on, _ = await started([PROD])
        with pytest.raises(InvalidRuleError, match="only ask or deny"):
            await on.engine.start("deployer", "go", owner=ALICE, rules=[LET])

    async def test_the_same_key_with_other_rules_is_another_request(self) -> None:
        on, _ = await started([PROD])
        first = await on.engine.start("deployer", "go", owner=ALICE, idempotency_key="k")
        with pytest.raises(IdempotencyConflictError):
            await on.engine.start(
                "deployer", "go", owner=ALICE, idempotency_key="k", rules=[NO_PROD]
            )
        again = await on.engine.start("deployer", "go", owner=ALICE, idempotency_key="k")
        assert again == first


class TestAgain:
    """The rules are looked at once more before a call runs, and can only tighten."""

    @staticmethod
    async def approved(*steps: Any, **given: Any) -> tuple[Stage, Run]:
        on, run = await started(*steps, approvals={"deploy": "user"}, **given)
        for ticket in run.tickets:
            await on.engine.resume(on.token(run.id, ticket.approval), Allow(), actor=person(ALICE))
        return on, run

    async def test_a_rule_that_now_denies_wins_over_the_approval(self) -> None:
        on, run = await self.approved([PROD])
        engine = redeployed(on, agent(on.ledger, [PROD], rules=[NO_PROD]))
        await advance(engine)

        run = await engine.get_run(run.id)
        assert on.ledger.effects == []
        assert run.output == "deploy=denied:blocked: not on Fridays"
        (tightened,) = await facts(on, run, CallTightened)
        assert (tightened.verdict, tightened.rule) == (Verdict.DENY, "no-prod")

    async def test_a_rule_that_now_asks_is_satisfied_by_the_approval(self) -> None:
        on, run = await self.approved([PROD])
        engine = redeployed(on, agent(on.ledger, [PROD], rules=[ASK_PROD]))
        await advance(engine)
        assert on.ledger.effects == ["deploy 1 prod"]
        assert await facts(on, run, CallTightened) == []

    async def test_a_call_that_needed_nobody_is_asked_for_if_a_rule_asks_now(self) -> None:
        # The refund is allowed but waits for its turn while the deploy is asked for.
        on, run = await self.approved([PROD, ("refund", {"order": 7})])
        asks = Rule(id="late", verdict="ask", tool="refund", when=("order > 5",))
        engine = redeployed(on, agent(on.ledger, [PROD], rules=[asks]))
        await engine.tick()

        run = await engine.get_run(run.id)
        assert (run.status, on.ledger.effects) == (RunStatus.WAITING, ["deploy 1 prod"])
        (tightened,) = await facts(on, run, CallTightened)
        assert (tightened.verdict, tightened.rule) == (Verdict.ASK, "late")
        (ticket,) = run.tickets
        assert run.batch is not None
        assert run.batch.call(ticket.target.call).verdict is Verdict.ASK
        await engine.resume(on.token(run.id, ticket.approval), Allow(), actor=person(ALICE))
        await engine.tick()
        assert on.ledger.effects == ["deploy 1 prod", "refund 7"]

    async def test_a_rule_that_is_gone_does_not_loosen_a_verdict(self) -> None:
        on, run = await started([PROD], rules=[ASK_PROD])
        engine = redeployed(on, agent(on.ledger, [PROD], rules=[LET]))
        await advance(engine)
        assert (await engine.get_run(run.id)).status is RunStatus.WAITING

    async def test_a_call_whose_turn_comes_in_the_same_commit_is_looked_at_too(self) -> None:
        refund: Call = ("refund", {"order": 7})
        on, run = await self.approved([PROD, refund], asks="one_by_one")
        rules = [
            Rule(id=f"late {order}", verdict="deny", tool="refund", when=(f"order = {order}",))
            for order in (6, 7)
        ]
        engine = redeployed(on, agent(on.ledger, [PROD], rules=rules, asks="one_by_one"))
        await advance(engine)
        assert on.ledger.effects == ["deploy 1 prod"]
        (tightened,) = await facts(on, run, CallTightened)
        assert tightened.rule == "late 7"

    async def test_a_call_that_was_not_looked_at_counts_as_fitting_what_denies(self) -> None:
        call = ToolCall(id=CallId("1.0"), provider_id="p", tool="refund", digest="d")
        never = Rule(verdict="deny", tool="refund", when=("order = 7",))
        unprepared = LastLook(
            "a", (RuleBook((never,)),), Toolbox({}, frozenset(), RUN, ToolThreads(1))
        )
        ruling = unprepared.tightened(call)
        assert ruling is not None
        assert ruling.verdict is Verdict.DENY

    async def test_arguments_that_fit_the_tool_no_more_are_still_held_against_the_rules(
        self,
    ) -> None:
        on, run = await self.approved([PROD, ("refund", {"order": 7})])

        def refund(order: str) -> str:
            on.ledger.effects.append(order)
            return order

        changed = agent(
            on.ledger,
            [PROD],
            tools=[on.ledger.deploy, refund],
            rules=[Rule(id="late", verdict="deny", tool="refund", when=("order = 7",))],
        )
        await advance(redeployed(on, changed))
        (tightened,) = await facts(on, run, CallTightened)
        assert tightened.rule == "late"
        assert on.ledger.effects == ["deploy 1 prod"]


async def test_edited_arguments_are_held_against_the_rules_at_the_press() -> None:
    on, run = await started([DEV], approvals={"deploy": "user"}, rules=[NO_PROD])
    (ticket,) = run.tickets
    token = on.token(run.id, ticket.approval)
    edited = Allow(arguments={"version": "1", "env": "prod"})

    with pytest.raises(EditRefusedError):
        await on.engine.resume(token, edited, actor=person(ALICE))

    await on.settle()
    assert on.ledger.effects == []
    assert (await on.engine.get_run(run.id)).tickets == (ticket,)


async def test_edited_arguments_are_held_against_the_rules_again_before_they_run() -> None:
    on, run = await started([DEV], approvals={"deploy": "user"})
    token = on.token(run.id, run.tickets[0].approval)
    edited = Allow(arguments={"version": "1", "env": "prod"})
    await on.engine.resume(token, edited, actor=person(ALICE))

    await advance(redeployed(on, agent(on.ledger, [DEV], rules=[NO_PROD])))

    assert on.ledger.effects == []
    (tightened,) = await facts(on, run, CallTightened)
    assert tightened.rule == "no-prod"


async def test_a_secret_argument_cannot_be_looked_at_and_counts_against_the_call() -> None:
    def log_in(password: SecretStr) -> str:
        return password.get_secret_value()

    steps = [("log_in", {"password": "hunter2"})]
    denies = Rule(verdict="deny", tool="log_in", when=('password = "x"',), reason="no")
    _, run = await started(steps, tools=[log_in], rules=[denies])
    assert run.output == "log_in=denied:blocked: no"
    allows = Rule(verdict="allow", tool="log_in", when=('password = "hunter2"',))
    house = RuleBook((allows,), Verdict.ASK)
    _, run = await started(steps, tools=[log_in], rules=house)
    assert run.status is RunStatus.WAITING


def test_what_has_no_json_form_is_hidden_from_rules_and_the_rest_is_not() -> None:
    assert plain({"n": 1, "odd": object(), "far": float("inf")}) == {
        "n": 1,
        "odd": HIDDEN,
        "far": "Infinity",
    }
    assert plain({"bytes": b"\xff"}) == HIDDEN


def test_rules_of_an_agent_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="rules hold 'deny'"):
        agent(Ledger(), "x", rules=["deny"])
    with pytest.raises(InvalidRuleError, match=r"agent deployer:1 tool, column 2"):
        agent(Ledger(), "x", rules=[Rule(verdict="deny", tool="/(/")])
