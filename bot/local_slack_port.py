"""Listening with the local Slack where somebody asked, or elsewhere if that is taken."""

from bot.local_slack import LocalSlack

HOST = "127.0.0.1"


async def listen(slack: LocalSlack, port: int) -> bool:
    """Start on this port, or on a free one; tell whether it is the one that was asked for."""
    try:
        await slack.start(HOST, port)
    except OSError:
        if port == 0:
            raise
        await slack.start(HOST, 0)
        return False
    return True
