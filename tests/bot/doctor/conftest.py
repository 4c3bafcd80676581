"""An environment where all is well."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.local_slack import App, LocalSlack
from bot.manifest import SCOPES
from tests.bot.doctor.examined import OWN, Set, write_agents
from tests.bot.stage import ALICE, RESUME_SECRET


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack() as running:
        running.world.app = App(scopes=frozenset({*SCOPES, "channels:read"}))
        running.world.put_channel(OWN)
        yield running


@pytest.fixture
def given(slack: LocalSlack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Set:
    """Set up an environment where all is well, and return what changes one setting of it."""
    for name in [name for name in os.environ if name.startswith(("HOLDSHORT_", "SLACK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def change(**settings: str) -> None:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)

    change(
        SLACK_BOT_TOKEN=slack.bot_token,
        SLACK_APP_TOKEN=slack.app_token,
        HOLDSHORT_SLACK_MODE="socket",
        HOLDSHORT_SLACK_API_URL=slack.api_url,
        HOLDSHORT_SLACK_CHANNEL=OWN.id,
        HOLDSHORT_STORE_URL=f"sqlite:///{tmp_path / 'holdshort.db'}",
        HOLDSHORT_RESUME_SECRETS=RESUME_SECRET,
        HOLDSHORT_AGENTS=write_agents(tmp_path, "alice_decides", f"approvers=['{ALICE}']"),
        HOLDSHORT_OPERATOR=ALICE,
    )
    return change
