"""Asking the Web API for something that Slack refuses."""

from collections.abc import Awaitable
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError


async def refusal(call: Awaitable[Any]) -> str:
    """Return the error code that a call is refused with."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])
