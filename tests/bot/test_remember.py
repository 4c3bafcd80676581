"""Approve and remember in Slack: the form, whoever submits it, the card, and the list of rules."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.bootstrap import open_runtime
from bot.cli.terminal import Terminal
from bot.local_slack import ActResult
from bot.settings import Purpose, given_settings
from engine import Agent, Allow, Approvers, Run, ToolOptions, Via, Wish
from engine.errors import NotAllowedError
from engine.events import AnswerRefused, CallGated
from engine.ids import PersonId
from engine.policy import Verdict
from notifiers import names, remember_form
from tests.bot.stage import (
    ALICE,
    BOB,
    CAROL,
    DEPLOYS,
    RESUME_SECRET,
    Json,
    Stage,
    deployer,
    on_stage,
)
from tests.bot.test_edits import card_that_says
from tests.bot.test_wrong_people import (
    HOME,
    OTHER,
    PERMISSION,
    WRONG,
    start_of,
    token_of,
    told,
    waiting,
    whispered,
)
from tests.engine.scripted import Ledger, call_tools, repeat_results, script

PROD: Json = {"version": "1.4.2", "env": "prod"}
NEXT: Json = {"version": "1.4.3", "env": "prod"}
ENV, VERSION = f"{names.REMEMBER_BLOCK}.0", f"{names.REMEMBER_BLOCK}.1"
PEOPLE = (PersonId(BOB), PersonId(CAROL), PersonId(ALICE))


def each(ledger: Ledger, **more: Any) -> list[Agent]:
    """Return an agent that deploys one version after another, each in a run of its own."""
    versions = iter([PROD, NEXT, NEXT, NEXT])
    model = script(lambda _: call_tools(0, [("deploy", next(versions))]), repeat_results)
    return [deployer(ledger, model=model, **more)]


async def remember(on: Stage, user: str, card: Json, **typed: Any) -> ActResult:
    """Open the form, choose these, and submit it."""
    await on.press(user, card, names.REMEMBER)
    await on.modal(user)
    chosen = {names.REMEMBER_HOURS: "8"} | typed
    return await on.people.submit(user, {block: value for block, value in chosen.items() if value})


async def again(on: Stage) -> Run:
    """Start another run and wait until it asks or has ended."""
    engine = on.runtime.engine
    begun = await engine.start("deployer", "go", owner=BOB)
    return await on.until_run(begun.run, lambda now: bool(now.tickets) or not now.live)


@pytest.mark.parametrize("mode", ["http", "socket"])
async def test_a_like_call_runs_unasked_and_the_card_tells_what_was_remembered(mode: str) -> None:
    async with on_stage(each, mode=mode) as on:
        run, card = await on.park()

        sent = await remember(on, BOB, card, **{VERSION: "anything"})

        assert sent.acked
        assert sent.body in (None, "", {})
        said = await on.told(BOB)
        assert said.startswith("Recorded: approved (")
        assert said.endswith("To be remembered for 8 hours.")
        await on.until_run(run.id, lambda now: not now.live)
        wanted = 'version: anything \u00b7 env = "prod".'
        await card_that_says(on, card, "Approved: deploy", "To remember for 8 hours", wanted)
        unasked = await again(on)
        assert on.ledger.effects == ["deploy 1.4.2 prod", "deploy 1.4.3 prod"]
        facts = [event.fact for event in await on.runtime.engine.events(unasked.id)]
        (gated,) = [fact for fact in facts if isinstance(fact, CallGated)]
        assert (gated.verdict, gated.granted_by) == (Verdict.ALLOW, (BOB,))


async def test_untouched_the_form_remembers_exactly_this_call_alone() -> None:
    async with on_stage(each) as on:
        run, card = await on.park()
        await on.press(BOB, card, names.REMEMBER)
        await on.modal(BOB)
        await on.people.submit(BOB)
        await on.until_run(run.id, lambda now: not now.live)

        assert (await again(on)).tickets
        (rule,) = await on.runtime.engine.store.rules.listed()
        assert rule.expires_at - rule.granted_at == timedelta(hours=1)
        assert not any(term.loose for term in rule.terms)


async def test_everything_loose_is_told_in_the_form_and_nothing_is_recorded() -> None:
    async with on_stage(each) as on:
        run, card = await on.park()

        sent = await remember(on, BOB, card, **{ENV: "anything", VERSION: "anything"})

        assert sent.body["response_action"] == "errors"
        (error,) = sent.body["errors"].values()
        assert error == (
            "Not recorded: cannot be remembered: at least one argument has to stay as it is."
        )
        assert await on.unchanged(run)


def of_two(ledger: Ledger) -> list[Agent]:
    return each(ledger, approvers=Approvers(people=PEOPLE, quorum=2, four_eyes=False))


async def test_whoever_votes_second_sees_what_will_be_remembered() -> None:
    async with on_stage(of_two) as on:
        run, card = await on.park()
        await remember(on, BOB, card, **{VERSION: "anything"})

        said = await on.told(BOB)
        assert said.endswith("To be remembered for 8 hours. 1 of 2; waiting for one more.")
        shown = await card_that_says(
            on,
            card,
            f"<@{BOB}> asks to remember this for 8 hours",
            'deploy: version: anything \u00b7 env = "prod"',
        )
        assert await on.runtime.engine.store.rules.listed() == ()
        await on.press(CAROL, shown)
        await on.until_run(run.id, lambda now: not now.live)
        (rule,) = await on.runtime.engine.store.rules.listed()
        assert rule.granted_by == (BOB, CAROL)


async def test_whoever_votes_second_may_approve_it_once() -> None:
    async with on_stage(of_two) as on:
        run, card = await on.park()
        await remember(on, BOB, card)
        shown = await card_that_says(on, card, "Approve and remember agrees to that")

        await on.press(CAROL, shown, names.APPROVE_ONCE)

        await on.until_run(run.id, lambda now: not now.live)
        assert on.ledger.effects == ["deploy 1.4.2 prod"]
        assert await on.runtime.engine.store.rules.listed() == ()


async def test_a_card_that_does_not_show_the_wish_yet_is_not_agreed_to() -> None:
    async with on_stage(of_two) as on:
        run, card = await on.park()
        await remember(on, BOB, card)
        await on.until_run(run.id, lambda now: bool(now.tickets and now.tickets[0].votes))

        await on.press_as_shown(CAROL, card)

        assert "What is asked changed after this was shown" in await on.told(CAROL)
        assert (await on.run(run.id)).tickets[0].counted == 1


async def test_a_form_that_was_open_when_another_voted_is_refused() -> None:
    async with on_stage(of_two) as on:
        run, card = await on.park()
        await on.press(CAROL, card, names.REMEMBER)
        await on.modal(CAROL)
        await on.press(BOB, card)
        voted = await on.until_run(run.id, lambda now: bool(now.tickets[0].votes))

        sent = await on.people.submit(CAROL, {names.REMEMBER_HOURS: "1"})

        (error,) = sent.body["errors"].values()
        assert "others have answered this already" in error
        assert await on.unchanged(voted)


async def test_of_high_risk_neither_the_button_nor_the_form_can_be_forged() -> None:
    def risky(ledger: Ledger) -> list[Agent]:
        return each(ledger, options={"deploy": ToolOptions(risk="high")})

    async with on_stage(risky) as on:
        run, card = await on.park()
        shown = [one["action_id"] for one in _buttons(card)]
        assert names.REMEMBER not in shown

        await on.people.click(BOB, card["channel"], card["ts"], _buttons(card)[0]["action_id"])
        await on.modal(BOB)
        token = await on.runtime.engine.token_for(run.tickets[0].ref, Via.SLACK)
        button = {"action_id": names.REMEMBER, "value": token, "type": "button"}
        place = {"channel": {"id": DEPLOYS}, "container": {"channel_id": DEPLOYS}}
        await on.people.raw(start_of("block_actions", BOB, HOME) | place | {"actions": [button]})
        assert "calls of high risk are always asked" in await on.told(BOB)

        notice = await on.runtime.engine.notice(token, Via.SLACK)
        low = notice.model_copy(
            update={"declared": notice.declared.model_copy(update={"risk": None})}
        )
        sent = await on.people.raw(_submission(low, BOB, HOME))
        assert "calls of high risk are always asked" in str(sent.body)
        assert await on.unchanged(run)


def _buttons(card: Json) -> list[Json]:
    rows: list[list[Json]] = [b["elements"] for b in card["blocks"] if b["type"] == "actions"]
    return rows[0]


def _submission(notice: Any, who: str, team: str) -> Json:
    made: Any = remember_form(notice, channel=DEPLOYS)
    chosen = {"type": "static_select", "selected_option": {"value": "8"}}
    view = {**made, "state": {"values": {names.REMEMBER_HOURS: {"in": chosen}}}}
    return start_of("view_submission", who, team) | {"view": view}


async def by_modal(on: Stage, run: Run, who: str, team: str) -> None:
    """Submit the form that somebody else had opened."""
    notice = await on.runtime.engine.notice(await token_of(on, run), Via.SLACK)
    sent = await on.people.raw(_submission(notice, who, team))
    assert sent.acked


async def by_terminal(on: Stage, run: Run, who: str, _team: str) -> None:
    """Approve and remember in a terminal whose operator this is."""
    async with _terminal(on, who) as terminal:
        decision = Allow(remember=Wish(hours=8))
        with pytest.raises(NotAllowedError):
            await terminal.decide(run.tickets[0].ref, decision)


@asynccontextmanager
async def _terminal(on: Stage, who: str) -> AsyncIterator[Terminal]:
    """Open a terminal of this operator on the same store."""
    settings = given_settings(
        Purpose.TERMINAL,
        slack_bot_token=on.slack.bot_token,
        slack_api_url=on.slack.api_url,
        store_url=on.runtime.settings.store_url,
        resume_secrets=RESUME_SECRET,
        operator=who,
    )
    async with open_runtime(settings, agents=()) as own:
        yield Terminal(own.engine, settings)


@pytest.mark.parametrize("way", [by_modal, by_terminal])
async def test_the_wrong_people_can_remember_nothing_and_it_is_kept_that_they_tried(
    way: Callable[[Stage, Run, str, str], Any], tmp_path: Path
) -> None:
    async with waiting(PERMISSION, tmp_path / "runs.db") as (on, run):
        wrong = [one for one in WRONG if way is by_modal or one[:2] != (BOB, OTHER)]
        for who, team, why in wrong:
            before = len(whispered(on))
            await way(on, run, who, team)
            if way is by_modal:
                assert "nothing changed" in await told(on, before), why
            assert await on.unchanged(run)

        events = await on.runtime.engine.events(run.id)
        tried = [event.fact for event in events if isinstance(event.fact, AnswerRefused)]
        assert [(one.actor.id, one.refusal.value) for one in tried] == [
            (who, why) for who, _, why in wrong
        ]
        assert on.ledger.effects == []
        assert await on.runtime.engine.store.rules.listed() == ()


async def test_the_right_person_can_by_each_of_these_ways(tmp_path: Path) -> None:
    async with waiting(PERMISSION, tmp_path / "one.db") as (on, run):
        await by_modal(on, run, BOB, HOME)
        await on.until_run(run.id, lambda now: not now.live)
        assert len(await on.runtime.engine.store.rules.listed()) == 1
    async with waiting(PERMISSION, tmp_path / "two.db") as (on, run):
        async with _terminal(on, BOB) as terminal:
            await terminal.decide(run.tickets[0].ref, Allow(remember=Wish(hours=8)))
        await on.until_run(run.id, lambda now: not now.live)
        assert len(await on.runtime.engine.store.rules.listed()) == 1


class TestRules:
    """``/holdshort rules`` lists what concerns the reader, each with a button to end it."""

    async def test_it_lists_them_and_the_button_ends_one(self) -> None:
        async with on_stage(each) as on:
            run, card = await on.park(requester=ALICE)
            await remember(on, BOB, card, **{VERSION: "anything"})
            await on.until_run(run.id, lambda now: not now.live)
            (rule,) = await on.runtime.engine.store.rules.listed()

            listed = await on.people.slash(BOB, DEPLOYS, "rules")

            assert listed.body["text"] == "*Remembered approvals*: 1"
            said = str(listed.body["blocks"])
            assert rule.id in said
            assert 'version: anything \u00b7 env = "prod"' in said
            await self.press(on, BOB, rule.id)
            assert await on.told(BOB, 2 + 1) == (
                f"Revoked: {rule.id}. Calls like it are asked for again, but for one that is starting this very moment."
            )
            assert (await again(on)).tickets
            empty = await on.answered(await on.people.slash(BOB, DEPLOYS, "rules"))
            assert empty == "*Remembered approvals*: none"

    async def test_others_see_nothing_and_their_press_ends_nothing(self) -> None:
        async with on_stage(each) as on:
            run, card = await on.park()
            await remember(on, BOB, card, **{VERSION: "anything"})
            await on.until_run(run.id, lambda now: not now.live)
            (rule,) = await on.runtime.engine.store.rules.listed()

            listed = await on.people.slash(CAROL, DEPLOYS, "rules")
            typed = await on.people.slash(CAROL, DEPLOYS, f"rules revoke {rule.id}")

            assert await on.answered(listed) == "No approval is remembered that concerns you."
            assert "Only" in await on.answered(typed)
            assert "nothing changed" in await on.answered(typed)
            await self.press(on, CAROL, rule.id)
            assert "nothing changed" in await on.told(CAROL)
            assert not (await again(on)).tickets

    async def test_it_can_be_typed(self) -> None:
        async with on_stage(each) as on:
            run, card = await on.park()
            await remember(on, BOB, card)
            await on.until_run(run.id, lambda now: not now.live)
            (rule,) = await on.runtime.engine.store.rules.listed()

            for text, said in {
                "rules revoke": "Which one?",
                "rules explode X": "Which one?",
                "rules revoke RNOBODY00X": "Nothing here goes by RNOBODY00X. See `/holdshort rules`",
                f"rules revoke {rule.id.lower()}": f"Revoked: {rule.id}.",
            }.items():
                typed = await on.people.slash(BOB, DEPLOYS, text)
                assert said in await on.answered(typed)
            (ended,) = await on.runtime.engine.store.rules.listed()
            assert ended.revoked is not None
            assert ended.revoked.by.id == BOB

    @staticmethod
    async def press(on: Stage, who: str, rule: str) -> None:
        button = {"action_id": names.REVOKE, "value": rule, "type": "button"}
        place = {"channel": {"id": DEPLOYS}, "container": {"channel_id": DEPLOYS}}
        sent = await on.people.raw(
            start_of("block_actions", who, HOME) | place | {"actions": [button]}
        )
        assert sent.acked
