"""A bot on Redis: it serves as on any store, and starts on none that could lose a decision."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.bootstrap import open_runtime
from bot.local_slack import LocalSlack
from bot.settings import Purpose, Settings, SettingsError, given_settings
from engine import Actor, Allow, Via
from engine.errors import StoreUnfitError
from engine.ids import PersonId
from tests.bot.stage import BOB, RESUME_SECRET, on_stage
from tests.servers.cluster import Cluster
from tests.servers.fixtures import Start
from tests.servers.process import ServerProcess
from tests.servers.proxy import FaultProxy

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack() as made:
        yield made


def terminal(url: str, **more: Any) -> Settings:
    return given_settings(Purpose.TERMINAL, store_url=url, resume_secrets=RESUME_SECRET, **more)


async def start(slack: LocalSlack, url: str, **more: str) -> asyncio.subprocess.Process:
    """Start the served bot as its operator does."""
    inherited = {name: value for name, value in os.environ.items() if "COV" not in name}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "serve"),
        env={
            **inherited,
            "PYTHONPATH": str(ROOT),
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
            "HOLDSHORT_SLACK_API_URL": slack.api_url,
            "HOLDSHORT_RESUME_SECRETS": RESUME_SECRET,
            "HOLDSHORT_AGENTS": "examples.deployer:agent",
            "HOLDSHORT_STORE_URL": url,
            "HOLDSHORT_PORT": "0",
            **more,
        },
        stderr=asyncio.subprocess.PIPE,
    )


async def decide_at_a_terminal(url: str) -> str:
    """Park a run with a served bot, allow it from another process's engine; return its output."""
    async with on_stage(store_url=url) as on:
        run, _ = await on.park()
        async with open_runtime(terminal(url), agents=()) as other:
            operator = Actor(id=PersonId(BOB), via=Via.TERMINAL)
            token = await other.engine.token_for(run.tickets[0].ref, Via.TERMINAL)
            await other.engine.resume(token, Allow(), actor=operator)
        return (await on.until_run(run.id, lambda now: not now.live)).output or ""


@pytest.mark.parametrize("way", ["url", "tcp_url"])
async def test_runs_on_a_server_are_answered_from_any_process(
    redis_server: ServerProcess, way: str
) -> None:
    assert "release 1.4.2" in await decide_at_a_terminal(getattr(redis_server, way))


async def test_runs_on_a_cluster_are_answered_from_any_process() -> None:
    with Cluster() as cluster:
        assert "release 1.4.2" in await decide_at_a_terminal(cluster.url)


async def test_a_bot_on_an_unfit_server_ends_with_a_line_for_each_finding(
    start_server: Start, slack: LocalSlack
) -> None:
    server = start_server(conf={"appendonly": "no", "maxmemory-policy": "volatile-lru"})

    process = await start(slack, server.url)
    _, told = await process.communicate()

    assert process.returncode == 2
    first, second = told.decode().splitlines()
    named = f"HOLDSHORT_STORE_URL is {server.url}: the server "
    assert first.removeprefix("holdshort: ").startswith(named)
    assert second.startswith(named)
    assert "keeps no append-only file: set 'appendonly yes'" in first
    assert "'maxmemory-policy volatile-lru'" in second


async def test_a_bot_with_relaxed_durability_serves_and_says_what_may_be_lost(
    start_server: Start, slack: LocalSlack
) -> None:
    server = start_server(conf={"appendfsync": "everysec"})
    process = await start(slack, server.url, HOLDSHORT_DURABILITY="relaxed")
    assert process.stderr is not None

    lines: list[str] = []
    while "serving" not in (lines or [""])[-1]:
        lines.append((await process.stderr.readline()).decode())
        assert lines[-1], lines
    process.terminate()
    await process.communicate()

    assert process.returncode == 0
    assert "loses the last second or two of decisions" in lines[0]
    opened = json.loads(lines[1])
    assert opened["id"] == server.ask("HGET", "{hs:0}:meta", "id")
    assert (opened["url"], opened["new"], opened["live_runs"]) == (server.url, True, 0)


