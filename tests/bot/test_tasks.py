"""Tasks are held until they end, and whoever waits for work waits only so long."""

import asyncio
import gc

import pytest

from bot.tasks import Attempt, Patience, Tasks

SHORT = Patience(ack=0.02, give_up=0.05)


async def test_a_task_that_nobody_else_refers_to_is_not_lost() -> None:
    tasks, gate, done = Tasks(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await gate.wait()
        done.set()

    tasks.start(work())
    gc.collect()
    gate.set()
    await asyncio.wait_for(done.wait(), 1)
    await asyncio.sleep(0)

    assert len(tasks) == 0


async def test_a_task_that_someone_else_started_is_held_while_inside() -> None:
    tasks, gate = Tasks(), asyncio.Event()

    async def work() -> None:
        with tasks.current():
            await gate.wait()

    task = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    assert len(tasks) == 1
    gate.set()
    await task
    assert len(tasks) == 0


async def test_draining_waits_for_what_starts_meanwhile_too() -> None:
    tasks, said = Tasks(), []

    async def second() -> None:
        said.append("second")

    async def first() -> None:
        await asyncio.sleep(0)
        tasks.start(second())

    tasks.start(first())

    assert await tasks.drain(1) == 0
    assert said == ["second"]


async def test_draining_ends_in_time_and_tells_how_many_it_cut_short() -> None:
    tasks = Tasks()
    task = tasks.start(asyncio.Event().wait())

    assert await tasks.drain(0.01) == 1
    assert task.cancelled()


async def test_quick_work_is_there_soon() -> None:
    async def work() -> str:
        return "done"

    attempt = Attempt(asyncio.create_task(work()), SHORT)
    assert await attempt.soon() == "done"
    assert await attempt.at_last() == "done"


async def test_slow_work_goes_on_after_soon_and_is_given_up_at_last() -> None:
    task = asyncio.create_task(asyncio.Event().wait())
    attempt = Attempt(task, SHORT)

    assert await attempt.soon() is None
    assert not task.done()
    assert await attempt.at_last() is None
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_fails_raises_where_it_is_waited_for() -> None:
    async def work() -> str:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await Attempt(asyncio.create_task(work()), SHORT).soon()


async def test_draining_does_not_wait_for_ever_for_what_will_not_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.tasks._LAST_WORDS_S", 0.05)
    tasks, gate, refused = Tasks(), asyncio.Event(), asyncio.Event()

    async def stay() -> None:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            refused.set()
            await gate.wait()

    task = tasks.start(stay())
    await asyncio.sleep(0)

    assert await tasks.drain(0) == 1
    assert refused.is_set()
    gate.set()
    await task
