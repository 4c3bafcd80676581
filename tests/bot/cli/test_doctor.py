"""``holdshort doctor`` in a terminal and for programs."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.local_slack import App, Channel, LocalSlack
from bot.manifest import SCOPES
from tests.bot.cli.conftest import Terminal

ROOT = Path(__file__).parents[3]
CHANNEL = "C0OWN"


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack() as running:
        running.world.app = App(scopes=frozenset({*SCOPES, "channels:read"}))
        members = (running.world.app.bot_user,)
        running.world.put_channel(Channel(id=CHANNEL, name="own", members=members))
        yield running


@pytest.fixture
def environment(slack: LocalSlack, tmp_path: Path) -> dict[str, str]:
    quiet = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HOLDSHORT_", "SLACK_")) and "COV" not in name
    }
    return {
        **quiet,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "HOLDSHORT_SLACK_MODE": "socket",
        "HOLDSHORT_SLACK_API_URL": slack.api_url,
        "HOLDSHORT_SLACK_CHANNEL": CHANNEL,
        "HOLDSHORT_STORE_URL": f"sqlite:///{tmp_path / 'holdshort.db'}",
        "HOLDSHORT_RESUME_SECRETS": "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf",
        "HOLDSHORT_AGENTS": "examples.deployer:agent",
    }


async def doctor(environment: dict[str, str], *words: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "doctor", *words),
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert err == b""
    return process.returncode, out.decode()


async def test_where_all_is_well_it_says_so_and_ends_with_0(environment: dict[str, str]) -> None:
    status, said = await doctor(environment)

    assert (status, said.splitlines()[-1]) == (0, "Ready to serve.")


async def test_what_is_broken_comes_with_its_remedy_and_ends_with_1(
    environment: dict[str, str], slack: LocalSlack
) -> None:
    slack.world.leave(CHANNEL, slack.world.app.bot_user)

    status, said = await doctor(environment)

    lines = [" ".join(line.split()) for line in said.splitlines()]
    at = lines.index(f"channel FAILURE the bot is not in {CHANNEL} (#own)")
    assert lines[at + 1] == "-> type /invite @holdshort there"
    assert (status, lines[-1]) == (1, "1 to put right, 0 to look at.")


async def test_for_programs_it_is_json(environment: dict[str, str], slack: LocalSlack) -> None:
    slack.world.app = App(scopes=frozenset({"chat:write"}))

    status, said = await doctor(environment, "--json")

    told: dict[str, Any] = json.loads(said)
    assert (status, told["ok"]) == (1, False)
    scopes = next(one for one in told["findings"] if one["check"] == "scopes")
    assert scopes["level"] == "failure"
    assert set(scopes) == {"check", "level", "text", "remedy"}


@pytest.mark.parametrize("words", [(), ("--json",)])
async def test_a_hostile_name_cannot_steer_the_terminal(
    environment: dict[str, str], slack: LocalSlack, words: tuple[str, ...]
) -> None:
    hostile = Channel(id=CHANNEL, name="a\x1b[31m\u202eb\nok", members=("U0HOLDSHORT",))
    slack.world.put_channel(hostile)

    _, said = await doctor(environment, *words)

    assert "a\x1b" not in said
    assert "\u202e" not in said
    assert not [line for line in said.splitlines() if line.strip().startswith("ok)")]


def test_without_any_setting_it_says_what_to_set(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDSHORT_RESUME_SECRETS")
    monkeypatch.delenv("HOLDSHORT_AGENTS")

    said = terminal("doctor")

    assert said.status == 1
    assert said.err == ""
    assert "HOLDSHORT_RESUME_SECRETS is not set" in said.out
    assert "to put right" in said.out
