"""The files for production name what there is: settings, files, routes, metrics; and they are shut tight."""

import asyncio
import configparser
import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.metrics import Meters
from bot.server import Limits
from bot.settings import Settings, env_name
from engine.gauges import Gauges
from tests.bot.stage import on_stage
from tests.factories import START

ROOT = Path(__file__).parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
PAGE = (ROOT / "docs" / "production.md").read_text("utf-8")
UNIT = ROOT / "docs" / "systemd" / "holdshort.service"
GRACE_S = 40


@cache
def settings() -> frozenset[str]:
    """Return the environment variables that are read."""
    names = {env_name(name) for name in Settings.model_fields if name != "purpose"}
    return frozenset(names | {f"{name}_FILE" for name in names})


def named(text: str) -> set[str]:
    """Return what looks like a setting of ours in a text."""
    return set(re.findall(r"\b(?:HOLDSHORT|SLACK)_[A-Z_]*[A-Z]\b", text))


def longest_stop() -> float:
    limits = Limits()
    return limits.drain + 2 * limits.goodbye


def unit() -> configparser.ConfigParser:
    # A name may be there several times; of those only the last is kept, which is enough here.
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[method-assign,assignment] # case is kept
    parser.read_string(UNIT.read_text("utf-8"))
    return parser


@pytest.mark.parametrize(
    "path",
    [
        *("Dockerfile", "compose.yaml", "docs/production.md", "docs/systemd/holdshort.service"),
        "README.md",
    ],
)
def test_every_setting_that_is_named_is_read(path: str) -> None:
    found = named((ROOT / path).read_text("utf-8"))

    assert found
    assert found - settings() == set()


def test_the_check_finds_a_setting_that_nobody_reads() -> None:
    assert named("set HOLDSHORT_MOOD=calm") - settings() == {"HOLDSHORT_MOOD"}


def test_every_file_that_the_page_points_at_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)

    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


# The image.


def test_the_image_takes_from_the_tree_what_is_there_and_all_that_is_packaged() -> None:
    copied = {line.split()[1] for line in DOCKERFILE.splitlines() if re.match(r"COPY (?!--)", line)}
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    tops = {name.removesuffix("*") for name in packages["packages"]["find"]["include"]}

    assert copied == {"requirements.txt", *tops}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == copied
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_is_of_a_named_version_and_installs_by_hash() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)

    assert bases
    assert all(re.fullmatch(r"[a-z]+:[0-9][\w.-]*", base) for base in bases)
    assert "--require-hashes" in DOCKERFILE
    assert "--only-binary :all:" in DOCKERFILE


def test_the_image_runs_as_nobody_in_particular() -> None:
    users = re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)

    assert [tuple(user.split(":")) for user in users] == [("65532", "65532")]
    assert DOCKERFILE.index("USER") > DOCKERFILE.rindex("FROM")
    assert "ADD " not in DOCKERFILE
    assert "sudo" not in DOCKERFILE


async def test_the_health_check_of_the_image_passes_while_the_bot_is_ready_and_only_then() -> None:
    (command,) = re.findall(r"^    CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    python, *words = json.loads(command)
    assert python == "python"
    assert "HOLDSHORT_PORT=8787" in DOCKERFILE
    async with on_stage() as on:
        here = [word.replace("8787", str(on.bot.port)) for word in words]
        assert here != words
        assert await status(here) == 0

        on.bot.health.draining = True

        assert await status(here) != 0


async def status(words: list[str]) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait()


# compose.yaml


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_service_has_no_more_rights_than_it_needs(name: str) -> None:
    service = COMPOSE["services"][name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert int(service["user"].split(":")[0]) > 0
    assert {"mem_limit", "pids_limit", "restart"} <= service.keys()
    assert not {"privileged", "ports", "network_mode"} & service.keys()


def test_the_store_keeps_what_it_was_told_and_forgets_nothing() -> None:
    words = COMPOSE["services"]["valkey"]["command"]
    told = dict(zip(words[1::2], words[2::2], strict=True))

    assert words[0] == "valkey-server"
    assert told["--appendonly"] == "yes"
    assert told["--appendfsync"] == "always"
    assert told["--maxmemory-policy"] == "noeviction"
    assert COMPOSE["services"]["valkey"]["networks"] == ["store"]
    assert COMPOSE["networks"]["store"] == {"internal": True}


def test_secrets_come_from_files_and_from_nowhere_else() -> None:
    bot = COMPOSE["services"]["bot"]
    files = {
        value.removeprefix("/run/secrets/")
        for name, value in bot["environment"].items()
        if name.endswith("_FILE")
    }

    assert files == set(bot["secrets"]) == COMPOSE["secrets"].keys()
    plain = {name for name in bot["environment"] if not name.endswith("_FILE")}
    assert not plain & {"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "HOLDSHORT_RESUME_SECRETS"}
    for secret in COMPOSE["secrets"].values():
        assert "/" + secret["file"].split("/")[1] + "/" in (ROOT / ".gitignore").read_text()


def test_every_volume_and_network_is_declared() -> None:
    for service in COMPOSE["services"].values():
        volumes = {mount.split(":")[0] for mount in service["volumes"]}
        assert {one for one in volumes if not one.startswith(".")} <= COMPOSE["volumes"].keys()
        assert set(service["networks"]) <= COMPOSE["networks"].keys()
    assert COMPOSE["services"]["bot"]["depends_on"].keys() <= COMPOSE["services"].keys()


def test_whoever_stops_the_bot_gives_it_as_long_as_it_may_take() -> None:
    assert longest_stop() < GRACE_S
    assert COMPOSE["services"]["bot"]["stop_grace_period"] == f"{GRACE_S}s"
    assert unit()["Service"]["TimeoutStopSec"] == str(GRACE_S)
    assert f"{GRACE_S} s" in PAGE


# The unit.


def test_the_unit_hands_over_every_secret_that_it_names() -> None:
    text = UNIT.read_text("utf-8")
    loaded = set(re.findall(r"^LoadCredential=(\w+):/etc/holdshort/\1$", text, re.MULTILINE))

    assert loaded == set(re.findall(r"=%d/(\w+)", text))
    assert loaded == COMPOSE["secrets"].keys()


def test_the_unit_is_shut_tight() -> None:
    service = unit()["Service"]

    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert service["LimitCORE"] == "0"
    assert "/var/lib/" + service["StateDirectory"] in UNIT.read_text("utf-8")
    assert service["ExecStart"].endswith("python -m bot serve")


# The page.


def test_the_page_lists_every_metric_and_no_other() -> None:
    meters = Meters()
    meters.live.store, meters.live.silence = Gauges(now=START), 0.0
    told = set()
    for family in meters.registry.collect():
        if family.name.startswith("holdshort_"):
            counts = family.type == "counter"
            told.add(f"{family.name}_total" if counts else family.name)

    rows = re.findall(r"^\| `(holdshort_\w+)(?:\{[\w,]+\})?` \|", PAGE, re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(rows) == told
    assert set(re.findall(r"\bholdshort_\w+", PAGE)) == told


async def test_the_page_names_every_check_of_readiness() -> None:
    async with on_stage(mode="socket") as on:
        _, said = await on.bot.health.look()

    assert [check for check in said if f"`{check}`" not in PAGE] == []
