"""Edits where several must allow, edits sent twice, and edits that race."""

import asyncio
from typing import Any

import pytest

from engine import (
    Allow,
    AlreadyDecidedError,
    Deny,
    RunStatus,
    ToolOptions,
)
from engine.errors import (
    AlreadyVotedError,
    IdempotencyConflictError,
    InvalidResumeTokenError,
    TokenFault,
)
from engine.events import ArgumentsEdited, TicketClosed, VoteCast
from engine.schema import Json
from engine.tickets import Decision
from tests.engine.deciding import (
    DAVE,
    TWO_OF_THREE,
    decide,
    facts,
    named,
    parked,
)
from tests.engine.scripted import (
    BOB,
    CAROL,
    person,
)

EDIT = Allow(arguments={"version": "2"})
STAGING = Allow(arguments={"version": "1", "env": "staging"})


class TestQuorum:
    """Several must allow: the edit is asked of the others anew."""

    async def test_an_edit_voids_the_votes_and_counts_for_its_own_form(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        await decide(on, run, BOB)

        assert await decide(on, run, CAROL, EDIT) == "approved with edits 1/2"

        (ticket,) = (await on.engine.get_run(run.id)).tickets
        assert [vote.person for vote in ticket.votes] == [CAROL]
        assert ticket.edited is not None
        assert (ticket.edited.original, ticket.edited.by[0].id) == (run.tickets[0].digest, CAROL)
        (edited,) = await facts(on, run, ArgumentsEdited)
        assert edited.voided == 1

    async def test_whoever_voted_before_the_edit_is_asked_anew(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        await decide(on, run, BOB)
        await decide(on, run, CAROL, EDIT)

        assert await decide(on, run, BOB) == "approved 2/2"
        await on.settle()

        assert on.ledger.effects == ["deploy 2 prod"]

    async def test_the_editor_cannot_approve_their_own_edit_a_second_time(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        await decide(on, run, CAROL, EDIT)

        with pytest.raises(AlreadyVotedError):
            await decide(on, run, CAROL)

    async def test_a_card_from_before_the_edit_cannot_approve_what_it_does_not_show(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        old = on.token(run.id, run.tickets[0].approval)
        await decide(on, run, CAROL, EDIT)

        words: list[Decision] = [Allow(), Deny(), STAGING]
        for word in words:
            with pytest.raises(InvalidResumeTokenError) as refused:
                await on.engine.resume(old, word, actor=person(BOB), idempotency_key="k")
            assert refused.value.fault is TokenFault.SUPERSEDED
        assert (await on.engine.get_run(run.id)).tickets[0].counted == 1

    async def test_the_card_is_raised_with_what_is_asked_now_and_a_token_for_that(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        approval = run.tickets[0].approval
        await decide(on, run, CAROL, EDIT)

        await on.engine.courier.deliver()

        shown: Any = on.inbox.latest[f"{run.id}:{approval}"]
        assert (shown.arguments, shown.original.arguments) == ({"version": "2"}, {"version": "1"})
        assert shown.edited.by[0].id == CAROL
        told = await on.engine.resume(on.token(run.id, approval), Allow(), actor=person(BOB))
        assert (told.votes, told.needed) == (2, 2)

    async def test_a_second_edit_starts_from_the_first_and_both_editors_are_named(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        await decide(on, run, BOB, EDIT)
        await decide(on, run, CAROL, STAGING)
        await decide(on, run, BOB)
        await on.settle()

        first, second = await facts(on, run, ArgumentsEdited)
        assert first.after == second.before
        (closed,) = await facts(on, run, TicketClosed)
        kept = (await on.store.load(run.id, approval=closed.approval)).closed
        assert kept is not None
        assert kept.edited is not None
        assert [actor.id for actor in kept.edited.by] == [BOB, CAROL]
        assert on.ledger.effects == ["deploy 1 staging"]

    async def test_the_title_and_the_secrets_are_those_of_the_edited_call(self) -> None:
        describe = ToolOptions(describe=lambda call: f"Version {call['version']}")
        on, run = await parked(TWO_OF_THREE, options={"deploy": describe})
        assert run.tickets[0].declared.title == "Version 1"

        await decide(on, run, BOB, EDIT)

        assert (await on.engine.get_run(run.id)).tickets[0].declared.title == "Version 2"


class TestKeys:
    """An edit is a word of its own, and the same edit again is the same word."""

    async def test_the_same_edit_again_returns_what_was_recorded(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        token, actor = on.token(run.id, run.tickets[0].approval), person(BOB)
        both: dict[str, Json] = {"env": "staging", "version": "1"}
        key = on.engine.answers.key(token, STAGING, actor)
        assert key == on.engine.answers.key(token, Allow(arguments=both), actor)

        first = await on.engine.resume(token, STAGING, actor=actor, idempotency_key=key)
        again = Allow(arguments=dict(reversed(both.items())))
        second = await on.engine.resume(token, again, actor=actor, idempotency_key=key)

        assert first == second
        assert len(await facts(on, run, ArgumentsEdited)) == 1

    async def test_another_edit_is_another_key_and_the_same_key_for_it_a_conflict(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        token, actor = on.token(run.id, run.tickets[0].approval), person(BOB)
        words = (Allow(), EDIT, STAGING)
        keys = [on.engine.answers.key(token, word, actor) for word in words]
        assert len(set(keys)) == 3

        await on.engine.resume(token, EDIT, actor=actor, idempotency_key=keys[1])

        with pytest.raises(IdempotencyConflictError):
            await on.engine.resume(token, STAGING, actor=actor, idempotency_key=keys[1])


class TestRaces:
    """Whatever comes at once, one decision falls, on arguments that somebody approved."""

    @pytest.mark.parametrize("turn", range(6))
    async def test_of_an_edit_an_approval_and_a_denial_at_once_one_decides(self, turn: int) -> None:
        on, run = await parked(named(BOB, CAROL, DAVE))
        words: list[tuple[str, Decision]] = [(BOB, EDIT), (CAROL, Allow()), (DAVE, Deny())]
        words = words[turn % 3 :] + words[: turn % 3]
        words = words if turn < 3 else words[::-1]

        said = await asyncio.gather(
            *(decide(on, run, who, word) for who, word in words), return_exceptions=True
        )
        await on.settle()

        assert sum(isinstance(one, str) for one in said) == 1
        lost = [one for one in said if not isinstance(one, str)]
        assert {type(one) for one in lost} == {AlreadyDecidedError}
        (closed,) = await facts(on, run, TicketClosed)
        end = closed.resolution
        ran = {"approved": ["deploy 1 prod"], "approved with edits": ["deploy 2 prod"]}
        assert on.ledger.effects == ran.get(end.word, [])

    async def test_of_an_edit_and_votes_at_once_no_vote_counts_for_what_it_was_not_for(
        self,
    ) -> None:
        on, run = await parked(named(BOB, CAROL, DAVE, quorum=2))
        token = on.token(run.id, run.tickets[0].approval)

        async def say(who: Any, word: Decision) -> Any:
            key = on.engine.answers.key(token, word, person(who))
            return await on.engine.resume(token, word, actor=person(who), idempotency_key=key)

        await asyncio.gather(
            say(BOB, EDIT), say(CAROL, Allow()), say(DAVE, STAGING), return_exceptions=True
        )

        digest = run.tickets[0].digest
        votes: set[str] = set()
        for event in await on.engine.events(run.id):
            match event.fact:
                case ArgumentsEdited(after=after):
                    digest, votes = after, set()
                case VoteCast(vote=vote):
                    votes.add(vote.person)
                case _:
                    pass
        now = await on.engine.get_run(run.id)
        assert now.status is RunStatus.WAITING
        assert now.tickets[0].digest == digest
        assert {vote.person for vote in now.tickets[0].votes} == votes
