"""Who wishes for what to be remembered, who agrees, and what is refused."""

import asyncio
from datetime import timedelta

import pytest

from engine import (
    Allow,
    Deny,
    ToolOptions,
    Wish,
)
from engine.errors import (
    InvalidResumeTokenError,
    NotAllowedError,
    TokenFault,
)
from engine.events import (
    ApprovalRemembered,
    RememberDropped,
    TicketClosed,
)
from engine.identity import Standing
from engine.remembered import MAX_LIVE, RememberFault
from tests.engine.deciding import DAVE, TWO_OF_THREE
from tests.engine.remembering import (
    ANY_VERSION,
    EXACT,
    HOURS,
    NEXT,
    PROD,
    refusal,
    shop,
)
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    Call,
    person,
)
from tests.factories import make_rule


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

    async def test_whoever_approves_from_the_form_of_edits_agrees_to_the_call_alone(self) -> None:
        made = shop(approvers=TWO_OF_THREE)
        run = await made.run([PROD])
        await made.answer(run, BOB, ANY_VERSION)
        await made.answer(run, CAROL, Allow(arguments=dict(PROD[1])))
        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert await made.on.store.rules.listed() == ()
        (dropped,) = await made.facts(run, RememberDropped)
        assert dropped.actor.id == CAROL

    async def test_what_is_of_high_risk_by_now_is_not_remembered(self) -> None:
        made = shop()
        run = await made.run([PROD])
        made.serve([PROD], options={"deploy": ToolOptions(risk="high")})
        await made.answer(run, BOB, ANY_VERSION)
        assert made.on.ledger.effects == ["deploy 1 prod"]
        assert await made.on.store.rules.listed() == ()

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
