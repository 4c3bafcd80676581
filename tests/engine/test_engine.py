"""The facade: keys, races, refs, cancels, and what changes between asking and running."""

import asyncio
from datetime import timedelta

import pytest

from engine import Agent, Allow, Deny, Settle
from engine.errors import (
    AlreadyDecidedError,
    DirectoryUnavailableError,
    IdempotencyConflictError,
    InvalidResumeTokenError,
    InvalidRunStateError,
    NotAllowedError,
    RunNotFoundError,
    StoreUnavailableError,
    TokenFault,
)
from engine.identity import Actor, Standing, Via
from engine.ids import RunId
from engine.lifecycle.answer import Recorded
from engine.lifecycle.execute import begin
from engine.runs import RunStatus
from engine.store import Change, Claim, Done
from engine.stores.sqlite import MemoryStore
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    Clock,
    Ledger,
    Stage,
    person,
    repeat_results,
    script,
    stage,
)
from tests.engine.town import Town, but_for_attempts


def deployer(ledger: Ledger) -> Agent:
    """Asks bob or carol for two deploys in one step."""
    calls = [("deploy", {"version": "1"}), ("deploy", {"version": "2"})]
    return Agent(
        name="deployer",
        model=script(calls, repeat_results),
        tools=[ledger.deploy],
        approvals={"deploy": "user"},
        approvers=[BOB, CAROL, ALICE],
    )


async def parked(on: Stage | None = None) -> tuple[Stage, RunId, list[str]]:
    """Return a stage with a run parked on two tickets, and their tokens in order."""
    on = on or stage(deployer)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    return on, run.id, [on.token(run.id, ticket.approval) for ticket in run.tickets]


async def test_the_same_key_and_answer_return_the_recorded_outcome_for_as_long_as_the_run() -> None:
    on, _, (token, _) = await parked()
    key = on.engine.answers.key(token, Allow(), person(BOB))

    first = await on.engine.resume(token, Allow(), actor=person(BOB), idempotency_key=key)
    on.clock.move(timedelta(days=30))
    await on.settle()
    again = await on.engine.resume(token, Allow(), actor=person(BOB), idempotency_key=key)

    assert again == first


async def test_the_same_key_for_another_answer_is_a_conflict() -> None:
    on, _, (token, _) = await parked()
    await on.engine.resume(token, Allow(), actor=person(BOB), idempotency_key="k")

    with pytest.raises(IdempotencyConflictError):
        await on.engine.resume(token, Deny(), actor=person(BOB), idempotency_key="k")
    with pytest.raises(IdempotencyConflictError):
        await on.engine.resume(token, Allow(), actor=person(CAROL), idempotency_key="k")


async def test_another_person_after_the_decision_is_told_who_decided_and_when() -> None:
    on, _, (token, _) = await parked()
    await on.engine.resume(token, Deny(), actor=person(BOB), idempotency_key="bob")

    with pytest.raises(AlreadyDecidedError) as told:
        await on.engine.resume(token, Allow(), actor=person(CAROL), idempotency_key="carol")

    assert (told.value.decision, told.value.by, told.value.at) == ("denied", BOB, on.clock.now)


async def test_twenty_identical_answers_at_once_are_one_decision_with_one_outcome() -> None:
    on, _, (token, _) = await parked()
    key = on.engine.answers.key(token, Allow(), person(BOB))

    outcomes = await asyncio.gather(
        *(
            on.engine.resume(token, Allow(), actor=person(BOB), idempotency_key=key)
            for _ in range(20)
        )
    )

    assert len({outcome.model_dump_json() for outcome in outcomes}) == 1


async def test_opposing_answers_at_once_make_one_decision_and_the_losers_know_it() -> None:
    on, run_id, (token, _) = await parked()
    people = [BOB, CAROL] * 10
    decisions = [Allow() if number % 2 else Deny() for number in range(20)]

    outcomes = await asyncio.gather(
        *(
            on.engine.resume(token, decision, actor=person(who), idempotency_key=str(number))
            for number, (who, decision) in enumerate(zip(people, decisions, strict=True))
        ),
        return_exceptions=True,
    )

    won = [outcome for outcome in outcomes if isinstance(outcome, Recorded)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, AlreadyDecidedError)]
    assert (len(won), len(lost)) == (1, 19)
    assert {(error.decision, error.by) for error in lost} == {
        (won[0].resolution.word, won[0].resolution.actor.id)
    }
    assert len((await on.engine.get_run(run_id)).tickets) == 1


