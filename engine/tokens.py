"""Resume tokens: signed strings that point at one ticket, for one way in.

``base64url(claims) + "." + base64url(HMAC-SHA256(secret, "hs1." + base64url(claims)))``, without
padding (RFC 4648 section 5). A token proves that its ticket was current when it was minted; it is
never the sole authority to decide.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import ConfigDict, Field, ValidationError

from engine.errors import (
    InvalidAgentDefinitionError,
    InvalidResumeTokenError,
    TokenFault,
)
from engine.identity import Via
from engine.ids import ApprovalId, RunId
from engine.schema import Frozen
from engine.tickets import ResumeTicket

MIN_SECRET_BYTES = 32
MAX_TOKEN_CHARS = 1024
_DOMAIN = b"hs1."
_NO_DEADLINE = 0


class TokenClaims(Frozen):
    """What a token says. ``expires_ms`` is Unix time in milliseconds, 0 for no deadline."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, strict=True)

    version: Literal[1] = Field(default=1, alias="v")
    key: str = Field(default="", alias="k", max_length=16)
    audience: str = Field(alias="u", max_length=16)
    run: str = Field(alias="r", min_length=1, max_length=64)
    approval: str = Field(alias="a", min_length=1, max_length=64)
    token: str = Field(alias="t", min_length=1, max_length=64)
    digest: str = Field(alias="d", max_length=64)
    expires_ms: int = Field(alias="e", ge=0)

    @classmethod
    def for_ticket(cls, ticket: ResumeTicket, audience: Via) -> Self:
        """Return the claims that point at this ticket, for one way in."""
        return cls(
            audience=audience.value,
            run=ticket.run,
            approval=ticket.approval,
            token=ticket.token,
            digest=ticket.digest,
            expires_ms=to_ms(ticket.deadline) if ticket.deadline else _NO_DEADLINE,
        )

    @property
    def run_id(self) -> RunId:
        """Return the run pointed at."""
        return RunId(self.run)

    @property
    def approval_id(self) -> ApprovalId:
        """Return the ticket pointed at."""
        return ApprovalId(self.approval)


def to_ms(moment: datetime) -> int:
    """Return Unix time in milliseconds, rounded up so that a token never ends early."""
    return -int(-moment.timestamp() * 1000 // 1)


def create_resume_token(secret: str, claims: TokenClaims) -> str:
    """Sign claims with one secret.

    Raises:
        InvalidAgentDefinitionError: the secret is empty or shorter than 32 bytes.

    """
    key = _key(secret)
    stamped = claims.model_copy(update={"key": key_id(secret)})
    payload = _encode(stamped.model_dump_json(by_alias=True).encode())
    return f"{payload}.{_encode(_sign(key, payload))}"


def verify_resume_token(secret: str | Sequence[str], token: str, now: datetime) -> TokenClaims:
    """Return the claims of a token signed with any of the secrets and not expired at ``now``.

    Raises:
        InvalidResumeTokenError: malformed, forged or expired.

    """
    claims = read_resume_token([secret] if isinstance(secret, str) else secret, token)
    if claims.expires_ms and now.timestamp() * 1000 > claims.expires_ms:
        raise InvalidResumeTokenError(TokenFault.EXPIRED)
    return claims


def read_resume_token(secrets: Sequence[str], token: str) -> TokenClaims:
    """Return the claims of a token signed with any of the secrets, whether expired or not.

    Raises:
        InvalidResumeTokenError: malformed or forged.

    """
    payload, signature = _split(token)
    keys = [_key(secret) for secret in secrets]
    matches = [hmac.compare_digest(_sign(key, payload), signature) for key in keys]
    if not any(matches):
        raise InvalidResumeTokenError(TokenFault.FORGED)
    try:
        return TokenClaims.model_validate_json(_decode(payload))
    except ValidationError as error:
        raise InvalidResumeTokenError(TokenFault.MALFORMED) from error


def key_id(secret: str) -> str:
    """Return a short public name of a secret, which tells nothing about it."""
    return hashlib.sha256(b"holdshort key id\0" + secret.encode()).hexdigest()[:8]


class KeyRing:
    """Secrets, newest first: the newest signs, all verify."""

    def __init__(self, secrets: Sequence[str]) -> None:
        """Take the secrets, newest first.

        Raises:
            InvalidAgentDefinitionError: none is given, or one is shorter than 32 bytes.

        """
        if not secrets:
            raise InvalidAgentDefinitionError(
                "no resume secret: anyone could mint tokens; give one of at least 32 bytes"
            )
        for secret in secrets:
            _key(secret)
        self._secrets = tuple(secrets)

    def __repr__(self) -> str:
        """Show the key ids, never the secrets."""
        return f"KeyRing({', '.join(key_id(secret) for secret in self._secrets)})"

    def mint(self, ticket: ResumeTicket, audience: Via) -> str:
        """Return a token for a committed ticket."""
        return create_resume_token(self._secrets[0], TokenClaims.for_ticket(ticket, audience))

    def read(self, token: str, audience: Via) -> TokenClaims:
        """Return the claims of a token that is genuine and meant for this way in.

        Whether it has expired or was superseded is judged against the ticket, later.

        Raises:
            InvalidResumeTokenError: malformed, forged, or for another way in.

        """
        claims = read_resume_token(self._secrets, token)
        if claims.audience != audience.value:
            raise InvalidResumeTokenError(TokenFault.WRONG_AUDIENCE)
        return claims


def _key(secret: str) -> bytes:
    key = secret.encode()
    if len(key) < MIN_SECRET_BYTES:
        raise InvalidAgentDefinitionError(
            f"a resume secret must have at least {MIN_SECRET_BYTES} bytes; this one has {len(key)}"
        )
    return key


def _sign(key: bytes, payload: str) -> bytes:
    return hmac.new(key, _DOMAIN + payload.encode(), hashlib.sha256).digest()


def _split(token: str) -> tuple[str, bytes]:
    if len(token) > MAX_TOKEN_CHARS or not token.isascii() or token.count(".") != 1:
        raise InvalidResumeTokenError(TokenFault.MALFORMED)
    payload, _, signature = token.partition(".")
    return payload, _decode(signature)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidResumeTokenError(TokenFault.MALFORMED) from error
    if _encode(data) != text:
        raise InvalidResumeTokenError(TokenFault.MALFORMED)
    return data
