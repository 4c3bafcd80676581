"""Groups, quorum and whoever is on call, as people in Slack and at a terminal meet them."""

import asyncio
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.bootstrap import open_runtime
from bot.cli.terminal import Terminal
from bot.local_slack import Fault, FaultKind, LocalSlack, UserGroup
from bot.settings import Purpose, SettingsError, given_settings
from engine import Allow, Approvers, PolicyContext, RunStatus, Via
from engine.ids import PersonId
from notifiers import names
from tests.bot.stage import (
    ALICE,
    BOB,
    CAROL,
    DEPLOYS,
    RESUME_SECRET,
    Stage,
    deployer,
    on_stage,
    settings_for,
)
from tests.bot.test_health import ask
from tests.engine.scripted import Ledger

ONCALL = "S0ONCALL"


def in_group(**more: Any) -> Approvers:
    return Approvers(groups=(ONCALL,), **more)


async def card_says(on: Stage, card: dict[str, Any], *parts: str) -> str:
    """Wait until the card says all of this, and return all that it says."""

    def holds(message: dict[str, Any]) -> bool:
        return message["ts"] == card["ts"] and all(part in str(message) for part in parts)

    return str(await on.people.wait_for_message(BOB, DEPLOYS, holds))


async def test_each_vote_is_on_the_card_at_once_and_the_last_one_runs_the_call() -> None:
    async with on_stage(lambda on: [deployer(on, approvers=in_group(quorum=2))]) as on:
        run, card = await on.park(owner=ALICE)
        assert f"asks <!subteam^{ONCALL}>" in str(card)
        assert "0 of 2 approved" in str(card)

        await on.press(BOB, card)

        ref = run.tickets[0].ref
        assert await on.told(BOB) == f"Recorded: approved ({ref}). 1 of 2; waiting for one more."
        shown = await card_says(on, card, "1 of 2 approved: <@U0BOB> <!date^")
        assert names.APPROVE in shown
        assert on.ledger.effects == []

        await on.press(CAROL, card)

        await card_says(on, card, "by <@U0BOB> and <@U0CAROL>")
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.status is RunStatus.SUCCEEDED
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


async def test_who_is_in_a_group_is_judged_at_the_press() -> None:
    async with on_stage(lambda on: [deployer(on, approvers=in_group())]) as on:
        run, card = await on.park(owner=ALICE)
        on.clock.move(timedelta(minutes=2))
        on.slack.world.put_group(
            UserGroup(id=ONCALL, handle="oncall", name="On call", users=(CAROL,))
        )

        await on.press(BOB, card)
        assert await on.told(BOB) == f"Only <!subteam^{ONCALL}> can decide this; nothing changed."
        assert await on.unchanged(run)
        await on.press(CAROL, card)

        assert (await on.told(CAROL)).startswith("Recorded: approved")


@pytest.mark.parametrize(
    "away", [("users.info", "usergroups.users.list"), ("usergroups.users.list",)]
)
async def test_while_slack_is_away_nobody_decides_it_says_so_and_readiness_is_red(
    away: tuple[str, ...],
) -> None:
    async with on_stage(lambda on: [deployer(on, approvers=in_group())]) as on:
        run, card = await on.park(owner=ALICE)
        on.clock.move(timedelta(minutes=2))
        for method in away:
            fault = Fault(kind=FaultKind.SERVER_ERROR, method=method, times=None)
            await on.people.faults.plant(fault)

        await on.press(BOB, card)

        assert await on.told(BOB) == (
            "Could not check who may decide; nothing was recorded. Please try again."
        )
        assert await on.run(run.id) == run
        status, said = await ask(on, "/readyz")
        assert (status, said["checks"]["directory"].split(":")[0]) == (503, away[0])
        assert (await ask(on, "/readyz"))[0] == 503
        await on.people.faults.clear()
        assert (await ask(on, "/readyz"))[0] == 200
        await on.press(BOB, card)
        assert (await on.told(BOB, 2)).startswith("Recorded: approved")


@pytest.mark.parametrize(
    ("approvers", "says"),
    [
        (Approvers(groups=("S0NONE",)), "user group 'S0NONE'.*no_such_subteam"),
        (Approvers(channels=("C0NONE",)), "channel 'C0NONE'.*channel_not_found"),
    ],
)
async def test_a_group_that_slack_does_not_know_keeps_the_bot_from_serving(
    approvers: Approvers, says: str
) -> None:
    async with LocalSlack() as slack:
        agents = [deployer(Ledger(), approvers=approvers)]
        opening = open_runtime(settings_for(slack), agents=agents, pauses=())
        with pytest.raises(SettingsError, match=f"agent deployer: approvers: .*{says}"):
            await opening.__aenter__()


async def test_a_slack_that_is_away_does_not_keep_the_bot_from_serving() -> None:
    async with LocalSlack() as slack:
        slack.faults.plant(Fault(kind=FaultKind.SERVER_ERROR, method="usergroups.users.list"))
        agents = [deployer(Ledger(), approvers=in_group())]
        async with open_runtime(settings_for(slack), agents=agents, pauses=()) as runtime:
            assert runtime.slack is not None
            assert runtime.slack.directory.trouble


