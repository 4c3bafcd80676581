"""Every card reaches the present state; every wait is shown at least once."""

import asyncio
from datetime import timedelta
from typing import cast

import pytest

from engine import Agent, Allow, Deny
from engine.cards import EffectState, Notice, OutcomeNotice, Receipt, Role, TicketNotice
from engine.errors import DeliveryError
from engine.identity import Via
from engine.ids import RunId
from engine.runs import RunStatus
from notifiers.inbox import InboxNotifier
from tests.engine.scripted import (
    ALICE,
    BOB,
    Ledger,
    Stage,
    person,
    repeat_results,
    script,
    stage,
)


def deployer(ledger: Ledger) -> Agent:
    """Asks bob for every deploy."""
    return Agent(
        name="deployer",
        model=script([("deploy", {"version": "1.4.2"})], repeat_results),
        tools=[ledger.deploy],
        approvals={"deploy": "user"},
        approvers=[BOB],
    )


async def parked() -> tuple[Stage, str, str]:
    """Return a stage with a run parked and shown, the run's id and the approval's."""
    on = stage(deployer)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.settle()
    run = await on.engine.get_run(started.run)
    assert run.waiting is not None
    return on, run.id, run.waiting.approval


def ask_of(on: Stage, run: str, approval: str) -> TicketNotice:
    """Return the latest ask card."""
    return cast("TicketNotice", on.inbox.latest[f"{run}:{approval}"])


async def test_a_parked_run_is_shown_to_the_approvers_and_the_owner_is_told() -> None:
    on, run, approval = await parked()

    assert set(on.inbox.latest) == {f"{run}:{approval}", f"{run}:{approval}:asked"}
    ask = ask_of(on, run, approval)
    assert ask.arguments == {"version": "1.4.2"}
    assert ask.says == "I would like to."
    assert ask.token is not None


async def test_the_word_to_the_owner_has_no_token_and_links_to_the_ask() -> None:
    on, run, approval = await parked()

    asked = cast("TicketNotice", on.inbox.latest[f"{run}:{approval}:asked"])

    assert asked.token is None
    assert asked.ask is not None


async def test_the_card_tells_decision_then_running_then_result() -> None:
    on, run, approval = await parked()
    await on.engine.resume(on.token(run, approval), Allow(), actor=person(BOB))

    await on.engine.courier.deliver()
    decided = ask_of(on, run, approval)
    await on.settle()
    done = ask_of(on, run, approval)

    assert decided.token is None
    assert decided.effect is not None
    assert decided.effect.state is EffectState.PENDING
    assert done.effect is not None
    assert done.effect.state is EffectState.FINISHED
    assert done.effect.text == "release 1.4.2 live in prod"


async def test_the_owner_is_told_who_decided_and_how_it_ended() -> None:
    on, run, approval = await parked()

    await on.engine.resume(on.token(run, approval), Deny(reason="no"), actor=person(BOB))
    await on.settle()

    decided = cast("TicketNotice", on.inbox.latest[f"{run}:{approval}:decided"])
    outcome = cast("OutcomeNotice", on.inbox.latest[f"{run}:outcome"])
    assert decided.resolution is not None
    assert decided.resolution.actor.id == BOB
    assert outcome.status is RunStatus.SUCCEEDED


async def test_a_failed_delivery_is_tried_again_with_growing_pauses_and_loses_nothing() -> None:
    on = stage(deployer)
    on.inbox.fail(times=4)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)
    tries = 0
    while not on.inbox.tokens:
        await on.engine.tick()
        on.clock.move(timedelta(seconds=1))
        tries += 1

    run = await on.engine.get_run(started.run)
    assert run.waiting is not None
    assert 2 < tries < 20


async def test_a_pause_that_the_other_side_asks_for_is_kept() -> None:
    on = stage(deployer)
    on.inbox.fail(times=2, error=DeliveryError("slow down", retry_after=30))
    await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.settle()

    on.clock.move(timedelta(seconds=29))
    await on.settle()
    assert not on.inbox.tokens
    on.clock.move(timedelta(seconds=1))
    await on.settle()
    assert on.inbox.tokens


async def test_nothing_is_shown_of_a_ticket_that_closed_before_it_could_be() -> None:
    on = stage(deployer)
    on.inbox.fail(times=2)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.settle()
    await on.engine.cancel(started.run, actor=person(ALICE))

    on.clock.move(timedelta(minutes=5))
    await on.settle()

    assert not on.inbox.tokens
    assert not [key for key in on.inbox.latest if key.endswith(":asked")]


