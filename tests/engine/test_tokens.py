"""Resume tokens: what they say, what is refused, and that a refusal tells nothing."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidAgentDefinitionError, InvalidResumeTokenError, TokenFault
from engine.identity import Via
from engine.tokens import (
    MAX_TOKEN_CHARS,
    KeyRing,
    TokenClaims,
    create_resume_token,
    key_id,
    to_ms,
    verify_resume_token,
)

OLD, NEW = "o" * 32, "n" * 32
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CLAIMS = TokenClaims(
    audience="slack", run="run_1", approval="apr_1", token="tok_1", digest="d" * 64, expires_ms=0
)


def claims_until(deadline: datetime) -> TokenClaims:
    return CLAIMS.model_copy(update={"expires_ms": to_ms(deadline)})


def fault_of(token: str, secret: str | list[str] = OLD, now: datetime = NOON) -> TokenFault:
    with pytest.raises(InvalidResumeTokenError) as refused:
        verify_resume_token(secret, token, now)
    return refused.value.fault


def test_a_token_gives_back_its_claims_and_names_its_key() -> None:
    claims = verify_resume_token(OLD, create_resume_token(OLD, CLAIMS), NOON)

    assert claims == CLAIMS.model_copy(update={"key": key_id(OLD)})


def test_a_token_fits_a_slack_button_with_room_to_spare() -> None:
    long = CLAIMS.model_copy(update={"run": "r" * 30, "approval": "a" * 30, "token": "t" * 30})

    assert len(create_resume_token(OLD, long)) < 500


def test_a_token_is_good_at_its_deadline_and_expired_one_millisecond_after() -> None:
    token = create_resume_token(OLD, claims_until(NOON))

    assert verify_resume_token(OLD, token, NOON).token == "tok_1"
    assert fault_of(token, now=NOON + timedelta(milliseconds=1)) is TokenFault.EXPIRED


def test_a_token_never_ends_before_its_deadline() -> None:
    deadline = NOON + timedelta(microseconds=1)

    token = create_resume_token(OLD, claims_until(deadline))

    assert verify_resume_token(OLD, token, deadline)


def test_a_token_of_another_secret_is_forged() -> None:
    assert fault_of(create_resume_token(NEW, CLAIMS)) is TokenFault.FORGED


def test_every_flipped_bit_of_a_token_is_refused() -> None:
    token = create_resume_token(OLD, CLAIMS)
    for place, character in enumerate(token):
        for bit in range(7):
            changed = token[:place] + chr(ord(character) ^ (1 << bit)) + token[place + 1 :]

            assert fault_of(changed) in {TokenFault.FORGED, TokenFault.MALFORMED}


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a",
        "a.b.c",
        "é.é",
        "a=.b",
        "AAAA.AAA=",
        "AAAA.AAB",
        "x" * (MAX_TOKEN_CHARS + 1),
    ],
)
def test_a_malformed_token_is_refused_as_such(token: str) -> None:
    assert fault_of(token) in {TokenFault.MALFORMED, TokenFault.FORGED}


@given(st.text(max_size=2_000))
def test_any_text_is_refused_with_the_one_typed_error(text: str) -> None:
    assert fault_of(text) in {TokenFault.MALFORMED, TokenFault.FORGED}


@pytest.mark.parametrize(
    "payload",
    [
        b"[]",
        b"{}",
        b"\xff",
        b'{"v":2,"k":"","u":"slack","r":"r","a":"a","t":"t","d":"d","e":0}',
        b'{"v":1,"k":"","u":"slack","r":"r","a":"a","t":"t","d":"d","e":0,"x":1}',
        b'{"v":1,"k":"","u":"slack","r":"r","a":"a","t":"t","d":"d","e":"0"}',
        b'{"v":1,"k":"","u":"slack","r":"","a":"a","t":"t","d":"d","e":0}',
        b'{"v":1,"k":"","u":"slack","r":"r","a":"a","t":"t","d":"d","e":-1}',
    ],
)
def test_rightly_signed_claims_of_another_shape_are_malformed(payload: bytes) -> None:
    signed = _sign_raw(payload)

    assert fault_of(signed) is TokenFault.MALFORMED


def test_the_newest_key_signs_and_every_key_of_the_ring_verifies() -> None:
    old_token = create_resume_token(OLD, CLAIMS)
    ring = KeyRing([NEW, OLD])

    assert ring.read(old_token, Via.SLACK).key == key_id(OLD)
    with pytest.raises(InvalidResumeTokenError):
        KeyRing([NEW]).read(old_token, Via.SLACK)


def test_a_token_for_one_way_in_is_refused_at_another() -> None:
    token = create_resume_token(OLD, CLAIMS)

    with pytest.raises(InvalidResumeTokenError) as refused:
        KeyRing([OLD]).read(token, Via.TERMINAL)

    assert refused.value.fault is TokenFault.WRONG_AUDIENCE


@pytest.mark.parametrize("secret", ["", "short", "s" * 31])
def test_a_short_secret_signs_nothing(secret: str) -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="at least 32 bytes"):
        create_resume_token(secret, CLAIMS)


def test_an_empty_key_ring_is_refused() -> None:
    with pytest.raises(InvalidAgentDefinitionError, match="anyone could mint"):
        KeyRing([])


def test_neither_a_key_ring_nor_a_refusal_shows_secrets_or_tokens() -> None:
    token = create_resume_token(NEW, CLAIMS)

    with pytest.raises(InvalidResumeTokenError) as refused:
        verify_resume_token(OLD, token, NOON)

    assert NEW not in repr(KeyRing([NEW]))
    assert token.split(".")[0] not in f"{refused.value} {refused.value!r}"


def _sign_raw(payload: bytes) -> str:
    encoded = base64.urlsafe_b64encode(payload).rstrip(b"=")
    mac = hmac.new(OLD.encode(), b"hs1." + encoded, hashlib.sha256).digest()
    return f"{encoded.decode()}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
