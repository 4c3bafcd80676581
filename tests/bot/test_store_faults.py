"""A store that fails or hangs while somebody presses: acknowledged in time, told the truth."""

from typing import Any, cast

import pytest

from bot.local_slack import Fault, FaultKind
from bot.metered_store import MeteredStore
from bot.server import Limits
from bot.tasks import Patience
from engine.errors import StoreUnavailableError
from notifiers import names
from tests.bot.faulty_store import FaultyStore
from tests.bot.stage import BOB, DEPLOYS, Clock, Stage, on_stage

MODES = pytest.mark.parametrize("mode", ["http", "socket"])
IMPATIENT = Limits(patience=Patience(ack=0.5, give_up=1.0), drain=2.0, goodbye=2.0)
RELAXED = Limits(patience=Patience(ack=0.5, give_up=30.0), drain=2.0, goodbye=2.0)


def make_store(clock: Clock) -> FaultyStore:
    return FaultyStore(clock=clock)


def store_of(on: Stage) -> FaultyStore:
    return cast("FaultyStore", cast("MeteredStore", on.runtime.engine.store).inner)


def scene(**more: Any) -> Any:
    return on_stage(store=make_store, **more)


@MODES
async def test_a_store_that_fails_is_told_and_pressing_again_works(mode: str) -> None:
    async with scene(mode=mode) as on:
        run, card = await on.park()
        store_of(on).broken = True

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert (await on.told(BOB)).startswith("Not recorded, as far as is known: the store")
        store_of(on).broken = False
        assert await on.run(run.id) == run
        await on.press(BOB, card)
        assert (await on.told(BOB, 2)).startswith("Recorded: approved")


@MODES
async def test_a_store_that_hangs_costs_no_ack_and_nothing_is_called_recorded(mode: str) -> None:
    async with scene(mode=mode, limits=IMPATIENT) as on:
        run, card = await on.park()
        store_of(on).gate.clear()

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert pressed.elapsed_ms < 2500
        assert (await on.told(BOB)).startswith("Not recorded, as far as is known: the store")
        store_of(on).gate.set()
        assert await on.run(run.id) == run


async def test_a_store_that_answers_after_the_ack_is_told_as_what_it_was() -> None:
    async with scene(limits=RELAXED) as on:
        _, card = await on.park()
        store_of(on).gate.clear()

        pressed = await on.press(BOB, card)
        assert pressed.acked
        assert await on.whispers(BOB) == []
        store_of(on).gate.set()

        assert (await on.told(BOB)).startswith("Recorded: approved")


async def test_an_answer_that_was_written_and_then_lost_is_found_by_pressing_again() -> None:
    async with scene() as on:
        run, card = await on.park()
        store_of(on).lose = 1
        await on.press_as_shown(BOB, card)
        assert (await on.told(BOB)).startswith("Not recorded, as far as is known")

        await on.press_as_shown(BOB, card)

        assert (await on.told(BOB, 2)).startswith("Recorded: approved")
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


async def test_a_form_keeps_what_was_typed_when_the_store_hangs() -> None:
    async with scene(limits=IMPATIENT) as on:
        run, card = await on.park("curious")
        await on.press(BOB, card, names.ANSWER)
        await on.modal(BOB)
        store_of(on).gate.clear()

        sent = await on.people.submit(BOB, {names.ANSWER_BLOCK: "CHG-7"})

        assert sent.body["response_action"] == "errors"
        assert "Not recorded" in sent.body["errors"][names.ANSWER_BLOCK]
        store_of(on).gate.set()
        await on.people.submit(BOB)
        assert (await on.told(BOB)).startswith("Recorded: answered")
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.output == "ask_human=success:CHG-7"


async def test_no_form_opens_when_the_store_fails_and_the_person_is_told() -> None:
    async with scene() as on:
        _, card = await on.park()
        store_of(on).broken = True

        pressed = await on.press(BOB, card, names.DENY_REASON)

        assert pressed.acked
        assert (await on.told(BOB)).startswith("Not recorded, as far as is known")


@MODES
async def test_a_command_is_acknowledged_though_the_store_hangs(mode: str) -> None:
    async with scene(mode=mode, limits=IMPATIENT) as on:
        store_of(on).gate.clear()

        typed = await on.people.slash(BOB, DEPLOYS, "run deployer x")

        assert typed.acked
        assert typed.elapsed_ms < 2500
        assert (await on.told(BOB)).startswith("Not recorded, as far as is known")
        store_of(on).gate.set()


async def test_a_command_that_is_late_is_answered_late() -> None:
    async with scene(limits=RELAXED) as on:
        store_of(on).gate.clear()
        typed = await on.people.slash(BOB, DEPLOYS, "run deployer x")
        assert typed.acked

        store_of(on).gate.set()

        assert (await on.told(BOB)).startswith("Started deployer")


async def test_a_card_that_cannot_be_adopted_costs_the_person_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*_: object) -> None:
        raise StoreUnavailableError("told to")

    async with scene() as on:
        _, card = await on.park()
        monkeypatch.setattr(store_of(on), "adopt_card", fail)

        await on.press(BOB, card)
        await on.bot.stop()

        (told,) = await on.whispers(BOB)
        assert told.startswith("Recorded: approved")


async def test_two_faults_at_once_still_end_in_an_answer() -> None:
    async with scene() as on:
        _, card = await on.park()
        store_of(on).broken = True
        await on.people.faults.plant(
            Fault(kind=FaultKind.SERVER_ERROR, method="response_url", times=None)
        )
        await on.people.faults.plant(
            Fault(
                kind=FaultKind.ERROR, method="chat.postEphemeral", error="not_in_channel", times=1
            )
        )

        assert (await on.press(BOB, card)).acked

        told = await on.people.wait_for_message(BOB, "D0BOB", lambda m: "Not recorded" in m["text"])
        assert told["text"].endswith("it counts only once.")
