"""The commands that stay until they are told to stop: the local Slack, and serving the bot."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import aiohttp
import pytest

from bot.settings import Purpose, read_settings
from tests.bot.cli.conftest import Terminal

ROOT = Path(__file__).parents[3]
LAST = "HOLDSHORT_OPERATOR"

Start = Callable[..., "subprocess.Popen[str]"]

pytestmark = pytest.mark.plants_secrets(
    "the local Slack prints what a bot there is to be given", where="bot slack"
)


@pytest.fixture
def start(path: Path, tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a command as a process; what is left over is killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*words: str, **more: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "bot", *words],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(tmp_path), **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def read_until(stream: Iterator[str] | None, word: str) -> list[str]:
    """Read lines up to the one with this word."""
    assert stream is not None
    lines: list[str] = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if word in line:
            return lines
    raise AssertionError(f"{word!r} was not printed, only: {lines}")


def exports(lines: list[str]) -> dict[str, str]:
    """Return what a shell would set."""
    found = [re.fullmatch(r"export (\w+)=(.*)", line) for line in lines if line.startswith("exp")]
    return {match[1]: match[2] for match in found if match}


def test_the_local_slack_prints_settings_that_a_bot_can_be_served_with(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack = start("slack", "--port", "0")
    lines = read_until(slack.stdout, LAST)
    for name, value in exports(lines).items():
        monkeypatch.setenv(name, value)

    settings = read_settings(Purpose.SERVE)

    assert settings.slack_api_url.removesuffix("api/") in lines[0]
    assert "alice U0ALICE, bob U0BOB" in lines[1]
    assert settings.slack_channel == "C0DEPLOYS"


@pytest.mark.parametrize("mode", ["http", "socket"])
def test_an_examination_with_those_settings_finds_nothing_wrong(mode: str, start: Start) -> None:
    slack = start("slack", "--port", "0")
    settings = exports(read_until(slack.stdout, LAST))

    doctor = start("doctor", "--json", **settings, HOLDSHORT_SLACK_MODE=mode)
    told, _ = doctor.communicate()

    assert [one for one in json.loads(told)["findings"] if one["level"] != "ok"] == []
    assert doctor.returncode == 0


@pytest.mark.parametrize("mode", ["http", "socket"])
async def test_a_bot_with_those_settings_hears_the_people_there(mode: str, start: Start) -> None:
    slack = start("slack", "--port", "0")
    settings = exports(read_until(slack.stdout, LAST))
    # A bot in HTTP mode is looked for at its default port, which may be taken on this machine.
    bot = start("serve", **settings, HOLDSHORT_SLACK_MODE=mode, HOLDSHORT_PORT="0")
    serving = read_until(bot.stderr, '"serving"')[-1]
    address = re.search(r"http://[\d.]+:\d+", serving)
    assert address is not None
    control = settings["HOLDSHORT_SLACK_API_URL"].replace("/api/", "/_control")
    async with aiohttp.ClientSession() as session:
        if mode == "http":
            await session.post(f"{control}/request_url", json={"url": f"{address[0]}/slack/events"})
        else:
            await _connected(session, control)
        said = {"user": "U0BOB", "channel": "C0DEPLOYS", "text": "help"}
        async with session.post(f"{control}/slash", json=said) as response:
            done = await response.json()

    assert (done["acked"], done["via"]) == (True, mode)
    bot.send_signal(signal.SIGTERM)
    assert bot.wait() == 0


async def _connected(session: aiohttp.ClientSession, control: str) -> None:
    """Wait until the bot's socket is there."""
    async with session.get(f"{control}/events?after=0") as feed:
        async for line in feed.content:
            if b'"sockets"' in line:
                return


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_the_local_slack_ends_cleanly_and_leaves_nothing(
    told: signal.Signals, start: Start, tmp_path: Path
) -> None:
    slack = start("slack", "--port", "0")
    read_until(slack.stdout, LAST)

    slack.send_signal(told)

    assert slack.wait() == 0
    assert slack.stderr is not None
    assert slack.stderr.read() == ""
    assert not list(tmp_path.glob("holdshort-*/*"))


def test_the_local_slack_goes_elsewhere_if_its_port_is_taken(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        slack = start("slack", "--port", port)
        lines = read_until(slack.stdout, LAST)
        told = read_until(slack.stderr, "taken")

    assert port not in lines[0]
    assert told == [f"holdshort: port {port} is taken, so the page is elsewhere"]


def test_serving_without_settings_names_each_that_is_missing(terminal: Terminal) -> None:
    refused = terminal("serve")

    assert refused.status == 2
    for name in ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"):
        assert f"{name} is not set" in refused.err


def test_a_group_that_slack_does_not_know_ends_serving_with_one_clear_line(
    start: Start, tmp_path: Path
) -> None:
    slack = start("slack", "--port", "0")
    settings = exports(read_until(slack.stdout, LAST))
    agents = (
        "from engine import Agent, Approvers\n"
        "agent = Agent(name='deployer', model='test', approvers=Approvers(groups=('S0NONE',)))\n"
    )
    (tmp_path / "my_agents.py").write_text(agents)
    more = {"HOLDSHORT_AGENTS": "my_agents:agent", "PYTHONPATH": str(tmp_path)}

    bot = start("serve", **settings, **more, HOLDSHORT_PORT="0")
    _, said = bot.communicate()

    assert bot.returncode == 2
    assert said.strip().splitlines()[-1] == (
        "holdshort: agent deployer: approvers: the user group 'S0NONE' cannot be looked up:"
        " Slack says no_such_subteam"
    )
