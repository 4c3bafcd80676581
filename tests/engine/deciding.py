"""A run that waits for a permission, and people who answer it."""

from datetime import timedelta
from typing import Any

import pytest

from engine import Agent, Allow, Approvers, Run
from engine.errors import (
    NotAllowedError,
    Refusal,
)
from engine.identity import Via
from engine.ids import PersonId
from engine.tickets import Decision
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    Ledger,
    Stage,
    person,
    repeat_results,
    script,
    stage,
)
from tests.engine.town import Town, but_for_attempts

DAVE, MALLORY = PersonId("UDAVE"), PersonId("UMALLORY")
HOUR = timedelta(hours=1)


def named(*people: str, **more: Any) -> Approvers:
    return Approvers(people=tuple(PersonId(who) for who in people), **more)


def deployer(ledger: Ledger, **more: Any) -> Agent:
    model = script([("deploy", {"version": "1"})], repeat_results)
    usual: dict[str, Any] = {
        "model": model,
        "tools": [ledger.deploy],
        "approvals": {"deploy": "user"},
    }
    return Agent(name="deployer", approval_timeout=HOUR, **(usual | more))


async def parked(
    approvers: Approvers, town: Town | None = None, requester: str = ALICE, **more: Any
) -> tuple[Stage, Run]:
    on = stage(lambda on: deployer(on, approvers=approvers, **more), directory=town or Town())
    started = await on.engine.start("deployer", "go", owner=ALICE, requester=requester)
    await on.engine.tick()
    return on, await on.engine.get_run(started.run)


async def decide(
    on: Stage,
    run: Run,
    who: str,
    decision: Decision | None = None,
    via: Via = Via.SLACK,
    team: str = "T1",
) -> str:
    """Answer as a person does, under the key of their answer; return what was recorded."""
    given, actor = decision or Allow(), person(PersonId(who), via, team)
    token = await on.engine.token_for(run.tickets[0].ref, via)
    key = on.engine.answers.key(token, given, actor)
    told = await on.engine.resume(token, given, actor=actor, idempotency_key=key)
    return f"{told.resolution.word} {told.votes}/{told.needed}"


async def refusal(on: Stage, run: Run, who: str, **more: Any) -> Refusal:
    """Return why somebody is refused, once it is sure that the run stands as it did."""
    with pytest.raises(NotAllowedError) as refused:
        await decide(on, run, who, **more)
    assert but_for_attempts(await on.engine.get_run(run.id)) == but_for_attempts(run)
    return refused.value.refusal


async def facts(on: Stage, run: Run, kind: type[Any]) -> list[Any]:
    return [e.fact for e in await on.engine.events(run.id) if isinstance(e.fact, kind)]


TWO_OF_THREE = named(BOB, CAROL, DAVE, quorum=2)
