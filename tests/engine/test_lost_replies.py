"""A commit whose answer was lost is made again under its own name, and counts once."""

from engine import Allow
from engine.errors import StoreUnavailableError
from engine.runs import RunStatus
from engine.store import Change, Claim, Done
from engine.stores.sqlite import MemoryStore
from tests.engine.scripted import ALICE, Clock, deployer, person, stage


class LossyStore(MemoryStore):
    """Writes every commit of a worker, and loses the first answer to each."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.lost: set[str] = set()

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Commit; the first time, say nothing."""
        done = await super().commit(change, claim)
        if claim is not None and change.commit not in self.lost:
            self.lost.add(change.commit)
            raise StoreUnavailableError("told to lose the answer")
        return done


async def test_a_run_ends_as_it_should_though_every_answer_to_its_worker_was_lost() -> None:
    on = stage(deployer, store=LossyStore)
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    assert run.waiting is not None

    await on.engine.resume(on.token(run.id, run.waiting.approval), Allow(), actor=person(ALICE))
    await on.settle()

    ended = await on.engine.get_run(started.run)
    kinds = [event.fact.kind for event in await on.engine.events(run.id)]
    assert ended.status is RunStatus.SUCCEEDED
    assert on.ledger.effects == ["deploy 1 prod"]
    assert kinds.count("call_started") == kinds.count("call_finished") == 1
