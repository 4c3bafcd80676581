"""What changes in an agent between asking and running is never passed over in silence."""

from datetime import timedelta

from engine import Agent, Allow, RunEngine, ToolOptions
from engine.ids import Surroundings
from engine.runs import RunStatus
from tests.engine.scripted import (
    BOB,
    SECRET,
    Stage,
    advance,
    person,
    script,
)
from tests.engine.test_engine import deployer, parked


def redeployed(on: Stage, agent: Agent) -> RunEngine:
    """Return an engine with another definition on the same store."""
    return RunEngine(
        store=on.store,
        agents=[agent],
        notifiers={"owner": on.inbox},
        resume_secret=SECRET,
        surroundings=Surroundings(clock=on.clock),
    )


async def test_a_tool_that_changed_after_the_approval_is_asked_about_again() -> None:
    on, run_id, tokens = await parked()
    for token in tokens:
        await on.engine.resume(token, Allow(), actor=person(BOB))
    agent = deployer(on.ledger)
    changed = Agent(**{**agent.__dict__, "options": {"deploy": ToolOptions(version="2")}})

    engine = redeployed(on, changed)
    await advance(engine)

    run = await engine.get_run(run_id)
    assert run.status is RunStatus.WAITING
    assert on.ledger.effects == []


async def test_a_tool_that_is_gone_after_the_approval_is_blocked_and_the_model_told() -> None:
    on, run_id, tokens = await parked()
    for token in tokens:
        await on.engine.resume(token, Allow(), actor=person(BOB))
    agent = deployer(on.ledger)
    without = Agent(**{**agent.__dict__, "tools": [on.ledger.refund], "approvals": {}})

    engine = redeployed(on, without)
    await advance(engine)

    output = (await engine.get_run(run_id)).output or ""
    assert output.count("denied:blocked: the tool deploy is no longer there") == 2


async def test_an_agent_that_this_process_does_not_know_is_left_to_others() -> None:
    on, run_id, tokens = await parked()
    for token in tokens:
        await on.engine.resume(token, Allow(), actor=person(BOB))
    stranger = redeployed(on, Agent(name="other", model=script("x")))

    await advance(stranger)
    assert (await stranger.get_run(run_id)).status is RunStatus.QUEUED
    on.clock.move(timedelta(minutes=1))
    await on.settle()

    assert on.ledger.effects == ["deploy 1 prod", "deploy 2 prod"]
