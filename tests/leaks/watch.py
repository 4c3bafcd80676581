"""Watching what tests do: which secrets they make, and what they write that no file keeps."""

import asyncio.subprocess
import io
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any

import pytest
from pydantic import SecretStr
from redis.asyncio.connection import AbstractConnection as RedisConnection

from bot.local_slack.credentials import Credentials
from engine.stores.packing import unpack
from engine.tokens import KeyRing
from tests.leaks.scan import Leak, Secrets

_IN_ENVIRONMENT = ("_TOKEN", "_SECRET", "_SECRETS")
_OURS = ("SLACK_", "HOLDSHORT_")


class Watch:
    """What has been learned and found since it was last asked."""

    def __init__(self) -> None:
        self.secrets = Secrets()
        self._written: defaultdict[str, bytearray] = defaultdict(bytearray)
        self._leaks: list[Leak] = []
        self._open: set[WatchedConnection] = set()
        self.planted: list[str] = []

    def heard(self, place: str, said: str | bytes | None) -> None:
        """Take what was written somewhere, in one piece or in several."""
        if said:
            self._written[place] += said.encode(errors="replace") if isinstance(said, str) else said

    def found(self, leaks: list[Leak]) -> None:
        """Take what was found before it went away."""
        self._leaks += leaks

    def take(self) -> list[Leak]:
        """Return every leak since the last time."""
        for connection in list(self._open):
            if connection.look():
                self._open.discard(connection)  # told once is enough
        found, self._leaks = self._leaks, []
        for place, written in self._written.items():
            found += self.secrets.leaks(place, bytes(written))
        self._written.clear()
        return list(dict.fromkeys(found))

    def closed(self, connection: "WatchedConnection") -> None:
        """Let go of a database."""
        self._open.discard(connection)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Watch this process, until the patch is undone."""
        learn = self.secrets.learn
        streams, captured = asyncio.subprocess.SubprocessStreamProtocol, pytest.CaptureFixture
        after(patch, SecretStr, "__init__", lambda _, _one, value: learn("secret setting", value))
        after(patch, KeyRing, "__init__", lambda _, _one, ring: self._learn_ring(ring))
        after(patch, Credentials, "__init__", lambda _, one, **_of: self._learn_slack(one))
        after(patch, subprocess.Popen, "__init__", self._started)
        after(patch, subprocess.Popen, "communicate", self._communicated)
        after(patch, streams, "pipe_data_received", self._piped)
        after(patch, captured, "readouterr", lambda said, _: self._captured(said))
        after(patch, RedisConnection, "send_packed_command", self._sent)
        patch.setattr(sqlite3, "connect", self._connect)

    def _learn_ring(self, ring: Sequence[str]) -> None:
        for secret in ring:
            self.secrets.learn("resume secret", secret)

    def _learn_slack(self, slack: Credentials) -> None:
        self.secrets.learn("signing secret", slack.signing_secret)

    def _captured(self, said: Sequence[str]) -> None:
        for stream, text in zip(("stdout", "stderr"), said, strict=True):
            self.heard(f"captured {stream}", text)

    def _started(self, _: None, child: subprocess.Popen[Any], *given: Any, **options: Any) -> None:
        for value in _secrets_of(options.get("env") or os.environ):
            self.secrets.learn("secret setting", value)
        for stream in ("stdout", "stderr") if _is_ours(child) else ():
            pipe = getattr(child, stream)
            if isinstance(pipe, io.TextIOWrapper):
                heard = partial(self.heard, _place(stream, child))
                setattr(child, stream, HeardPipe(heard, pipe))

    def _communicated(
        self, said: Sequence[Any], child: subprocess.Popen[Any], *given: Any, **options: Any
    ) -> None:
        for stream, text in zip(("stdout", "stderr"), said, strict=True):
            if _is_ours(child):
                self.heard(_place(stream, child), text)

    def _piped(self, _: None, protocol: Any, descriptor: int, data: bytes) -> None:
        child = protocol._transport.get_extra_info("subprocess")
        if _is_ours(child):
            self.heard(_place({1: "stdout", 2: "stderr"}[descriptor], child), data)

    def _sent(self, _: object, connection: object, command: Any, *_given: Any, **_of: Any) -> None:
        # All that is ever in Redis was sent by one of these; what a password opens is not.
        parts = [command] if isinstance(command, bytes) else list(command)
        if not any(b"AUTH" in part[:64] for part in parts):
            sent = b"".join(parts)
            self.heard("what was sent to Redis", sent + b"\0".join(_unpacked(sent)))

    def _connect(self, path: Any, *given: Any, **options: Any) -> "WatchedConnection":
        connection = WatchedConnection(path, *given, **options)
        connection.watch, connection.path, connection.closing = self, str(path), threading.Lock()
        # It may be closed while another test runs: whoever opened it knows what is on purpose.
        connection.planted = self.planted
        if connection.path == ":memory:":
            self._open.add(connection)
        return connection


class HeardPipe(io.TextIOWrapper):
    """What a child says, for whoever reads it and for the watch."""

    def __init__(self, heard: Callable[[str], None], pipe: io.TextIOWrapper) -> None:
        """Take the place of a pipe."""
        encoding, errors = pipe.encoding, pipe.errors
        super().__init__(pipe.detach(), encoding, errors)
        self._heard = heard

    def read(self, size: int | None = -1, /) -> str:
        """Read so many characters, or all."""
        said = super().read(size)
        self._heard(said)
        return said

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """Read a line."""
        said = super().readline(size)
        self._heard(said)
        return said

    def __next__(self) -> str:  # type: ignore[override]
        said = super().__next__()
        self._heard(said)
        return said


class WatchedConnection(sqlite3.Connection):
    """A connection that is read when it is closed, as its database may be gone after that."""

    watch: Watch
    planted: list[str]
    path: str
    closing: threading.Lock  # SQLite does not survive a close while another thread reads

    def look(self) -> bool:
        """Read the database, free pages too if it is in memory; tell whether there was a leak."""
        secrets, name = self.watch.secrets, f"the database {self.path}"
        try:
            with self.closing:
                self.set_trace_callback(None)
                found = secrets.leaks_of_tables(self, name)
                if self.path == ":memory:":
                    found += secrets.leaks(name, self.serialize())
        except sqlite3.Error:
            return False  # closed already, or damaged on purpose
        self.watch.found([one for one in found if not any(at in one.place for at in self.planted)])
        return bool(found)

    def close(self) -> None:
        """Read it for the last time, and close it."""
        self.watch.closed(self)
        self.look()
        with self.closing:
            super().close()


def after(patch: pytest.MonkeyPatch, owner: type, name: str, look: Callable[..., object]) -> None:
    """Show somebody what a method returned and was given."""
    method = getattr(owner, name)

    @wraps(method)
    def watched(*given: Any, **options: Any) -> Any:
        result = method(*given, **options)
        look(result, *given, **options)
        return result

    patch.setattr(owner, name, watched)


def _unpacked(sent: bytes) -> Iterator[bytes]:
    """Yield what was packed: an argument of a command, or what is in one behind two lines."""
    for header in re.finditer(rb"\$(\d+)\r\n", sent):
        argument = sent[header.end() :][: int(header[1])]
        for packed in (argument, *argument.split(b"\n", 2)[2:]):
            yield unpack(packed).encode()


def _is_ours(child: subprocess.Popen[Any]) -> bool:
    """Tell a Python from, say, a browser's driver, which hears all that Slack shows."""
    return bool(_words(child)) and _words(child)[0] == sys.executable


def _place(stream: str, child: subprocess.Popen[Any]) -> str:
    """Name an output by the command's first words."""
    return f"{stream} of {' '.join(_words(child)[1:5])}".partition("\n")[0]


def _words(child: subprocess.Popen[Any]) -> list[str]:
    words: Any = [child.args] if isinstance(child.args, str) else child.args
    return [str(word) for word in words]


def _secrets_of(environment: Mapping[str, str]) -> list[str]:
    return [
        one.strip()
        for name, value in environment.items()
        if name.startswith(_OURS) and name.endswith(_IN_ENVIRONMENT)
        for one in value.split(",")
    ]
