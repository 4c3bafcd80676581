"""What the demo is played on: a scratch folder, a local Slack, and the bot as it always is."""

import asyncio
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.bootstrap import open_runtime
from bot.demo.people import BOB, CAROL, DEPLOYS
from bot.local_slack import LocalSlack
from bot.logs import configure_logs
from bot.server import serve
from bot.settings import Purpose, Settings, given_settings
from engine import Agent, RunEngine
from engine.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Stage:
    """A bot that serves, the Slack it serves, and the file where deployments are written."""

    engine: RunEngine
    slack: LocalSlack
    ledger: Path


@contextmanager
def scratch_folder(*, keep: bool) -> Iterator[Path]:
    """Give an empty folder, removed at the end unless it is kept."""
    folder = Path(tempfile.mkdtemp(prefix="holdshort-demo-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def is_scripted() -> bool:
    """Tell whether the agent's script stands in for a model."""
    return not os.environ.get("HOLDSHORT_MODEL")


def load_agent(ledger: Path, approval_timeout: timedelta) -> Agent:
    """Return the example agent; Bob and Carol may approve.

    Raises:
        ConfigurationError: it cannot be loaded, such as for want of a model's library.

    """
    checkout = Path(__file__).parents[2]
    if not (checkout / "examples" / "deployer.py").is_file():
        raise ConfigurationError("the demo plays examples/deployer.py: run it in a checkout")
    if str(checkout) not in sys.path:
        sys.path.append(str(checkout))
    # Loads the model layer, which most commands never need.
    from examples.deployer import deployer  # noqa: PLC0415

    return deployer(ledger, [BOB, CAROL], approval_timeout)


@asynccontextmanager
async def serve_agent(agent: Agent, slack: LocalSlack, folder: Path) -> AsyncIterator[RunEngine]:
    """Serve an agent to a Slack that is running.

    The bot is wired by the same code as ever, from settings that anyone could export.
    """
    settings = _settings(folder, slack)
    with _log_to(folder / "bot.log", settings):
        async with open_runtime(settings, agents=[agent]) as runtime, serve(runtime) as bot:
            slack.request_url = bot.slack_url
            yield runtime.engine


@asynccontextmanager
async def moves(slack: LocalSlack) -> AsyncIterator[asyncio.Event]:
    """Give an event that is set whenever something changes in Slack."""
    moved = asyncio.Event()

    async def watch() -> None:
        with slack.workspace.feed.watching(slack.workspace.feed.seq) as changes:
            while True:
                await changes.get()
                moved.set()

    watching = asyncio.create_task(watch())
    try:
        yield moved
    finally:
        watching.cancel()
        await asyncio.wait({watching})


@contextmanager
def _log_to(path: Path, settings: Settings) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as file:
        configure_logs(secrets=settings.secrets, stream=file)
        try:
            yield
        finally:
            logging.getLogger().handlers[:] = [logging.NullHandler()]


def _settings(folder: Path, slack: LocalSlack) -> Settings:
    return given_settings(
        Purpose.EMBED,
        slack_bot_token=slack.bot_token,
        slack_signing_secret=slack.signing_secret,
        slack_api_url=slack.api_url,
        slack_channel=DEPLOYS,
        store_url=f"sqlite:///{folder / 'holdshort.db'}",
        resume_secrets=secrets.token_urlsafe(48),
        port=0,
    )
