"""Filling in and submitting a modal, and what an app may answer."""

import asyncio

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import ControlError, LocalSlack, LocalSlackClient
from tests.bot.local_slack.forms import CHANNEL, answer, payload, show, stack
from tests.bot.local_slack.peers import (
    Json,
    PlainApp,
    actions,
    button,
    modal,
    plain,
    section,
    text_input,
)


@pytest.fixture(autouse=True)
def reachable(slack: LocalSlack, app: PlainApp) -> None:
    slack.request_url = app.url


async def test_a_submission_carries_what_was_filled_in(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    view = await show(web, people, modal(private_metadata="secret"))

    result = await people.submit("U0BOB", {"reason": "Not on a Friday."})

    body = payload(app)
    assert result.acked
    assert body["type"] == "view_submission"
    assert body["user"]["id"] == "U0BOB"
    assert body["view"]["id"] == view["id"]
    assert body["view"]["private_metadata"] == "secret"
    assert body["view"]["state"]["values"] == {
        "reason": {"typed": {"type": "plain_text_input", "value": "Not on a Friday."}}
    }
    assert body["response_urls"] == []
    assert body["trigger_id"] == result.trigger_id


async def test_an_empty_answer_closes_the_modal(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await show(web, people)
    await people.submit("U0BOB", {"reason": "x"})

    assert await stack(people) == []


async def test_errors_keep_the_modal_and_what_was_typed(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    await show(web, people)
    answer(app, response_action="errors", errors={"reason": "Say more."})
    await people.submit("U0BOB", {"reason": "x"})

    [view] = await stack(people)
    assert view["errors"] == {"reason": "Say more."}
    assert view["state"]["values"]["reason"]["typed"]["value"] == "x"
    app.text = ""
    await people.submit("U0BOB")
    assert await stack(people) == []


async def test_an_app_may_answer_with_another_view(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    first = await show(web, people)
    answer(app, response_action="update", view=modal(text_input("second")))
    await people.submit("U0BOB", {"reason": "x"})
    [updated] = await stack(people)
    answer(app, response_action="push", view=modal(text_input("third")))
    await people.submit("U0BOB", {"second": "x"})
    pushed = await stack(people)
    answer(app, response_action="clear")
    await people.submit("U0BOB", {"third": "x"})

    assert updated["id"] == first["id"]
    assert updated["blocks"][0]["block_id"] == "second"
    assert [one["blocks"][0]["block_id"] for one in pushed] == ["second", "third"]
    assert await stack(people) == []


@pytest.mark.parametrize(
    "body",
    [
        {"response_action": "errors", "errors": {"nowhere": "x"}},
        {"response_action": "errors", "errors": {}},
        {"response_action": "update", "view": {"type": "modal"}},
        {"response_action": "dance"},
        {"text": "thanks"},
    ],
)
async def test_an_answer_slack_does_not_understand_leaves_the_modal_with_an_error(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp, body: Json
) -> None:
    await show(web, people)
    answer(app, **body)
    await people.submit("U0BOB", {"reason": "x"})

    [notice] = (await people.state("U0BOB"))["notices"]
    assert len(await stack(people)) == 1
    assert notice["text"] == "We had some trouble connecting. Try again?"
    assert notice["detail"]


async def test_words_in_answer_to_a_submission_are_an_error(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    await show(web, people)
    app.text = "thanks"
    await people.submit("U0BOB", {"reason": "x"})

    assert len(await stack(people)) == 1


async def test_a_submission_that_fails_leaves_the_modal(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    await show(web, people)
    app.status = 500
    result = await people.submit("U0BOB", {"reason": "x"})

    assert (result.acked, result.failure) == (False, "dispatch_failed")
    assert len(await stack(people)) == 1
    assert (await people.state("U0BOB"))["notices"]


async def test_slack_does_not_let_an_incomplete_form_through(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    short = text_input("short")
    short["element"] |= {"min_length": 3, "max_length": 5}
    await show(web, people, modal(text_input(), text_input("note", optional=True), short))

    for code, values in {
        "required": {"short": "abc"},
        "bad_length": {"reason": "x", "short": "ab"},
        "no_such_input": {"elsewhere": "x"},
    }.items():
        with pytest.raises(ControlError, match=code):
            await people.submit("U0BOB", values)
    with pytest.raises(ControlError, match="bad_length"):
        await people.submit("U0BOB", {"reason": "x", "short": "abcdef"})
    with pytest.raises(ControlError, match="not_visible"):
        await people.submit("U0ALICE", {"reason": "x"})
    with pytest.raises(ControlError, match="not_visible"):
        await people.submit("U0BOB", {"reason": "x"}, view_id="V0OTHER")
    assert (await people.submit("U0BOB", {"reason": "x", "short": "abc"})).acked


async def test_a_modal_without_submit_cannot_be_submitted(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    view = modal(section())
    del view["submit"]
    await show(web, people, view)

    with pytest.raises(ControlError, match="nothing_there"):
        await people.submit("U0BOB")


async def test_a_confirm_dialog_in_a_view_can_be_answered_no(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    words = plain("x")
    confirm = {"title": words, "text": words, "confirm": words, "deny": words}
    view = await show(web, people, modal(actions(button(confirm=confirm))))

    refused = await people.click("U0BOB", action_id="approve", view_id=view["id"], confirm=False)
    assert refused.failure == "not_confirmed"


async def test_a_form_may_hand_out_a_response_url(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    where = {
        "type": "input",
        "block_id": "where",
        "label": plain("Where"),
        "element": {
            "type": "conversations_select",
            "action_id": "picked",
            "response_url_enabled": True,
        },
    }
    await show(web, people, modal(where))
    await people.submit("U0BOB", {"where": {"picked": CHANNEL}})

    [given] = payload(app)["response_urls"]
    assert (given["block_id"], given["action_id"]) == ("where", "picked")
    assert given["channel_id"] == CHANNEL


async def test_an_answer_to_a_modal_that_was_closed_meanwhile_changes_nothing(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    await show(web, people)
    answer(app, response_action="push", view=modal())
    app.gate.clear()
    submitting = asyncio.ensure_future(people.submit("U0BOB", {"reason": "x"}))
    await app.arrived(2)
    await people.close_view("U0BOB")
    app.gate.set()
    await submitting

    assert await stack(people) == []
    [notice] = (await people.state("U0BOB"))["notices"]
    assert notice["detail"] == "not_found"
