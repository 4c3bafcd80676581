"""Approve all in Slack: one press, an answer for each call, and the truth about each."""

from typing import Any

from engine import Agent, Approvers, Deny, Run, ToolOptions, Via
from engine.identity import Actor
from engine.ids import PersonId
from notifiers import names
from tests.bot.stage import ALICE, BOB, CAROL, Json, Stage, on_stage
from tests.engine.scripted import Call, Ledger, repeat_results, script

CALLS: list[Call] = [
    ("deploy", {"version": "1"}),
    ("deploy", {"version": "2"}),
    ("refund", {"order": 3}),
]


def busy(ledger: Ledger, **more: Any) -> Agent:
    """Makes three calls in one step, each of which asks."""
    approvals: Any = {"deploy": "user", "refund": "user"}
    return Agent(
        name="busy",
        model=script(CALLS, repeat_results),
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
            *["Approve", "Deny", "Deny with reason"] * 2,
            *["Review", "Deny", "Deny with reason"],
        ]
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
        rows = [block for block in card["blocks"] if block["type"] == "actions"]

        await on.press(BOB, card, names.DENY, block_id=rows[1]["block_id"])

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
