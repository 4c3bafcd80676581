"""The base of everything that is stored or crosses a process: frozen, strict about its fields."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

Json = JsonValue

# Kept, because json.dumps makes one for every text that is not of its own defaults.
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


class Frozen(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def canonical_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the one text of a JSON value: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: a number is NaN or infinite.

    """
    return _CANONICAL.encode(value)


def digest_of(*parts: str) -> str:
    """Return the SHA-256 of the parts, each with its length, as 64 hex characters."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(data), data) for data in encoded)).hexdigest()
