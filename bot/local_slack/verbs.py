"""What people can be told to do, as values that cross the control API, and what comes of it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.local_slack.dispatch import Delivery, Kind
from bot.local_slack.forgery import Forgery

Values = dict[str, Any]
"""What a person puts into inputs: block_id -> value, or block_id -> {action_id: value}.

A value is plain: text, an option's value, a user id, a date, or a list of those.
"""


class _Verb(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Click(_Verb):
    """Press a button, or pick from a menu, in a message (`channel`, `ts`) or a view (`view_id`).

    `value` is what to pick; for a button it may only repeat what the button says. `values` are
    put into the inputs around it first. With `confirm` false, a confirm dialog is answered No.
    """

    user: str
    action_id: str
    channel: str | None = None
    ts: str | None = None
    view_id: str | None = None
    block_id: str | None = None
    value: Any = None
    values: Values = Field(default_factory=dict)
    confirm: bool = True
    forge: Forgery | None = None


class Submit(_Verb):
    """Fill in and submit the topmost modal, which must be `view_id` if that is given."""

    user: str
    view_id: str | None = None
    values: Values = Field(default_factory=dict)
    forge: Forgery | None = None


class CloseView(_Verb):
    """Close the topmost modal, or with `clear` all of them."""

    user: str
    view_id: str | None = None
    clear: bool = False
    forge: Forgery | None = None


class Slash(_Verb):
    """Type a slash command in a channel. `text` is what comes after the command."""

    user: str
    channel: str
    text: str = ""
    command: str = "/holdshort"
    forge: Forgery | None = None


class OpenHome(_Verb):
    """Open the app's Home tab."""

    user: str
    forge: Forgery | None = None


class Say(_Verb):
    """Write a message as a person; the app is not told (no message events are modelled)."""

    user: str
    channel: str
    text: str
    thread_ts: str | None = None


class Raw(_Verb):
    """Send any payload at all, signed as if it were Slack's, changed as `forge` says."""

    kind: Kind = Kind.INTERACTIVE
    payload: dict[str, Any] = Field(default_factory=dict)
    forge: Forgery | None = None


class Resend(_Verb):
    """Send the identical bytes of an earlier delivery again.

    With `retry_num`, Slack's retry headers are added (http_timeout unless told). With
    `fresh_signature`, the bytes are signed anew with the present time, as Slack's own retries are.
    """

    delivery_id: int
    retry_num: int | None = None
    retry_reason: str = "http_timeout"
    fresh_signature: bool = False


class ActResult(_Verb):
    """What came of an act.

    `delivered`: the app got it. `acked`: in time and with success. `via`: how it went, `nothing`
    if nothing was sent (a modal closed that the app did not ask to hear of, a confirm dialog
    answered No, no way to reach the app). `failure`: empty, `operation_timeout`,
    `dispatch_failed` or `not_confirmed`. `delivery_id` is for `resend`.
    """

    delivered: bool
    acked: bool
    via: Literal["http", "socket", "nothing"]
    status: int | None = None
    body: Any = None
    elapsed_ms: float = 0.0
    failure: str = ""
    trigger_id: str | None = None
    delivery_id: int | None = None

    @classmethod
    def of(cls, delivery: Delivery, trigger_id: str | None = None) -> ActResult:
        """Summarise a delivery."""
        return cls(**delivery.answer.model_dump(), trigger_id=trigger_id, delivery_id=delivery.id)

    @classmethod
    def nothing_sent(cls, failure: str = "") -> ActResult:
        """Say that the act ended before anything was sent."""
        return cls(delivered=False, acked=False, via="nothing", failure=failure)
