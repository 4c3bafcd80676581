"""Approve all in Slack: one press, an answer for each call, and the truth about each."""

import asyncio
import re
from typing import Any

from engine import Agent, Approvers, Deny, Run, ToolOptions, Via
from engine.identity import Actor
from engine.ids import PersonId
from notifiers import names
from tests.bot.stage import ALICE, BOB, CAROL, Json, Stage, deployer, on_stage
from tests.engine.scripted import Call, Ledger, repeat_results, script
from tests.notifiers.judge import shown

CALLS: list[Call] = [
    ("deploy", {"version": "1"}),
    ("deploy", {"version": "2"}),
    ("refund", {"order": 3}),
]


def busy(ledger: Ledger, calls: list[Call] = CALLS, **more: Any) -> Agent:
    """Makes three calls in one step, each of which asks."""
    approvals: Any = {"deploy": "user", "refund": "user"}
    return Agent(
        name="busy",
        model=script(calls, repeat_results),
        tools=[ledger.deploy, ledger.refund],
        approvals=approvals,
        **more,
    )


def named(*people: str, **more: Any) -> Approvers:
    return Approvers(people=tuple(PersonId(who) for who in people), **more)


def all_of(run: Run) -> str:
    return ", ".join(ticket.ref for ticket in run.tickets)


async def deny(on: Stage, run: Run, index: int, who: str) -> None:
    """Deny one of the calls from elsewhere."""
    engine = on.runtime.engine
    token = await engine.token_for(run.tickets[index].ref, Via.TERMINAL)
    await engine.resume(token, Deny(), actor=Actor(id=PersonId(who), via=Via.TERMINAL))


def offered(card: Json) -> list[str]:
    return [
        button["text"]["text"]
        for block in card.get("blocks", ())
        if block["type"] == "actions"
        for button in block["elements"]
    ]


def row(card: Json, index: int) -> str:
    """Return what names the buttons of a row."""
    rows = [block for block in card["blocks"] if block["type"] == "actions"]
    return str(rows[index]["block_id"])


async def press_row(on: Stage, who: str, card: Json, index: int, action: str) -> None:
    """Press a button of a row as the card once showed it."""
    (found,) = (block for block in card["blocks"] if block["block_id"] == row(card, index))
    button = next(one for one in found["elements"] if one["action_id"] == action)
    await on.press_with(who, card, **{**button, "block_id": found["block_id"]})


async def says(on: Stage, card: Json, *words: str) -> Json:
    """Wait until the card says all of this, and return it."""

    def holds(message: Json) -> bool:
        said = shown(message.get("blocks", []))
        return message["ts"] == card["ts"] and all(word in said for word in words)

    found = await on.people.wait_for_message(BOB, card["channel"], holds)
    return {**found, "channel": card["channel"]}


async def test_one_press_records_an_answer_for_each_and_every_call_runs_once() -> None:
    async with on_stage(lambda ledger: [busy(ledger)]) as on:
        run, card = await on.park("busy")

        pressed = await on.press(BOB, card, names.APPROVE_ALL)

        assert pressed.acked
        assert await on.told(BOB) == f"Recorded: approved all 3 ({all_of(run)})."
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1 prod", "deploy 2 prod", "refund 3"]


async def test_pressing_twice_decides_and_says_the_same() -> None:
    async with on_stage(lambda ledger: [busy(ledger)]) as on:
        run, card = await on.park("busy")
        await on.press_as_shown(BOB, card, names.APPROVE_ALL)
        await on.press_as_shown(BOB, card, names.APPROVE_ALL)

        assert await on.told(BOB, 2) == f"Recorded: approved all 3 ({all_of(run)})."
        await on.until_run(run.id, lambda now: not now.live)
        assert len(on.ledger.effects) == len(CALLS)


async def test_what_was_decided_meanwhile_is_said_and_the_rest_is_recorded() -> None:
    async with on_stage(lambda ledger: [busy(ledger, approvers=named(BOB, CAROL))]) as on:
        run, card = await on.park("busy", owner=ALICE)
        first, second, third = run.tickets
        await deny(on, run, 1, CAROL)

        await on.press_as_shown(BOB, card, names.APPROVE_ALL)

        lines = (await on.told(BOB)).splitlines()
        assert lines[0] == f"Recorded: approved 2 of 3 ({first.ref}, {third.ref})."
        assert lines[1].startswith(f"Not recorded {second.ref}: Already denied by <@{CAROL}>")
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1 prod", "refund 3"]


async def test_whoever_may_not_decide_decides_none_of_it() -> None:
    async with on_stage(lambda ledger: [busy(ledger, approvers=named(CAROL))]) as on:
        run, card = await on.park("busy", owner=ALICE)

        await on.press(BOB, card, names.APPROVE_ALL)

        lines = (await on.told(BOB)).splitlines()
        assert lines[0] == "Recorded: approved 0 of 3."
        assert len(lines) == 1 + len(CALLS)
        assert await on.unchanged(run)


