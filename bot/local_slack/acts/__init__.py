"""What people do: each act checks what the person can see, delivers, and shows what comes back."""

from __future__ import annotations

from bot.local_slack.acts.people import People

__all__ = ["People"]
