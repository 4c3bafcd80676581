"""The primary is lost: no confirmed decision goes with it, and of any other a person was told."""

import pytest

from engine.events import TicketClosed
from engine.runs import Run, RunStatus
from tests.bot.redis_stage import NOT_RECORDED, on_server, until_ready
from tests.bot.stage import BOB, Json, Stage
from tests.servers.binaries import valkey
from tests.servers.proxy import Fault, FaultProxy
from tests.servers.replicas import Pair, SentinelSet, follow

UNCONFIRMED = "Not yet confirmed: this is recorded on one server only"
RUNS = 4
Parked = tuple[Run, Json]


async def press_all(on: Stage, parked: list[Parked]) -> list[str]:
    """Approve of each, and return what was said to that."""
    return [await press(on, card) for _, card in parked]


async def press(on: Stage, card: Json) -> str:
    """Approve, again while the store is too slow to answer in time, and return what was said."""
    while True:
        before = len(await on.whispers(BOB))
        assert (await on.press_as_shown(BOB, card)).acked
        said = await on.told(BOB, before + 1)
        if not said.startswith(NOT_RECORDED):
            return said


async def is_decided(on: Stage, run: Run) -> bool:
    """Tell whether the store knows of a decision."""
    events = await on.runtime.engine.events(run.id)
    return any(isinstance(event.fact, TicketClosed) for event in events)


async def shown_open(on: Stage, card: Json) -> bool:
    """Tell whether the card still has its buttons."""
    message = on.slack.workspace.messages.in_channel(card["channel"])
    blocks = next(one.blocks for one in message if one.ts == card["ts"])
    return any(block["type"] == "actions" for block in blocks)


async def partition_and_promote() -> None:
    """Cut the replica off while people press, and let it take over."""
    async with Pair(valkey()) as pair, FaultProxy(pair.master.port) as front:
        await pair.settle()
        async with on_server(front.url, store_replicas=1) as on:
            parked = [await on.park() for _ in range(RUNS)]
            early, late = parked[: RUNS // 2], parked[RUNS // 2 :]
            said = await press_all(on, early)
            assert all(words.startswith("Recorded: approved") for words in said), said
            pair.line.apply(Fault.BLACK_HOLE)
            said = await press_all(on, late)
            assert all(words.startswith(UNCONFIRMED) for words in said), said

            pair.promote()
            front.redirect(pair.replica.port)
            follow(pair.master, pair.replica.port)
            await until_ready(on)

            assert [await is_decided(on, run) for run, _ in parked] == [True] * 2 + [False] * 2
            assert [await shown_open(on, card) for _, card in late] == [True] * 2
            said = await press_all(on, late)
            assert all(words.startswith("Recorded: approved") for words in said), said
            for run, _ in late:
                ended = await on.until_run(run.id, lambda now: not now.live)
                assert ended.status is RunStatus.SUCCEEDED
            assert len(on.ledger.effects) <= RUNS


@pytest.mark.parametrize("time", range(2))
async def test_no_confirmed_decision_is_lost_with_the_primary(time: int) -> None:
    await partition_and_promote()


@pytest.mark.proof
@pytest.mark.parametrize("time", range(20))
async def test_no_confirmed_decision_is_lost_with_the_primary_however_often(time: int) -> None:
    await partition_and_promote()


async def hang_and_fail_over() -> None:
    """Stop the primary's clock while somebody presses, and let the Sentinels promote the other."""
    with SentinelSet(valkey()) as watched:
        async with on_server(watched.url, store_replicas=1) as on:
            run, card = await on.park()
            before = watched.master()
            before.pause()

            pressed = await on.press(BOB, card)

            assert pressed.acked
            assert pressed.elapsed_ms < 3000
            assert (await on.told(BOB)).startswith(NOT_RECORDED)
            after = watched.wait_promoted(before)
            before.kill()
            before.start()
            follow(before, after.port)
            await until_ready(on)
            assert not await is_decided(on, run)
            said = await press_all(on, [(run, card)])
            assert said[0].startswith("Recorded: approved")
            await on.until_run(run.id, lambda now: not now.live)
            assert on.ledger.effects == ["deploy 1.4.2 prod"]


async def test_a_press_is_answered_in_time_while_the_primary_hangs_and_counts_after() -> None:
    await hang_and_fail_over()


@pytest.mark.proof
@pytest.mark.parametrize("time", range(20))
async def test_a_press_is_answered_in_time_however_often_the_primary_hangs(time: int) -> None:
    await hang_and_fail_over()
