"""The scan after each test: a planted secret fails its test, whatever it was written to."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.leaks import planted

ROOT = Path(__file__).parents[2]
NAMES = [name for name in vars(planted) if name.startswith("test_")]
HARMLESS = [name for name in NAMES if name.startswith("test_nothing")]
LEAKING = [name for name in NAMES if name not in HARMLESS]


@pytest.fixture(scope="module")
def outcome() -> str:
    """Run the planted tests in a process of their own, and return what was printed."""
    measured = ("PYTEST", "COV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(measured)}
    with tempfile.TemporaryDirectory() as folder:
        # In order, as what a module's folder holds is told with the module's last test.
        options = ["-p", "no:randomly", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                *options,
                "--basetemp",
                folder,
                "-rA",
                str(planted.__file__),
            ],
            cwd=ROOT,
            env=kept,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    return done.stdout


def error(outcome: str, name: str) -> str:
    """Return what was said of a test when it was torn down, or nothing."""
    heading = rf"_+ ERROR at teardown of {name} _+\n"
    found = re.search(
        rf"{heading}(.*?)(?=^_{{3,}} ERROR|^={{3,}})", outcome, re.DOTALL | re.MULTILINE
    )
    return found[1] if found else ""


@pytest.mark.parametrize("name", LEAKING)
def test_a_planted_secret_fails_its_test_and_is_named_by_kind_and_place(
    outcome: str, name: str
) -> None:
    kind = " ".join(name.split("_")[1:3])
    said = error(outcome, name)
    assert "left behind:\n" in said
    assert f"\n{kind} in " in said


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_secret_or_was_said_to_be_planted_passes(outcome: str, name: str) -> None:
    assert re.search(rf"^PASSED .*::{name}$", outcome, re.MULTILINE)
    assert error(outcome, name) == ""


def test_no_planted_secret_is_shown_in_the_report(outcome: str) -> None:
    assert planted.SECRET not in outcome
    assert not re.search(r"eyJ[\w-]{30}|xoxb-1|8f742231b10e|known-to-settings|given-to-a-", outcome)
    assert "minted [resume token]" in outcome
