"""What a failed call means for the next try, over real HTTP and for every code we know."""

import json
import logging
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr
from slack_sdk.web.async_client import AsyncWebClient

from bot.gallery.samples import TOKEN, closed, outcome, ticket
from engine.errors import DeliveryError
from engine.runs import RunStatus
from engine.tickets import Allow
from notifiers import calls
from notifiers.slack import SlackNotifier
from tests.notifiers.conftest import GENERAL, ROOM, Office
from tests.notifiers.judge import shown

POST = "chat.postMessage"
APP_REFUSED = ["invalid_auth", "not_authed", "token_revoked", "account_inactive", "missing_scope"]
TOO_MUCH = ["invalid_blocks", "msg_too_long", "msg_blocks_too_long", "invalid_arguments"]


async def fail(office: Office, kind: str, **how: Any) -> DeliveryError:
    """Return what the courier is told when the next post goes wrong."""
    await office.break_down(kind, **{"method": POST, **how})
    with pytest.raises(DeliveryError) as failed:
        await office.notifier().show(ticket(), None)
    return failed.value


async def test_a_rate_limit_tells_how_long_to_wait_and_is_not_waited_for_here(
    office: Office,
) -> None:
    error = await fail(office, "ratelimited", retry_after_s=17)

    assert (error.permanent, error.retry_after) == (False, 17.0)
    assert await office.methods() == [POST]


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_server_error_may_pass(office: Office, status: int) -> None:
    error = await fail(office, "server_error", status=status)
    assert not error.permanent
    assert str(error) == f"Slack {POST}: HTTP {status}"


@pytest.mark.parametrize("kind", ["drop_before", "drop_after_accept", "html"])
async def test_an_answer_that_never_came_is_unknown_and_not_asked_for_twice(
    office: Office, kind: str
) -> None:
    error = await fail(office, kind)

    assert not error.permanent
    assert await office.methods() == [POST]
    assert len(await office.read(GENERAL)) == (kind == "drop_after_accept")


async def test_slack_is_given_limited_time(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "REQUEST_TIMEOUT", 0.02)
    error = await fail(office, "timeout")
    assert not error.permanent
    assert str(error) == f"Slack {POST}: no answer in time"


async def test_a_slack_that_is_not_there_may_come_back() -> None:
    client = AsyncWebClient("xoxb-1", base_url="http://127.0.0.1:9/api/", retry_handlers=[])
    with pytest.raises(DeliveryError) as failed:
        await SlackNotifier(client, channel=GENERAL).show(ticket(), None)
    assert not failed.value.permanent


@pytest.mark.parametrize("code", APP_REFUSED)
async def test_a_refused_app_is_not_sent_from_place_to_place(office: Office, code: str) -> None:
    error = await fail(office, "error", error=code)

    assert error.permanent
    assert str(error) == f"Slack {POST}: {code}"
    assert await office.methods() == [POST]


@pytest.mark.parametrize("code", ["internal_error", "fatal_error", "something_new"])
async def test_an_unknown_refusal_is_tried_again(office: Office, code: str) -> None:
    assert not (await fail(office, "error", error=code)).permanent


@pytest.mark.parametrize("code", TOO_MUCH)
async def test_blocks_that_slack_refuses_are_replaced_by_the_plainest_card(
    office: Office, code: str
) -> None:
    await office.break_down("error", method=POST, error=code)
    receipt = await office.notifier().show(ticket(), None)

    (message,) = await office.read(GENERAL)
    assert receipt.shown
    assert "This card is shortened." in shown(message["blocks"])
    assert "holdshort.review" in json.dumps(message["blocks"])
    assert "holdshort.approve" not in json.dumps(message["blocks"])


async def test_a_refused_update_is_replaced_by_the_plainest_closed_card(office: Office) -> None:
    notifier = office.notifier()
    receipt = await notifier.show(ticket(), None)
    await office.break_down("error", method="chat.update", error="invalid_blocks")
    await notifier.show(closed(Allow()), receipt)

    (message,) = await office.read(GENERAL)
    assert "Approved: deploy" in shown(message["blocks"])
    assert "holdshort" not in json.dumps(message["blocks"])


async def test_if_even_the_plainest_card_is_refused_someone_has_to_look(office: Office) -> None:
    error = await fail(office, "error", error="invalid_blocks", times=2)
    assert error.permanent
    assert await office.methods() == [POST, POST]


@pytest.mark.parametrize("kind", ["ratelimited", "server_error", "drop_after_accept"])
async def test_a_failed_update_is_told_to_the_courier(office: Office, kind: str) -> None:
    notifier = office.notifier()
    receipt = await notifier.show(ticket(), None)
    await office.break_down(kind, method="chat.update")

    with pytest.raises(DeliveryError) as failed:
        await notifier.show(closed(Allow()), receipt)
    assert not failed.value.permanent

    assert await notifier.show(closed(Allow()), receipt) == receipt
    assert len(await office.read(GENERAL)) == 1


async def test_a_dm_that_cannot_be_opened_now_is_opened_the_next_time(office: Office) -> None:
    notifier = office.notifier(None)
    await office.break_down("server_error", method="conversations.open")
    with pytest.raises(DeliveryError) as failed:
        await notifier.show(ticket(), None)
    assert not failed.value.permanent
    assert (await notifier.show(ticket(), None)).place == ROOM


async def test_a_missing_scope_for_dms_is_permanent(office: Office) -> None:
    await office.break_down("error", method="conversations.open", error="missing_scope")
    with pytest.raises(DeliveryError, match=r"conversations\.open: missing_scope") as failed:
        await office.notifier().show(outcome(RunStatus.FAILED, "x"), None)
    assert failed.value.permanent


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("ok", "text/plain"),
        ("[]", "application/json"),
        ('{"ok": true}', "application/json"),
        ('{"ok": true, "channel": 7, "ts": null}', "application/json"),
        ('{"ok": false, "error": "<xoxb-secret>"}', "application/json"),
        ('{"ok": false}', "application/json"),
        ("{", "application/json"),
        ("", "application/json"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_an_unknown_outcome(
    body: str, content_type: str
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=body, content_type=content_type)

    app = web.Application()
    app.router.add_post("/api/{method}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    client = AsyncWebClient("xoxb-secret", base_url=url, retry_handlers=[])
    try:
        with pytest.raises(DeliveryError) as failed:
            await SlackNotifier(client, channel=GENERAL).show(ticket(), None)
    finally:
        await runner.cleanup()

    assert not failed.value.permanent
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "ratelimited"},
        {"kind": "server_error"},
        {"kind": "html"},
        {"kind": "drop_after_accept"},
        {"kind": "error", "error": "invalid_auth"},
        {"kind": "error", "error": "invalid_blocks", "times": 2},
    ],
)
async def test_no_failure_tells_a_secret(
    office: Office, fault: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        error = await fail(office, **fault)

    told = f"{error!r}{error.__cause__!r}{caplog.text}"
    for secret in (TOKEN, office.slack.bot_token):
        assert secret not in told
    assert TOKEN not in repr(ticket(token=SecretStr(TOKEN)))
