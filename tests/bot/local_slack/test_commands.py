"""Slash commands: what is sent, and what a direct answer shows."""

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from bot.local_slack import ControlError, LocalSlack, LocalSlackClient
from tests.bot.local_slack.peers import BoltApp, Json, PlainApp, section

CHANNEL = "C0DEPLOYS"


@pytest.fixture(autouse=True)
def reachable(slack: LocalSlack, app: PlainApp) -> None:
    slack.request_url = app.url


async def messages(people: LocalSlackClient, user: str) -> list[Json]:
    [found] = [c for c in (await people.state(user))["channels"] if c["id"] == CHANNEL]
    listed: list[Json] = found["messages"]
    return listed


def answer(app: PlainApp, **body: Any) -> None:
    app.text, app.content_type = json.dumps(body), "application/json"


async def test_a_command_is_a_form_with_slacks_fields(
    slack: LocalSlack, people: LocalSlackClient, app: PlainApp
) -> None:
    result = await people.slash("U0BOB", CHANNEL, "show K7F3QD & more=1")

    fields = dict(parse_qsl(app.received[0].body.decode()))
    assert fields.pop("token")
    assert fields.pop("response_url").startswith(f"{slack.url}/response/")
    assert fields == {
        "team_id": "T0LOCAL",
        "team_domain": "local",
        "channel_id": CHANNEL,
        "channel_name": "deploys",
        "user_id": "U0BOB",
        "user_name": "bob",
        "command": "/holdshort",
        "text": "show K7F3QD & more=1",
        "api_app_id": "A0LOCAL",
        "is_enterprise_install": "false",
        "trigger_id": result.trigger_id,
    }


async def test_words_in_answer_are_for_the_one_who_typed(
    people: LocalSlackClient, app: PlainApp
) -> None:
    app.text = "one run waits"
    await people.slash("U0BOB", CHANNEL, "list")

    [shown] = await messages(people, "U0BOB")
    assert (shown["text"], shown["is_ephemeral"]) == ("one run waits", True)
    assert await messages(people, "U0ALICE") == []


async def test_a_json_answer_may_be_for_the_channel(
    people: LocalSlackClient, app: PlainApp
) -> None:
    answer(app, text="started", response_type="in_channel", blocks=[section()])
    await people.slash("U0BOB", CHANNEL)

    [shown] = await messages(people, "U0ALICE")
    assert (shown["text"], shown["is_ephemeral"]) == ("started", False)
    assert shown["blocks"][0]["type"] == "section"


async def test_an_empty_answer_shows_nothing(people: LocalSlackClient) -> None:
    await people.slash("U0BOB", CHANNEL)

    assert await messages(people, "U0BOB") == []


async def test_an_answer_with_invalid_blocks_is_an_error_for_the_one_who_typed(
    people: LocalSlackClient, app: PlainApp
) -> None:
    answer(app, text="x", blocks=[section("")])
    await people.slash("U0BOB", CHANNEL)

    [notice] = (await people.state("U0BOB"))["notices"]
    assert notice["text"] == '/holdshort failed with the error "invalid_blocks"'
    assert "json-pointer" in notice["detail"]


async def test_one_can_only_type_a_known_command_where_one_is(people: LocalSlackClient) -> None:
    with pytest.raises(ControlError, match="no_such_command"):
        await people.slash("U0BOB", CHANNEL, command="/sing")
    with pytest.raises(ControlError, match="not_visible"):
        await people.slash("U0BOB", "C0PRIVATE")
    with pytest.raises(ControlError, match="deactivated"):
        await people.slash("U0GONE", CHANNEL)


async def test_a_private_channel_is_called_privategroup(
    people: LocalSlackClient, app: PlainApp
) -> None:
    await people.slash("U0ALICE", "C0PRIVATE")

    assert dict(parse_qsl(app.received[0].body.decode()))["channel_name"] == "privategroup"


async def test_a_bolt_app_answers_a_command(people: LocalSlackClient, bolt: BoltApp) -> None:
    @bolt.app.command("/holdshort")
    async def command(ack: Any, command: Json) -> None:
        await ack(f"you said {command['text']}")

    await people.slash("U0BOB", CHANNEL, "hello")

    assert (await messages(people, "U0BOB"))[0]["text"] == "you said hello"


async def test_an_answer_that_only_looks_like_json_is_words(
    people: LocalSlackClient, app: PlainApp
) -> None:
    app.text = "{not json"
    await people.slash("U0BOB", CHANNEL)

    assert (await messages(people, "U0BOB"))[0]["text"] == "{not json"
