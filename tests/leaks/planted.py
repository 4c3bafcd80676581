"""Tests that leak, and some that do not: for ``test_plugin``, and never collected by name."""

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from bot.local_slack import LocalSlack
from engine.identity import Via
from engine.stores import MemoryStore
from engine.stores.packing import pack
from engine.tokens import KeyRing
from tests.factories import make_change, make_run, make_ticket

SECRET = "only-for-the-planted-5f2c81ab9d7e"


def token() -> str:
    return KeyRing([SECRET]).mint(make_ticket(make_run()), Via.SLACK)


def keep(path: Path | str, *values: str) -> sqlite3.Connection:
    """Open a database that keeps these values."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE kept (value TEXT) STRICT")
    connection.executemany("INSERT INTO kept VALUES (?)", [(value,) for value in values])
    return connection


def child(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", f"import sys\n{code}", *arguments]


def test_resume_token_in_a_database(tmp_path: Path) -> None:
    keep(tmp_path / "kept.db", token()).close()


def test_resume_token_across_pages(tmp_path: Path) -> None:
    # Longer than a page, and cut where the token stands.
    long = "x" * 4000 + token() + "y" * 9000
    keep(tmp_path / "kept.db", *(long[shift:] for shift in range(0, 4000, 40))).close()


def test_resume_token_in_what_was_deleted(tmp_path: Path) -> None:
    with closing(keep(tmp_path / "kept.db", token())) as connection:
        connection.execute("PRAGMA secure_delete = OFF")  # some builds of SQLite have it on
        connection.execute("DELETE FROM kept")


def test_resume_token_in_the_wal_of_a_killed_process(tmp_path: Path) -> None:
    code = (
        "import os\nfrom tests.leaks.planted import keep, token\n"
        "opened = keep(sys.argv[1], token())\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run(child(code, str(tmp_path / "kept.db")), check=False)
    assert done.returncode == -signal.SIGKILL


def test_resume_token_in_a_database_that_is_gone(tmp_path: Path) -> None:
    keep(tmp_path / "kept.db", token()).close()
    for file in tmp_path.iterdir():
        file.unlink()


def test_resume_token_in_memory() -> None:
    keep(":memory:", token()).close()


def test_resume_token_in_memory_that_was_left_open() -> None:
    globals()["_left_open"] = keep(":memory:", token())


async def test_resume_token_in_a_store() -> None:
    store = MemoryStore()
    await store.commit(make_change(make_run(context={"of": token()})))
    await store.close()


async def put_in_redis(value: bytes) -> None:
    async def agree(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(b"+OK\r\n" * line.startswith(b"*"))
        writer.close()

    server = await asyncio.start_server(agree, "127.0.0.1", 0)
    async with server, Redis(port=server.sockets[0].getsockname()[1], protocol=2) as redis:
        await redis.set("run", value)


async def test_resume_token_in_redis() -> None:
    await put_in_redis(token().encode())


async def test_resume_token_compressed_in_redis() -> None:
    await put_in_redis(pack(f"{SECRET * 9} {token()}"))


async def test_resume_token_in_a_log_in_redis() -> None:
    await put_in_redis(b"cmt_1\n1\n" + pack(f"{SECRET * 9} {token()}"))


def test_resume_token_in_a_log() -> None:
    logging.getLogger("bot").warning("minted %s", token())


def test_signing_secret_in_stderr() -> None:
    slack = LocalSlack(signing_secret="8f742231b10e")
    sys.stderr.write(slack.signing_secret)


def test_secret_setting_in_stdout() -> None:
    sys.stdout.write(SecretStr("known-to-settings-1").get_secret_value())


def test_slack_token_that_was_captured(capsys: pytest.CaptureFixture[str]) -> None:
    sys.stderr.write("xoxb-1111-2222-AbCdEf")
    assert capsys.readouterr().err


def test_resume_secret_in_a_traceback_of_a_child() -> None:
    KeyRing([SECRET])
    code = "raise ValueError(sys.argv[1])"
    done = subprocess.run(child(code, SECRET), check=False, capture_output=True)
    assert done.returncode


def test_resume_secret_in_a_line_that_was_read() -> None:
    KeyRing([SECRET])
    code = "print(sys.argv[1])"
    with subprocess.Popen(child(code, SECRET), text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert next(process.stdout)


async def test_secret_setting_in_a_child_of_the_loop() -> None:
    code = "import os\nsys.stderr.write(os.environ['SLACK_SIGNING_SECRET'])"
    process = await asyncio.create_subprocess_exec(
        *child(code),
        env={**os.environ, "SLACK_SIGNING_SECRET": "given-to-a-child-1"},
        stderr=asyncio.subprocess.PIPE,
    )
    await process.communicate()


@pytest.mark.plants_secrets("to prove that this is let pass", where="kept.db")
def test_nothing_but_what_was_said(tmp_path: Path) -> None:
    keep(tmp_path / "kept.db", token()).close()


@pytest.mark.plants_secrets("elsewhere", where="other.db")
def test_resume_token_not_where_it_was_said(tmp_path: Path) -> None:
    keep(tmp_path / "kept.db", token()).close()


def test_nothing_by_a_fingerprint_or_a_plain_word(tmp_path: Path) -> None:
    KeyRing(["s" * 32])
    keep(tmp_path / "kept.db", "s" * 32, token()[:16], "xoxb-...").close()


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wide")


def test_resume_token_in_a_folder_of_the_module(wide: Path) -> None:
    (wide / "log").write_text(f"minted {token()}")
