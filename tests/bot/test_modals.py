"""Forms: who submits is judged, nothing is consumed by a mistake, and a review shows it all."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import Fault, FaultKind, Forgery
from engine import Agent, Approvers, ToolOptions
from engine.ids import PersonId
from notifiers import names
from notifiers.review import paginate
from tests.bot.stage import ALICE, BOB, CAROL, GUEST, Stage, deployer, on_stage
from tests.engine.scripted import Ledger, repeat_results, script

MODES = pytest.mark.parametrize("mode", ["http", "socket"])


DELIVERY = {"chat.postMessage", "chat.getPermalink", "conversations.open", "chat.update"}
"""What the courier may be calling at the same time."""


def long_deployer(ledger: Ledger) -> Agent:
    """Deploys with arguments that fit no card."""
    model = script([("deploy", {"version": "v" * 40_000, "env": "prod"})], repeat_results)
    return deployer(ledger, model=model)


@MODES
async def test_a_denial_with_a_reason_reaches_the_model(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        run, card = await on.park()
        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)

        sent = await on.people.submit(BOB, {names.REASON_BLOCK: "Not on a Friday."})

        assert sent.acked
        assert (await on.told(BOB)).startswith("Recorded: denied")
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.output == "deploy=denied:blocked: Not on a Friday."


@MODES
async def test_an_answer_typed_into_the_form_is_the_result(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        run, card = await on.park("curious")
        await on.press(BOB, card, names.ANSWER)
        await on.modal(BOB)

        await on.people.submit(BOB, {names.ANSWER_BLOCK: "CHG-7"})

        assert (await on.told(BOB)).startswith("Recorded: answered")
        ended = await on.until_run(run.id, lambda now: not now.live)
        assert ended.output == "ask_human=success:CHG-7"


async def test_a_form_is_the_first_thing_asked_of_slack_after_the_ack() -> None:
    async with on_stage() as on:
        _, card = await on.park()
        before = on.slack_calls()[-1].id

        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)

        asked = [call.method for call in on.slack_calls() if call.id > before]
        assert next(one for one in asked if one not in DELIVERY) == "views.open"


async def test_an_answer_that_does_not_fit_is_told_under_the_field_and_consumes_nothing() -> None:
    async with on_stage() as on:
        run, card = await on.park("curious")
        await on.press(BOB, card, names.ANSWER)
        await on.modal(BOB)

        sent = await on.people.submit(BOB, {names.ANSWER_BLOCK: "   "})

        assert sent.body == {
            "response_action": "errors",
            "errors": {names.ANSWER_BLOCK: "Not recorded: the answer is empty."},
        }
        assert (await on.modal(BOB))["errors"] == sent.body["errors"]
        assert await on.unchanged(run)
        await on.people.submit(BOB, {names.ANSWER_BLOCK: "CHG-7"})
        assert (await on.told(BOB)).startswith("Recorded: answered")


async def test_whoever_submits_is_judged_not_whoever_opened() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)

        sent = await on.people.submit(BOB, forge=Forgery(set={"user.id": CAROL}))

        assert sent.acked
        assert await on.told(CAROL) == "Only <@U0BOB> can decide this; nothing changed."
        assert await on.unchanged(run)


async def test_an_approver_may_submit_what_a_guest_opened_but_the_guest_may_not() -> None:
    people = Approvers(people=(PersonId(BOB), PersonId(GUEST)))
    async with on_stage(lambda on: [deployer(on, approvers=people)]) as on:
        run, card = await on.park(owner=ALICE)
        await on.press(GUEST, card, names.DENY_REASON)
        await on.modal(GUEST)

        await on.people.submit(GUEST)

        assert (await on.told(GUEST)).startswith("Guests of this workspace cannot decide.")
        assert await on.unchanged(run)


async def test_a_form_submitted_after_the_deadline_changes_nothing() -> None:
    soon = timedelta(hours=1)
    async with on_stage(lambda on: [deployer(on, approval_timeout=soon)]) as on:
        _, card = await on.park()
        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)
        on.clock.move(soon + timedelta(seconds=1))

        await on.people.submit(BOB, {names.REASON_BLOCK: "too late"})

        assert (await on.told(BOB)).startswith(("Expired, ", "Nobody decided in time"))
        assert on.ledger.effects == []


async def test_a_form_for_what_is_decided_meanwhile_tells_who_decided() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)
        await on.press(BOB, card)
        await on.until_run(run.id, lambda now: not now.live)

        await on.people.submit(BOB, {names.REASON_BLOCK: "no"})

        assert (await on.told(BOB, 2)).startswith("Already approved by you, ")


@pytest.mark.parametrize("metadata", ["", "{}", "x" * 4000, '{"v":1,"token":"bm90.YQ"}'])
async def test_a_form_with_metadata_that_we_did_not_write_is_refused(metadata: str) -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)

        sent = await on.people.submit(BOB, forge=Forgery(set={"view.private_metadata": metadata}))

        assert sent.acked
        told = await on.people.wait_for_message(BOB, "D0BOB", lambda m: "cannot be" in m["text"])
        assert told["text"].startswith("This cannot be answered from here")
        assert await on.unchanged(run)


async def test_a_form_that_we_do_not_know_is_answered() -> None:
    async with on_stage() as on:
        _, card = await on.park()
        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)

        sent = await on.people.submit(BOB, forge=Forgery(set={"view.callback_id": "old.form"}))

        assert sent.acked


async def test_an_expired_trigger_is_told_with_what_to_do_instead() -> None:
    async with on_stage() as on:
        _, card = await on.park("curious")
        lateness = Fault(kind=FaultKind.ERROR, method="views.open", error="expired_trigger_id")
        await on.people.faults.plant(lateness)

        await on.press(BOB, card, names.ANSWER)

        told = await on.told(BOB)
        assert "3 seconds" in told
        assert "press the button again" in told
        assert "/holdshort answer" in told


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind=FaultKind.ERROR, method="views.open", error="view_too_large"),
        Fault(kind=FaultKind.DROP_BEFORE, method="views.open"),
        Fault(kind=FaultKind.HTML, method="views.open"),
        Fault(kind=FaultKind.RATELIMITED, method="views.open"),
    ],
)
async def test_a_form_that_slack_does_not_open_is_told(fault: Fault) -> None:
    async with on_stage() as on:
        _, card = await on.park()
        await on.people.faults.plant(fault)

        pressed = await on.press(BOB, card, names.DENY_REASON)

        assert pressed.acked
        assert "form could not open" in await on.told(BOB)


async def test_the_older_form_of_an_expired_trigger_is_known_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = {
        "ok": False,
        "error": "invalid_arguments",
        "response_metadata": {"messages": ["[ERROR] trigger_id expired"]},
    }

    async def refuse(*_: object, **__: object) -> None:
        raise SlackApiError("refused", FakeResponse(answer))  # type: ignore[no-untyped-call] # the SDK's

    async with on_stage() as on:
        _, card = await on.park()
        monkeypatch.setattr(AsyncWebClient, "views_open", refuse)

        await on.press(BOB, card, names.DENY_REASON)

        assert "3 seconds" in await on.told(BOB)


class FakeResponse(dict[str, object]):
    """An answer as the SDK keeps it in its error."""

    @property
    def data(self) -> dict[str, object]:
        return self


async def test_no_form_opens_for_what_is_decided() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await on.press(BOB, card)
        await on.until_run(run.id, lambda now: not now.live)

        await on.press_as_shown(BOB, card, names.DENY_REASON)

        assert (await on.told(BOB, 2)).startswith("Already approved by you, ")
        assert (await on.people.state(BOB))["views"] == []


async def test_a_button_of_another_kind_of_card_opens_no_form() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        forged = Forgery(set={"actions.0.action_id": names.ANSWER})

        await on.press(BOB, card, names.DENY, forge=forged)

        assert (await on.told(BOB)).startswith("Nothing changed: this takes")
        assert await on.unchanged(run)


async def review(on: Stage, user: str) -> int:
    """Go through the review to its last page; return how many pages there were."""
    for page in range(1, 50):
        view = await on.modal(user)
        if view["submit"]["text"] == "Approve":
            return page
        sent = await on.people.submit(user)
        assert sent.body["response_action"] == "update"
    raise AssertionError("the review does not end")


@MODES
async def test_only_the_last_page_of_a_review_approves(mode: str) -> None:
    async with on_stage(lambda on: [long_deployer(on)], mode=mode) as on:
        run, card = await on.park()
        await on.press(BOB, card, names.REVIEW)

        assert await review(on, BOB) > 1
        assert await on.unchanged(run)
        await on.people.submit(BOB)

        assert (await on.told(BOB)).startswith("Recorded: approved")
        await on.until_run(run.id, lambda now: not now.live)
        assert len(on.ledger.effects) == 1


RISKY = {"deploy": ToolOptions(risk="high")}


@MODES
@pytest.mark.parametrize("make", [long_deployer, lambda on: deployer(on, options=RISKY)])
async def test_a_press_of_approve_that_its_card_does_not_have_takes_no_review_s_place(
    make: Callable[[Ledger], Agent], mode: str
) -> None:
    async with on_stage(lambda on: [make(on)], mode=mode) as on:
        run, card = await on.park()
        rows = [block for block in card["blocks"] if block["type"] == "actions"]
        shown = next(one for one in rows[0]["elements"] if one["action_id"] == names.REVIEW)
        forged = {**shown, "action_id": names.APPROVE}

        await on.press_as_shown(BOB, card, names.REVIEW, actions=[{**forged, "block_id": "b"}])

        assert (await on.told(BOB)).startswith("Not recorded: this has to be reviewed first.")
        assert await on.unchanged(run)
        await on.press(BOB, card, names.REVIEW)
        await review(on, BOB)
        await on.people.submit(BOB)
        assert (await on.told(BOB, 2)).startswith("Recorded: approved")


async def test_a_review_of_what_is_decided_meanwhile_ends_with_who_decided() -> None:
    async with on_stage(lambda on: [long_deployer(on)]) as on:
        run, card = await on.park()
        await on.press(BOB, card, names.REVIEW)
        await on.modal(BOB)
        await on.press(BOB, card, names.DENY)
        await on.until_run(run.id, lambda now: not now.live)

        await on.people.submit(BOB)

        assert (await on.told(BOB, 2)).startswith("Already denied by you, ")
        assert (await on.people.state(BOB))["views"] == []


async def test_a_refused_approval_at_the_end_of_a_review_is_told() -> None:
    async with on_stage(lambda on: [long_deployer(on)]) as on:
        run, card = await on.park()
        await on.press(CAROL, card, names.REVIEW)
        await review(on, CAROL)

        await on.people.submit(CAROL)

        assert await on.told(CAROL) == "Only <@U0BOB> can decide this; nothing changed."
        assert await on.unchanged(run)


async def test_a_review_is_laid_out_where_it_holds_up_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where: list[threading.Thread] = []

    def look(*given: Any) -> Any:
        where.append(threading.current_thread())
        return paginate(*given)

    monkeypatch.setattr("notifiers.modals.paginate", look)
    async with on_stage(lambda on: [long_deployer(on)]) as on:
        _, card = await on.park()
        await on.press(BOB, card, names.REVIEW)
        turned = await review(on, BOB)

    assert len(where) > turned
    assert threading.main_thread() not in where
