"""Edit and approve: what a person made of a call's arguments is what is asked, and what runs."""

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from random import Random
from typing import Any

import pydantic
import pytest

from engine import (
    Agent,
    Allow,
    AlreadyDecidedError,
    Answer,
    Deny,
    PolicyContext,
    Run,
    RunStatus,
    Settle,
    ToolOptions,
    ask_human,
)
from engine.arguments import canonical_arguments
from engine.entries import RecordKind
from engine.errors import (
    AlreadyVotedError,
    EditFault,
    EditRefusedError,
    IdempotencyConflictError,
    InvalidArgumentsError,
    InvalidResumeTokenError,
    NotAllowedError,
    Refusal,
    TicketMismatchError,
    TokenFault,
    ToolCallError,
    UnknownAgentError,
    WrongDecisionError,
)
from engine.events import ArgumentsEdited, TicketClosed, VoteCast
from engine.identity import Via
from engine.lifecycle.answer import Judgement, answer
from engine.lifecycle.edit import Edit, arguments_of
from engine.lifecycle.execute import begin
from engine.lifecycle.propose import Gated, permission_digest
from engine.model import EDITED_NOTE
from engine.policy import Verdict
from engine.redaction import HIDDEN
from engine.schema import Json, canonical_json
from engine.tickets import UNDECLARED, Decision, ResumeCommand
from tests.engine.deciding import (
    DAVE,
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
    Ledger,
    Stage,
    person,
    repeat_results,
    returns,
    script,
    stage,
)
from tests.engine.steps import NOON, at, call, claimant, proposed
from tests.engine.town import but_for_attempts
from tests.notifiers.trees import grow_object

ONE = named(BOB)
EDIT = Allow(arguments={"version": "2"})
STAGING = Allow(arguments={"version": "1", "env": "staging"})


async def unchanged(on: Stage, run: Run) -> bool:
    return but_for_attempts(await on.engine.get_run(run.id)) == but_for_attempts(run)


async def test_the_edited_arguments_run_and_not_the_models() -> None:
    on, run = await parked(ONE)

    assert await decide(on, run, BOB, EDIT) == "approved with edits 1/1"
    await on.settle()

    assert on.ledger.effects == ["deploy 2 prod"]


async def test_the_model_is_told_what_really_ran() -> None:
    told: list[Any] = []

    def listen(messages: Any) -> Any:
        told.extend(returns(messages))
        return repeat_results(messages)

    model = script([("deploy", {"version": "1"}), ("deploy", {"version": "9"})], listen)
    on, run = await parked(ONE, model=model)

    await decide(on, run, BOB, EDIT)
    await decide(on, await on.engine.get_run(run.id), BOB)
    await on.settle()

    assert [part.content for part in told] == [
        {"note": EDITED_NOTE, "arguments": {"version": "2"}, "result": "release 2 live in prod"},
        "release 9 live in prod",
    ]


async def test_the_model_is_told_of_the_edit_too_where_a_person_had_to_say_that_it_happened() -> (
    None
):
    on, run = await parked(ONE)
    await decide(on, run, BOB, EDIT)
    taken = await on.store.claim("doomed", timedelta(seconds=10))
    assert taken is not None
    change = begin(taken[0], run.tickets[0].target.call, on.engine.surroundings.moment())
    await on.store.commit(change, taken[1])
    on.clock.move(timedelta(seconds=11))
    await on.engine.tick()

    await decide(on, await on.engine.get_run(run.id), BOB, Settle(outcome="happened"))
    await on.settle()

    output = (await on.engine.get_run(run.id)).output or ""
    assert "'arguments': {'version': '2'}" in output


async def test_a_denial_after_an_edit_tells_the_model_of_no_edit() -> None:
    on, run = await parked(TWO_OF_THREE)
    await decide(on, run, BOB, EDIT)
    await decide(on, await on.engine.get_run(run.id), CAROL, Deny(reason="no"))
    await on.settle()

    assert (await on.engine.get_run(run.id)).output == "deploy=denied:blocked: no"


