"""The Slack app's manifest: what a workspace's owner pastes to make the app.

Fields and limits: https://docs.slack.dev/reference/app-manifest. The Socket Mode form needs no
public address and is the tracked ``manifest.yml``; the HTTP form names one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from engine.errors import ConfigurationError

SLACK_ROUTE = "/slack/events"
SCOPES = (
    "chat:write",
    "commands",
    "im:write",
    "users:read",
    # Approvers by e-mail address, by user group, and by the channel they are in.
    "users:read.email",
    "usergroups:read",
    "channels:read",
    "groups:read",
)
USAGE_HINT = "answer REF text, list, show REF, rules, run AGENT text, help"

_HEAD = """\
# The Slack app, in Socket Mode; `holdshort manifest --url https://...` prints the HTTP form.
# To make it: https://api.slack.com/apps, Create New App, From a manifest.
"""
_HEAD_HTTP = """\
# The Slack app, over HTTP.
# To make it: https://api.slack.com/apps, Create New App, From a manifest.
"""
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_ '.,:/-]*\Z")
_NOT_STRINGS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def manifest(url: str = "") -> dict[str, Any]:
    """Return the manifest: in the HTTP form if there is a public ``url``, else for Socket Mode.

    Raises:
        ConfigurationError: the url is not one that Slack would take.

    """
    request_url = _request_url(url) if url else ""
    at = {"url": request_url} if url else {}
    interactivity = {"request_url": request_url} if url else {}
    return {
        "_metadata": {"major_version": 1},
        "display_information": {
            "name": "Holdshort",
            "description": "Holds an agent's dangerous tool calls until a person clears them.",
            "background_color": "#1f3a5f",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                # Owners are told by DM, and may type commands there.
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Holdshort", "always_online": True},
            "slash_commands": [
                {
                    "command": "/holdshort",
                    **at,
                    "description": "Answer an agent, start one, or see what waits.",
                    "usage_hint": USAGE_HINT,
                    "should_escape": False,
                }
            ],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "interactivity": {"is_enabled": True, **interactivity},
            "org_deploy_enabled": False,
            "socket_mode_enabled": not url,
            # The bot is given one token that stays.
            "token_rotation_enabled": False,
        },
    }


def manifest_text(url: str = "") -> str:
    """Return the manifest as YAML.

    Raises:
        ConfigurationError: the url is not one that Slack would take.

    """
    lines = _mapping(manifest(url), "")
    return (_HEAD_HTTP if url else _HEAD) + "\n".join(lines) + "\n"


def _request_url(url: str) -> str:
    parts = urlsplit(url)
    clean = not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme != "https" or not parts.hostname or not clean:
        raise ConfigurationError(
            f"--url {url}: Slack sends only to https, so give the bot's public address "
            "as https://host or https://host/path"
        )
    return url.rstrip("/").removesuffix(SLACK_ROUTE) + SLACK_ROUTE


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _mapping(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{name}:"
            yield from _items(value, indent + "  ")
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _items(values: list[Any], indent: str) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping):
            first, *others = _mapping(value, indent + "  ")
            yield f"{indent}- {first.strip()}"
            yield from others
        else:
            yield f"{indent}- {_scalar(value)}"


def _scalar(value: str | bool | int) -> str:  # noqa: FBT001 - any scalar of a manifest
    # A JSON string is a YAML string too.
    plain = isinstance(value, str) and _PLAIN.match(value) and ": " not in value
    if isinstance(value, str) and plain and value.lower() not in _NOT_STRINGS:
        return value
    return json.dumps(value)
