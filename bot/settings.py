"""The settings: the one place that reads the environment."""

import os
import re
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.addresses import (
    check_address,
    check_channel,
    check_host,
    check_port,
    check_text,
    is_loopback,
)
from bot.counts import Few, Limit, Threads
from bot.store_url import Place, read_store_url
from engine.errors import ConfigurationError
from engine.stores.redis_address import RedisAddress
from engine.tokens import MIN_SECRET_BYTES

SLACK_API = "https://slack.com/api/"
_FEWEST_CHARACTERS = 4


class Purpose(StrEnum):
    """What the settings are read for; it decides which of them must be there."""

    SERVE = "serve"
    EMBED = "embed"
    """Serve, with the agents handed over in code."""
    TERMINAL = "terminal"
    LOOK = "look"
    """Look at what is there, and change nothing: nothing need be set."""

    @property
    def serves(self) -> bool:
        """Tell whether Slack is served."""
        return self in {Purpose.SERVE, Purpose.EMBED}


class SlackMode(StrEnum):
    """How Slack reaches us."""

    HTTP = "http"
    SOCKET = "socket"


class Durability(StrEnum):
    """Whether a Redis server may be used that can lose what it has acknowledged."""

    STRICT = "strict"
    RELAXED = "relaxed"


class SettingsError(ConfigurationError):
    """Settings are missing or malformed; one line for each, naming the variable."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Keep the lines."""
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with a variable before its value can even be looked at."""

    text: str


_HOW: Mapping[str, str] = {
    "slack_bot_token": "is not set: copy the Bot User OAuth Token (xoxb-...) from your Slack app's"
    " page OAuth & Permissions",
    "slack_signing_secret": "is not set: copy the Signing Secret from your Slack app's page Basic"
    " Information",
    "slack_app_token": "is not set: make an app-level token (xapp-...) with the scope"
    " connections:write on your Slack app's page Basic Information",
    "resume_secrets": 'is not set: make one with `python3 -c "import secrets;'
    ' print(secrets.token_urlsafe(48))"` and keep it',
    "agents": "is not set: name your agents as module:attribute, such as examples.deployer:agent",
}


def env_name(field: str) -> str:
    """Return the environment variable of a setting."""
    slack_apps_call_it_so = {"slack_bot_token", "slack_signing_secret", "slack_app_token"}
    return field.upper() if field in slack_apps_call_it_so else f"HOLDSHORT_{field.upper()}"


class _EnvironmentOrFile(PydanticBaseSettingsSource):
    """Takes each setting from ``NAME``, or from the file that ``NAME_FILE`` names."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - the base's signature
        """Return a setting's text, or what is wrong with it."""
        return _look_up(env_name(field_name)), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return what is set."""
        names = self.settings_cls.model_fields
        found = {name: _look_up(env_name(name)) for name in names if name != "purpose"}
        return {name: value for name, value in found.items() if value is not None}


def _look_up(name: str) -> str | _Fault | None:
    plain, path = os.environ.get(name, "").strip(), os.environ.get(f"{name}_FILE", "").strip()
    if plain and path:
        return _Fault(f"and {name}_FILE are both set: keep one of them")
    found = _read_file(name, path) if path else (plain or None)
    return _as_text(found) if isinstance(found, str) else found


def _as_text(text: str) -> str | _Fault:
    try:
        return check_text(re.sub(r"\s*,\s*", ",", text))
    except ValueError as error:
        return _Fault(str(error))


def _read_file(name: str, path: str) -> str | _Fault:
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        return _Fault(f"cannot be read from the file in {name}_FILE: {error.strerror}")
    except UnicodeDecodeError:
        return _Fault(f"cannot be read from the file in {name}_FILE: it is not UTF-8 text")
    return text or _Fault(f"is empty in the file in {name}_FILE")


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(part for part in (one.strip() for one in value.split(",")) if part)


def _is_blank(value: object) -> bool:
    return not value.strip(" ,") if isinstance(value, str) else not value


def _is_placeholder(secret: str) -> bool:
    text = secret.lower()
    marks = ("changeme", "change-me", "change_me", "placeholder", "your-", "your_", "example")
    letters = set(text.removeprefix("xoxb-").removeprefix("xapp-"))
    return any(mark in text for mark in marks) or "<" in text or len(letters) < _FEWEST_CHARACTERS


def _not_a_placeholder(secret: SecretStr) -> SecretStr:
    if _is_placeholder(secret.get_secret_value()):
        raise ValueError("holds a placeholder: put the real secret there")
    return secret


Secret = Annotated[SecretStr, AfterValidator(_not_a_placeholder)]


class Settings(BaseSettings):
    """Everything that can be set, each under its own variable (see ``env_name``).

    Made by ``read_settings`` or ``given_settings``. Secrets are shown by no repr.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=False
    )

    purpose: Purpose = Purpose.TERMINAL
    slack_bot_token: Secret | None = None
    slack_signing_secret: tuple[Secret, ...] = ()
    slack_app_token: Secret | None = None
    slack_mode: SlackMode = SlackMode.HTTP
    slack_api_url: Annotated[str, AfterValidator(partial(check_address, example=SLACK_API))] = (
        SLACK_API
    )
    slack_channel: Annotated[str, AfterValidator(check_channel)] = ""
    store_url: str = Field("", repr=False)
    """It may hold a password."""
    store_id: str = ""
    store_replicas: Few = 0
    durability: Durability = Durability.STRICT
    resume_secrets: tuple[Secret, ...] = ()
    agents: tuple[str, ...] = ()
    rules: str = ""
    tool_threads: Threads = 64
    host: Annotated[str, AfterValidator(check_host)] = "127.0.0.1"
    port: Annotated[int, BeforeValidator(check_port)] = 8787
    operator: str = ""
    max_open_asks_per_approver: Limit | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - replaced by ours
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not used
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not used
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is given in code first, then the environment."""
        return (init_settings, _EnvironmentOrFile(settings_cls))

    @property
    def store_place(self) -> Place:
        """Return where the runs are: a file, servers, or None for this process's memory."""
        if not self.store_url:
            return user_data_path("holdshort", appauthor=False) / "holdshort.db"
        return read_store_url(self.store_url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return every secret there is, so that logs can mask them."""
        own = tuple(secret.get_secret_value() for _, secret in _named_secrets(self))
        place = self.store_place
        return own + (place.secrets if isinstance(place, RedisAddress) else ())

    @model_validator(mode="before")
    @classmethod
    def _mark_what_is_missing(cls, raw: dict[str, Any]) -> dict[str, Any]:
        missing = {name: _Fault(_HOW[name]) for name in _required(raw) if _is_blank(raw.get(name))}
        return {**raw, **missing}

    @field_validator("*", mode="before")
    @classmethod
    def _tell_faults(cls, value: object) -> object:
        if isinstance(value, _Fault):
            raise ValueError(value.text)  # noqa: TRY004 - a value's fault, as pydantic wants it
        return value

    @field_validator("slack_signing_secret", "resume_secrets", "agents", mode="before")
    @classmethod
    def _split_lists(cls, value: object) -> object:
        return _split(value)

    @field_validator("slack_bot_token")
    @classmethod
    def _is_a_bot_token(cls, token: SecretStr | None) -> SecretStr | None:
        return _right_kind(token, wrong=("xapp-", "xoxp-", "xoxa-"), want="a bot token (xoxb-...)")

    @field_validator("slack_app_token")
    @classmethod
    def _is_an_app_token(cls, token: SecretStr | None) -> SecretStr | None:
        return _right_kind(token, wrong=("xox",), want="an app-level token (xapp-...)")

    @field_validator("slack_mode", "durability", mode="before")
    @classmethod
    def _is_a_word_of_it(cls, word: object, info: ValidationInfo) -> object:
        words: type[StrEnum] = SlackMode if info.field_name == "slack_mode" else Durability
        if str(word) not in list(words):
            raise ValueError(f"must be {' or '.join(words)}")
        return word

    @field_validator("resume_secrets")
    @classmethod
    def _long_enough(cls, secrets: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(secret.get_secret_value().encode()) < MIN_SECRET_BYTES for secret in secrets):
            raise ValueError(
                f"holds a secret of fewer than {MIN_SECRET_BYTES} bytes: each needs that many"
            )
        return secrets

    @field_validator("store_url")
    @classmethod
    def _known_store(cls, url: str) -> str:
        if url:
            read_store_url(url)
        return url

    @field_validator("agents")
    @classmethod
    def _named_as_module_and_attribute(cls, agents: tuple[str, ...]) -> tuple[str, ...]:
        for agent in agents:
            if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", agent):
                raise ValueError(f"names {agent!r}: write module:attribute")
        return agents

    @model_validator(mode="after")
    def _one_secret_one_purpose(self) -> Self:
        seen: dict[str, str] = {}
        for name, secret in _named_secrets(self):
            first = seen.setdefault(secret.get_secret_value(), name)
            if first != name:
                raise ValueError(f"{first} and {name} hold the same secret: use one for each")
        return self


class _GivenSettings(Settings):
    """Settings that come from code alone."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the base's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not used
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not used
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not used
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def read_settings(purpose: Purpose, **given: Any) -> Settings:  # noqa: ANN401 - any setting's value
    """Return the settings of the environment; what is given in code comes first.

    Raises:
        SettingsError: some are missing or malformed; all of them are named.

    """
    return _make(Settings, purpose, given)


def given_settings(purpose: Purpose, **given: Any) -> Settings:  # noqa: ANN401 - as above
    """Return settings from code alone: the environment is not read.

    Raises:
        SettingsError: some are missing or malformed; all of them are named.

    """
    return _make(_GivenSettings, purpose, given)


def proxy_for(url: str) -> str | None:
    """Return the environment's proxy for an address; this machine itself needs none.

    The Slack SDK takes ``HTTPS_PROXY`` even for loopback addresses and knows no ``NO_PROXY``
    (slack_sdk/proxy_env_variable_loader.py), so clients are told what this returns.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    bypass = urllib.request.proxy_bypass_environment  # type: ignore[attr-defined] # not in typeshed
    if is_loopback(host) or bypass(host):
        return None
    proxies = urllib.request.getproxies_environment()
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    return proxies.get(scheme) or proxies.get("all")


def _make(kind: type[Settings], purpose: Purpose, given: dict[str, Any]) -> Settings:
    try:
        return kind(purpose=purpose, **given)
    except ValidationError as error:
        raise SettingsError(list(_lines(error))) from None


def _lines(error: ValidationError) -> Iterator[str]:
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        text = one["msg"].removeprefix("Value error, ")
        yield f"{env_name(str(one['loc'][0]))} {text}" if one["loc"] else text


def _required(raw: Mapping[str, Any]) -> tuple[str, ...]:
    purpose = raw.get("purpose", Purpose.TERMINAL)
    if purpose in {Purpose.TERMINAL, Purpose.LOOK}:
        return ("resume_secrets",) if purpose == Purpose.TERMINAL else ()
    socket = str(raw.get("slack_mode", SlackMode.HTTP)) == SlackMode.SOCKET
    way_in = "slack_app_token" if socket else "slack_signing_secret"
    agents = ("agents",) if purpose == Purpose.SERVE else ()
    return ("slack_bot_token", way_in, "resume_secrets", *agents)


def _named_secrets(settings: Settings) -> Iterator[tuple[str, SecretStr]]:
    for field in ("slack_bot_token", "slack_app_token"):
        secret = getattr(settings, field)
        if secret is not None:
            yield env_name(field), secret
    for field in ("slack_signing_secret", "resume_secrets"):
        yield from ((env_name(field), secret) for secret in getattr(settings, field))


def _right_kind(token: SecretStr | None, wrong: tuple[str, ...], want: str) -> SecretStr | None:
    if token is not None and token.get_secret_value().startswith(wrong):
        raise ValueError(f"holds another kind of token: it must be {want}")
    return token
