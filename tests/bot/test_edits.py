"""Edit and approve in Slack: the form, its mistakes, whoever submits it, and the card after it."""

import asyncio
from datetime import timedelta
from typing import Any, Literal

import pytest
from pydantic import SecretStr

from bot.local_slack import ActResult, Forgery
from engine import Agent, Approvers, PolicyContext, ToolOptions
from engine.events import AnswerRefused, ArgumentsEdited, TicketClosed
from engine.ids import PersonId
from notifiers import names
from tests.bot.stage import ALICE, BOB, CAROL, DEPLOYS, GUEST, Json, Stage, deployer, on_stage
from tests.engine.scripted import Ledger, repeat_results, script
from tests.notifiers.judge import shown

MODES = pytest.mark.parametrize("mode", ["http", "socket"])
VERSION, ENV = f"{names.EDIT_BLOCK}.0", f"{names.EDIT_BLOCK}.1"
PEOPLE = (PersonId(BOB), PersonId(CAROL), PersonId(ALICE))


def quorum(ledger: Ledger, needed: int = 2, **more: Any) -> list[Agent]:
    who = Approvers(people=PEOPLE, quorum=needed, four_eyes=False)
    return [deployer(ledger, approvers=who, **more)]


async def opened(on: Stage, user: str, card: Json) -> Json:
    """Press Edit and return the form."""
    await on.press(user, card, names.EDIT)
    return await on.modal(user)


async def edit(on: Stage, user: str, card: Json, **typed: Any) -> ActResult:
    """Open the form, put these in, and submit it."""
    await opened(on, user, card)
    return await on.people.submit(
        user, {f"{names.EDIT_BLOCK}.{n[1:]}": v for n, v in typed.items()}
    )


async def card_that_says(on: Stage, card: Json, *words: str) -> Json:
    """Wait until the card says all of this, and return it."""

    def says(message: Json) -> bool:
        said = shown(message.get("blocks", []))
        return message["ts"] == card["ts"] and all(word in said for word in words)

    found = await on.people.wait_for_message(BOB, DEPLOYS, says)
    return {**found, "channel": card["channel"]}


