"""The Slack app's manifest, in both forms, against Slack's rules for it."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from bot.manifest import SLACK_ROUTE, manifest, manifest_text
from bot.server import SLACK_PATH
from engine.errors import ConfigurationError

ROOT = Path(__file__).parents[3]
URL = "https://holdshort.example.com"


class Strict(BaseModel):
    """Refuses what Slack does not know, and takes no other type for the right one."""

    model_config = ConfigDict(extra="forbid", strict=True)


Https = Annotated[str, Field(pattern=r"^https://[^?#]+$")]


class Metadata(Strict):
    major_version: Literal[1, 2]


class Display(Strict):
    name: str = Field(min_length=1, max_length=35)
    description: str = Field(max_length=140)
    background_color: str = Field(pattern=r"^#([0-9a-fA-F]{3}){1,2}$")


class AppHome(Strict):
    home_tab_enabled: bool
    messages_tab_enabled: bool
    messages_tab_read_only_enabled: bool


class BotUser(Strict):
    display_name: str = Field(pattern=r"^[A-Za-z0-9._ -]+$", max_length=80)
    always_online: bool


class SlashCommand(Strict):
    command: str = Field(pattern=r"^/[a-z0-9_-]+$", max_length=32)
    url: Https | None = None
    description: str = Field(min_length=1, max_length=2000)
    usage_hint: str = Field(max_length=1000)
    should_escape: bool


class Features(Strict):
    app_home: AppHome
    bot_user: BotUser
    slash_commands: list[SlashCommand] = Field(min_length=1, max_length=50)


class Scopes(Strict):
    bot: list[str] = Field(max_length=255)


class OAuth(Strict):
    scopes: Scopes


class Interactivity(Strict):
    is_enabled: bool
    request_url: Https | None = None


class AppSettings(Strict):
    interactivity: Interactivity
    org_deploy_enabled: bool
    socket_mode_enabled: bool
    token_rotation_enabled: bool


class Manifest(Strict):
    """`@slack/web-api` 8.2.0 manifest.d.ts, as far as we use it."""

    metadata: Metadata = Field(alias="_metadata")
    display_information: Display
    features: Features
    oauth_config: OAuth
    settings: AppSettings


def read(text: str) -> Any:
    """Read the YAML that we write: mappings, sequences and scalars, two spaces a level."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return _read_block(lines, 0)


def _read_block(lines: list[str], depth: int) -> Any:
    if lines[0].strip().startswith("- "):
        items = _groups(lines, depth, starts=lambda line: line[depth:].startswith("- "))
        return [_read_item(item, depth) for item in items]
    found: dict[str, Any] = {}
    for name, *inner in _groups(lines, depth, starts=lambda line: line[depth] != " "):
        key, _, value = name.strip().partition(":")
        found[key] = _read_block(inner, depth + 2) if inner else _read_scalar(value.strip())
    return found


def _read_item(item: list[str], depth: int) -> Any:
    first = item[0][depth + 2 :]
    if re.match(r"[a-z_]+: ", first):
        return _read_block([" " * (depth + 2) + first, *item[1:]], depth + 2)
    return _read_scalar(first)


def _groups(lines: list[str], depth: int, *, starts: Any) -> list[list[str]]:
    groups: list[list[str]] = []
    for line in lines:
        if len(line) - len(line.lstrip()) == depth and starts(line):
            groups.append([])
        groups[-1].append(line)
    return groups


def _read_scalar(text: str) -> Any:
    if text in {"true", "false"}:
        return text == "true"
    if text.isdecimal():
        return int(text)
    return text[1:-1] if text.startswith('"') else text


@pytest.mark.parametrize("url", ["", URL])
def test_slack_would_take_it(url: str) -> None:
    Manifest.model_validate(manifest(url))


@pytest.mark.parametrize("url", ["", URL])
def test_what_is_printed_is_what_was_checked(url: str) -> None:
    assert read(manifest_text(url)) == manifest(url)


def test_the_tracked_file_is_what_is_printed() -> None:
    assert (ROOT / "manifest.yml").read_text(encoding="utf-8") == manifest_text()


def test_socket_mode_needs_no_address_and_http_names_one_for_all_that_slack_sends() -> None:
    socket, http = (Manifest.model_validate(manifest(url)) for url in ("", URL))

    assert socket.settings.socket_mode_enabled
    assert "http" not in repr(socket)
    assert not http.settings.socket_mode_enabled
    assert http.settings.interactivity.request_url == URL + SLACK_ROUTE
    assert [command.url for command in http.features.slash_commands] == [URL + SLACK_ROUTE]


def test_the_forms_differ_in_nothing_else() -> None:
    http = manifest(URL)
    del http["features"]["slash_commands"][0]["url"]
    del http["settings"]["interactivity"]["request_url"]
    http["settings"]["socket_mode_enabled"] = True

    assert http == manifest()


def test_slack_is_sent_where_the_server_listens() -> None:
    assert SLACK_ROUTE == SLACK_PATH


def test_it_asks_for_no_more_than_is_used() -> None:
    read_back = Manifest.model_validate(manifest())

    assert read_back.oauth_config.scopes.bot == [
        "chat:write",
        "commands",
        "im:write",
        "users:read",
        "users:read.email",
        "usergroups:read",
        "channels:read",
        "groups:read",
    ]
    assert read_back.settings.interactivity.is_enabled
    assert read_back.features.app_home.messages_tab_enabled
    assert not read_back.settings.token_rotation_enabled


@pytest.mark.parametrize(
    "url",
    [
        "http://holdshort.example.com",
        "holdshort.example.com",
        "https://",
        "https://user@holdshort.example.com",
        "https://holdshort.example.com/?a=1",
        "https://holdshort.example.com/#top",
        "ftp://holdshort.example.com",
    ],
)
def test_an_address_that_slack_would_not_take_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="https"):
        manifest(url)


@pytest.mark.parametrize(
    ("url", "goes_to"),
    [
        (URL + "/", URL + SLACK_ROUTE),
        (URL + "/bots/one", URL + "/bots/one" + SLACK_ROUTE),
        (URL + SLACK_ROUTE, URL + SLACK_ROUTE),
    ],
)
def test_a_path_before_ours_is_kept(url: str, goes_to: str) -> None:
    assert manifest(url)["settings"]["interactivity"]["request_url"] == goes_to