async def test_it_is_not_offered_where_a_call_is_high_risk_and_not_taken_either() -> None:
    options = {"refund": ToolOptions(risk="high")}
    async with on_stage(lambda ledger: [busy(ledger, options=options)]) as on:
        run, card = await on.park("busy")
        assert offered(card) == [
            *["Approve", "Deny", "Deny with reason", "Edit\u2026"] * 2,
            *["Review", "Deny", "Deny with reason", "Edit\u2026"],
        ]
        value = " ".join(f"{one.ref}:{one.digest[:16]}" for one in run.tickets)

        await on.press_with(BOB, card, action_id=names.APPROVE_ALL, value=value)

        told = await on.told(BOB)
        assert f"Not recorded {run.tickets[2].ref}: it has to be approved by itself." in told
        now = await on.run(run.id)
        assert [ticket.ref for ticket in now.tickets] == [run.tickets[2].ref]


async def test_a_call_that_is_to_be_reviewed_is_not_taken_with_the_others() -> None:
    long: Call = ("deploy", {"version": "v" * 9_000})
    async with on_stage(lambda ledger: [busy(ledger, [*CALLS[:2], long])]) as on:
        run, card = await on.park("busy")
        value = " ".join(f"{one.ref}:{one.digest[:16]}" for one in run.tickets)

        await on.press_with(BOB, card, action_id=names.APPROVE_ALL, value=value)

        told = await on.told(BOB)
        assert f"Not recorded {run.tickets[2].ref}: it has to be approved by itself." in told
        now = await on.run(run.id)
        assert [ticket.ref for ticket in now.tickets] == [run.tickets[2].ref]


async def test_a_call_that_is_no_longer_what_the_card_showed_is_not_approved() -> None:
    async with on_stage(lambda ledger: [busy(ledger)]) as on:
        run, card = await on.park("busy")
        first, second, _ = run.tickets
        value = f"{first.ref}:{first.digest[:16]} {second.ref}:{'0' * 16}"

        await on.press_with(BOB, card, action_id=names.APPROVE_ALL, value=value)

        told = await on.told(BOB)
        assert f"Recorded: approved 1 of 2 ({first.ref})." in told
        assert f"Not recorded {second.ref}: it is not what this card showed" in told
        assert second.approval in {one.approval for one in (await on.run(run.id)).tickets}


async def test_a_row_is_answered_by_itself_and_the_card_follows() -> None:
    async with on_stage(lambda ledger: [busy(ledger)]) as on:
        run, card = await on.park("busy")

        await on.press(BOB, card, names.DENY, block_id=row(card, 1))

        assert (await on.told(BOB)).startswith(f"Recorded: denied ({run.tickets[1].ref}).")
        seen = await on.people.wait_for_message(
            BOB, card["channel"], lambda m: "Approve all 2" in offered(m)
        )
        assert seen["ts"] == card["ts"]


async def test_a_value_that_we_did_not_write_is_answered_and_changes_nothing() -> None:
    async with on_stage(lambda ledger: [busy(ledger)]) as on:
        run, card = await on.park("busy")

        await on.press_with(BOB, card, action_id=names.APPROVE_ALL, value="nonsense")

        assert await on.told(BOB)
        assert await on.unchanged(run)


async def test_a_press_that_is_for_some_of_others_too_says_which_it_was_not_recorded_for() -> None:
    def agents(ledger: Ledger) -> list[Agent]:
        return [busy(ledger, approvers=named(BOB)), deployer(ledger, approvers=named(CAROL))]

    async with on_stage(agents) as on:
        mine, card = await on.park("busy", owner=ALICE)
        other, _ = await on.park("deployer", owner=ALICE)
        (not_mine,) = other.tickets
        value = " ".join(f"{one.ref}:{one.digest[:16]}" for one in (*mine.tickets, not_mine))

        await on.press_with(BOB, card, action_id=names.APPROVE_ALL, value=value)

        lines = (await on.told(BOB)).splitlines()
        assert lines == [
            f"Recorded: approved 3 of 4 ({all_of(mine)}).",
            f"Not recorded {not_mine.ref}: Only <@{CAROL}> can decide this; nothing changed.",
        ]
        assert await on.unchanged(other)


async def test_two_people_who_press_approve_all_at_once_decide_each_call_once() -> None:
    async with on_stage(lambda ledger: [busy(ledger, approvers=named(BOB, CAROL))]) as on:
        run, card = await on.park("busy", owner=ALICE)

        await asyncio.gather(
            *(on.press_as_shown(who, card, names.APPROVE_ALL) for who in (BOB, CAROL))
        )

        told = [await on.told(who) for who in (BOB, CAROL)]
        recorded = [re.match(r"Recorded: approved (?:all )?(\d)", one) for one in told]
        assert sum(int(one[1]) for one in recorded if one) == len(CALLS)
        await on.until_run(run.id, lambda now: not now.live)
        assert sorted(on.ledger.effects) == ["deploy 1 prod", "deploy 2 prod", "refund 3"]