@MODES
async def test_what_is_put_in_runs_the_model_is_told_and_the_card_keeps_both(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        run, card = await on.park()

        sent = await edit(on, BOB, card, _0="1.4.3")

        assert sent.acked
        assert sent.body in (None, "", {})
        assert (await on.told(BOB)).startswith("Recorded: approved with edits")
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.3 prod"]
        assert "'arguments': {'version': '1.4.3'}" in str(ended.output)
        closed = await card_that_says(
            on,
            card,
            "Approved: deploy",
            f"edited by <@{BOB}>",
            "Edits: version: 1.4.2 \u2192 1.4.3",
        )
        assert [block["type"] for block in closed["blocks"]].count("actions") == 0


async def test_the_form_shows_what_the_call_has_and_an_untouched_one_is_a_plain_approval() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        view = await opened(on, BOB, card)

        values = {
            block["label"]["text"]: block["element"].get("initial_value")
            for block in view["blocks"]
            if block["type"] == "input"
        }
        await on.people.submit(BOB)

        assert values == {"version": "1.4.2", "env": None}
        assert (await on.told(BOB)).startswith("Recorded: approved (")
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


def typed_tool(effects: list[str]) -> Agent:
    def scale(replicas: int, mode: Literal["safe", "fast"], limits: dict[str, int]) -> str:
        effects.append(f"{replicas} {mode} {limits}")
        return "scaled"

    call: Any = {"replicas": 2, "mode": "safe", "limits": {"cpu": 1}}
    return Agent(
        name="deployer",
        model=script([("scale", call)], repeat_results),
        tools=[scale],
        approvals={"scale": "user"},
    )


async def test_mistakes_are_told_under_their_inputs_and_consume_nothing() -> None:
    effects: list[str] = []
    async with on_stage(lambda _: [typed_tool(effects)]) as on:
        run, card = await on.park()

        sent = await edit(on, BOB, card, _0="two", _2="{")

        errors = sent.body["errors"]
        assert sent.body["response_action"] == "errors"
        assert errors[f"{names.EDIT_BLOCK}.0"] == "Not recorded: this is not a whole number."
        assert errors[f"{names.EDIT_BLOCK}.2"].startswith(
            "Not recorded: as JSON, arguments are not"
        )
        assert await on.unchanged(run)

        again = await on.people.submit(
            BOB, {f"{names.EDIT_BLOCK}.0": "3", f"{names.EDIT_BLOCK}.2": '{"cpu": "much"}'}
        )
        assert again.body["errors"] == {
            f"{names.EDIT_BLOCK}.2": "Not recorded: cpu: Input should be a valid integer, unable to"
            " parse string as an integer."
        }
        assert await on.unchanged(run)

        await on.people.submit(
            BOB,
            {
                f"{names.EDIT_BLOCK}.0": "3",
                f"{names.EDIT_BLOCK}.1": "v1",
                f"{names.EDIT_BLOCK}.2": '{"cpu": 4}',
            },
        )
        assert (await on.told(BOB)).startswith("Recorded: approved with edits")
        await on.until_run(run.id, lambda now: not now.live)
        assert effects == ["3 fast {'cpu': 4}"]


def no_staging(call: dict[str, Any], _context: PolicyContext) -> str:
    return "deny" if call.get("env") == "staging" else "user"


async def test_what_a_policy_denies_is_told_in_the_form_and_consumes_nothing() -> None:
    async with on_stage(lambda on: [deployer(on, approvals={"deploy": no_staging})]) as on:
        run, card = await on.park()

        sent = await edit(on, BOB, card, _1="staging")

        assert "The policy of deploy denies it with these arguments" in str(sent.body["errors"])
        assert await on.unchanged(run)
        await on.people.submit(BOB, {ENV: "qa"})
        assert (await on.told(BOB)).startswith("Recorded: approved with edits")


async def test_whoever_submits_is_judged_not_whoever_opened() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await opened(on, BOB, card)

        await on.people.submit(BOB, {VERSION: "9"}, forge=Forgery(set={"user.id": CAROL}))

        assert await on.told(CAROL) == "Only <@U0BOB> can decide this; nothing changed."
        assert await on.unchanged(run)
        refused = [e.fact for e in await on.runtime.engine.events(run.id)]
        assert [one.actor.id for one in refused if isinstance(one, AnswerRefused)] == [CAROL]


async def test_a_guest_who_is_named_may_not_edit() -> None:
    people = Approvers(people=(PersonId(BOB), PersonId(GUEST)))
    async with on_stage(lambda on: [deployer(on, approvers=people)]) as on:
        run, card = await on.park(owner=ALICE)

        await edit(on, GUEST, card, _0="9")

        assert (await on.told(GUEST)).startswith("Guests of this workspace cannot decide.")
        assert await on.unchanged(run)


async def test_the_requester_may_not_edit() -> None:
    people = Approvers(people=(PersonId(BOB), PersonId(CAROL)))
    async with on_stage(lambda on: [deployer(on, approvers=people)]) as on:
        run, card = await on.park(owner=ALICE, requester=BOB)

        await edit(on, BOB, card, _0="9")

        assert (await on.told(BOB)).startswith("You started this run")
        assert await on.unchanged(run)


async def test_a_form_submitted_after_the_deadline_changes_nothing() -> None:
    soon = timedelta(hours=1)
    async with on_stage(lambda on: [deployer(on, approval_timeout=soon)]) as on:
        _, card = await on.park()
        await opened(on, BOB, card)
        on.clock.move(soon + timedelta(seconds=1))

        await on.people.submit(BOB, {VERSION: "9"})

        assert (await on.told(BOB)).startswith(("Expired, ", "Nobody decided in time"))
        assert on.ledger.effects == []


async def test_a_form_for_what_is_decided_meanwhile_tells_who_decided() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await opened(on, BOB, card)
        await on.press(BOB, card)
        await on.until_run(run.id, lambda now: not now.live)

        await on.people.submit(BOB, {VERSION: "9"})

        assert (await on.told(BOB, 2)).startswith("Already approved by you, ")
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


class TestSeveral:
    """More than one must approve: the edited form is asked of the others anew."""

    async def test_the_card_shows_who_edited_what_and_asks_the_others(self) -> None:
        async with on_stage(quorum) as on:
            run, card = await on.park()
            await on.press(CAROL, card)
            await card_that_says(on, card, "1 of 2 approved: <@U0CAROL>")

            await edit(on, BOB, card, _0="1.4.3")

            told = await on.told(BOB)
            assert "approved with edits" in told
            assert "1 of 2; waiting for one more" in told
            again = await card_that_says(
                on,
                card,
                f"Edited by <@{BOB}>",
                "Approvals before that do not count.",
                "version: 1.4.2 \u2192 1.4.3",
                f"1 of 2 approved: <@{BOB}>",
            )
            await on.press(CAROL, again)
            await on.until_run(run.id, lambda now: not now.live)
            assert on.ledger.effects == ["deploy 1.4.3 prod"]
            await card_that_says(on, card, "Approved: deploy", f"edited by <@{BOB}>", "Edits:")

    async def test_a_press_on_a_card_from_before_the_edit_is_refused_as_that(self) -> None:
        async with on_stage(quorum) as on:
            run, card = await on.park()
            await edit(on, BOB, card, _0="1.4.3")
            await card_that_says(on, card, "Edited by")

            await on.press_as_shown(CAROL, card)

            said = await on.told(CAROL)
            assert said.startswith("What is asked changed after this was shown; nothing changed.")
            now = await on.run(run.id)
            assert [vote.person for vote in now.tickets[0].votes] == [BOB]

    async def test_a_form_that_was_opened_before_another_edit_is_refused_as_that(self) -> None:
        async with on_stage(quorum) as on:
            run, card = await on.park()
            await opened(on, CAROL, card)
            await edit(on, BOB, card, _0="1.4.3")

            await on.people.submit(CAROL, {VERSION: "2"})

            assert (await on.told(CAROL)).startswith("What is asked changed after this was shown")
            edits = [e.fact for e in await on.runtime.engine.events(run.id)]
            assert len([one for one in edits if isinstance(one, ArgumentsEdited)]) == 1

    async def test_of_an_edit_an_approval_and_a_denial_at_once_one_decides(self) -> None:
        async with on_stage(lambda on: quorum(on, 1)) as on:
            run, card = await on.park()
            await opened(on, BOB, card)

            await asyncio.gather(
                on.people.submit(BOB, {VERSION: "1.4.3"}),
                on.press_as_shown(CAROL, card),
                on.press_as_shown(ALICE, card, names.DENY),
            )

            said = [await on.told(who) for who in (BOB, CAROL, ALICE)]
            assert sum(one.startswith("Recorded:") for one in said) == 1
            assert sum(one.startswith("Already ") for one in said) == 2
            await on.until_run(run.id, lambda now: not now.live)
            closed = [e.fact for e in await on.runtime.engine.events(run.id)]
            (end,) = [one.resolution for one in closed if isinstance(one, TicketClosed)]
            ran = {
                "approved": ["deploy 1.4.2 prod"],
                "approved with edits": ["deploy 1.4.3 prod"],
                "denied": [],
            }
            assert on.ledger.effects == ran[end.word]


async def test_hostile_values_run_as_they_were_put_in_and_are_shown_inert() -> None:
    hostile = "<!channel> `x` \u202egnirts\n*Approved* by <@U0BOB> :x: &lt;"
    async with on_stage() as on:
        run, card = await on.park()

        await edit(on, BOB, card, _0=hostile)

        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == [f"deploy {hostile} prod"]
        closed = await card_that_says(on, card, "Approved: deploy", "edited by")
        for block in closed["blocks"]:
            text = block.get("text", {})
            if text.get("type") == "mrkdwn":
                assert "channel" not in text["text"]
        assert "\u202e" not in shown(closed["blocks"])


@pytest.mark.plants_secrets("a secret argument is kept as it must run", where=":memory:")
async def test_a_secret_left_empty_runs_as_it_was_and_is_shown_nowhere() -> None:
    ran: list[str] = []

    def connect(host: str, password: SecretStr) -> str:
        ran.append(f"{host} {password.get_secret_value()}")
        return "connected"

    def agents(_ledger: Ledger) -> list[Agent]:
        call: Any = {"host": "a", "password": "correct horse"}
        model = script([("connect", call)], repeat_results)
        named: Any = {"connect": "user"}
        return [Agent(name="deployer", model=model, tools=[connect], approvals=named)]

    async with on_stage(agents) as on:
        run, card = await on.park()
        view = await opened(on, BOB, card)
        await on.people.submit(BOB, {f"{names.EDIT_BLOCK}.0": "b"})

        await on.until_run(run.id, lambda now: not now.live)
        closed = await card_that_says(on, card, "Edits: host: a \u2192 b")
        assert ran == ["b correct horse"]
        assert "horse" not in str(view) + str(closed)


async def test_a_tool_that_forbids_it_has_no_edit_and_takes_none() -> None:
    fixed = {"deploy": ToolOptions(editable=False)}
    async with on_stage(lambda on: [deployer(on, options=fixed)]) as on:
        run, card = await on.park()
        assert "Edit" not in shown(card["blocks"])

        forged = Forgery(set={"actions.0.action_id": names.EDIT})
        await on.press(BOB, card, names.DENY, forge=forged)

        assert await on.told(BOB) == "The arguments of deploy cannot be edited; nothing changed."
        assert await on.unchanged(run)


async def test_a_high_risk_call_is_edited_in_a_form_that_shows_all_of_it() -> None:
    risky = {"deploy": ToolOptions(risk="high")}
    async with on_stage(lambda on: [deployer(on, options=risky)]) as on:
        run, card = await on.park()
        view = await opened(on, BOB, card)
        assert "HIGH RISK" in shown(view["blocks"])

        await on.people.submit(BOB, {VERSION: "1.4.3"})

        assert (await on.told(BOB)).startswith("Recorded: approved with edits")
        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.3 prod"]
