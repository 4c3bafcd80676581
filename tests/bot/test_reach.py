"""An operator is told at the start whom the agents name and nobody will ask."""

import logging

import pytest

from bot.reach import unheard
from engine import Agent, Approvers
from engine.ids import PersonId
from notifiers import limits
from tests.bot.stage import ALICE, BOB, CAROL, Json, Stage, deployer, on_stage
from tests.engine.scripted import Ledger

LINE = (
    "agent deployer: dave may decide and will not be told, as no channel is set;"
    " set HOLDSHORT_SLACK_CHANNEL, or start its runs in a channel"
)


def naming(*people: str) -> list[Agent]:
    return [deployer(Ledger(), approvers=people) if people else deployer(Ledger())]


def test_whoever_is_not_on_slack_is_named() -> None:
    assert list(unheard(naming(BOB, "dave"), "")) == [LINE]


def test_more_people_than_are_asked_one_by_one_are_named() -> None:
    many = [f"U{n:03}" for n in range(limits.DIRECT + 1)]
    (line,) = unheard(naming(*many), "")
    assert f"agent deployer: {many[-1]} may decide and will not be told" in line


@pytest.mark.parametrize(
    ("more", "silent"),
    [
        ({"groups": ("S0ONCALL",)}, "user group S0ONCALL"),
        ({"channels": ("C0GENERAL",)}, "channel C0GENERAL"),
        ({"on_call": True}, "whoever is on call"),
        (
            {"groups": ("S0ONCALL",), "channels": ("C0GENERAL",), "on_call": True},
            "user group S0ONCALL, channel C0GENERAL, whoever is on call",
        ),
    ],
)
def test_groups_and_whoever_is_on_call_are_named(more: Json, silent: str) -> None:
    who = Approvers(people=(PersonId(BOB),), **more)
    on_call = (lambda _: ()) if who.on_call else None
    (line,) = unheard([deployer(Ledger(), approvers=who, on_call=on_call)], "")
    assert line.startswith(f"agent deployer: {silent} may decide and will not be told")


@pytest.mark.parametrize("people", [(), (BOB, CAROL)])
def test_people_who_are_asked_are_no_news(people: tuple[str, ...]) -> None:
    assert not list(unheard(naming(*people), ""))


def test_with_a_channel_everyone_can_be_told() -> None:
    assert not list(unheard(naming("dave"), "C0DEPLOYS"))


async def test_serving_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with on_stage(lambda _: naming(BOB, "dave"), slack_channel=""):
            pass
    assert LINE in caplog.text


async def test_without_a_channel_each_is_asked_and_one_answer_closes_every_card() -> None:
    async with on_stage(
        lambda ledger: [deployer(ledger, approvers=[BOB, CAROL])], slack_channel=""
    ) as on:
        started = await on.runtime.engine.start("deployer", "go", owner=ALICE)
        at_bob = await card_of(on, BOB, "Approve")
        await card_of(on, CAROL, "Approve")

        await on.people.click(CAROL, *(await place_of(on, CAROL)), "holdshort.approve")
        await on.until_run(started.run, lambda now: not now.live)

        for who in (BOB, CAROL):
            closed = await card_of(on, who, "Ran in")
            assert "holdshort.approve" not in str(closed)
        assert at_bob["ts"] == (await card_of(on, BOB, "Ran in"))["ts"]
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


async def place_of(on: Stage, who: str) -> tuple[str, str]:
    """Return the channel and the time stamp of the card in a person's DM."""
    ((channel, message),) = await dms(on, who)
    return channel, str(message["ts"])


async def card_of(on: Stage, who: str, holds: str) -> Json:
    """Wait until the one message in a person's DM holds some words, and return it."""

    async def look() -> Json | None:
        found = [message for _, message in await dms(on, who)]
        return found[0] if len(found) == 1 and holds in str(found[0]["blocks"]) else None

    return await on.people.wait_for(look)


async def dms(on: Stage, who: str) -> list[tuple[str, Json]]:
    state = await on.people.state(who)
    return [
        (channel["id"], message)
        for channel in state["channels"]
        if channel["id"].startswith("D")
        for message in channel["messages"]
        if not message["is_ephemeral"]
    ]
