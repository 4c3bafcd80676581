"""What can go wrong, by who has to hear of it.

LocalSlackError
|-- SlackError      the app asked Slack for something Slack refuses: answered on the wire
|-- ControlError    a person was told to do what a person cannot do: answered to the test
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LocalSlackError(Exception):
    """The root of this package's errors."""


class SlackError(LocalSlackError):
    """A refusal in Slack's own words.

    `code` is Slack's error code. `messages` become `errors` and, each with `[ERROR] ` before it,
    `response_metadata.messages`, which is how Slack says where in the blocks the fault is.
    """

    def __init__(
        self, code: str, *messages: str, more: Mapping[str, Any] | None = None, status: int = 200
    ) -> None:
        super().__init__(code, *messages)
        self.code = code
        self.messages = messages
        self.more = dict(more or {})
        self.status = status

    def body(self) -> dict[str, Any]:
        """Return the JSON that Slack answers with."""
        body: dict[str, Any] = {"ok": False, "error": self.code, **self.more}
        if self.messages:
            body["errors"] = list(self.messages)
            body["response_metadata"] = {"messages": [f"[ERROR] {m}" for m in self.messages]}
        return body


class ControlError(LocalSlackError):
    """The act is impossible: no such user, nothing to click there, a field not filled in.

    `code` is one word for programs, `detail` a sentence for the reader of a failed test.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
