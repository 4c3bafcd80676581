"""The base of everything that is stored or crosses a process: frozen, strict about its fields."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

Json = JsonValue


class Frozen(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def canonical_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the one text of a JSON value: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: a number is NaN or infinite.

    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest_of(*parts: str) -> str:
    """Return the SHA-256 of the parts, each with its length, as 64 hex characters."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(f"{len(data)}:".encode())
        hasher.update(data)
    return hasher.hexdigest()
