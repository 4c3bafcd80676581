"""An approval that is remembered settles like calls, and nothing else does."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import pytest

from engine import (
    Agent,
    Allow,
    Approvers,
    Deny,
    RememberedRule,
    RememberRefusedError,
    Rule,
    Run,
    RunEngine,
    RunStatus,
    ToolOptions,
    Wish,
)
from engine.errors import (
    InvalidResumeTokenError,
    NotAllowedError,
    StoreUnavailableError,
    TokenFault,
)
from engine.events import (
    ApprovalRemembered,
    CallGated,
    CallStarted,
    CallTightened,
    RememberDropped,
    RememberWished,
    TicketClosed,
)
from engine.identity import Standing
from engine.ids import PersonId, Surroundings
from engine.policy import Verdict
from engine.remembered import MAX_LIVE, RememberFault, Revoked
from engine.stores.sqlite import MemoryStore
from engine.tickets import Decision
from tests.engine.deciding import DAVE, TWO_OF_THREE, named
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    SECRET,
    Call,
    Clock,
    Ledger,
    Stage,
    advance,
    person,
    repeat_results,
    script,
    stage,
)
from tests.engine.town import Town
from tests.factories import make_rule

PROD: Call = ("deploy", {"version": "1", "env": "prod"})
NEXT: Call = ("deploy", {"version": "2", "env": "prod"})
DEV: Call = ("deploy", {"version": "1", "env": "dev"})
HOURS: Literal[8] = 8
EXACT = Allow(remember=Wish(hours=HOURS))
ANY_VERSION = Allow(remember=Wish(hours=HOURS, loose=("/version",)))
BY_BOB = named(BOB)


@dataclass
class Shop:
    """One agent whose script is set anew for each run, and the people around it."""

    on: Stage
    engine: RunEngine
    given: dict[str, Any]
    town: Town = field(default_factory=Town)

    def serve(self, *steps: Any, **changed: Any) -> None:
        """Serve the same agent with another script, or changed, from here on."""
        agent = deployer(self.on.ledger, *steps, **(self.given | changed))
        self.engine = RunEngine(
            store=self.on.store,
            agents=[agent],
            notifiers={"owner": self.on.inbox},
            resume_secret=SECRET,
            directory=self.town,
            surroundings=Surroundings(clock=self.on.clock),
        )

    async def run(self, *steps: Any, owner: str = ALICE, **more: Any) -> Run:
        """Start a run of the agent with this script and take it as far as it goes."""
        changed = more.pop("changed", {})
        self.serve(*steps, **changed)
        begun = await self.engine.start("deployer", "go", owner=owner, **more)
        await advance(self.engine)
        return await self.engine.get_run(begun.run)

    async def answer(self, run: Run, who: str, decision: Decision) -> None:
        actor = person(PersonId(who))
        token = await self.engine.token_for((await self.now(run)).tickets[0].ref, actor.via)
        key = self.engine.answers.key(token, decision, actor)
        await self.engine.resume(token, decision, actor=actor, idempotency_key=key)
        await advance(self.engine)

    async def now(self, run: Run) -> Run:
        return await self.engine.get_run(run.id)

    async def facts(self, run: Run, kind: type[Any]) -> list[Any]:
        return [e.fact for e in await self.engine.events(run.id) if isinstance(e.fact, kind)]

    async def rules(self) -> tuple[RememberedRule, ...]:
        return await self.on.store.rules.live("deployer", ALICE)

    async def asks(self, *steps: Any, **more: Any) -> bool:
        """Tell whether a run with this script waits for somebody."""
        return (await self.run(*steps, **more)).status is RunStatus.WAITING


def deployer(ledger: Ledger, *steps: Any, **given: Any) -> Agent:
    usual: dict[str, Any] = {
        "tools": [ledger.deploy, ledger.refund],
        "approvals": {"deploy": "user", "refund": "user"},
        "approvers": BY_BOB,
        "deny_limit": None,
        "tool_deny_limit": None,
    }
    return Agent(name="deployer", model=script(*steps, repeat_results), **(usual | given))


def shop(store: Any = None, **given: Any) -> Shop:
    town = Town()
    on = stage(lambda ledger: deployer(ledger, "x", **given), directory=town, store=store)
    return Shop(on, on.engine, given, town)


async def remembered(decision: Allow = ANY_VERSION, **given: Any) -> tuple[Shop, Run]:
    """Return a shop where Bob has approved a deploy to prod and had it remembered."""
    made = shop(**given)
    run = await made.run([PROD])
    await made.answer(run, BOB, decision)
    return made, await made.now(run)


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


class TestLastLook:
    """Between the gate and the start it can only tighten."""

    @staticmethod
    async def waiting() -> tuple[Shop, Run]:
        """Return a run with a settled call that has to wait for one that is asked."""
        made, _ = await remembered()
        run = await made.run([DEV, NEXT])
        assert run.batch is not None
        assert [call.settled != "" for call in run.batch.calls] == [False, True]
        return made, run

    async def test_it_runs_when_its_turn_comes(self) -> None:
        made, run = await self.waiting()
        await made.answer(run, BOB, Allow())
        assert made.on.ledger.effects == ["deploy 1 prod", "deploy 1 dev", "deploy 2 prod"]

    async def test_a_rule_that_was_revoked_meanwhile_makes_it_ask(self) -> None:
        made, run = await self.waiting()
        (rule,) = await made.rules()
        await made.engine.revoking.revoke(rule.id, person(BOB))
        await made.answer(run, BOB, Allow())
        await self.asks_and_then_runs(made, run, rule.id)

    async def test_a_rule_that_ended_meanwhile_makes_it_ask(self) -> None:
        made, run = await self.waiting()
        (rule,) = await made.rules()
        made.on.clock.move(timedelta(hours=HOURS))
        await made.answer(run, BOB, Allow())
        await self.asks_and_then_runs(made, run, rule.id)

    async def test_a_rule_is_looked_at_again_after_a_long_call(self) -> None:
        made, run = await self.waiting()
        (rule,) = await made.rules()

        def deploy(version: str, env: str = "prod") -> str:
            """Deploy a version to an environment."""
            made.on.clock.move(timedelta(hours=HOURS))
            return made.on.ledger.deploy(version, env)

        made.serve([DEV, NEXT], tools=[deploy, made.on.ledger.refund])
        await made.answer(run, BOB, Allow())
        await self.asks_and_then_runs(made, run, rule.id)

    @pytest.mark.parametrize(
        "changed",
        [
            {"options": {"deploy": ToolOptions(risk="high")}},
            {"approvers": named(BOB, CAROL)},
        ],
    )
    async def test_what_was_changed_meanwhile_makes_it_ask(self, changed: dict[str, Any]) -> None:
        made, run = await self.waiting()
        (rule,) = await made.rules()
        made.serve([DEV, NEXT], **changed)
        await made.answer(run, BOB, Allow())
        await self.asks_and_then_runs(made, run, rule.id)

    async def test_a_tool_that_changed_meanwhile_is_asked_for_once_more_each_time(self) -> None:
        made, run = await self.waiting()
        made.serve([DEV, NEXT], options={"deploy": ToolOptions(version="2")})
        await made.answer(run, BOB, Allow())
        await made.answer(run, BOB, Allow())
        assert made.on.ledger.effects == ["deploy 1 prod", "deploy 1 dev"]
        await made.answer(run, BOB, Allow())
        assert made.on.ledger.effects == ["deploy 1 prod", "deploy 1 dev", "deploy 2 prod"]

    async def test_a_rule_that_denies_by_now_wins(self) -> None:
        made, run = await self.waiting()
        never = Rule(id="never", verdict="deny", tool="deploy", when=('version = "2"',))
        made.serve([DEV, NEXT], rules=[never])
        await made.answer(run, BOB, Allow())
        assert made.on.ledger.effects == ["deploy 1 prod", "deploy 1 dev"]
        (tightened,) = await made.facts(run, CallTightened)
        assert (tightened.verdict, tightened.rule) == (Verdict.DENY, "never")

    @staticmethod
    async def asks_and_then_runs(made: Shop, run: Run, rule: str) -> None:
        run = await made.now(run)
        assert made.on.ledger.effects == ["deploy 1 prod", "deploy 1 dev"]
        assert run.status is RunStatus.WAITING
        (tightened,) = await made.facts(run, CallTightened)
        assert (tightened.verdict, tightened.rule) == (Verdict.ASK, rule)
        await made.answer(run, BOB, Allow())
        assert made.on.ledger.effects[-1] == "deploy 2 prod"


class TestQuorum:
    """Who votes later sees what will be remembered; nothing is before the quorum is met."""

    async def test_it_takes_effect_with_the_last_vote_that_is_needed(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, ANY_VERSION)
        (ticket,) = (await made.now(run)).tickets
        assert ticket.wished is not None
        assert (ticket.wished.by.id, ticket.wished.hours) == (BOB, HOURS)
        assert await made.on.store.rules.listed() == ()
        assert await made.asks([PROD])

        await made.answer(run, CAROL, Allow())
        (rule,) = await made.rules()
        assert rule.granted_by == (BOB, CAROL)
        assert not await made.asks([NEXT])

    async def test_if_one_of_them_may_decide_no_more_it_is_no_quorum(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, ANY_VERSION)
        await made.answer(run, CAROL, Allow())
        made.town.standings[CAROL] = Standing.DEACTIVATED
        assert await made.asks([NEXT])

    async def test_a_card_from_before_the_wish_cannot_agree_to_it(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        old = await made.engine.token_for(run.tickets[0].ref, person(CAROL).via)
        await made.answer(run, BOB, ANY_VERSION)
        with pytest.raises(InvalidResumeTokenError) as refused:
            await made.engine.resume(old, Allow(), actor=person(CAROL))
        assert refused.value.fault is TokenFault.SUPERSEDED

    @pytest.mark.parametrize("first", [Allow(), ANY_VERSION])
    async def test_a_later_vote_cannot_wish_what_the_first_did_not_see(self, first: Allow) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, first)
        before = await made.now(run)
        assert await refusal(made, run, CAROL, EXACT) is RememberFault.LATE
        assert await made.now(run) == before
        await made.answer(run, CAROL, Allow())
        assert len(await made.rules()) == (first is ANY_VERSION)

    async def test_whoever_allows_it_once_takes_the_wish_off_and_the_call_runs(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, ANY_VERSION)
        await made.answer(run, CAROL, Allow(once=True))
        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert await made.on.store.rules.listed() == ()
        (dropped,) = await made.facts(run, RememberDropped)
        assert dropped.actor.id == CAROL

    async def test_once_means_nothing_where_nobody_wished_for_more(self) -> None:
        made = shop()
        run = await made.run([PROD])
        await made.answer(run, BOB, Allow(once=True))
        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert await made.facts(run, RememberDropped) == []

    async def test_a_wish_with_once_is_none(self) -> None:
        made = shop()
        run = await made.run([PROD])
        both = Allow(remember=Wish(hours=1), once=True)
        assert await refusal(made, run, BOB, both) is RememberFault.ONCE

    async def test_an_edit_voids_the_wish_with_the_votes(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, ANY_VERSION)
        await made.answer(run, CAROL, Allow(arguments=NEXT[1]))
        (ticket,) = (await made.now(run)).tickets
        assert ticket.wished is None
        await made.answer(run, BOB, Allow())
        assert await made.on.store.rules.listed() == ()

    async def test_a_deny_ends_it(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, ANY_VERSION)
        await made.answer(run, CAROL, Deny())
        assert await made.on.store.rules.listed() == ()

    async def test_silence_ends_it(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, ANY_VERSION)
        made.on.clock.move(timedelta(hours=25))
        await made.engine.tick()
        (closed,) = await made.facts(run, TicketClosed)
        assert closed.resolution.timed_out
        assert await made.on.store.rules.listed() == ()

    async def test_votes_that_race_remember_once(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        token = await made.engine.token_for(run.tickets[0].ref, person(BOB).via)
        wishes = [made.engine.resume(token, EXACT, actor=person(who)) for who in (BOB, CAROL, DAVE)]
        told = await asyncio.gather(*wishes, return_exceptions=True)
        assert sum(not isinstance(one, BaseException) for one in told) == 1


async def refusal(made: Shop, run: Run, who: str, decision: Allow) -> RememberFault:
    with pytest.raises(RememberRefusedError) as refused:
        await made.answer(run, who, decision)
    return refused.value.fault


async def test_a_ticket_that_is_open_already_is_still_asked() -> None:
    made = shop()
    waiting = await made.run([PROD])
    await made.answer(await made.run([PROD]), BOB, ANY_VERSION)
    assert len(await made.rules()) == 1
    assert (await made.now(waiting)).tickets == waiting.tickets
    assert not await made.asks([PROD])


class TestRefused:
    """What may be approved and not be remembered; nothing is recorded then."""

    @pytest.mark.parametrize(
        ("decision", "fault"),
        [
            (
                Allow(remember=Wish(hours=1, loose=("/env", "/version"))),
                RememberFault.NOTHING_PINNED,
            ),
            (Allow(remember=Wish(hours=1, loose=("/nothing",))), RememberFault.UNKNOWN_ARGUMENT),
            (Allow(remember=Wish(hours=1, loose=("",))), RememberFault.UNKNOWN_ARGUMENT),
            (Allow(arguments=NEXT[1], remember=Wish(hours=1)), RememberFault.EDITED),
        ],
    )
    async def test_a_wish_that_cannot_be_granted_changes_nothing(
        self, decision: Allow, fault: RememberFault
    ) -> None:
        made = shop()
        run = await made.run([PROD])
        assert await refusal(made, run, BOB, decision) is fault
        assert await made.now(run) == run
        await made.answer(run, BOB, Allow())
        assert await made.rules() == ()

    async def test_a_call_of_high_risk_is_never_remembered(self) -> None:
        made = shop(options={"deploy": ToolOptions(risk="high")})
        run = await made.run([PROD])
        assert await refusal(made, run, BOB, EXACT) is RememberFault.HIGH_RISK
        assert await made.now(run) == run

    async def test_a_secret_stays_as_it_is_and_is_not_kept_in_clear(self) -> None:
        secret = "sk-abcdefghijklmnop1234"
        made = shop()
        call: Call = ("deploy", {"version": secret, "env": "prod"})
        run = await made.run([call])
        assert await refusal(made, run, BOB, ANY_VERSION) is RememberFault.SECRET
        await made.answer(run, BOB, Allow(remember=Wish(hours=1, loose=("/env",))))
        (rule,) = await made.rules()
        assert secret not in rule.model_dump_json()
        assert not await made.asks([("deploy", {"version": secret, "env": "dev"})])
        assert await made.asks([("deploy", {"version": secret + "5", "env": "dev"})])

    async def test_more_arguments_than_anybody_oversees_are_not_remembered(self) -> None:
        def sort(numbers: list[int]) -> str:
            return str(sorted(numbers))

        made = shop(tools=[sort], approvals={"sort": "user"})
        run = await made.run([("sort", {"numbers": list(range(65))})])
        assert await refusal(made, run, BOB, EXACT) is RememberFault.TOO_LARGE

    async def test_a_name_that_cannot_be_shown_is_not_remembered(self) -> None:
        def put(values: dict[str, int]) -> str:
            return str(values)

        made = shop(tools=[put], approvals={"put": "user"})
        run = await made.run([("put", {"values": {"sk-abcdefghijklmnop1234": 1}})])
        assert await refusal(made, run, BOB, EXACT) is RememberFault.UNTELLABLE

    async def test_where_there_are_too_many_already_it_is_refused(self) -> None:
        made = shop()
        run = await made.run([PROD])
        for _ in range(MAX_LIVE):
            await made.on.store.rules.keep(make_rule(owner=ALICE))
        assert await refusal(made, run, BOB, EXACT) is RememberFault.FULL
        assert await made.now(run) == run

    async def test_where_there_are_too_many_by_then_the_call_runs_and_the_events_say_so(
        self,
    ) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, EXACT)
        for _ in range(MAX_LIVE):
            await made.on.store.rules.keep(make_rule(owner=ALICE))
        await made.answer(run, CAROL, Allow())
        (kept,) = await made.facts(run, ApprovalRemembered)
        assert not kept.kept
        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert await made.asks([PROD])

    async def test_whoever_may_not_decide_is_told_only_that(self) -> None:
        made = shop()
        run = await made.run([PROD])
        for who in (ALICE, CAROL):
            with pytest.raises(NotAllowedError):
                await made.answer(run, who, Allow(remember=Wish(hours=1, loose=("/nothing",))))
        assert await made.on.store.rules.listed() == ()


@pytest.mark.parametrize("hours", [0, -1, 2, 169, 8760])
def test_a_rule_is_for_one_of_a_few_spans_and_never_for_good(hours: int) -> None:
    with pytest.raises(ValueError, match="hours"):
        Wish.model_validate({"hours": hours})


class LameRules:
    """The rules of a store, which can be away, or write and lose the answer."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.away = False
        self.drop = 0
        self.lose = 0
        self.kept = 0

    async def keep(self, rule: RememberedRule) -> None:
        if self.drop:
            self.drop -= 1
            raise StoreUnavailableError("told to drop it")
        await self.inner.keep(rule)
        self.kept += 1
        if self.lose:
            self.lose -= 1
            raise StoreUnavailableError("told to lose the answer")

    async def live(self, agent: str, owner: PersonId) -> tuple[RememberedRule, ...]:
        self._check()
        rules: tuple[RememberedRule, ...] = await self.inner.live(agent, owner)
        return rules

    async def listed(self) -> tuple[RememberedRule, ...]:
        rules: tuple[RememberedRule, ...] = await self.inner.listed()
        return rules

    async def revoke(self, rule: str, revoked: Revoked) -> RememberedRule | None:
        ended: RememberedRule | None = await self.inner.revoke(rule, revoked)
        return ended

    async def forget(self, older_than: datetime, *, dry_run: bool = False) -> int:
        raise NotImplementedError

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailableError("told to be away")


