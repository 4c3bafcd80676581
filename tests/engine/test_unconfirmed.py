"""A call whose beginning only one server knows of does not run; it waits until others know too."""

from datetime import timedelta
from typing import cast

import pytest

from engine import Allow
from engine.errors import StoreUnconfirmedError
from engine.ids import RunId
from engine.runs import CallState, RunStatus
from engine.store import Change, Claim, Done
from engine.stores.sqlite import MemoryStore
from tests.engine.scripted import (
    ALICE,
    Clock,
    Stage,
    deployer,
    person,
    stage,
)

HOUR = timedelta(hours=1)


class OneServer(MemoryStore):
    """Writes everything; while ``alone``, no other server confirms what wants to be confirmed."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.alone = False

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Commit; say so if nobody confirmed it."""
        done = await super().commit(change, claim)
        if change.confirm and self.alone:
            raise StoreUnconfirmedError("told to be alone")
        return done


async def approved() -> tuple[Stage, OneServer, RunId]:
    """Return a stage with a run whose deploy was approved and is not begun."""
    on = stage(deployer, store=OneServer)
    store = cast("OneServer", on.store)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    assert run.waiting is not None
    token = on.token(run.id, run.waiting.approval)
    await on.engine.resume(token, Allow(), actor=person(ALICE))
    return on, store, run.id


async def test_a_tool_is_not_started_while_only_one_server_knows_that_it_begins() -> None:
    on, store, run_id = await approved()
    store.alone = True

    await on.settle()

    run = await on.engine.get_run(run_id)
    kinds = [event.fact.kind for event in await on.engine.events(run_id)]
    assert on.ledger.effects == []
    assert run.batch is not None
    assert [call.state for call in run.batch.calls] == [CallState.ALLOWED]
    assert kinds[-2:] == ["call_started", "call_withheld"]


async def test_a_tool_that_was_withheld_runs_once_when_others_know_too() -> None:
    on, store, run_id = await approved()
    store.alone = True
    await on.settle()
    store.alone = False
    on.clock.move(HOUR)

    await on.settle()

    assert (await on.engine.get_run(run_id)).status is RunStatus.SUCCEEDED
    assert on.ledger.effects == ["deploy 1 prod"]


async def test_an_answer_that_only_one_server_has_is_told_to_be_so_and_counts() -> None:
    on = stage(deployer, store=OneServer)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    assert run.waiting is not None
    cast("OneServer", on.store).alone = True

    with pytest.raises(StoreUnconfirmedError):
        await on.engine.resume(on.token(run.id, run.waiting.approval), Allow(), actor=person(ALICE))

    assert (await on.engine.get_run(run.id)).status is RunStatus.QUEUED


async def test_a_cancel_wants_to_be_confirmed() -> None:
    on, store, run_id = await approved()
    store.alone = True

    with pytest.raises(StoreUnconfirmedError):
        await on.engine.cancel(run_id, actor=person(ALICE))

    assert (await on.engine.get_run(run_id)).status is RunStatus.CANCELLED
