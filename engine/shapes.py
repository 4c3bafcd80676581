"""The shapes of keys and tokens: how a secret is known that nobody marked."""

import re

# Each form has a fixed beginning, and holds neither a blank nor anything that a shell acts on.
# Sources: https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns,
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html (unique id prefixes),
# https://docs.slack.dev/authentication/tokens, RFC 7519 (JWT: two JSON objects and a signature, in
# base64url, where `{"` reads `eyJ`), RFC 7468 (PEM).
_SHAPES = (
    r"(?<![A-Za-z0-9_])sk-[A-Za-z0-9_-]{16,}",
    r"(?<![A-Za-z0-9_])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}",
    r"xapp-[A-Za-z0-9-]{10,}",
    r"A[KS]IA[A-Z0-9]{16}",
    r"gh[a-z]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"AIza[A-Za-z0-9_-]{35}",
    # The header is bounded: in a text of nothing but headers each would be read to the end.
    r"eyJ[A-Za-z0-9_-]{6,1024}\.eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}",
)
# A key's lines are long; the last may be short. Possessive, so that no text takes long.
_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY-----"
    r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{1,15}+)?+"
    r"(?:(?:\s|\\[nr])*+-----END [A-Z0-9 ]{0,40}?PRIVATE KEY-----)?+"
)
SECRET = re.compile("|".join([*_SHAPES, _PEM]))
"""What looks like a key or a token, wherever it stands."""

_REACH = 16 * 1024
"""No secret of a shape is longer than this; a longer one may be cut."""


def whole_secrets(text: str, limit: int) -> int:
    """Return where to cut a text to at most ``limit`` characters, so that no half secret is left."""
    first = max(0, limit - _REACH)
    for found in SECRET.finditer(text, first, limit + _REACH):
        if found.start() < limit < found.end():
            return found.start()
    return limit
