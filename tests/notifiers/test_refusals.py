"""Every error code that we know leads to one thing to do."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from notifiers.refusals import CallError, Refusal, read_refusal

DOCUMENTED = {
    Refusal.PLACE: ["not_in_channel", "channel_not_found", "is_archived", "restricted_action"],
    Refusal.APP: ["invalid_auth", "token_revoked", "account_inactive", "missing_scope"],
    Refusal.CONTENT: ["invalid_blocks", "msg_too_long", "msg_blocks_too_long"],
    Refusal.GONE: ["message_not_found", "cant_update_message", "edit_window_closed"],
    Refusal.LATER: ["internal_error", "fatal_error", "service_unavailable", "ratelimited", "new"],
}


def answered(status: int = 200, data: Any = None, **headers: str) -> CallError:
    response = SimpleNamespace(status_code=status, data=data, headers=headers)
    return read_refusal("chat.update", SlackApiError(json.dumps(data), response))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("kind", "code"), [(kind, code) for kind, codes in DOCUMENTED.items() for code in codes]
)
def test_a_code_says_what_to_do(kind: Refusal, code: str) -> None:
    error = answered(data={"ok": False, "error": code})

    assert (error.kind, error.code) == (kind, code)
    assert error.as_delivery_error().permanent == (kind is not Refusal.LATER)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("30", 30.0),
        ("0.5", 0.5),
        ("0", 0.0),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("9e9", 3600),
    ],
)
def test_a_rate_limit_is_read_whatever_its_header_says(header: str, wait: float | None) -> None:
    error = answered(429, {"error": "ratelimited"}, **{"Retry-After": header})
    assert error.as_delivery_error().retry_after == wait


def test_a_rate_limit_without_a_header_is_one_all_the_same() -> None:
    assert answered(429).as_delivery_error().retry_after is None


@pytest.mark.parametrize("data", [None, [], "text", {}, {"error": 7}, {"error": "A <b>"}])
def test_only_what_looks_like_a_code_is_repeated(data: Any) -> None:
    assert str(answered(data=data)) == "chat.update: unreadable answer"