async def test_an_unfit_server_is_named_without_its_password(start_server: Start) -> None:
    server = start_server(tcp=True, conf={"appendfsync": "no", "requirepass": "hunter2"})
    url = server.tcp_url.replace("://", "://:hunter2@")
    with pytest.raises(StoreUnfitError) as refused:
        await open_runtime(terminal(url), agents=()).__aenter__()
    (told,) = refused.value.problems
    assert "hunter2" not in told
    assert told.startswith(f"HOLDSHORT_STORE_URL is {url.replace('hunter2', '***')}")


async def test_more_replicas_than_there_are_keep_a_bot_from_starting(
    redis_server: ServerProcess,
) -> None:
    with pytest.raises(
        StoreUnfitError, match="HOLDSHORT_STORE_REPLICAS is 1, but the server has 0"
    ):
        await open_runtime(terminal(redis_server.url, store_replicas=1), agents=()).__aenter__()


async def test_a_terminal_decides_nothing_on_an_unfit_server(start_server: Start) -> None:
    server = start_server(conf={"appendfsync": "no"})
    with pytest.raises(StoreUnfitError, match="appendfsync"):
        await open_runtime(terminal(server.url), agents=()).__aenter__()


def look(url: str, **more: Any) -> Settings:
    return given_settings(Purpose.LOOK, store_url=url, **more)


async def test_a_look_at_a_server_makes_no_store_and_takes_an_unfit_one(
    start_server: Start,
) -> None:
    server = start_server()
    with pytest.raises(SettingsError, match="holds none"):
        await open_runtime(look(server.url), agents=()).__aenter__()
    assert server.ask("DBSIZE") == 0
    async with open_runtime(terminal(server.url), agents=()):
        pass
    server.configure(appendfsync="no")

    async with open_runtime(look(server.url), agents=()) as runtime:
        assert (await runtime.engine.list_runs()).runs == ()
    with pytest.raises(StoreUnfitError, match="HOLDSHORT_STORE_ID is 'theirs'"):
        await open_runtime(look(server.url, store_id="theirs"), agents=()).__aenter__()


async def test_another_store_than_the_expected_one_is_refused(redis_server: ServerProcess) -> None:
    async with open_runtime(terminal(redis_server.url), agents=()):
        known = redis_server.ask("HGET", "{hs:0}:meta", "id")
    async with open_runtime(terminal(redis_server.url, store_id=known), agents=()):
        pass

    redis_server.flush()
    with pytest.raises(StoreUnfitError, match="holds no store"):
        await open_runtime(terminal(redis_server.url, store_id=known), agents=()).__aenter__()
    assert redis_server.ask("DBSIZE") == 0


async def why_not(url: str) -> str:
    with pytest.raises(SettingsError) as refused:
        await open_runtime(terminal(url), agents=()).__aenter__()
    return str(refused.value)


async def test_a_server_that_is_away_is_told_without_its_password() -> None:
    assert await why_not("redis://bot:hunter2@127.0.0.1:9") == (
        "HOLDSHORT_STORE_URL names a store that cannot be opened: redis://bot:***@127.0.0.1:9:"
        " the store is not available: the server cannot be reached"
    )


async def test_a_certificate_that_is_not_trusted_is_told(redis_server: ServerProcess) -> None:
    async with FaultProxy(redis_server.socket, tls=True) as proxy:
        assert "certificate is not trusted" in await why_not(f"rediss://127.0.0.1:{proxy.port}")


async def test_a_service_that_no_sentinel_knows_is_told(redis_server: ServerProcess) -> None:
    sentinel = ServerProcess(redis_server.binary, sentinel=True)
    with sentinel:
        url = f"redis+sentinel://127.0.0.1:{sentinel.port}/nobody"
        assert "no Sentinel knows a master of that name" in await why_not(url)
