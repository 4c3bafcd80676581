"""An approval that is remembered settles like calls, and nothing else does."""

from datetime import timedelta

import pytest

from engine import (
    Agent,
    Allow,
    Approvers,
    Rule,
    RunEngine,
    RunStatus,
    ToolOptions,
    Wish,
)
from engine.events import (
    ApprovalRemembered,
    CallGated,
    CallStarted,
    RememberWished,
)
from engine.identity import Standing
from engine.ids import Surroundings
from engine.policy import Verdict
from tests.engine.deciding import named
from tests.engine.remembering import (
    ANY_VERSION,
    BY_BOB,
    DEV,
    EXACT,
    HOURS,
    NEXT,
    PROD,
    remembered,
    shop,
)
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    SECRET,
    Call,
    advance,
    script,
)


class TestSettles:
    """A call that is like the approved one is not asked."""

    async def test_a_like_call_runs_unasked_and_the_events_say_by_whose_rule(self) -> None:
        made, first = await remembered()
        (rule,) = await made.rules()
        again = await made.run([NEXT])

        assert made.on.ledger.effects == ["deploy 1 prod", "deploy 2 prod"]
        assert (first.status, again.status) == (RunStatus.SUCCEEDED, RunStatus.SUCCEEDED)
        (gated,) = await made.facts(again, CallGated)
        assert (gated.verdict, gated.rule, gated.granted_by) == (Verdict.ALLOW, rule.id, (BOB,))

    async def test_the_rule_tells_what_was_approved_by_whom_and_until_when(self) -> None:
        made, run = await remembered()
        (rule,) = await made.rules()
        assert (rule.agent, rule.tool, rule.owner, rule.run) == (
            "deployer",
            "deploy",
            ALICE,
            run.id,
        )
        assert [(term.at, term.shown, term.loose) for term in rule.terms] == [
            ("/env", '"prod"', False),
            ("/version", "", True),
        ]
        assert rule.granted_by == (BOB,)
        assert rule.expires_at - rule.granted_at == timedelta(hours=HOURS)

    async def test_the_events_tell_the_wish_and_the_rule_before_the_call_starts(self) -> None:
        made, run = await remembered()
        (rule,) = await made.rules()
        kinds = [event.fact.kind for event in await made.engine.events(run.id)]
        wanted = ["remember_wished", "ticket_closed", "approval_remembered", "call_started"]
        assert [kind for kind in kinds if kind in wanted] == wanted
        (wished,) = await made.facts(run, RememberWished)
        assert (wished.actor.id, wished.hours, wished.loose) == (BOB, HOURS, ("/version",))
        (kept,) = await made.facts(run, ApprovalRemembered)
        assert (kept.rule, kept.until, kept.kept) == (rule.id, rule.expires_at, True)

    async def test_without_the_wish_nothing_is_remembered(self) -> None:
        made, _ = await remembered(Allow())
        assert await made.rules() == ()
        assert await made.asks([PROD])

    async def test_by_default_only_exactly_these_arguments_are_settled(self) -> None:
        made, _ = await remembered(EXACT)
        assert not await made.asks([PROD])
        assert await made.asks([NEXT])

    @pytest.mark.parametrize(
        "call",
        [
            DEV,
            ("deploy", {"version": "2"}),
            ("deploy", {"version": ["2"], "env": "prod"}),
            ("refund", {"order": 1}),
        ],
    )
    async def test_another_call_is_asked(self, call: Call) -> None:
        made, _ = await remembered()
        run = await made.run([call])
        assert run.status is not RunStatus.SUCCEEDED or not await made.facts(run, CallStarted)

    async def test_a_tool_without_arguments_can_be_remembered(self) -> None:
        done: list[str] = []

        def sweep() -> str:
            done.append("swept")
            return "swept"

        given = {"tools": [sweep], "approvals": {"sweep": "user"}}
        made = shop(**given)
        run = await made.run([("sweep", {})])
        await made.answer(run, BOB, EXACT)
        assert not await made.asks([("sweep", {})])
        assert done == ["swept", "swept"]


