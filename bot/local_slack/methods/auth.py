"""auth.test: whose token is this."""

from __future__ import annotations

from bot.local_slack.methods.call import Call, Json, Method


def test(call: Call) -> Json:
    """auth.test."""
    team, app = call.workspace.world.team, call.workspace.world.app
    grid = {"enterprise_id": team.enterprise} if team.enterprise else {}
    return grid | {
        "url": f"https://{team.domain}.slack.com/",
        "team": team.name,
        "user": app.name,
        "team_id": team.id,
        "user_id": app.bot_user,
        "bot_id": app.bot_id,
        "is_enterprise_install": False,
    }


METHODS = {"auth.test": Method(test)}