class HeldNotifier:
    """Accepts a card at once and returns the receipt only when it is let go."""

    audience = Via.API

    def __init__(self) -> None:
        self.accepted = asyncio.Event()
        self.let_go = asyncio.Event()
        self.shown: list[Notice] = []

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:
        """Show it, and hold the receipt of the first."""
        self.shown.append(notice)
        if receipt is None and notice.kind == "ticket" and notice.role is Role.ASK:
            self.accepted.set()
            await self.let_go.wait()
        return receipt or Receipt(place="C1", id=notice.idempotency)


async def test_a_decision_while_the_first_post_is_in_flight_still_closes_the_card() -> None:
    held = HeldNotifier()
    on = stage(deployer, notifier=held)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.advance()
    posting = asyncio.create_task(on.engine.courier.deliver())
    await held.accepted.wait()

    token = await on.engine.token_for(started.ref, Via.API)
    await on.engine.resume(token, Deny(), actor=person(BOB))
    held.let_go.set()
    await posting
    await on.settle()

    last = [n for n in held.shown if n.kind == "ticket" and n.role is Role.ASK][-1]
    assert last.resolution is not None
    assert last.token is None


async def test_silence_while_the_first_post_is_in_flight_still_closes_the_card() -> None:
    held = HeldNotifier()
    on = stage(deployer, notifier=held)
    await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.advance()
    posting = asyncio.create_task(on.engine.courier.deliver())
    await held.accepted.wait()

    on.clock.move(timedelta(hours=24, microseconds=1))
    await on.engine.sweeper.sweep()
    held.let_go.set()
    await posting
    await on.settle()

    last = [n for n in held.shown if n.kind == "ticket" and n.role is Role.ASK][-1]
    assert last.resolution is not None
    assert last.resolution.timed_out


class EachNotifier(InboxNotifier):
    """Posts every ask twice, as where two people are asked one by one."""

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:
        """Show it, and name the second post with the first."""
        shown = await super().show(notice, receipt)
        if receipt is None and notice.kind == "ticket" and notice.role is Role.ASK:
            return shown.model_copy(update={"also": (Receipt(place="D2", id="second"),)})
        return shown


async def test_every_post_of_a_card_has_a_row_of_its_own_and_is_closed() -> None:
    each = EachNotifier()
    on = stage(deployer, notifier=each)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)
    await on.settle()
    token = await on.engine.token_for(started.ref, Via.API)
    await on.engine.resume(token, Deny(), actor=person(BOB))
    await on.settle()

    cards = [card for card in await on.store.cards(started.run) if card.key.role is Role.ASK]
    assert [card.receipt.id for card in cards if card.receipt][1:] == ["second"]
    assert all(card.receipt is None or card.receipt.also == () for card in cards)
    assert all(card.shown >= card.wanted for card in cards)


async def test_a_second_post_whose_receipt_was_lost_is_adopted_and_closed_too() -> None:
    on, run, approval = await parked()
    token = on.token(run, approval)
    await on.engine.adopt(token, Via.API, "owner", Receipt(place="C1", id="orphan"))

    await on.engine.resume(token, Deny(), actor=person(BOB))
    await on.settle()

    cards = [c for c in await on.store.cards(RunId(run)) if c.key.role is Role.ASK]
    final = (await on.engine.get_run(run)).version
    assert {c.receipt.id for c in cards if c.receipt} == {f"{run}:{approval}", "orphan"}
    assert all(0 < c.shown <= final and c.shown >= c.wanted for c in cards)


class BrokenNotifier:
    """Fails in a way that nobody foresaw, for one kind of card."""

    audience = Via.API

    def __init__(self, fault: type[BaseException]) -> None:
        self.shown: list[Notice] = []
        self.fault = fault

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:
        """Show it, unless it asks."""
        if notice.kind == "ticket" and notice.role is Role.ASK:
            raise self.fault
        self.shown.append(notice)
        return receipt or Receipt(place="C1", id=notice.idempotency)


class MuteError(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise SystemExit(4)


@pytest.mark.parametrize(
    "fault", [ZeroDivisionError, SystemExit, KeyboardInterrupt, asyncio.CancelledError, MuteError]
)
async def test_a_fault_nobody_foresaw_is_reported_and_stops_no_other_card(
    fault: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    notifier = BrokenNotifier(fault)
    on = stage(deployer, notifier=notifier)
    started = await on.engine.start("deployer", "deploy", owner=ALICE)

    await on.settle()
    on.clock.move(timedelta(seconds=1))
    await on.settle()

    assert (await on.engine.get_run(started.run)).waiting is not None
    assert [notice.kind for notice in notifier.shown] == ["ticket"]
    assert caplog.text.count(fault.__name__) == 1
