"""The gallery as a command: files of Block Kit, or a page of its own until told to stop."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.gallery.exhibits import EXHIBITS
from tests.bot.cli.conftest import Terminal
from tests.bot.cli.test_serving import ROOT, read_until


@pytest.mark.plants_secrets("its buttons carry a token, as a card's do", where="new/kit")
def test_the_block_kit_of_every_exhibit_can_be_had_as_files(
    terminal: Terminal, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "kit"

    said = terminal("gallery", "--out", str(folder))

    assert (said.status, said.err) == (0, "")
    assert said.out == f"{len(EXHIBITS)} files in {folder}\n"
    written = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.iterdir()}
    assert written == {name: one.kit() for name, one in EXHIBITS.items()}


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_the_gallery_is_shown_until_it_is_told_to_stop(told: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "gallery", "--port", "0"],
        cwd=ROOT,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as shown:
        try:
            (line,) = read_until(shown.stdout, "exhibits")
            shown.send_signal(told)
            _, trouble = shown.communicate()
        finally:
            shown.kill()

    assert re.match(rf"{len(EXHIBITS)} exhibits: http://127\.0\.0\.1:\d+/#user=U0ALICE", line)
    assert (shown.returncode, trouble) == (0, "")
