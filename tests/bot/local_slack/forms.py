"""Showing a modal to bob and looking at what he has on screen."""

import json
from typing import Any
from urllib.parse import parse_qs

from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlackClient
from tests.bot.local_slack.peers import Json, PlainApp, modal

CHANNEL = "C0DEPLOYS"


async def trigger(people: LocalSlackClient) -> str:
    result = await people.slash("U0BOB", CHANNEL)
    assert result.trigger_id
    return result.trigger_id


async def show(web: AsyncWebClient, people: LocalSlackClient, view: Json | None = None) -> Json:
    opened = await web.views_open(trigger_id=await trigger(people), view=view or modal())
    found: Json = opened["view"]
    return found


async def stack(people: LocalSlackClient) -> list[Json]:
    found: list[Json] = (await people.state("U0BOB"))["views"]
    return found


def answer(app: PlainApp, **body: Any) -> None:
    app.text, app.content_type = json.dumps(body), "application/json"


def payload(app: PlainApp) -> Json:
    decoded: Json = json.loads(parse_qs(app.received[-1].body.decode())["payload"][0])
    return decoded
