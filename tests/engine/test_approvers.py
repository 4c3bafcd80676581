"""Who may decide, by every way of naming them, and who is refused."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from engine import Approvers, Deny, PolicyContext, Run
from engine.errors import (
    AlreadyDecidedError,
    DirectoryUnavailableError,
    InvalidAgentDefinitionError,
    NotAllowedError,
    Refusal,
    UnknownGroupError,
)
from engine.events import AnswerRefused, TicketClosed
from engine.identity import StandIn, Standing
from engine.ids import PersonId
from engine.lifecycle.refuse import MOST_TOLD
from tests.engine.deciding import (
    DAVE,
    HOUR,
    MALLORY,
    TWO_OF_THREE,
    decide,
    deployer,
    facts,
    named,
    parked,
    refusal,
)
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    START,
    Ledger,
    Stage,
)
from tests.engine.town import Town


class TestNaming:
    """People by address, groups, channels, whoever is on call, stand-ins."""

    async def test_somebody_is_named_by_their_address_whatever_its_case(self) -> None:
        town = Town(addresses={"bob@local.example": BOB})
        on, run = await parked(named("Bob@Local.example"), town)

        assert await refusal(on, run, CAROL) is Refusal.NOT_AN_APPROVER
        assert await decide(on, run, BOB) == "approved 1/1"

    async def test_a_group_is_who_is_in_it_when_somebody_decides(self) -> None:
        town = Town(groups={"S1": {BOB}})
        on, run = await parked(Approvers(groups=("S1",)), town)
        town.groups["S1"] = {CAROL}

        assert await refusal(on, run, BOB) is Refusal.NOT_AN_APPROVER
        assert await decide(on, run, CAROL) == "approved 1/1"

    async def test_everyone_in_a_channel_may_where_that_is_asked_for(self) -> None:
        on, run = await parked(Approvers(channels=("C1",)), Town(groups={"C1": {BOB, CAROL}}))

        assert await refusal(on, run, DAVE) is Refusal.NOT_AN_APPROVER
        assert await decide(on, run, CAROL) == "approved 1/1"

    async def test_the_requester_does_not_count_in_a_group_either(self) -> None:
        on, run = await parked(
            Approvers(groups=("S1",)), Town(groups={"S1": {BOB, CAROL}}), requester=BOB
        )

        assert await refusal(on, run, BOB) is Refusal.REQUESTER

    async def test_a_group_that_is_gone_lets_nobody_through(self) -> None:
        on, run = await parked(Approvers(groups=("S1",)), Town())

        with pytest.raises(UnknownGroupError):
            await decide(on, run, BOB)
        assert await on.engine.get_run(run.id) == run

    async def test_whoever_is_named_needs_no_group_to_be_there(self) -> None:
        on, run = await parked(named(BOB, groups=("S1",)), Town())
        assert await decide(on, run, BOB) == "approved 1/1"

    @pytest.mark.parametrize("asynchronous", [True, False])
    async def test_whoever_is_on_call_when_somebody_decides_may(
        self, *, asynchronous: bool
    ) -> None:
        rota: list[str] = [BOB]
        asked: list[PolicyContext] = []

        def now(facts: PolicyContext) -> Sequence[str]:
            asked.append(facts)
            return rota

        async def soon(facts: PolicyContext) -> Sequence[str]:
            return now(facts)

        town = Town(addresses={"carol@x": CAROL})
        on, run = await parked(Approvers(on_call=True), town, on_call=soon if asynchronous else now)
        rota[:] = ["carol@x"]

        assert await refusal(on, run, BOB) is Refusal.NOT_AN_APPROVER
        assert await decide(on, run, CAROL) == "approved 1/1"
        assert {(one.run, one.tool, one.requester) for one in asked} == {(run.id, "deploy", ALICE)}

    @pytest.mark.parametrize("said", [None, "UBOB", [None], [""], RuntimeError("xoxb-secret")])
    async def test_an_on_call_function_that_fails_lets_nobody_through(self, said: object) -> None:
        def rota(_facts: PolicyContext) -> Any:
            if isinstance(said, Exception):
                raise said
            return said

        on, run = await parked(Approvers(on_call=True), on_call=rota)

        with pytest.raises(DirectoryUnavailableError) as refused:
            await decide(on, run, BOB)
        assert "secret" not in str(refused.value)
        assert await on.engine.get_run(run.id) == run

    async def test_an_on_call_function_that_hangs_is_not_waited_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("engine.deciders.ON_CALL_TIMEOUT_S", 0.01)

        async def rota(_facts: PolicyContext) -> Sequence[str]:
            await asyncio.Event().wait()
            return [BOB]

        on, run = await parked(Approvers(on_call=True), on_call=rota)
        with pytest.raises(DirectoryUnavailableError):
            await decide(on, run, BOB)

    async def test_on_call_functions_that_hang_take_no_thread_of_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("engine.deciders.ON_CALL_TIMEOUT_S", 0.01)
        gate = threading.Event()
        with ThreadPoolExecutor(1) as the_loops_own:
            asyncio.get_running_loop().set_default_executor(the_loops_own)
            on, run = await parked(Approvers(on_call=True), on_call=lambda _facts: gate.wait())
            try:
                with pytest.raises(DirectoryUnavailableError):
                    await decide(on, run, BOB)
                assert await asyncio.wait_for(asyncio.to_thread(lambda: "free"), 10) == "free"
            finally:
                gate.set()

    async def test_a_stand_in_decides_until_their_moment_and_it_is_said_for_whom(self) -> None:
        place = StandIn(absent=BOB, by=DAVE, until=START + timedelta(minutes=30))
        on, run = await parked(named(BOB, CAROL, stand_ins=(place,)))
        assert await refusal(on, run, MALLORY) is Refusal.NOT_AN_APPROVER

        on.clock.move(timedelta(minutes=30))
        await decide(on, run, DAVE)

        (closed,) = await facts(on, run, TicketClosed)
        assert (closed.resolution.actor.id, closed.resolution.instead_of) == (DAVE, BOB)

    async def test_a_stand_in_is_nobody_after_their_moment(self) -> None:
        place = StandIn(absent=BOB, by=DAVE, until=START)
        on, run = await parked(named(BOB, stand_ins=(place,)))
        on.clock.move(timedelta(seconds=1))

        assert await refusal(on, run, DAVE) is Refusal.NOT_AN_APPROVER

    @pytest.mark.parametrize("absent", [CAROL, MALLORY])
    async def test_nobody_stands_in_for_the_requester_or_for_somebody_without_a_say(
        self, absent: PersonId
    ) -> None:
        place = StandIn(absent=absent, by=DAVE, until=START + HOUR)
        on, run = await parked(named(BOB, CAROL, stand_ins=(place,)), requester=CAROL)

        assert await refusal(on, run, DAVE) is Refusal.NOT_AN_APPROVER

    async def test_who_stands_in_for_the_owner_does_not_decide_what_they_started(self) -> None:
        place = StandIn(absent=ALICE, by=DAVE, until=START + HOUR)
        town = Town(aliases={DAVE: "W1", "UDAVE2": "W1"})
        on, run = await parked(Approvers(stand_ins=(place,)), town, requester="UDAVE2")
        assert await refusal(on, run, DAVE) is Refusal.NOT_AN_APPROVER

        on, run = await parked(Approvers(stand_ins=(place,)), town, requester=BOB)
        await decide(on, run, DAVE)
        (closed,) = await facts(on, run, TicketClosed)
        assert closed.resolution.instead_of == ALICE

    async def test_one_human_with_two_ids_cannot_approve_what_they_started(self) -> None:
        town = Town(aliases={BOB: "W1", "UBOB2": "W1"})
        on, run = await parked(named("UBOB2", CAROL), town, requester=BOB)

        assert await refusal(on, run, "UBOB2") is Refusal.REQUESTER

    async def test_someone_is_named_by_the_id_they_have_in_the_whole_organisation(self) -> None:
        on, run = await parked(named("W1"), Town(aliases={BOB: "W1"}))
        assert await decide(on, run, BOB) == "approved 1/1"


class TestDefinition:
    """What could never work is refused when the agent is made."""

    @pytest.mark.parametrize(
        ("approvers", "more", "says"),
        [
            (named(BOB, CAROL, quorum=3), {}, "a quorum of 3 can never be met"),
            (named(BOB, BOB, quorum=2), {}, "can never be met: approvers name 1"),
            (named("b@x", "B@X", quorum=2), {}, "can never be met: approvers name 1"),
            (Approvers(quorum=2), {}, "can never be met: approvers name 1"),
            (named(BOB, quorum=0), {}, "would let a call run unasked"),
            (Approvers(on_call=True), {}, "on_call=True needs a function"),
            (Approvers(groups=("",)), {}, "name somebody by nothing"),
            (named(BOB), {"on_call": "UBOB"}, "on_call is not a function"),
            (
                named(
                    BOB, stand_ins=(StandIn(absent=BOB, by=DAVE, until=START.replace(tzinfo=None)),)
                ),
                {},
                "a moment with a time zone",
            ),
        ],
    )
    def test_it_says_what_is_wrong(
        self, approvers: Approvers, more: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(InvalidAgentDefinitionError, match=says):
            deployer(Ledger(), approvers=approvers, **more)

    def test_a_quorum_of_a_group_is_known_only_later(self) -> None:
        assert deployer(Ledger(), approvers=Approvers(groups=("S1",), quorum=5)).who.most is None

    def test_an_on_call_function_alone_does_not_leave_the_owner_in(self) -> None:
        who = deployer(Ledger(), on_call=lambda _facts: [BOB]).who
        assert who.resolve(ALICE) == Approvers(on_call=True)


class TestAttempts:
    """Whoever may not decide is refused, and that they tried is kept, without bound to no one."""

    async def test_the_first_attempt_of_each_is_an_event_and_all_are_counted(self) -> None:
        on, run = await parked(named(BOB))
        for _ in range(3):
            await refusal(on, run, MALLORY)
        await refusal(on, run, CAROL, decision=Deny())

        tried = await facts(on, run, AnswerRefused)

        assert [(f.actor.id, f.decision, f.refusal) for f in tried] == [
            (MALLORY, "allow", Refusal.NOT_AN_APPROVER),
            (CAROL, "deny", Refusal.NOT_AN_APPROVER),
        ]
        await decide(on, run, BOB)
        (closed,) = await facts(on, run, TicketClosed)
        assert closed.refused == 4
        assert (await on.engine.get_run(run.id)).refused == ()

    async def test_a_crowd_of_strangers_makes_the_run_grow_only_so_much(self) -> None:
        on, run = await parked(named(BOB))
        for number in range(MOST_TOLD + 10):
            await refusal(on, run, f"UX{number}")
        full = await on.engine.get_run(run.id)

        await refusal(on, run, "UXLAST")

        after = await on.engine.get_run(run.id)
        assert len(await facts(on, run, AnswerRefused)) == MOST_TOLD
        assert len(after.model_dump_json()) <= len(full.model_dump_json()) + 1
        assert after.refused[0].count == MOST_TOLD + 11

    async def test_an_attempt_meanwhile_costs_nobody_their_vote(self) -> None:
        on, run = await parked(TWO_OF_THREE)

        said = await asyncio.gather(
            decide(on, run, BOB),
            *(refusal_of(on, run, f"UX{number}") for number in range(5)),
            decide(on, run, CAROL),
        )

        assert {said[0], said[-1]} == {"approved 1/2", "approved 2/2"}
        assert set(said[1:-1]) <= {"refused", "decided"}

    async def test_a_run_that_only_strangers_touched_is_not_shown_as_changed(self) -> None:
        on, run = await parked(named(BOB))
        on.clock.move(timedelta(minutes=5))
        await refusal(on, run, MALLORY)

        assert (await on.engine.get_run(run.id)).updated_at == run.updated_at


async def refusal_of(on: Stage, run: Run, who: str) -> str:
    try:
        await decide(on, run, who)
    except NotAllowedError:
        return "refused"
    except AlreadyDecidedError:
        return "decided"
    return "recorded"


@pytest.mark.parametrize("standing", [Standing.GUEST, Standing.BOT, Standing.OUTSIDER])
async def test_whoever_is_admitted_by_name_decides_and_their_likes_do_not(
    standing: Standing,
) -> None:
    town = Town(standings={BOB: standing, CAROL: standing})
    on, run = await parked(named(BOB, CAROL, admitted=(PersonId(BOB),)), town)

    assert (await refusal(on, run, CAROL)).value == standing.value
    assert await decide(on, run, BOB) == "approved 1/1"