async def test_both_forms_are_kept_the_digests_in_the_events_and_the_arguments_as_records() -> None:
    on, run = await parked(ONE)
    before = run.tickets[0].digest

    await decide(on, run, BOB, EDIT)

    (edited,) = await facts(on, run, ArgumentsEdited)
    assert (edited.before, edited.after) == (before, permission_digest("deploy", '{"version":"2"}'))
    assert (edited.actor.id, edited.voided) == (BOB, 0)
    kept = {record.kind: record.body for record in await on.store.records(run.id)}
    assert kept[RecordKind.ARGUMENTS] == '{"version":"1"}'
    assert json.loads(kept[RecordKind.EDIT])["arguments"] == '{"version":"2"}'
    (closed,) = await facts(on, run, TicketClosed)
    assert closed.resolution.decision == Allow()
    assert closed.resolution.edited


async def test_an_edit_to_the_same_arguments_is_an_approval() -> None:
    on, run = await parked(ONE)

    assert await decide(on, run, BOB, Allow(arguments={"version": "1"})) == "approved 1/1"

    assert await facts(on, run, ArgumentsEdited) == []


async def test_an_edit_that_is_put_back_tells_the_model_nothing() -> None:
    on, run = await parked(TWO_OF_THREE)
    await decide(on, run, BOB, EDIT)
    back = Allow(arguments={"version": "1"})
    await decide(on, await on.engine.get_run(run.id), CAROL, back)
    await decide(on, await on.engine.get_run(run.id), DAVE)
    await on.settle()

    assert (await on.engine.get_run(run.id)).output == "deploy=success:release 1 live in prod"


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({}, "version"),
        ({"version": 7}, "version"),
        ({"version": "2", "envy": "x"}, "envy"),
        ({"version": "2", "env": None}, "env"),
        ({"version": float("nan")}, ""),
        ({"version": "x" * 300_000}, ""),
        ({"version": "\ud800"}, ""),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_and_change_nothing(
    arguments: Any, about: str
) -> None:
    on, run = await parked(ONE)

    with pytest.raises(InvalidArgumentsError) as refused:
        await decide(on, run, BOB, Allow(arguments=arguments))

    assert [name for name, _ in refused.value.faults] == [about]
    assert await on.engine.get_run(run.id) == run
    assert await decide(on, run, BOB, EDIT) == "approved with edits 1/1"


async def test_arguments_nested_too_deep_are_refused() -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    on, run = await parked(ONE)

    with pytest.raises(InvalidArgumentsError, match="deeper"):
        await decide(on, run, BOB, Allow(arguments={"version": deep}))


def test_arguments_nested_beyond_reason_are_no_decision_at_all() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(pydantic.ValidationError):
        Allow(arguments={"version": deep})


def not_staging(call: dict[str, Any], _context: PolicyContext) -> str:
    return "deny" if call.get("env") == "staging" else "user"


async def test_a_policy_that_denies_the_edited_call_refuses_the_edit_and_changes_nothing() -> None:
    on, run = await parked(ONE, approvals={"deploy": not_staging})

    with pytest.raises(EditRefusedError) as refused:
        await decide(on, run, BOB, STAGING)

    assert refused.value.fault is EditFault.POLICY
    assert await on.engine.get_run(run.id) == run
    assert await decide(on, run, BOB) == "approved 1/1"


async def test_a_policy_that_fails_lets_no_edit_through() -> None:
    def fail_on_staging(call: dict[str, Any], _context: PolicyContext) -> str:
        if call.get("env") == "staging":
            raise RuntimeError("a secret of the policy's own")
        return "user"

    on, run = await parked(ONE, approvals={"deploy": fail_on_staging})

    with pytest.raises(EditRefusedError) as refused:
        await decide(on, run, BOB, STAGING)

    assert refused.value.fault is EditFault.UNCHECKED
    assert "secret" not in str(refused.value)
    assert await on.engine.get_run(run.id) == run


async def test_a_tool_may_forbid_that_it_is_edited() -> None:
    on, run = await parked(ONE, options={"deploy": ToolOptions(editable=False)})

    with pytest.raises(EditRefusedError) as refused:
        await decide(on, run, BOB, EDIT)

    assert refused.value.fault is EditFault.NOT_EDITABLE
    assert await on.engine.get_run(run.id) == run
    assert (
        await on.engine.notice(on.token(run.id, run.tickets[0].approval), Via.API)
    ).fields is None


