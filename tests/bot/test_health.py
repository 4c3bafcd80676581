"""Alive, ready, draining: what the process says of itself, and how it ends."""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from bot import slack_check
from bot.bootstrap import open_runtime
from bot.local_slack import Fault, FaultKind, LocalSlack
from bot.metered_store import MeteredStore
from bot.server import Limits, serve
from bot.settings import SettingsError
from engine.ids import Surroundings
from engine.stores import SqliteStore
from tests.bot.faulty_store import FaultyStore
from tests.bot.stage import BOB, QUICK, Stage, deployer, on_stage, settings_for
from tests.engine.scripted import Ledger, repeat_results, script

ROOT = Path(__file__).parents[2]


async def ask(on: Stage, path: str) -> tuple[int, dict[str, Any]]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{on.bot.url}{path}") as response,
    ):
        return response.status, await response.json()


async def test_a_process_that_serves_is_alive_and_ready() -> None:
    async with on_stage() as on:
        assert await ask(on, "/healthz") == (200, {"status": "ok"})
        assert await ask(on, "/readyz") == (
            200,
            {
                "ready": True,
                "checks": {
                    "store": "ok",
                    "loops": "ok",
                    "slack": "ok",
                    "directory": "ok",
                    "process": "ok",
                },
            },
        )


async def test_a_store_that_does_not_answer_makes_it_not_ready_but_leaves_it_alive() -> None:
    async with on_stage(store=lambda clock: FaultyStore(clock=clock)) as on:
        metered = cast("MeteredStore", on.runtime.engine.store)
        cast("FaultyStore", metered.inner).broken = True

        status, said = await ask(on, "/readyz")

        assert status == 503
        assert said["checks"]["store"] == "told to be broken"
        assert (await ask(on, "/healthz"))[0] == 200


async def test_a_store_that_takes_no_writes_makes_it_not_ready(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with on_stage(store=lambda clock: SqliteStore(path, clock=clock)) as on:
        await on.park()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")

            status, said = await ask(on, "/readyz")

            assert status == 503
            assert "database is locked" in said["checks"]["store"]
        assert (await ask(on, "/readyz"))[0] == 200


async def test_a_slack_that_cannot_tell_who_people_are_makes_it_not_ready_until_it_can() -> None:
    async with on_stage() as on:
        on.slack.faults.plant(Fault(kind=FaultKind.ERROR, method="users.info", error="fatal_error"))

        status, said = await ask(on, "/readyz")

        assert status == 503
        assert said["checks"]["slack"] == "cannot tell who people are (users.info: fatal_error)"
        assert (await ask(on, "/readyz"))[0] == 200


async def test_a_slack_that_hangs_makes_it_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack_check, "TIMEOUT_S", 0.1)
    async with on_stage() as on:
        on.slack.faults.plant(Fault(kind=FaultKind.TIMEOUT, method="users.info"))

        _, said = await ask(on, "/readyz")

        assert said["checks"]["slack"] == "cannot tell who people are (users.info: TimeoutError)"


async def test_a_slack_that_answered_is_not_asked_at_every_look() -> None:
    async with on_stage() as on:
        for _ in range(3):
            assert (await ask(on, "/readyz"))[0] == 200

        assert on.calls("users.info") == [{"user": "U0HOLDSHORT"}]


async def test_loops_that_have_ended_make_it_not_ready() -> None:
    async with on_stage() as on:
        assert on.bot._loops is not None
        on.bot._loops.cancel()
        await on.bot.failed()

        status, said = await ask(on, "/readyz")

        assert (status, said["checks"]["loops"]) == (503, "stopped")


async def test_while_it_drains_it_is_not_ready_and_lets_the_running_tool_end() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def deploy(version: str) -> str:
        """Deploy."""
        begun.set()
        await go_on.wait()
        return f"release {version}"

    def agents(ledger: Ledger) -> Any:
        model = script([("deploy", {"version": "1"})], repeat_results)
        return [deployer(ledger, model=model, tools=[deploy])]

    async with on_stage(agents) as on:
        run, card = await on.park()
        await on.press(BOB, card)
        await begun.wait()

        stopping = asyncio.create_task(on.bot.stop())
        await asyncio.sleep(0)
        status, said = await ask(on, "/readyz")
        assert (status, said["checks"]["process"]) == (503, "draining")
        assert (await ask(on, "/healthz"))[0] == 200
        go_on.set()
        await stopping

        # The result of the tool was recorded before the end; the next step is another's.
        events = [event.fact.kind for event in await on.runtime.engine.events(run.id)]
        assert "call_finished" in events


