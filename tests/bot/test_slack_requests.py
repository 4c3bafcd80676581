"""Trap 5: Bolt parses before it verifies, and stumbles over malformed headers. We do neither."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from slack_bolt.app.async_app import AsyncApp

from bot import slack_requests
from bot.local_slack import Forgery
from bot.local_slack.credentials import sign
from bot.slack_requests import SignatureCheck
from tests.bot.stage import BOB, Stage, on_stage


def signed(on: Stage, body: bytes, **changed: str) -> dict[str, str]:
    """Return the headers that prove a body, as Slack would send them."""
    timestamp = changed.get("timestamp", str(int(on.clock.seconds())))
    return {
        "Content-Type": changed.get("content_type", "application/x-www-form-urlencoded"),
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": changed.get("signature")
        or sign(on.slack.signing_secret, timestamp, body),
    }


async def post(on: Stage, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(on.bot.slack_url, data=body, headers=headers) as response,
    ):
        return response.status, await response.text()


@pytest.mark.parametrize("body", [b"payload=%7Bx", b"[1,2]", b"\xff\xfe", b"", b"{"])
async def test_5_what_nobody_signed_is_refused_unread(body: bytes) -> None:
    async with on_stage() as on:
        for content_type in ("application/json", "application/x-www-form-urlencoded"):
            status = await post(on, body, {"Content-Type": content_type})
            assert status == (401, "")


@pytest.mark.parametrize(
    "changed",
    [
        {"timestamp": "now"},
        {"timestamp": ""},
        {"timestamp": "-1"},
        {"timestamp": "1_000"},
        {"timestamp": "٣٤٥"},
        {"timestamp": "9" * 40},
        {"signature": "v0=\u00e4\u00f6"},
        {"signature": "v0="},
        {"signature": "v1=" + "0" * 64},
        {"signature": "v0=" + "0" * 64},
    ],
)
async def test_5_malformed_proof_is_refused_and_never_a_failure(changed: dict[str, str]) -> None:
    async with on_stage() as on:
        assert await post(on, b"command=x", signed(on, b"command=x", **changed)) == (401, "")


@pytest.mark.parametrize(("seconds", "status"), [(-302, 401), (302, 401), (-290, 200), (290, 200)])
async def test_5_a_proof_holds_for_five_minutes_either_way(seconds: int, status: int) -> None:
    async with on_stage() as on:
        timestamp = str(int(on.clock.seconds()) + seconds)
        body = urlencode({"command": "/holdshort", "text": "help", "user_id": BOB}).encode()

        answer = await post(on, body, signed(on, body, timestamp=timestamp))

        assert answer[0] == status


async def test_5_a_body_that_was_changed_after_signing_is_refused() -> None:
    async with on_stage() as on:
        headers = signed(on, b"command=x&text=help")
        assert await post(on, b"command=x&text=list", headers) == (401, "")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"[1]"),
        ("application/json", b"{"),
        ("application/x-www-form-urlencoded", b"payload=%7Bx"),
        ("application/x-www-form-urlencoded", b"payload=3"),
        ("application/x-www-form-urlencoded", b"text=\xff"),
        ("application/json", b"[" * 100_000),
    ],
)
async def test_5_what_slack_signed_but_nobody_can_read_is_a_bad_request(
    content_type: str, body: bytes
) -> None:
    async with on_stage() as on:
        assert await post(on, body, signed(on, body, content_type=content_type)) == (400, "")


async def test_5_a_body_beyond_the_cap_is_not_even_read() -> None:
    async with on_stage() as on:
        body = b"x" * (slack_requests.MAX_BODY_BYTES + 1)
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                on.bot.slack_url, data=BytesIO(body), headers=signed(on, body)
            ) as response,
        ):
            assert response.status == 413


async def test_5_nor_is_one_that_does_not_say_how_long_it_is() -> None:
    async def chunks() -> Any:
        for _ in range(20):
            yield b"x" * (slack_requests.MAX_BODY_BYTES // 10)

    async with (
        on_stage() as on,
        aiohttp.ClientSession() as session,
        session.post(on.bot.slack_url, data=chunks()) as response,
    ):
        assert response.status == 413


async def test_5_headers_by_which_bolt_talks_to_itself_are_not_taken_from_outside() -> None:
    async with on_stage() as on:
        headers = {"x-slack-bolt-lazy-only": "1", "X-Slack-Bolt-Lazy-Function-Name": "listen"}
        _, card = await on.park()

        pressed = await on.press(BOB, card, forge=Forgery(headers=headers))

        assert pressed.acked
        assert (await on.told(BOB)).startswith("Recorded")


async def test_5_any_of_several_signing_secrets_proves_a_request() -> None:
    check = SignatureCheck(["new-secret-5f2c", "old-secret-81ab"])
    for secret in ("new-secret-5f2c", "old-secret-81ab"):
        signature = sign(secret, "1000", b"body")
        headers = {"X-Slack-Request-Timestamp": "1000", "X-Slack-Signature": signature}
        assert check.check(headers, b"body", 1000) is slack_requests.Proof.GENUINE


async def test_5_a_failure_that_nobody_foresaw_tells_the_other_side_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("inner detail")

    async with on_stage() as on:
        monkeypatch.setattr(AsyncApp, "async_dispatch", fail)
        body = b"command=x"
        assert await post(on, body, signed(on, body)) == (500, "")


async def test_5_a_body_that_would_be_unpacked_first_is_refused() -> None:
    async with on_stage() as on:
        body = urlencode({"payload": "{}"}).encode()
        headers = {**signed(on, body), "Content-Encoding": "gzip"}

        assert (await post(on, body, headers))[0] == 415


PRESS = {"type": "block_actions", "actions": [{"action_id": "a", "block_id": "b"}]}
ODD = [
    {**PRESS, "user": 5},
    {**PRESS, "user": {"id": 5}},
    {**PRESS, "team": "T"},
    {**PRESS, "channel": []},
    {**PRESS, "enterprise": True},
    {**PRESS, "message": "hello"},
    {**PRESS, "actions": []},
    {**PRESS, "actions": [{}]},
    {**PRESS, "actions": "approve"},
    {"type": "block_actions"},
    {**PRESS, "view": {}},
    {"type": "view_submission"},
    {"type": "view_submission", "view": "x"},
    {"type": "event_callback", "event": 5},
    {"type": "event_callback"},
    {"type": "event_callback", "event": {}, "authorizations": "x"},
    {"type": 5},
]


@pytest.mark.parametrize("payload", ODD)
async def test_5_what_slack_signed_and_is_of_no_shape_of_slacks_is_a_bad_request(
    payload: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    async with on_stage() as on:
        result = await on.people.raw(payload)

        assert result.status == 400
    assert "Traceback" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("payload", [ODD[0], ODD[6], ODD[11]])
async def test_5_such_a_frame_is_acknowledged_and_the_line_goes_on(payload: dict[str, Any]) -> None:
    async with on_stage(mode="socket") as on:
        assert (await on.people.raw(payload)).acked

        _, card = await on.park()
        assert (await on.press(BOB, card)).acked


async def test_5_an_empty_view_is_none() -> None:
    async with on_stage() as on:
        assert (await on.people.raw({"type": "shortcut", "view": None})).status == 404
