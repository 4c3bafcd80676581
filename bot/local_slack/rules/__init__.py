"""What Slack refuses about messages and views: pure functions from JSON to a list of problems."""

from __future__ import annotations

from bot.local_slack.rules.message import check_blocks, check_message, check_metadata
from bot.local_slack.rules.view import check_view

__all__ = ["check_blocks", "check_message", "check_metadata", "check_view"]