async def test_a_tool_that_does_not_end_delays_the_end_only_so_long() -> None:
    begun = asyncio.Event()

    async def deploy(version: str) -> str:
        """Deploy."""
        begun.set()
        await asyncio.Event().wait()
        return version

    def agents(ledger: Ledger) -> Any:
        model = script([("deploy", {"version": "1"})], repeat_results)
        return [deployer(ledger, model=model, tools=[deploy])]

    limits = Limits(patience=QUICK.patience, drain=0.2, goodbye=0.2)
    async with on_stage(agents, limits=limits) as on:
        _, card = await on.park()
        await on.press(BOB, card)
        await begun.wait()

        await asyncio.wait_for(on.bot.stop(), timeout=5)


async def test_a_press_while_it_drains_is_recorded() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def deploy(version: str) -> str:
        """Deploy."""
        begun.set()
        await go_on.wait()
        return f"release {version}"

    def agents(ledger: Ledger) -> Any:
        model = script([("deploy", {"version": "1"})], repeat_results)
        return [deployer(ledger, model=model, tools=[deploy])]

    async with on_stage(agents) as on:
        _, first = await on.park()
        _, second = await on.park()
        await on.press(BOB, first)
        await begun.wait()
        stopping = asyncio.create_task(on.bot.stop())
        await asyncio.sleep(0)

        await on.press(BOB, second)

        assert (await on.told(BOB, 2)).startswith("Recorded: approved")
        go_on.set()
        await stopping


async def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with LocalSlack() as slack:
            settings = settings_for(slack, port=port)
            async with open_runtime(settings, agents=[], surroundings=Surroundings()) as runtime:
                with pytest.raises(SettingsError) as refused:
                    await serve(runtime).__aenter__()

    (said,) = refused.value.problems
    assert said == f"HOLDSHORT_PORT: 127.0.0.1:{port} is taken; stop what uses it, or set another"


async def test_an_address_that_is_not_ours_is_told_in_one_line() -> None:
    async with LocalSlack() as slack:
        settings = settings_for(slack, host="192.0.2.1")
        async with open_runtime(settings, agents=[]) as runtime:
            with pytest.raises(SettingsError, match="HOLDSHORT_HOST: cannot listen on 192"):
                await serve(runtime).__aenter__()


@pytest.fixture
def served_by_command(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a bot of its own, but for its Slack."""
    module = tmp_path / "served_agents.py"
    module.write_text(
        "from engine import Agent\n"
        "from tests.bot.stage import deployer\n"
        "from tests.engine.scripted import Ledger\n"
        "agents = [deployer(Ledger())]\n"
    )
    return {
        **{name: value for name, value in os.environ.items() if "COV" not in name},
        "PYTHONPATH": f"{ROOT}:{tmp_path}",
        "HOLDSHORT_AGENTS": "served_agents:agents",
        "HOLDSHORT_STORE_URL": f"sqlite:///{tmp_path / 'new' / 'folder' / 'holdshort.db'}",
        "HOLDSHORT_RESUME_SECRETS": "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf",
        "HOLDSHORT_PORT": "0",
    }


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("mode", ["http", "socket"])
async def test_a_process_that_is_told_to_stop_ends_well_and_logs_no_secret(
    told: signal.Signals, mode: str, served_by_command: dict[str, str]
) -> None:
    async with LocalSlack() as slack:
        environment = {
            **served_by_command,
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
            "SLACK_APP_TOKEN": slack.app_token,
            "HOLDSHORT_SLACK_API_URL": slack.api_url,
            "HOLDSHORT_SLACK_MODE": mode,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from bot.server import serve_forever\n"
            "from bot.settings import Purpose, read_settings\n"
            "raise SystemExit(serve_forever(read_settings(Purpose.SERVE)))",
            env=environment,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        opened, serving = [json.loads(await process.stderr.readline()) for _ in range(2)]
        assert (opened["event"], opened["new"], opened["live_runs"]) == ("store opened", True, 0)
        assert opened["url"] == served_by_command["HOLDSHORT_STORE_URL"]
        assert (serving["event"], serving["mode"]) == ("serving", mode)

        process.send_signal(told)
        rest = (await process.stderr.read()).decode()

        assert await process.wait() == 0
        assert '"stopped"' in rest
        secrets = (slack.bot_token, slack.signing_secret, slack.app_token)
        assert not [one for one in secrets if one in rest]
