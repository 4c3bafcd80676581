"""Who may call what: tokens, scopes, and the record of every call."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, LocalSlackClient
from tests.bot.local_slack.refusals import refusal


def client(slack: LocalSlack, token: str | None) -> AsyncWebClient:
    return AsyncWebClient(token, base_url=slack.api_url, retry_handlers=[])


def test_secrets_are_made_afresh_with_slacks_prefixes() -> None:
    one, other = LocalSlack(), LocalSlack()

    assert one.bot_token.startswith("xoxb-")
    assert one.app_token.startswith("xapp-")
    assert len(one.signing_secret) == 32
    assert one.bot_token != other.bot_token
    assert one.signing_secret != other.signing_secret


def test_secrets_may_be_given() -> None:
    slack = LocalSlack(signing_secret="s", bot_token="xoxb-1", app_token="xapp-1")

    assert (slack.signing_secret, slack.bot_token, slack.app_token) == ("s", "xoxb-1", "xapp-1")


async def test_auth_test_says_whose_token_it_is(web: AsyncWebClient) -> None:
    answer = await web.auth_test()

    assert answer["team_id"] == "T0LOCAL"
    assert answer["user_id"] == "U0HOLDSHORT"
    assert answer["bot_id"] == "B0HOLDSHORT"
    assert "chat:write" in answer.headers["X-OAuth-Scopes"]


async def test_a_call_without_a_token_is_not_authed(slack: LocalSlack) -> None:
    assert await refusal(client(slack, None).auth_test()) == "not_authed"


async def test_a_token_of_somebody_else_is_invalid(slack: LocalSlack) -> None:
    assert await refusal(client(slack, "xoxb-other").auth_test()) == "invalid_auth"


async def test_each_method_takes_only_its_kind_of_token(slack: LocalSlack) -> None:
    with_bot = client(slack, slack.bot_token)
    with_app = client(slack, slack.app_token)

    opened = with_bot.apps_connections_open(app_token=slack.bot_token)
    assert await refusal(opened) == "not_allowed_token_type"
    assert await refusal(with_app.auth_test()) == "not_allowed_token_type"


async def test_a_token_may_come_as_an_argument(slack: LocalSlack) -> None:
    call = client(slack, None).api_call("auth.test", params={"token": slack.bot_token})

    assert (await call)["ok"]


async def test_an_unknown_method_is_unknown(web: AsyncWebClient) -> None:
    assert await refusal(web.api_call("chat.sing")) == "unknown_method"


@pytest.mark.parametrize(
    ("method", "scope"),
    [
        ("chat.postMessage", "chat:write"),
        ("users.info", "users:read"),
        ("users.lookupByEmail", "users:read.email"),
        ("usergroups.users.list", "usergroups:read"),
    ],
)
async def test_a_method_needs_its_scope(
    slack: LocalSlack, web: AsyncWebClient, method: str, scope: str
) -> None:
    left = slack.world.app.scopes - {scope}
    slack.world.app = slack.world.app.model_copy(update={"scopes": left})

    assert await refusal(web.api_call(method, json={})) == "missing_scope"


async def test_every_call_is_recorded_without_its_token(
    slack: LocalSlack, web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await web.chat_postMessage(channel="C0DEPLOYS", text="x")
    await refusal(client(slack, "xoxb-other").chat_postMessage(channel="C0DEPLOYS", text="y"))
    await web.api_call("auth.test", params={"token": slack.bot_token})

    first, second, third = await people.app.calls()
    assert (first.method, first.token, first.outcome) == ("chat.postMessage", "bot", "ok")
    assert first.arguments == {"channel": "C0DEPLOYS", "text": "x"}
    assert first.status == 200
    assert first.response is not None
    assert (second.token, second.outcome) == ("unknown", "invalid_auth")
    assert slack.bot_token not in third.model_dump_json()
    assert await people.app.calls("auth.test") == [third]
    assert await people.app.calls(after=2) == [third]