async def test_tickets_of_one_step_are_answered_in_any_order_and_then_all_runs() -> None:
    on, run_id, (first, second) = await parked()

    recorded = await on.engine.resume(second, Allow(), actor=person(BOB))
    await on.settle()
    assert recorded.still_open == 1
    assert on.ledger.effects == []
    await on.engine.resume(first, Deny(reason="not 1"), actor=person(CAROL))
    await on.settle()

    assert on.ledger.effects == ["deploy 2 prod"]
    output = (await on.engine.get_run(run_id)).output or ""
    assert output.startswith("deploy=denied:blocked: not 1 | deploy=success")


@pytest.mark.parametrize(
    ("who", "standing"),
    [
        (person(ALICE), Standing.MEMBER),
        (person(BOB), Standing.GUEST),
        (person(BOB), Standing.BOT),
        (person(BOB), Standing.OUTSIDER),
        (person(BOB), Standing.UNKNOWN),
        (person(BOB).model_copy(update={"id": "UMALLORY"}), Standing.MEMBER),
    ],
)
async def test_who_may_not_decide_is_refused_and_nothing_changes(
    who: Actor, standing: Standing
) -> None:
    town = Town(standings={who.id: standing})
    on, run_id, (token, _) = await parked(stage(deployer, directory=town))
    before = await on.engine.get_run(run_id)

    with pytest.raises(NotAllowedError):
        await on.engine.resume(token, Allow(), actor=who, idempotency_key="k")

    after = await on.engine.get_run(run_id)
    assert but_for_attempts(after) == but_for_attempts(before)


async def test_a_directory_that_cannot_tell_lets_nobody_through() -> None:
    on, run_id, (token, _) = await parked(stage(deployer, directory=Town(down=True)))
    before = await on.engine.get_run(run_id)

    with pytest.raises(DirectoryUnavailableError):
        await on.engine.resume(token, Allow(), actor=person(BOB))

    assert await on.engine.get_run(run_id) == before


async def test_a_token_works_only_at_the_way_in_it_was_minted_for() -> None:
    on, _, (token, _) = await parked()

    with pytest.raises(InvalidResumeTokenError) as refused:
        await on.engine.resume(token, Allow(), actor=person(BOB, Via.SLACK))

    assert refused.value.fault is TokenFault.WRONG_AUDIENCE


