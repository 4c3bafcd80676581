"""How many it takes: distinct people, in any order, at once, by any way in; one denial ends it."""

import asyncio
from datetime import timedelta

import pytest

from engine import Allow, Approvers, Deny, RunStatus
from engine.errors import (
    AlreadyDecidedError,
    AlreadyVotedError,
    DirectoryUnavailableError,
    Refusal,
    TicketExpiredError,
)
from engine.events import TicketClosed, VoteCast
from engine.identity import StandIn, Via
from engine.ids import PersonId
from tests.engine.deciding import (
    DAVE,
    HOUR,
    MALLORY,
    TWO_OF_THREE,
    decide,
    facts,
    named,
    parked,
    refusal,
)
from tests.engine.scripted import (
    BOB,
    CAROL,
    START,
    person,
)
from tests.engine.town import Town


class TestQuorum:
    """Two of three distinct people must allow; one Deny is enough."""

    async def test_the_second_vote_decides_and_both_are_kept(self) -> None:
        on, run = await parked(TWO_OF_THREE)

        assert await decide(on, run, BOB) == "approved 1/2"
        waiting = await on.engine.get_run(run.id)
        assert waiting.status is RunStatus.WAITING
        assert [vote.person for vote in waiting.tickets[0].votes] == [BOB]
        assert await decide(on, run, CAROL) == "approved 2/2"

        await on.settle()
        assert on.ledger.effects == ["deploy 1 prod"]
        assert [(f.vote.person, f.votes, f.needed) for f in await facts(on, run, VoteCast)] == [
            (BOB, 1, 2),
            (CAROL, 2, 2),
        ]

    async def test_one_vote_runs_nothing_and_silence_denies(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        await decide(on, run, BOB)
        await on.settle()
        on.clock.move(HOUR + timedelta(seconds=1))
        with pytest.raises(TicketExpiredError):
            await decide(on, run, CAROL)

        await on.settle()

        assert on.ledger.effects == []
        (closed,) = await facts(on, run, TicketClosed)
        assert closed.resolution.timed_out

    @pytest.mark.parametrize("first", ["nobody", BOB])
    async def test_one_denial_ends_it_whoever_allowed_before(self, first: str) -> None:
        on, run = await parked(TWO_OF_THREE)
        if first == BOB:
            await decide(on, run, BOB)

        assert (await decide(on, run, CAROL, Deny(reason="no"))).startswith("denied")

        with pytest.raises(AlreadyDecidedError):
            await decide(on, run, DAVE)
        await on.settle()
        assert on.ledger.effects == []

    async def test_someone_may_deny_after_their_own_allow(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        await decide(on, run, BOB)

        assert (await decide(on, run, BOB, Deny())).startswith("denied")

    async def test_the_same_answer_again_is_told_the_same_and_counts_once(self) -> None:
        on, run = await parked(TWO_OF_THREE)

        assert {await decide(on, run, BOB) for _ in range(3)} == {"approved 1/2"}
        assert len(await facts(on, run, VoteCast)) == 1

    @pytest.mark.parametrize("aliases", [{}, {"UBOB2": BOB}])
    async def test_one_human_counts_once_by_whatever_way_and_id_they_come(
        self, aliases: dict[str, str]
    ) -> None:
        who = named(BOB, "UBOB2", CAROL, quorum=2)
        on, run = await parked(who, Town(aliases=aliases))
        await decide(on, run, BOB)
        voted = await on.engine.get_run(run.id)

        again = "UBOB2" if aliases else BOB
        with pytest.raises(AlreadyVotedError) as told:
            await decide(on, run, again, via=Via.TERMINAL, team="")

        assert (told.value.votes, told.value.needed) == (1, 2)
        assert await on.engine.get_run(run.id) == voted

    async def test_without_a_key_a_second_vote_is_refused_as_a_second_answer(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        token = on.token(run.id, run.tickets[0].approval)
        await on.engine.resume(token, Allow(), actor=person(BOB))

        with pytest.raises(AlreadyVotedError):
            await on.engine.resume(token, Allow(), actor=person(BOB))

    async def test_a_vote_by_the_requester_does_not_count(self) -> None:
        on, run = await parked(TWO_OF_THREE, requester=BOB)

        assert await refusal(on, run, BOB) is Refusal.REQUESTER
        assert await decide(on, run, CAROL) == "approved 1/2"
        assert await decide(on, run, DAVE) == "approved 2/2"

    async def test_a_stand_in_and_whom_they_stand_in_for_are_one_seat(self) -> None:
        place = StandIn(absent=BOB, by=MALLORY, until=START + HOUR)
        on, run = await parked(named(BOB, CAROL, quorum=2, stand_ins=(place,)))

        assert await decide(on, run, MALLORY) == "approved 1/2"
        assert await decide(on, run, BOB) == "approved 1/2"
        assert await decide(on, run, CAROL) == "approved 2/2"

    async def test_whoever_stands_in_and_has_a_say_of_their_own_has_one_vote(self) -> None:
        place = StandIn(absent=BOB, by=CAROL, until=START + HOUR)
        on, run = await parked(named(BOB, CAROL, DAVE, quorum=2, stand_ins=(place,)))

        await decide(on, run, CAROL)
        with pytest.raises(AlreadyVotedError):
            await decide(on, run, CAROL, via=Via.TERMINAL, team="")

    async def test_a_vote_stands_though_the_group_changes_after_it(self) -> None:
        town = Town(groups={"S1": {BOB, CAROL}})
        on, run = await parked(Approvers(groups=("S1",), quorum=2), town)
        await decide(on, run, BOB)
        town.groups["S1"] = {CAROL, DAVE}

        assert await decide(on, run, DAVE) == "approved 2/2"

    async def test_a_directory_that_is_away_loses_no_vote(self) -> None:
        town = Town()
        on, run = await parked(TWO_OF_THREE, town)
        await decide(on, run, BOB)
        voted = await on.engine.get_run(run.id)
        town.down = True
        with pytest.raises(DirectoryUnavailableError):
            await decide(on, run, CAROL)
        assert await on.engine.get_run(run.id) == voted
        town.down = False

        assert await decide(on, run, CAROL) == "approved 2/2"

    async def test_of_many_who_vote_at_once_two_decide_and_nothing_is_lost(self) -> None:
        crowd = [PersonId(f"U{number:02}") for number in range(12)]
        on, run = await parked(named(*crowd, quorum=3))

        said = await asyncio.gather(
            *(decide(on, run, who) for who in (*crowd, *crowd)), return_exceptions=True
        )

        votes = await facts(on, run, VoteCast)
        (closed,) = await facts(on, run, TicketClosed)
        assert len({fact.vote.person for fact in votes}) == len(votes) == 3
        told = [one for one in said if isinstance(one, str)]
        assert set(told) == {"approved 1/3", "approved 2/3", "approved 3/3"}
        assert {type(one) for one in said} == {str, AlreadyDecidedError}
        assert closed.resolution.actor.id == votes[-1].vote.person

    async def test_of_allows_and_a_denial_at_once_either_the_denial_or_the_quorum_ends_it(
        self,
    ) -> None:
        on, run = await parked(TWO_OF_THREE)

        await asyncio.gather(
            decide(on, run, BOB),
            decide(on, run, CAROL),
            decide(on, run, DAVE, Deny()),
            return_exceptions=True,
        )

        (closed,) = await facts(on, run, TicketClosed)
        votes = await facts(on, run, VoteCast)
        await on.settle()
        allowed = isinstance(closed.resolution.decision, Allow)
        assert len(votes) == 2 if allowed else len(votes) < 2
        assert on.ledger.effects == (["deploy 1 prod"] if allowed else [])

    async def test_every_vote_raises_the_card(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        await decide(on, run, BOB)

        await on.engine.courier.deliver()

        shown = on.inbox.latest[f"{run.id}:{run.tickets[0].approval}"]
        assert [vote.person for vote in shown.votes] == [BOB]  # type: ignore[union-attr]