async def test_one_person_who_presses_approve_all_twice_at_once_decides_each_call_once() -> None:
    async with on_stage(lambda ledger: [busy(ledger)]) as on:
        run, card = await on.park("busy")

        await asyncio.gather(*(on.press_as_shown(BOB, card, names.APPROVE_ALL) for _ in "ab"))

        await on.told(BOB, 2)
        assert set(await on.whispers(BOB)) == {f"Recorded: approved all 3 ({all_of(run)})."}
        await on.until_run(run.id, lambda now: not now.live)
        assert len(on.ledger.effects) == len(CALLS)


async def test_two_people_who_answer_two_rows_at_once_are_both_recorded() -> None:
    async with on_stage(lambda ledger: [busy(ledger, approvers=named(BOB, CAROL))]) as on:
        run, card = await on.park("busy", owner=ALICE)

        await asyncio.gather(
            press_row(on, BOB, card, 0, names.DENY), press_row(on, CAROL, card, 1, names.APPROVE)
        )

        assert (await on.told(BOB)).startswith(f"Recorded: denied ({run.tickets[0].ref}).")
        assert (await on.told(CAROL)).startswith(f"Recorded: approved ({run.tickets[1].ref}).")
        left = (await on.run(run.id)).tickets
        assert [ticket.ref for ticket in left] == [run.tickets[2].ref]


async def test_a_vote_on_a_row_is_shown_in_it_and_decides_nothing_yet() -> None:
    two = named(BOB, CAROL, quorum=2)
    async with on_stage(lambda ledger: [busy(ledger, approvers=two)]) as on:
        run, card = await on.park("busy", owner=ALICE)
        assert "Approve all 3" not in offered(card)

        await on.press(BOB, card, names.APPROVE, block_id=row(card, 1))

        assert "1 of 2" in await on.told(BOB)
        now = await says(on, card, f"1 of 2 approved: <@{BOB}>")
        assert shown(now["blocks"]).count("0 of 2 approved") == 2
        assert len((await on.run(run.id)).tickets) == len(CALLS)


async def test_a_row_is_edited_in_a_form_of_its_own_and_only_that_call_runs_changed() -> None:
    async with on_stage(lambda ledger: [busy(ledger)]) as on:
        run, card = await on.park("busy")
        assert offered(card)[:4] == ["Approve", "Deny", "Deny with reason", "Edit\u2026"]

        await on.press(BOB, card, names.EDIT, block_id=row(card, 1))
        await on.modal(BOB)
        await on.people.submit(BOB, {f"{names.EDIT_BLOCK}.0": "2.1"})

        assert (await on.told(BOB)).startswith("Recorded: approved with edits")
        now = await says(on, card, 'Edits: version: "2" \u2192 "2.1"')
        await on.press(BOB, now, names.APPROVE_ALL)
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1 prod", "deploy 2.1 prod", "refund 3"]


async def test_an_edit_under_a_quorum_voids_the_votes_of_its_row_alone() -> None:
    two = named(BOB, CAROL, quorum=2)
    async with on_stage(lambda ledger: [busy(ledger, approvers=two)]) as on:
        run, card = await on.park("busy", owner=ALICE)
        for index in (0, 1):
            await press_row(on, BOB, card, index, names.APPROVE)
            await on.told(BOB, index + 1)

        await press_row(on, CAROL, card, 1, names.EDIT)
        await on.modal(CAROL)
        await on.people.submit(CAROL, {f"{names.EDIT_BLOCK}.0": "2.1"})

        now = await says(on, card, f"Edited by <@{CAROL}>", 'version = "2.1"')
        said = shown(now["blocks"])
        assert f"1 of 2 approved: <@{BOB}>" in said
        assert f"1 of 2 approved: <@{CAROL}>" in said
        assert len((await on.run(run.id)).tickets) == len(CALLS)


async def test_a_high_risk_row_is_approved_at_the_end_of_its_review() -> None:
    options = {"refund": ToolOptions(risk="high")}
    async with on_stage(lambda ledger: [busy(ledger, options=options)]) as on:
        run, card = await on.park("busy")

        await on.press(BOB, card, names.REVIEW, block_id=row(card, 2))
        assert (await on.modal(BOB))["callback_id"] == names.REVIEW_FORM
        assert await on.unchanged(run)
        await on.people.submit(BOB)

        assert (await on.told(BOB)).startswith(f"Recorded: approved ({run.tickets[2].ref}).")
        now = await says(on, card, "Approved: refund")
        assert "Approve all 2" in offered(now)


async def test_a_form_of_a_row_that_was_decided_meanwhile_is_not_opened_and_that_is_said() -> None:
    async with on_stage(lambda ledger: [busy(ledger, approvers=named(BOB, CAROL))]) as on:
        run, card = await on.park("busy", owner=ALICE)
        await deny(on, run, 0, CAROL)

        await on.press_as_shown(BOB, card, names.DENY_REASON)

        assert (await on.told(BOB)).startswith(f"Already denied by <@{CAROL}>")
        assert (await on.people.state(BOB))["views"] == []