async def test_a_question_takes_no_edit() -> None:
    def asking(_ledger: Ledger) -> Agent:
        model = script([("ask_human", {"question": "Which?"})], repeat_results)
        return Agent(name="curious", model=model, tools=[ask_human])

    on = stage(asking)
    started = await on.engine.start("curious", "go", owner=BOB)
    await on.engine.tick()
    run = await on.engine.get_run(started.run)

    with pytest.raises(WrongDecisionError):
        await decide(on, run, BOB, Allow(arguments={"question": "Another?"}))
    assert await decide(on, run, BOB, Answer(value="that")) == "answered 0/1"


async def test_a_tool_that_has_changed_since_takes_no_edit() -> None:
    on, run = await parked(ONE)
    newer = stage(
        lambda ledger: deployer(
            ledger, approvers=ONE, options={"deploy": ToolOptions(version="2")}
        ),
        store=lambda _clock: on.store,
    )

    with pytest.raises(TicketMismatchError, match="fingerprint"):
        await decide(newer, run, BOB, EDIT)
    assert await on.engine.get_run(run.id) == run


async def test_a_process_without_the_agent_takes_no_edit() -> None:
    on, run = await parked(ONE)
    other = stage(lambda _ledger: Agent(name="other", model="test"), store=lambda _clock: on.store)

    with pytest.raises(UnknownAgentError):
        await decide(other, run, BOB, EDIT)
    assert await on.engine.get_run(run.id) == run


async def test_whoever_may_not_decide_may_not_edit_and_nothing_of_the_edit_is_looked_at() -> None:
    judged: list[Any] = []

    def watch(call: dict[str, Any], _context: PolicyContext) -> str:
        judged.append(call)
        return "user"

    on, run = await parked(ONE, approvals={"deploy": watch})
    seen = len(judged)

    assert await refusal(on, run, CAROL, decision=EDIT) is Refusal.NOT_AN_APPROVER
    assert len(judged) == seen


async def test_the_requester_may_not_edit() -> None:
    on, run = await parked(named(BOB, CAROL), requester=BOB)

    assert await refusal(on, run, BOB, decision=EDIT) is Refusal.REQUESTER
    assert await decide(on, run, CAROL, EDIT) == "approved with edits 1/1"


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
        key = on.engine.answer_key(token, STAGING, actor)
        assert key == on.engine.answer_key(token, Allow(arguments=both), actor)

        first = await on.engine.resume(token, STAGING, actor=actor, idempotency_key=key)
        again = Allow(arguments=dict(reversed(both.items())))
        second = await on.engine.resume(token, again, actor=actor, idempotency_key=key)

        assert first == second
        assert len(await facts(on, run, ArgumentsEdited)) == 1

    async def test_another_edit_is_another_key_and_the_same_key_for_it_a_conflict(self) -> None:
        on, run = await parked(TWO_OF_THREE)
        token, actor = on.token(run.id, run.tickets[0].approval), person(BOB)
        words = (Allow(), EDIT, STAGING)
        keys = [on.engine.answer_key(token, word, actor) for word in words]
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
            key = on.engine.answer_key(token, word, person(who))
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


def with_secret(_ledger: Ledger, ran: list[str]) -> Agent:
    def connect(host: str, password: pydantic.SecretStr | None = None) -> str:
        """Connect to a host."""
        said = password.get_secret_value() if password else "nothing"
        ran.append(f"{host} with {said}")
        return "connected"

    model = script([("connect", {"host": "a", "password": "correct horse"})], repeat_results)
    return Agent(
        name="deployer",
        model=model,
        tools=[connect],
        approvals={"connect": "user"},
        approvers=TWO_OF_THREE,
    )


