"""The commands that stay: serving the bot, and the local Slack alone."""

import asyncio
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.local_slack import LocalSlack, World, default_world
from bot.local_slack_port import listen
from bot.manifest import SCOPES
from bot.settings import Purpose, read_settings
from bot.stopping import told_to_stop

DEFAULT_BOT = "http://127.0.0.1:8787/slack/events"
_CHANNEL, _OPERATOR = "C0DEPLOYS", "U0ALICE"


def serve() -> int:
    """Serve as the environment says; return the exit status."""
    from bot.server import serve_forever

    return serve_forever(read_settings(Purpose.SERVE))


def serve_local_slack(port: int) -> int:
    """Run the local Slack until told to stop, and print what a bot needs to be served by it."""
    return asyncio.run(_serve_local_slack(port))


async def _serve_local_slack(port: int) -> int:
    # A bot in HTTP mode is looked for at its default address; one in Socket Mode comes by itself.
    slack = LocalSlack(request_url=DEFAULT_BOT, world=_world())
    with told_to_stop() as told, TemporaryDirectory(prefix="holdshort-slack-") as folder:
        if not await listen(slack, port):
            sys.stderr.write(f"holdshort: port {port} is taken, so the page is elsewhere\n")
        try:
            sys.stdout.write("\n".join(_settings(slack, Path(folder))) + "\n")
            sys.stdout.flush()
            await told.wait()
        finally:
            await slack.stop()
    return 0


def _world() -> World:
    """Return a workspace as it should be: the app as the manifest has it, no channel shared."""
    world = default_world()
    world.app = world.app.model_copy(update={"scopes": frozenset(SCOPES)})
    for channel in world.channels.values():
        if channel.is_ext_shared:
            own = tuple(one for one in channel.members if not world.users[one].team_id)
            world.put_channel(channel.model_copy(update={"is_ext_shared": False, "members": own}))
    return world


def _settings(slack: LocalSlack, folder: Path) -> Iterator[str]:
    """Yield lines for a shell: comments, and settings to export where the bot is served."""
    people = ", ".join(
        f"{user.name} {user.id}"
        for user in slack.world.users.values()
        if not (user.is_bot or user.deleted)
    )
    yield f"# A small Slack for this machine: {slack.page_url}  (Ctrl-C ends it)"
    yield f"# People: {people}"
    yield "# In another terminal, with HOLDSHORT_AGENTS=module:attribute: holdshort serve"
    yield f"export SLACK_BOT_TOKEN={slack.bot_token}"
    yield f"export SLACK_SIGNING_SECRET={slack.signing_secret}"
    yield f"export SLACK_APP_TOKEN={slack.app_token}"
    yield f"export HOLDSHORT_SLACK_API_URL={slack.api_url}"
    yield f"export HOLDSHORT_SLACK_CHANNEL={_CHANNEL}"
    # Runs of the real workspace are none of this one's business.
    yield f"export HOLDSHORT_STORE_URL=sqlite:///{folder / 'holdshort.db'}"
    yield f"export HOLDSHORT_RESUME_SECRETS={secrets.token_urlsafe(48)}"
    yield f"export HOLDSHORT_OPERATOR={_OPERATOR}"