class FailingStore(MemoryStore):
    """Fails the next commits."""

    failures = 0

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Fail, or commit."""
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("the store did not answer")
        return await super().commit(change, claim)


async def test_an_answer_that_could_not_be_written_leaves_the_token_good() -> None:
    stores: list[FailingStore] = []

    def make(clock: Clock) -> FailingStore:
        stores.append(FailingStore(clock=clock))
        return stores[0]

    on, run_id, (token, _) = await parked(stage(deployer, store=make))
    stores[0].failures = 1

    with pytest.raises(StoreUnavailableError):
        await on.engine.resume(token, Allow(), actor=person(BOB), idempotency_key="k")
    assert (await on.engine.get_run(run_id)).status is RunStatus.WAITING
    await on.engine.resume(token, Allow(), actor=person(BOB), idempotency_key="k")


async def test_a_start_key_starts_one_run_however_often_it_comes() -> None:
    on = stage(deployer)

    started = await asyncio.gather(
        *(on.engine.start("deployer", "go", owner=ALICE, idempotency_key="k") for _ in range(5))
    )

    assert len({one.run for one in started}) == 1
    with pytest.raises(IdempotencyConflictError):
        await on.engine.start("deployer", "else", owner=ALICE, idempotency_key="k")


async def test_a_person_names_a_ticket_by_its_ref_however_they_type_it() -> None:
    on, run_id, _ = await parked()
    ticket = (await on.engine.get_run(run_id)).tickets[1]

    typed = f" {ticket.ref.lower().replace('0', 'o').replace('1', 'l')} "
    run, found = await on.engine.answers.find(typed)

    assert (run.id, found) == (run_id, ticket)


async def test_a_runs_ref_is_enough_only_where_one_ticket_is_open() -> None:
    on, run_id, (token, _) = await parked()
    run = await on.engine.get_run(run_id)

    with pytest.raises(InvalidRunStateError, match=run.tickets[0].ref):
        await on.engine.answers.find(run.ref)
    await on.engine.resume(token, Allow(), actor=person(BOB))
    assert (await on.engine.answers.find(run.ref))[1].ref == run.tickets[1].ref


async def test_the_ref_of_a_closed_ticket_still_leads_to_what_became_of_it() -> None:
    on, run_id, (token, _) = await parked()
    ref = (await on.engine.get_run(run_id)).tickets[0].ref
    await on.engine.resume(token, Deny(), actor=person(BOB))

    minted = await on.engine.token_for(ref, Via.TERMINAL)

    with pytest.raises(AlreadyDecidedError):
        await on.engine.resume(minted, Allow(), actor=person(CAROL, Via.TERMINAL))


@pytest.mark.parametrize("name", ["ZZZZZZ", "run_unknown"])
async def test_a_name_that_nothing_has_is_named_in_the_refusal(name: str) -> None:
    on = stage(deployer)

    with pytest.raises(RunNotFoundError, match=name):
        await on.engine.get_run(name)


async def test_a_cancel_withdraws_the_tickets_and_a_late_answer_is_told_so() -> None:
    on, run_id, (token, _) = await parked()

    await on.engine.cancel(run_id, actor=person(ALICE))
    await on.settle()

    with pytest.raises(AlreadyDecidedError, match="withdrawn"):
        await on.engine.resume(token, Allow(), actor=person(BOB))
    assert on.ledger.effects == []
    assert (await on.engine.get_run(run_id)).status is RunStatus.CANCELLED


async def test_only_who_has_to_do_with_a_run_may_cancel_it() -> None:
    on, run_id, _ = await parked()
    mallory = person(BOB).model_copy(update={"id": "UMALLORY"})

    with pytest.raises(NotAllowedError):
        await on.engine.cancel(run_id, actor=mallory)


async def test_a_cancel_while_a_tool_runs_takes_effect_with_its_result() -> None:
    running, let_go = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Take time."""
        running.set()
        await let_go.wait()
        return "done"

    on = stage(lambda _: Agent(name="a", model=script([("slow", {})], "never said"), tools=[slow]))
    started = await on.engine.start("a", "go", owner=ALICE)
    advancing = asyncio.create_task(on.advance())
    await running.wait()

    assert (await on.engine.get_run(started.run)).status is RunStatus.RUNNING
    await on.engine.cancel(started.run, actor=person(ALICE))
    let_go.set()
    await advancing

    run = await on.engine.get_run(started.run)
    kinds = [event.fact.kind for event in await on.engine.events(run.id)]
    assert run.status is RunStatus.CANCELLED
    assert kinds[-3:] == ["cancel_requested", "call_finished", "run_cancelled"]


async def test_a_run_cancelled_while_its_model_thinks_ends_without_another_step() -> None:
    on = stage(deployer)
    started = await on.engine.start("deployer", "go", owner=ALICE)
    taken = await on.store.claim("w", timedelta(seconds=10))
    assert taken is not None

    await on.engine.cancel(started.run, actor=person(ALICE))
    await on.settle()

    assert (await on.engine.get_run(started.run)).status is RunStatus.CANCELLED
    assert not on.inbox.tokens


async def test_an_unknown_outcome_is_settled_by_the_approvers() -> None:
    on, run_id, tokens = await parked()
    for token in tokens:
        await on.engine.resume(token, Allow(), actor=person(BOB))
    await lose_a_worker(on)

    await on.settle()
    run = await on.engine.get_run(run_id)
    assert run.waiting is not None
    assert run.waiting.target.kind == "outcome_unknown"
    token = await on.engine.token_for(run.waiting.ref, Via.TERMINAL)
    happened = Settle(outcome="happened", value="1 is live")
    with pytest.raises(NotAllowedError):
        await on.engine.resume(token, happened, actor=person(ALICE, Via.TERMINAL))
    await on.engine.resume(token, happened, actor=person(CAROL, Via.TERMINAL))
    await on.settle()

    output = (await on.engine.get_run(run_id)).output or ""
    assert "deploy=success:1 is live" in output
    assert on.ledger.effects == ["deploy 2 prod"]


async def lose_a_worker(on: Stage) -> None:
    """Let a worker commit ``executing`` of its next call and be gone."""
    taken = await on.store.claim("lost", timedelta(seconds=10))
    assert taken is not None
    run, claim = taken
    assert run.batch is not None
    change = begin(run, run.batch.calls[0].id, on.engine.surroundings.moment())
    await on.store.commit(change, claim)
    on.clock.move(timedelta(minutes=11))