@pytest.mark.plants_secrets("a secret argument is kept as it must run", where=":memory:")
class TestSecrets:
    """What is kept secret before an edit is kept secret after it."""

    async def parked(self, ran: list[str]) -> tuple[Stage, Run]:
        on = stage(lambda ledger: with_secret(ledger, ran))
        started = await on.engine.start("deployer", "go", owner=ALICE)
        await on.engine.tick()
        return on, await on.engine.get_run(started.run)

    async def shown(self, on: Stage, run: Run) -> Any:
        await on.engine.courier.deliver()
        return on.inbox.latest[f"{run.id}:{run.tickets[0].approval}"]

    async def test_a_secret_that_an_edit_changes_is_told_as_changed_and_shown_nowhere(self) -> None:
        ran: list[str] = []
        on, run = await self.parked(ran)
        word = Allow(arguments={"host": "a", "password": "battery staple"})
        await decide(on, run, BOB, word)

        notice = await self.shown(on, run)

        assert notice.altered == ("/password",)
        assert notice.arguments["password"] == notice.original.arguments["password"] == HIDDEN
        await decide(on, run, CAROL)
        await on.settle()
        assert ran == ["a with battery staple"]
        told = (await on.engine.get_run(run.id)).output or ""
        assert "battery" not in told
        assert HIDDEN in told

    async def test_a_secret_that_an_edit_takes_away_stays_secret(self) -> None:
        on, run = await self.parked([])
        await decide(on, run, BOB, Allow(arguments={"host": "a"}))

        notice = await self.shown(on, run)

        assert notice.arguments == {"host": "a"}
        assert notice.original.arguments == {"host": "a", "password": HIDDEN}
        assert "horse" not in notice.model_dump_json()

    async def test_what_an_edit_starts_from_holds_the_secret_and_what_is_shown_does_not(
        self,
    ) -> None:
        on, run = await self.parked([])

        editing = await on.engine.editing(on.token(run.id, run.tickets[0].approval), Via.API)

        assert editing.arguments == {"host": "a", "password": "correct horse"}
        assert "horse" not in editing.notice.model_dump_json()


async def test_what_an_edit_starts_from_is_told_for_the_present_form_alone() -> None:
    on, run = await parked(TWO_OF_THREE)
    old = on.token(run.id, run.tickets[0].approval)
    await decide(on, run, BOB, EDIT)

    with pytest.raises(InvalidResumeTokenError):
        await on.engine.editing(old, Via.API)
    await on.engine.courier.deliver()
    fresh = await on.engine.editing(on.token(run.id, run.tickets[0].approval), Via.API)
    assert fresh.arguments == {"version": "2"}


async def test_an_edit_of_one_call_leaves_the_others_of_its_step_alone() -> None:
    model = script([("deploy", {"version": "1"}), ("deploy", {"version": "8"})], repeat_results)
    on, run = await parked(ONE, model=model)
    second = run.tickets[1]

    await decide(on, run, BOB, EDIT)

    now = await on.engine.get_run(run.id)
    assert now.tickets == (second,)
    await decide(on, now, BOB)
    await on.settle()
    assert on.ledger.effects == ["deploy 2 prod", "deploy 8 prod"]


def test_an_engine_loads_the_model_layer_only_when_an_edit_arrives() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import sys, bot.cli.terminal; print('pydantic_ai' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "False\n"


async def test_refused_edits_are_in_the_events_as_attempts() -> None:
    on, run = await parked(ONE)
    with pytest.raises(NotAllowedError):
        await decide(on, run, CAROL, EDIT)

    kinds = [event.fact.kind for event in await on.engine.events(run.id)]
    assert kinds[-1] == "answer_refused"
    said = canonical_json([e.model_dump(mode="json") for e in await on.engine.events(run.id)])
    assert '"version"' not in said


@pytest.mark.parametrize("many", [500, pytest.param(5_000, marks=pytest.mark.proof)])
def test_of_any_trees_what_runs_has_the_digest_that_was_approved(many: int) -> None:
    for seed in range(many):
        random = Random(seed)  # noqa: S311 - the same trees for the same seed
        try:
            own, mine = (canonical_arguments(grow_object(random)) for _ in range(2))
        except ToolCallError:
            continue
        asked = call(0, verdict=Verdict.ASK, digest=permission_digest("deploy", own))
        change = proposed(Gated(call=asked, arguments=own))
        ticket = change.run.tickets[0]
        edit = Edit(mine, permission_digest("deploy", mine), UNDECLARED)
        actor = person(BOB)
        word = Allow(arguments=json.loads(mine))
        command = ResumeCommand.from_ticket(ticket, word, actor=actor, now=NOON)
        judged = Judgement(command, claimant(ticket, actor), edit)

        decided, _ = answer(change.run, judged, at(), None)

        assert decided.run.batch is not None
        runs = decided.run.batch.call(asked.id)
        records = (*change.records, *decided.records)
        assert arguments_of(records, runs.id, "deploy", runs.digest) == mine
        assert runs.digest == edit.digest == decided.closed[0].digest
        assert arguments_of(records, runs.id, "deploy", asked.digest) == own