class TestScope:
    """A rule is of one agent, one owner, perhaps one conversation, and for a while."""

    async def test_it_holds_up_to_its_end(self) -> None:
        made, _ = await remembered()
        made.on.clock.move(timedelta(hours=HOURS) - timedelta(seconds=1))
        assert not await made.asks([NEXT])
        made.on.clock.move(timedelta(seconds=1))
        assert await made.asks([NEXT])

    async def test_it_does_not_hold_for_another_owner(self) -> None:
        made, _ = await remembered()
        assert await made.asks([NEXT], owner=CAROL)

    async def test_it_does_not_hold_for_another_agent(self) -> None:
        made, _ = await remembered()
        other = Agent(
            name="other",
            model=script([NEXT], "done"),
            tools=[made.on.ledger.deploy],
            approvals={"deploy": "user"},
            approvers=BY_BOB,
        )
        engine = RunEngine(
            store=made.on.store,
            agents=[other],
            notifiers={"owner": made.on.inbox},
            resume_secret=SECRET,
            surroundings=Surroundings(clock=made.on.clock),
        )
        begun = await engine.start("other", "go", owner=ALICE)
        await advance(engine)
        assert (await engine.get_run(begun.run)).status is RunStatus.WAITING

    async def test_in_one_conversation_it_holds_for_no_other(self) -> None:
        made = shop()
        run = await made.run([PROD], conversation="thread-1")
        await made.answer(run, BOB, Allow(remember=Wish(hours=1, conversation=True)))
        assert await made.asks([PROD])
        assert await made.asks([PROD], conversation="thread-2")
        assert not await made.asks([PROD], conversation="thread-1")

    async def test_in_one_context_it_holds_for_no_other(self) -> None:
        made = shop()
        run = await made.run([PROD], context={"tenant": "a"})
        await made.answer(run, BOB, EXACT)
        assert await made.asks([PROD])
        assert await made.asks([PROD], context={"tenant": "b"})
        assert not await made.asks([PROD], context={"tenant": "a"})

    async def test_a_changed_tool_voids_it(self) -> None:
        made, _ = await remembered()
        assert await made.asks([NEXT], changed={"options": {"deploy": ToolOptions(version="2")}})
        assert not await made.asks([NEXT])

    async def test_a_tool_whose_risk_was_raised_is_asked_for(self) -> None:
        made, _ = await remembered()
        assert await made.asks([NEXT], changed={"options": {"deploy": ToolOptions(risk="high")}})
        assert not await made.asks(
            [NEXT], changed={"options": {"deploy": ToolOptions(risk="medium")}}
        )


class TestPeople:
    """It holds only while those who gave it are such as could give it."""

    @pytest.mark.parametrize(
        "approvers",
        [named(CAROL), named(BOB, CAROL), named(BOB, four_eyes=False), named(BOB, CAROL, quorum=2)],
    )
    async def test_other_approvers_are_asked_themselves(self, approvers: Approvers) -> None:
        made, _ = await remembered()
        assert await made.asks([NEXT], changed={"approvers": approvers})

    @pytest.mark.parametrize("standing", [Standing.DEACTIVATED, Standing.GUEST, Standing.UNKNOWN])
    async def test_whoever_may_decide_no_more_has_settled_nothing(self, standing: Standing) -> None:
        made, _ = await remembered()
        made.town.standings[BOB] = standing
        assert await made.asks([NEXT])

    async def test_whoever_left_the_group_has_settled_nothing(self) -> None:
        group = Approvers(groups=("S1",))
        made = shop(approvers=group)
        made.town.groups["S1"] = {BOB, CAROL}
        await made.answer(await made.run([PROD]), BOB, ANY_VERSION)
        assert not await made.asks([NEXT])
        made.town.groups["S1"] = {CAROL}
        assert await made.asks([NEXT])

    async def test_nobody_settles_calls_of_runs_that_they_started_themselves(self) -> None:
        made, _ = await remembered()
        assert not await made.asks([NEXT], requester=CAROL)
        assert await made.asks([NEXT], requester=BOB)

    async def test_under_another_id_they_do_not_either(self) -> None:
        made, _ = await remembered()
        made.town.aliases = {"UBOB2": BOB}
        assert await made.asks([NEXT], requester="UBOB2")

    async def test_without_four_eyes_they_may(self) -> None:
        made, _ = await remembered(approvers=named(BOB, four_eyes=False))
        assert not await made.asks([NEXT], requester=BOB)

    async def test_a_directory_that_is_away_makes_that_people_are_asked(self) -> None:
        made, _ = await remembered()
        made.town.down = True
        assert await made.asks([NEXT])

    async def test_the_owner_who_decides_alone_settles_their_own(self) -> None:
        made = shop(approvers=Approvers())
        await made.answer(await made.run([PROD]), ALICE, ANY_VERSION)
        assert not await made.asks([NEXT])
        assert await made.asks([NEXT], owner=CAROL)


class TestRulesWin:
    """Whatever denies, denies."""

    async def test_a_deny_rule_wins(self) -> None:
        made, _ = await remembered()
        never = Rule(id="never", verdict="deny", tool="deploy", when=('version = "2"',))
        run = await made.run([NEXT], changed={"rules": [never]})
        (gated,) = await made.facts(run, CallGated)
        assert (gated.verdict, gated.rule, gated.granted_by) == (Verdict.DENY, "never", ())
        assert made.on.ledger.effects == ["deploy 1 prod"]

    async def test_a_policy_that_denies_wins(self) -> None:
        made, _ = await remembered()
        run = await made.run([NEXT], changed={"approvals": {"deploy": "deny"}})
        assert not await made.facts(run, CallStarted)

    async def test_a_rule_that_asks_is_satisfied(self) -> None:
        made, _ = await remembered()
        asks = Rule(id="asks", verdict="ask", tool="deploy")
        assert not await made.asks([NEXT], changed={"rules": [asks]})

    async def test_a_call_that_needs_nobody_has_nothing_to_do_with_it(self) -> None:
        made, _ = await remembered()
        run = await made.run([NEXT], changed={"approvals": {}})
        (gated,) = await made.facts(run, CallGated)
        assert (gated.rule, gated.granted_by) == ("", ())


async def test_a_ticket_that_is_open_already_is_still_asked() -> None:
    made = shop()
    waiting = await made.run([PROD])
    await made.answer(await made.run([PROD]), BOB, ANY_VERSION)
    assert len(await made.rules()) == 1
    assert (await made.now(waiting)).tickets == waiting.tickets
    assert not await made.asks([PROD])