async def test_an_address_of_somebody_who_left_is_told_and_does_not_keep_the_bot_from_serving(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone = Approvers(people=(PersonId("dan@local.example"), PersonId("bob@local.example")))
    async with on_stage(lambda on: [deployer(on, approvers=gone)]) as on:
        _, card = await on.park(owner=ALICE)
        await on.press(BOB, card)
        assert (await on.told(BOB)).startswith("Recorded: approved")
    said = [one.msg for one in caplog.records if isinstance(one.msg, dict)]
    assert [one["address"] for one in said if "address" in one] == ["dan@local.example"]


async def test_what_waits_for_my_group_is_on_my_list_and_shown_to_me() -> None:
    async with on_stage(lambda on: [deployer(on, approvers=in_group(quorum=2))]) as on:
        run, _ = await on.park(owner=ALICE)
        ref = run.tickets[0].ref

        async def typed(who: str, text: str) -> str:
            return await on.answered(await on.people.slash(who, DEPLOYS, text))

        assert f"`{ref}` deployer: to run deploy" in await typed(BOB, "list")
        assert "0 of 2 approved" in await typed(BOB, "list")
        assert "Waiting for you" not in await typed(ALICE, "list")
        assert "1.4.2" in await typed(BOB, f"show {ref}")


async def test_my_list_says_which_of_what_waits_has_my_approval_already() -> None:
    async with on_stage(lambda on: [deployer(on, approvers=in_group(quorum=2))]) as on:
        _, card = await on.park(owner=ALICE)
        await on.press(BOB, card)
        await on.told(BOB)

        for_bob = await on.answered(await on.people.slash(BOB, DEPLOYS, "list"))
        for_carol = await on.answered(await on.people.slash(CAROL, DEPLOYS, "list"))

        assert "1 of 2 approved, you among them" in for_bob
        assert "1 of 2 approved \u00b7" in for_carol


def at_terminal(on: Stage, who: str, **more: Any) -> Any:
    return given_settings(
        Purpose.TERMINAL,
        slack_bot_token=on.slack.bot_token,
        slack_api_url=on.slack.api_url,
        store_url=on.runtime.settings.store_url,
        resume_secrets=RESUME_SECRET,
        operator=who,
        **more,
    )


async def test_one_person_is_one_vote_by_slack_and_by_terminal(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    two = in_group(quorum=2)
    async with on_stage(lambda on: [deployer(on, approvers=two)], store_url=url) as on:
        run, card = await on.park(owner=ALICE)
        await on.press(BOB, card)
        await on.told(BOB)
        voted = await on.run(run.id)
        settings = at_terminal(on, BOB)

        async with open_runtime(settings, agents=()) as own:
            with pytest.raises(Exception, match="1 of 2") as again:
                await Terminal(own.engine, settings).decide(run.tickets[0].ref, Allow())

        assert type(again.value).__name__ == "AlreadyVotedError"
        assert await on.run(run.id) == voted
        settings = at_terminal(on, CAROL)
        async with open_runtime(settings, agents=()) as own:
            told = await Terminal(own.engine, settings).decide(run.tickets[0].ref, Allow())
        assert (told.votes, told.needed, told.resolution.actor.via) == (2, 2, Via.TERMINAL)


ROTA: list[str] = []


def on_call(_facts: PolicyContext) -> list[str]:
    return ROTA


def agents_on_call() -> Any:
    return [deployer(Ledger(), on_call=on_call)]


async def test_a_terminal_asks_the_agents_own_function_who_is_on_call(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    ROTA[:] = ["carol@local.example"]
    async with on_stage(lambda on: [deployer(on, on_call=on_call)], store_url=url) as on:
        run, card = await on.park(owner=ALICE)
        assert "asks whoever is on call" in str(card)
        await on.press(BOB, card)
        assert await on.told(BOB) == "Only whoever is on call can decide this; nothing changed."
        ref = run.tickets[0].ref

        settings = at_terminal(on, CAROL)
        async with open_runtime(settings, agents=()) as own:
            with pytest.raises(SettingsError, match="HOLDSHORT_AGENTS is not set"):
                await Terminal(own.engine, settings).decide(ref, Allow())

        settings = at_terminal(on, CAROL, agents=f"{__name__}:agents_on_call")
        async with open_runtime(settings, agents=()) as own:
            told = await Terminal(own.engine, settings).decide(ref, Allow())
        assert told.resolution.word == "approved"


async def test_of_two_who_complete_a_quorum_at_once_both_are_told_the_truth() -> None:
    async with on_stage(lambda on: [deployer(on, approvers=in_group(quorum=2))]) as on:
        run, card = await on.park(owner=ALICE)

        await asyncio.gather(on.press_as_shown(BOB, card), on.press_as_shown(CAROL, card))

        heard = [await on.told(BOB), await on.told(CAROL)]
        assert {bool(re.search("1 of 2; waiting for one more", text)) for text in heard} == {
            True,
            False,
        }
        assert all(text.startswith("Recorded: approved") for text in heard)
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.2 prod"]
