"""The Web API methods, one file per family, each a pure step on the workspace."""

from __future__ import annotations

from collections.abc import Mapping

from bot.local_slack.methods import auth, chat, conversations, people, views
from bot.local_slack.methods.call import Call, Method, TokenKind

METHODS: Mapping[str, Method] = {
    **auth.METHODS,
    **chat.METHODS,
    **conversations.METHODS,
    **people.METHODS,
    **views.METHODS,
}
"""Every method by name, except `apps.connections.open`, which needs the socket hub."""

__all__ = ["METHODS", "Call", "Method", "TokenKind"]