class LameStore(MemoryStore):
    """A store whose rules are lame, and whose claims can be ended as if their worker was lost."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.lame = LameRules(self.rules)
        self.rules = self.lame


class TestCrash:
    """The rule is kept before the call begins, and keeping it again changes nothing."""

    async def test_rules_that_cannot_be_read_make_that_people_are_asked(self) -> None:
        made, store = lame()
        await made.answer(await made.run([PROD]), BOB, ANY_VERSION)
        store.lame.away = True
        assert await made.asks([NEXT])

    async def test_rules_that_cannot_be_read_at_the_last_look_make_it_ask(self) -> None:
        made, store = lame()
        await made.answer(await made.run([PROD]), BOB, ANY_VERSION)
        run = await made.run([DEV, NEXT])
        store.lame.away = True
        await made.answer(run, BOB, Allow())
        assert made.on.ledger.effects == ["deploy 1 prod", "deploy 1 dev"]
        assert (await made.now(run)).status is RunStatus.WAITING

    @pytest.mark.parametrize("written", [False, True])
    async def test_a_call_whose_rule_may_not_be_kept_does_not_begin_until_it_is(
        self,
        written: bool,  # noqa: FBT001 - a parameter of the test
    ) -> None:
        made, store = lame()
        run = await made.run([PROD])
        store.lame.drop, store.lame.lose = int(not written), int(written)
        await made.answer(run, BOB, ANY_VERSION)
        assert made.on.ledger.effects == []
        assert len(await made.rules()) == written
        assert not await made.facts(run, CallStarted)

        made.on.clock.move(timedelta(minutes=1))
        await advance(made.engine)

        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert store.lame.kept == 1 + written
        (rule,) = await made.on.store.rules.listed()
        kinds = [event.fact.kind for event in await made.engine.events(run.id)]
        assert kinds.count("approval_remembered") == kinds.count("call_started") == 1
        assert rule.expires_at == rule.granted_at + timedelta(hours=HOURS)

    async def test_a_rule_that_was_revoked_before_the_call_began_stays_revoked(self) -> None:
        made, store = lame()
        run = await made.run([PROD])
        store.lame.lose = 1
        await made.answer(run, BOB, ANY_VERSION)
        (rule,) = await made.rules()
        await made.engine.revoking.revoke(rule.id, person(ALICE))

        made.on.clock.move(timedelta(minutes=1))
        await advance(made.engine)

        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert await made.rules() == ()
        assert await made.asks([NEXT])

    async def test_a_call_that_never_begins_leaves_no_rule(self) -> None:
        made = shop()
        run = await made.run([PROD])
        never = Rule(id="never", verdict="deny", tool="deploy")
        made.serve([PROD], rules=[never])
        await made.answer(run, BOB, ANY_VERSION)
        assert await made.on.store.rules.listed() == ()
        assert made.on.ledger.effects == []

    async def test_each_call_of_a_step_has_its_own_rule(self) -> None:
        made = shop()
        run = await made.run([PROD, ("refund", {"order": 1})])
        await made.answer(run, BOB, EXACT)
        await made.answer(run, BOB, EXACT)
        assert {rule.tool for rule in await made.rules()} == {"deploy", "refund"}
        assert made.on.ledger.effects == ["deploy 1 prod", "refund 1"]


def lame() -> tuple[Shop, LameStore]:
    stores: list[LameStore] = []

    def store(clock: Clock) -> LameStore:
        stores.append(LameStore(clock))
        return stores[0]

    return shop(store), stores[0]
