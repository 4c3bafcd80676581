"""One server process: started, broken in every way that a process can be, and always reaped."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.binaries import Binary, valkey
from tests.servers.ports import LOOPBACK, HeldPort

PATIENCE_S = 20.0
_LOOK_AGAIN_S = 0.005
# When the tests die, the pipe closes, and whoever reads it ends the server and tidies up.
_WATCH = 'read -r _; kill -KILL "$1"; rm -rf "$2"'

DURABLE: Mapping[str, str] = {
    "appendonly": "yes",
    "appendfsync": "always",
    "maxmemory-policy": "noeviction",
    "save": '""',
    "repl-diskless-sync-delay": "0",
}
"""What Holdshort asks of a server, and no waiting for more replicas than there are."""


class ServerDiedError(Exception):
    """The server ended by itself; the text is its log."""


def wait_until(holds: Callable[[], object], what: str, patience: float = PATIENCE_S) -> None:
    """Return when a condition holds.

    Raises:
        TimeoutError: it did not within the patience (seconds).

    """
    until = time.monotonic() + patience
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(f"in {patience:g} s it did not come about that {what}")
        time.sleep(_LOOK_AGAIN_S)


class ServerProcess:
    """A server on a Unix socket, and on a loopback port if one is wanted, in a folder of its own.

    Use it as a context manager, or ``start`` and ``close`` it. Every method blocks for the few
    milliseconds that it takes.

    Attributes:
        folder: Where its data, log and socket are; gone after ``close``.
        port: The loopback port, the same after each restart; 0 for none.

    """

    def __init__(
        self,
        binary: Binary | None = None,
        *,
        conf: Mapping[str, str] | None = None,
        tcp: bool = False,
        cluster: bool = False,
        sentinel: bool = False,
    ) -> None:
        """Take the program, settings beside the durable ones, and what to listen on.

        ``cluster`` and ``sentinel`` make it one of those, on a port.
        """
        self.binary = binary or valkey()
        self.folder = Path(tempfile.mkdtemp(prefix="hs-"))
        self._ports = [HeldPort() for _ in range((tcp or cluster or sentinel) + cluster)]
        self.port = self._ports[0].number if self._ports else 0
        self._sentinel = sentinel
        self._password = (conf or {}).get("requirepass")
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None
        # Written once: a server keeps what it learns (whom it replicates, say) in this file.
        self._file = self.folder / "server.conf"
        lines = {**self._listening(), **({} if sentinel else DURABLE), **(conf or {})}
        self._file.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))

    def _listening(self) -> dict[str, str]:
        bus = self._ports[1:]
        return {
            **({"cluster-port": str(bus[0].number), "cluster-enabled": "yes"} if bus else {}),
            "bind": LOOPBACK,
            "port": str(self.port),
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.folder),
            "logfile": str(self.log),
            "daemonize": "no",
        }

    def __enter__(self) -> Self:
        """Start it."""
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop it and remove its folder."""
        self.close()

    @property
    def socket(self) -> Path:
        """Return the Unix socket; its path stays below the 104 bytes that macOS allows."""
        return self.folder / "s"

    @property
    def log(self) -> Path:
        """Return the server's log."""
        return self.folder / "log"

    @property
    def url(self) -> str:
        """Return the address on the Unix socket."""
        return f"unix://{self.socket}"

    @property
    def tcp_url(self) -> str:
        """Return the address on the loopback port."""
        return f"redis://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        """Return the process's id."""
        return self._running().pid

    @property
    def alive(self) -> bool:
        """Tell whether the process is there, paused or not."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it on the data it has, and return when it answers.

        Raises:
            ServerDiedError: it ended instead.

        """
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start it, and return before it answers."""
        if self.alive:
            raise RuntimeError("the server runs already")
        command = [str(self.binary.path), str(self._file)]
        self._process = subprocess.Popen(
            command + ["--sentinel"] * self._sentinel,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, "sh", str(self._process.pid), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def wait_ready(self) -> None:
        """Return when it answers a ping: not while it loads its data."""
        wait_until(self._answers, "the server answers")

    def stop(self) -> None:
        """Ask it to end (SIGTERM), and return when it has; it writes what it holds."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it on the spot (SIGKILL)."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Kill it, and start it on the same data and the same addresses."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Stop its clock (SIGSTOP): connections stay, nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def ask(self, *command: str | int) -> Any:
        """Return its answer to a command."""
        with self._client(PATIENCE_S) as client:
            return client.execute_command(*command)

    def configure(self, **settings: str | int) -> None:
        """Set settings of the running server, an underscore for each dash."""
        for name, value in settings.items():
            self.ask("CONFIG", "SET", name.replace("_", "-"), value)

    def info(self, section: str) -> dict[str, Any]:
        """Return a section of INFO."""
        with self._client(PATIENCE_S) as client:
            told: dict[str, Any] = client.info(section)
            return told

    def flush(self) -> None:
        """Forget all keys, scripts and commands counted."""
        self.ask("FLUSHALL", "SYNC")
        self.ask("SCRIPT", "FLUSH", "SYNC")
        self.ask("CONFIG", "RESETSTAT")

    def close(self) -> None:
        """End it if it runs, and remove its folder."""
        if self._process is not None:
            self.kill()
        for port in self._ports:
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        process = self._running()
        process.send_signal(how)
        if how is not signal.SIGKILL:
            # A paused process would not hear it.
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(PATIENCE_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            self._process = None
            self._dismiss_watcher()

    def _dismiss_watcher(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher.stdin is not None:
            watcher.kill()
            watcher.wait()
            watcher.stdin.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process

    def _answers(self) -> bool:
        if not self.alive:
            self._process = None
            self._dismiss_watcher()
            log = self.log.read_text(errors="replace") if self.log.exists() else "no log"
            raise ServerDiedError(f"{self.binary.path} ended: {log}")
        try:
            with self._client(1.0) as client:
                return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def _client(self, timeout: float) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self.socket),
            password=self._password,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
