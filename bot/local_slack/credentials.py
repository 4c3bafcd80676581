"""The secrets a Slack app is given, and the signature made with one of them."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from bot.local_slack.ids import Mint
from bot.local_slack.methods import TokenKind


@dataclass(frozen=True, slots=True)
class Credentials:
    """What one finds on an app's settings pages."""

    signing_secret: str
    bot_token: str
    app_token: str
    verification_token: str

    @classmethod
    def fresh(
        cls,
        mint: Mint,
        *,
        signing_secret: str | None = None,
        bot_token: str | None = None,
        app_token: str | None = None,
    ) -> Credentials:
        """Make the secrets that were not given, with Slack's prefixes."""
        return cls(
            signing_secret=signing_secret or mint.secret(),
            bot_token=bot_token or f"xoxb-local-{mint.secret()}",
            app_token=app_token or f"xapp-1-local-{mint.secret()}",
            verification_token=mint.secret(24),
        )

    def kind_of(self, token: str) -> TokenKind | None:
        """Tell which token this is; None for one that is not ours."""
        if hmac.compare_digest(token.encode(), self.bot_token.encode()):
            return TokenKind.BOT
        if hmac.compare_digest(token.encode(), self.app_token.encode()):
            return TokenKind.APP
        return None


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the v0 signature (docs.slack.dev/authentication/verifying-requests-from-slack)."""
    base = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
