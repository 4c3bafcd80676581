"""A press in Slack becomes one recorded decision, and whoever pressed is told the truth of it."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from bot.local_slack import Fault, FaultKind, Forgery, User
from engine import Approvers, RunStatus
from engine.cards import Role
from engine.ids import PersonId
from notifiers import names
from tests.bot.stage import (
    ALICE,
    BOB,
    CAROL,
    DEPLOYS,
    GONE,
    GUEST,
    OUTSIDER,
    ROBOT,
    Stage,
    deployer,
    on_stage,
)

MODES = pytest.mark.parametrize("mode", ["http", "socket"])


def named(*people: str, four_eyes: bool = True) -> Approvers:
    return Approvers(people=tuple(PersonId(who) for who in people), four_eyes=four_eyes)


@MODES
async def test_an_approval_is_recorded_told_and_carried_out_once(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        run, card = await on.park()

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert await on.told(BOB) == f"Recorded: approved ({run.tickets[0].ref})."
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.status is RunStatus.SUCCEEDED
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


@MODES
async def test_a_denial_is_recorded_and_the_tool_never_runs(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        run, card = await on.park()

        await on.press(BOB, card, names.DENY)

        assert (await on.told(BOB)).startswith("Recorded: denied")
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.output == "deploy=denied:blocked: denied"
        assert on.ledger.effects == []


async def test_a_question_can_be_declined_in_one_tap() -> None:
    async with on_stage() as on:
        run, card = await on.park("curious")

        await on.press(BOB, card, names.DECLINE)

        assert (await on.told(BOB)).startswith("Recorded: denied")
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.output == "ask_human=denied:blocked: denied"


async def refused(on: Stage, user: str, forge: Forgery | None = None) -> str:
    """Press Approve as someone who may not; return what they are told once nothing changed."""
    run, card = await on.park()
    pressed = await on.press(user, card, forge=forge)
    told = await on.told(user)

    assert pressed.acked
    assert await on.unchanged(run)
    assert on.ledger.effects == []
    return told


@MODES
async def test_someone_who_is_no_approver_is_told_who_is(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        assert await refused(on, CAROL) == "Only <@U0BOB> can decide this; nothing changed."


@MODES
@pytest.mark.parametrize(
    ("user", "forged", "beginning"),
    [
        (GUEST, None, "Guests of this workspace cannot decide."),
        (OUTSIDER, None, "Only members of this workspace can decide."),
        # The team of the payload is where the app is installed; the clicker's own is in `user`.
        (BOB, {"user.team_id": "T0OTHER"}, "Only members of this workspace can decide."),
        (BOB, {"user.id": ROBOT}, "Bots cannot decide anything."),
        (BOB, {"user.id": GONE}, "Your account is deactivated."),
        (BOB, {"user.id": "U0NOBODY"}, "Slack does not know you here."),
        (BOB, {"user.id": ""}, "Slack does not know you here."),
    ],
)
async def test_whoever_is_no_member_in_good_standing_is_refused_though_named(
    mode: str, user: str, forged: dict[str, str] | None, beginning: str
) -> None:
    everyone = named(ALICE, BOB, GUEST, OUTSIDER, ROBOT, GONE, "U0NOBODY")
    async with on_stage(lambda on: [deployer(on, approvers=everyone)], mode=mode) as on:
        told = await refused(on, user, Forgery(set=forged) if forged else None)

        assert told.startswith(beginning)


@MODES
async def test_the_requester_does_not_count_under_four_eyes(mode: str) -> None:
    async with on_stage(lambda on: [deployer(on, approvers=named(BOB, CAROL))], mode=mode) as on:
        run, card = await on.park(owner=ALICE, requester=BOB)

        await on.press(BOB, card)

        assert await on.told(BOB) == (
            "You started this run, so someone else must decide. "
            "Only <@U0CAROL> can decide this; nothing changed."
        )
        assert await on.unchanged(run)


async def test_a_token_of_another_run_in_a_button_is_refused_like_any_other() -> None:
    async with on_stage(lambda on: [deployer(on, approvers=named(BOB))]) as on:
        first, _ = await on.park(owner=ALICE)
        _, card = await on.park(owner=ALICE)
        forged = await on.press(BOB, card, forge=Forgery(set={"actions.0.value": "bm90.aGluZw"}))

        assert forged.acked
        assert (await on.told(BOB)).startswith("This cannot be answered from here")
        assert await on.run(first.id) == first


async def test_a_second_word_after_the_decision_is_told_who_decided_and_when() -> None:
    async with on_stage(lambda on: [deployer(on, approvers=named(BOB, CAROL))]) as on:
        _, card = await on.park(owner=ALICE)
        await on.press(BOB, card)
        await on.told(BOB)

        await on.press_as_shown(CAROL, card)
        await on.press_as_shown(BOB, card, names.DENY)

        assert (await on.told(CAROL)).startswith("Already approved by <@U0BOB>, <!date^")
        assert (await on.told(BOB, 2)).startswith("Already approved by you, <!date^")


async def test_a_press_after_the_deadline_is_told_so_and_changes_nothing() -> None:
    soon = timedelta(hours=1)
    async with on_stage(lambda on: [deployer(on, approval_timeout=soon)]) as on:
        run, card = await on.park()
        on.clock.move(soon + timedelta(seconds=1))

        await on.press(BOB, card)

        told = await on.told(BOB)
        assert told.startswith(("Expired, <!date^", "Nobody decided in time"))
        assert on.ledger.effects == []
        resolved = [e.fact for e in await on.runtime.engine.events(run.id)]
        assert not any(f.kind == "ticket_closed" and not f.resolution.timed_out for f in resolved)


async def test_of_forty_who_decide_at_once_one_is_recorded_and_all_are_told_the_truth() -> None:
    crowd = [f"U0A{number:02}" for number in range(40)]
    async with on_stage(lambda on: [deployer(on, approvers=named(*crowd))]) as on:
        for who in crowd:
            on.slack.world.put_user(User(id=who, name=who.lower()))
            on.slack.world.join(DEPLOYS, who)
        run, card = await on.park(owner=ALICE)
        actions = [names.APPROVE, names.DENY] * 20

        presses = await asyncio.gather(
            *(
                on.press_as_shown(who, card, action)
                for who, action in zip(crowd, actions, strict=True)
            )
        )

        assert all(pressed.acked for pressed in presses)
        told = [await on.told(who) for who in crowd]
        ended = await on.until_run(run.id, lambda now: not now.live)
        closed = [event.fact for event in await on.runtime.engine.events(ended.id)]
        decided = [fact.resolution for fact in closed if fact.kind == "ticket_closed"]
        assert len(decided) == 1
        winner, word = decided[0].actor.id, decided[0].word
        kinds = Counter(text.split()[0] for text in told)
        assert kinds == {"Recorded:": 1, "Already": 39}
        assert told[crowd.index(winner)].startswith(f"Recorded: {word}")
        assert sum(f"Already {word} by <@{winner}>" in text for text in told) == 39
        assert on.ledger.effects == (["deploy 1.4.2 prod"] if word == "approved" else [])


async def test_twenty_identical_presses_are_one_decision_and_twenty_times_the_same_word() -> None:
    async with on_stage() as on:
        run, card = await on.park()

        presses = await asyncio.gather(*(on.press_as_shown(BOB, card) for _ in range(20)))

        assert all(pressed.acked for pressed in presses)
        await on.told(BOB, 20)
        assert set(await on.whispers(BOB)) == {f"Recorded: approved ({run.tickets[0].ref})."}
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


async def test_a_press_on_a_second_post_of_the_card_adopts_it_so_that_it_closes_too() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        copy = on.slack.workspace.post(
            DEPLOYS, on.slack.world.app.bot_user, card["text"], blocks=card["blocks"]
        )

        await on.press(BOB, {"channel": DEPLOYS, "ts": copy.ts})

        await on.people.wait_for_message(
            BOB, DEPLOYS, lambda m: m["ts"] == copy.ts and "Approved" in m["text"]
        )
        cards = await on.runtime.engine.store.cards(run.id)
        assert sum(one.key.role is Role.ASK for one in cards) == 2


async def test_a_button_that_we_do_not_know_is_answered_all_the_same() -> None:
    async with on_stage() as on:
        _, card = await on.park()

        pressed = await on.press(BOB, card, forge=Forgery(set={"actions.0.action_id": "old.one"}))

        assert pressed.acked
        assert "another version" in await on.told(BOB)


async def test_whoever_cannot_be_told_in_the_channel_is_told_in_their_dm() -> None:
    async with on_stage() as on:
        _, card = await on.park()
        forged = Forgery(set={"user.id": CAROL}, unset=("response_url",))
        on.slack.world.leave(DEPLOYS, CAROL)

        await on.press(BOB, card, forge=forged)

        message = await on.people.wait_for_message(CAROL, "D0CAROL", lambda m: "Only" in m["text"])
        assert message["text"] == "Only <@U0BOB> can decide this; nothing changed."


@MODES
async def test_an_event_that_nothing_here_is_about_is_acknowledged(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        assert (await on.people.open_home(BOB)).acked


async def test_whoever_can_be_told_in_no_way_costs_no_ack() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        for method in ("response_url", "chat.postEphemeral", "chat.postMessage"):
            fault = Fault(kind=FaultKind.DROP_BEFORE, method=method, times=None)
            await on.people.faults.plant(fault)

        pressed = await on.press(BOB, card)

        assert pressed.acked
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.2 prod"]
