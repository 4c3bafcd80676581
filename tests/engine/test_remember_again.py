"""Between the gate, the start of a call and a crash a remembered rule can only tighten."""

from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from pydantic import SecretStr

from engine import (
    Allow,
    RememberedRule,
    Rule,
    Run,
    RunStatus,
    ToolOptions,
)
from engine.errors import (
    StoreUnavailableError,
)
from engine.events import (
    ApprovalRemembered,
    CallStarted,
    CallTightened,
)
from engine.gate import still_secret
from engine.ids import PersonId
from engine.policy import Verdict
from engine.remembered import RememberFault, Revoked
from engine.stores.sqlite import MemoryStore
from engine.tickets import Declared, Risk
from tests.engine.deciding import named
from tests.engine.remembering import (
    ANY_VERSION,
    DEV,
    EXACT,
    HOURS,
    NEXT,
    PROD,
    Shop,
    refusal,
    remembered,
    shop,
)
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    Clock,
    advance,
    person,
)
from tests.engine.test_unconfirmed import OneServer


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

    @pytest.mark.parametrize("version", ["1", "2"])
    async def test_what_is_asked_anew_is_asked_by_the_risk_that_it_has_now(
        self, version: str
    ) -> None:
        made, run = await self.waiting()
        risky = {"options": {"deploy": ToolOptions(risk="high", version=version)}}
        made.serve([DEV, NEXT], **risky)
        await made.answer(run, BOB, Allow())
        (asked, *_) = (await made.now(run)).tickets
        assert asked.declared.risk is Risk.HIGH
        assert await refusal(made, run, BOB, EXACT) is RememberFault.HIGH_RISK

    async def test_what_is_asked_anew_hides_what_is_secret_by_now(self) -> None:
        made, run = await self.waiting()

        def deploy(version: str, env: SecretStr) -> str:
            """Deploy a version to an environment."""
            return made.on.ledger.deploy(version, env.get_secret_value())

        made.serve([DEV, NEXT], tools=[deploy, made.on.ledger.refund])
        await made.answer(run, BOB, Allow())
        (asked, *_) = (await made.now(run)).tickets
        assert asked.declared.secrets == ("/env",)

    async def test_what_was_secret_stays_so_where_it_is_asked_anew(self) -> None:
        _, run = await self.waiting()
        call = run.batch.calls[1] if run.batch else None
        assert call is not None
        before = call.model_copy(update={"declared": Declared(secrets=("/env",))})
        now = call.model_copy(update={"declared": Declared(secrets=("/version",))})
        assert still_secret(now, before).declared.secrets == ("/env", "/version")

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

    async def test_a_call_that_is_begun_a_second_time_makes_no_second_rule(self) -> None:
        made = shop(OneServer)
        store = cast("OneServer", made.on.store)
        run = await made.run([PROD])
        token = await made.engine.token_for(run.tickets[0].ref, person(BOB).via)
        await made.engine.resume(token, ANY_VERSION, actor=person(BOB))
        store.alone = True
        await advance(made.engine)
        assert made.on.ledger.effects == []
        store.alone = False
        made.on.clock.move(timedelta(minutes=10))
        await advance(made.engine)

        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert len(await made.facts(run, CallStarted)) == 2
        assert len(await made.facts(run, ApprovalRemembered)) == 1
        assert len(await made.rules()) == 1

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
