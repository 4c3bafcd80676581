"""The Home tab."""

import json

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, LocalSlackClient
from tests.bot.local_slack.forms import payload
from tests.bot.local_slack.peers import (
    PlainApp,
    actions,
    button,
    modal,
)
from tests.bot.local_slack.refusals import refusal


@pytest.fixture(autouse=True)
def reachable(slack: LocalSlack, app: PlainApp) -> None:
    slack.request_url = app.url


HOME = {"type": "home", "blocks": [actions(button("refresh"))]}


async def test_a_home_tab_is_published_and_pressed(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    shown = (await web.views_publish(user_id="U0BOB", view=HOME))["view"]
    again = await web.views_publish(user_id="U0BOB", view=HOME, hash=shown["hash"])
    await people.click("U0BOB", action_id="refresh", view_id=shown["id"])

    body = payload(app)
    assert again["view"]["id"] == shown["id"]
    assert body["view"]["type"] == "home"
    assert "channel" not in body
    assert "response_url" not in body
    assert (await people.state("U0ALICE"))["home"] is None
    stale = web.views_publish(user_id="U0BOB", view=HOME, hash=shown["hash"])
    assert await refusal(stale) == "hash_conflict"


async def test_a_home_tab_needs_a_user_a_home_view_and_the_feature(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    assert await refusal(web.views_publish(user_id="U0NONE", view=HOME)) == "user_not_found"
    wrong = web.views_publish(user_id="U0BOB", view=modal())
    assert await refusal(wrong) == "invalid_arguments"
    early = web.views_publish(user_id="U0BOB", view=HOME, hash="1.x")
    assert await refusal(early) == "hash_conflict"
    slack.world.app = slack.world.app.model_copy(update={"home_enabled": False})
    assert await refusal(web.views_publish(user_id="U0BOB", view=HOME)) == "not_enabled"


async def test_opening_the_home_tab_is_an_event_with_the_view_if_there_is_one(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    await people.open_home("U0BOB")
    await web.views_publish(user_id="U0BOB", view=HOME)
    await people.open_home("U0BOB")

    first, second = (json.loads(got.body) for got in app.received)
    assert first["type"] == "event_callback"
    assert first["event"]["type"] == "app_home_opened"
    assert first["event"]["tab"] == "home"
    assert first["event"]["user"] == "U0BOB"
    assert first["authorizations"][0]["user_id"] == "U0HOLDSHORT"
    assert "view" not in first["event"]
    assert second["event"]["view"]["type"] == "home"
    assert first["event_id"] != second["event_id"]
