"""Running the real command: as a process of its own, with or without a terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_STYLES = re.compile(r"\x1b\[[0-9;]*m")
COMMAND = (sys.executable, "-m", "bot", "demo", "--port", "0")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Return the folder in which the demo makes its scratch folder."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(scratch: Path) -> dict[str, str]:
    """Return an environment without settings of ours, and with a proxy that leads nowhere."""
    ours = ("HOLDSHORT_", "SLACK_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    nowhere = "http://127.0.0.1:9"
    proxies = {"HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "http_proxy": nowhere}
    return {**kept, **proxies, "TMPDIR": str(scratch), "TERM": "dumb"}


@dataclass(frozen=True)
class Played:
    """How a demo ended, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Return the lines of the story, with one space between who and what."""
        return [" ".join(line.split()) for line in self.out.splitlines()]


Play = Callable[..., Played]


@pytest.fixture
def play(environment: dict[str, str]) -> Play:
    """Return a function that plays the demo to its end, without a terminal."""

    def run(*options: str, **more: str) -> Played:
        done = subprocess.run(
            [*COMMAND, *options],
            cwd=ROOT,
            env={**environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Played(done.returncode, done.stdout, done.stderr)

    return run


@dataclass
class Watched:
    """A demo in a terminal 80 columns wide."""

    process: "subprocess.Popen[bytes]"
    terminal: int
    seen: str = ""
    _unread: bytes = field(default=b"", repr=False)

    @property
    def told(self) -> str:
        """Return what was printed, as if nothing had been wrapped or aligned."""
        return " ".join(self.seen.split())

    def until(self, text: str) -> str:
        """Read until this text has been printed; return all that was printed so far."""
        while text not in self.told:
            try:
                read = os.read(self.terminal, 4096)
            except OSError:
                read = b""
            if not read:
                raise AssertionError(f"{text!r} was not printed, only:\n{self.seen}")
            self._unread += read
            self.seen += self._decode()
        return self.told

    def stop(self, told: signal.Signals = signal.SIGINT) -> int:
        """Press Ctrl-C, or send another signal, and return the exit status."""
        self.process.send_signal(told)
        self.until("Stopped.")
        return self.process.wait()

    def _decode(self) -> str:
        # A character may have been torn in two.
        text = self._unread.decode("utf-8", "ignore")
        self._unread = self._unread[len(text.encode()) :]
        return _STYLES.sub("", text.replace("\r\n", "\n"))


@pytest.fixture
def watched(
    environment: dict[str, str], heard: Callable[[str, str | bytes], None]
) -> Iterator[Watched]:
    """Start the demo in a terminal, where it waits for people."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (45, 80))
    process = subprocess.Popen(
        COMMAND, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = Watched(process, ours)
    yield seen
    heard("the demo's terminal", seen.seen)
    process.kill()
    process.wait()
    os.close(ours)
