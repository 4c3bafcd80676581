"""A server that refuses in every way it can, under a running bot: told, red, and over by itself."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from engine.runs import RunStatus
from tests.bot.redis_stage import NOT_RECORDED, on_server, readiness, until_ready, until_said
from tests.bot.stage import ALICE, BOB, Stage
from tests.contracts.redis_audit import check_indexes
from tests.servers.binaries import valkey
from tests.servers.fixtures import (  # noqa: F401 - found by name
    Start,
    binary,
    start_server,
)
from tests.servers.ports import LOOPBACK
from tests.servers.process import ServerProcess
from tests.servers.replicas import Pair

PASSWORD = "a-password-of-some-length"
Move = Callable[[ServerProcess], object]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a server is made to do, how that is told, and how it is put right."""

    begin: Move
    says: str
    end: Move


def _change_password(server: ServerProcess) -> None:
    server.ask("ACL", "SETUSER", "bot", "resetpass", ">another-password")
    # What a connection has proved stays proved.
    server.ask("CLIENT", "KILL", "USER", "bot")


TROUBLES = {
    "OOM": Trouble(
        lambda server: server.configure(maxmemory=1),
        "out of memory: raise its maxmemory",
        lambda server: server.configure(maxmemory=0),
    ),
    "READONLY": Trouble(
        lambda server: server.ask("REPLICAOF", "127.0.0.1", server.port),
        "read-only replica: point the URL at the primary",
        lambda server: server.ask("REPLICAOF", "NO", "ONE"),
    ),
    "NOREPLICAS": Trouble(
        lambda server: server.configure(min_replicas_to_write=1),
        "too few replicas for a write",
        lambda server: server.configure(min_replicas_to_write=0),
    ),
    "NOAUTH": Trouble(
        _change_password,
        "refuses the user or password: check the URL",
        lambda server: server.ask("ACL", "SETUSER", "bot", f">{PASSWORD}"),
    ),
    "NOPERM": Trouble(
        lambda server: server.ask("ACL", "SETUSER", "bot", "-evalsha", "-eval"),
        "ACL forbids this user a command, key or channel",
        lambda server: server.ask("ACL", "SETUSER", "bot", "+evalsha", "+eval"),
    ),
    "NOPERM in a script": Trouble(
        lambda server: server.ask("ACL", "SETUSER", "bot", "-hget", "-hgetall"),
        "ACL forbids this user a command, key or channel",
        lambda server: server.ask("ACL", "SETUSER", "bot", "+hget", "+hgetall"),
    ),
}


def serving(start: Start) -> tuple[ServerProcess, str]:
    """Return a server with a user for the bot, and the URL of that user."""
    server = start(tcp=True)
    server.ask("ACL", "SETUSER", "bot", "on", f">{PASSWORD}", "~*", "&*", "+@all")
    return server, server.tcp_url.replace("://", f"://bot:{PASSWORD}@")


@pytest.mark.parametrize("name", TROUBLES)
async def test_a_server_that_refuses_is_told_of_and_used_again_when_it_does_not(
    start_server: Start,  # noqa: F811 - the fixture
    name: str,
) -> None:
    server, url = serving(start_server)
    trouble = TROUBLES[name]
    async with on_server(url) as on:
        run, card = await on.park()
        trouble.begin(server)

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert pressed.elapsed_ms < 3000
        assert (await on.told(BOB)).startswith(NOT_RECORDED)
        status, said = await readiness(on)
        assert (status, trouble.says in said) == (503, True), said
        assert PASSWORD not in said
        check_indexes(server)
        trouble.end(server)
        await until_ready(on)
        assert await on.unchanged(run)
        await decided_and_done(on, card, run.id)
    check_indexes(server)


async def decided_and_done(on: Stage, card: dict[str, object], run: str) -> None:
    """Press again, and see the run through."""
    before = len(await on.whispers(BOB))
    await on.press(BOB, card)
    assert (await on.told(BOB, before + 1)).startswith("Recorded: approved")
    ended = await on.until_run(run, lambda now: not now.live)
    assert ended.status is RunStatus.SUCCEEDED
    assert on.ledger.effects == ["deploy 1.4.2 prod"]


async def test_a_server_that_loads_its_data_is_waited_for(
    start_server: Start,  # noqa: F811 - the fixture
) -> None:
    # Each command in the log takes its time (microseconds), until the test has seen enough. A server
    # that loads a log answers once in 1024 of them.
    server = start_server(tcp=True, conf={"key-load-delay": "10"})
    async with on_server(server.tcp_url) as on:
        run, card = await on.park()
        await asyncio.to_thread(fill, server)
        server.kill()
        server.launch()
        await until_said(on, "still loading its data: wait until it is done")

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert (await on.told(BOB)).startswith(NOT_RECORDED)
        assert server.ask("INFO", "persistence")["loading"] == 1
        server.ask("CONFIG", "SET", "key-load-delay", 0)
        await until_ready(on)
        await decided_and_done(on, card, run.id)
    check_indexes(server)


def fill(server: ServerProcess) -> None:
    """Write so much that a start takes long."""
    server.ask("EVAL", "for i = 1, 200000 do redis.call('SET', 'other', i) end", 0)


async def test_readiness_is_red_while_too_few_replicas_are_there_to_confirm_a_decision() -> None:
    async with Pair(valkey()) as pair:
        await pair.settle()
        async with on_server(pair.master.tcp_url, store_replicas=1) as on:
            await until_ready(on)

            pair.promote()

            await until_said(on, "HOLDSHORT_STORE_REPLICAS is 1, and fewer replicas answer")
            assert (await readiness(on))[0] == 503
            pair.replica.ask("REPLICAOF", LOOPBACK, pair.line.port)
            await until_ready(on)


async def test_a_store_that_was_flushed_is_refused_until_somebody_has_looked(
    start_server: Start,  # noqa: F811 - the fixture
) -> None:
    server = start_server(tcp=True)
    async with on_server(server.tcp_url) as on:
        _, card = await on.park()
        server.ask("FLUSHALL")

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert (await on.told(BOB)).startswith(NOT_RECORDED)
        status, said = await readiness(on)
        assert (status, "was it flushed? Look, then restart" in said) == (503, True)
        typed = await on.people.slash(ALICE, "C0DEPLOYS", "run deployer x")
        assert not str(typed.body).count("Started")
        assert server.ask("DBSIZE") == 0
