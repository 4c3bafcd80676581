"""The settings: each problem is one clear line that names the variable and never a secret."""

import re
from pathlib import Path
from typing import Any

import pytest

from bot.settings import (
    Purpose,
    Settings,
    SettingsError,
    env_name,
    given_settings,
    proxy_for,
    read_settings,
)
from bot.store_url import Place
from engine.stores.redis_address import read_address

GOOD: dict[str, str] = {
    "SLACK_BOT_TOKEN": "xoxb-1111-2222-AbCdEfGhIj",
    "SLACK_SIGNING_SECRET": "8f742231b10e8888abcd99yyyzzz85a5",
    "SLACK_APP_TOKEN": "xapp-1-A0-33-0123456789abcdef",
    "HOLDSHORT_RESUME_SECRETS": "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf",
    "HOLDSHORT_AGENTS": "examples.deployer:agent",
}


def environment(monkeypatch: pytest.MonkeyPatch, **changed: str | None) -> None:
    for name, value in {**GOOD, **changed}.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)


def problems(purpose: Purpose = Purpose.SERVE) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as refused:
        read_settings(purpose)
    return refused.value.problems


def test_everything_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(
        monkeypatch,
        HOLDSHORT_STORE_URL="sqlite:////srv/holdshort.db",
        HOLDSHORT_STORE_ID="5f2c",
        HOLDSHORT_STORE_REPLICAS="2",
        HOLDSHORT_TOOL_THREADS="8",
        HOLDSHORT_DURABILITY="relaxed",
        HOLDSHORT_SLACK_MODE="socket",
        HOLDSHORT_SLACK_API_URL="http://127.0.0.1:1/api",
        HOLDSHORT_SLACK_CHANNEL="C01",
        HOLDSHORT_HOST="::1",
        HOLDSHORT_PORT="80",
        HOLDSHORT_OPERATOR="U1",
        HOLDSHORT_MAX_OPEN_ASKS_PER_APPROVER="7",
        HOLDSHORT_AGENTS="a:b, c.d:e",
        HOLDSHORT_RULES="/srv/rules.toml",
        SLACK_SIGNING_SECRET="one-of-two-5f2c, two-of-two-81ab",
    )

    read = read_settings(Purpose.SERVE)

    assert read.store_place == Path("/srv/holdshort.db")
    assert (read.store_id, read.store_replicas, read.durability) == ("5f2c", 2, "relaxed")
    assert (read.slack_mode, read.tool_threads) == ("socket", 8)
    assert read.slack_api_url == "http://127.0.0.1:1/api/"
    assert (read.slack_channel, read.host, read.port, read.operator) == ("C01", "::1", 80, "U1")
    assert read.agents == ("a:b", "c.d:e")
    assert read.rules == "/srv/rules.toml"
    assert read.max_open_asks_per_approver == 7
    signing = [one.get_secret_value() for one in read.slack_signing_secret]
    assert signing == ["one-of-two-5f2c", "two-of-two-81ab"]


@pytest.mark.parametrize("purpose", [Purpose.SERVE, Purpose.TERMINAL])
@pytest.mark.parametrize("channel", ["deploys", "#deploys", "U0ALICE", "c0deploys", "C0 1"])
def test_a_channel_that_is_no_id_is_refused(
    channel: str, purpose: Purpose, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch, HOLDSHORT_SLACK_CHANNEL=channel)

    (told,) = problems(purpose)
    assert told.startswith(
        f"HOLDSHORT_SLACK_CHANNEL is {channel!r}, no id of a channel: set its id"
    )


@pytest.mark.parametrize("channel", ["C0DEPLOYS", "G0123456789", "D024BE91L", ""])
def test_the_id_of_a_channel_or_none_is_taken(
    channel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch, HOLDSHORT_SLACK_CHANNEL=channel)

    assert read_settings(Purpose.SERVE).slack_channel == channel


def test_what_is_not_set_has_a_harmless_default(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)

    read = read_settings(Purpose.SERVE)

    assert (read.host, read.port, read.slack_mode) == ("127.0.0.1", 8787, "http")
    assert read.slack_api_url == "https://slack.com/api/"
    assert (read.store_id, read.durability) == ("", "strict")
    assert isinstance(read.store_place, Path)
    assert read.store_place.name == "holdshort.db"


@pytest.mark.plants_secrets("it is the operator who writes that file", where="setting")
@pytest.mark.parametrize("name", sorted(env_name(field) for field in Settings.model_fields))
def test_every_setting_can_be_read_from_a_file(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if name == "HOLDSHORT_PURPOSE":
        assert read_settings(Purpose.TERMINAL, resume_secrets=GOOD["HOLDSHORT_RESUME_SECRETS"])
        return
    values = {
        "HOLDSHORT_STORE_URL": "memory:",
        "HOLDSHORT_DURABILITY": "relaxed",
        "HOLDSHORT_STORE_REPLICAS": "1",
        "HOLDSHORT_MAX_OPEN_ASKS_PER_APPROVER": "9",
        "HOLDSHORT_TOOL_THREADS": "8",
        "HOLDSHORT_SLACK_MODE": "socket",
        "HOLDSHORT_SLACK_API_URL": "https://slack.example/api/",
        "HOLDSHORT_PORT": "81",
        "HOLDSHORT_SLACK_CHANNEL": "C0DEPLOYS",
    }
    value = GOOD.get(name) or values.get(name, "elsewhere")
    file = tmp_path / "setting"
    file.write_text(f"{value}\n", encoding="utf-8")
    environment(monkeypatch, **{name: value})
    plain = read_settings(Purpose.SERVE)

    environment(monkeypatch, **{name: None, f"{name}_FILE": str(file)})

    assert read_settings(Purpose.SERVE) == plain


@pytest.mark.parametrize(
    ("purpose", "mode", "needed"),
    [
        (
            Purpose.SERVE,
            "http",
            {
                "SLACK_BOT_TOKEN",
                "SLACK_SIGNING_SECRET",
                "HOLDSHORT_RESUME_SECRETS",
                "HOLDSHORT_AGENTS",
            },
        ),
        (
            Purpose.SERVE,
            "socket",
            {"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "HOLDSHORT_RESUME_SECRETS", "HOLDSHORT_AGENTS"},
        ),
        (
            Purpose.EMBED,
            "http",
            {"SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "HOLDSHORT_RESUME_SECRETS"},
        ),
        (Purpose.TERMINAL, "http", {"HOLDSHORT_RESUME_SECRETS"}),
    ],
)
def test_what_is_missing_depends_on_what_for_and_is_named_all_at_once(
    purpose: Purpose, mode: str, needed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDSHORT_SLACK_MODE", mode)

    lines = problems(purpose)

    assert {line.split()[0] for line in lines} == needed
    assert all(" is not set: " in line and "\n" not in line for line in lines)


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("SLACK_BOT_TOKEN", "xapp-1-A0-33-0123456789abcdef", "must be a bot token (xoxb-...)"),
        ("SLACK_BOT_TOKEN", "xoxp-1111-2222-AbCdEfGhIj", "must be a bot token (xoxb-...)"),
        ("SLACK_APP_TOKEN", "xoxb-1111-2222-AbCdEfGhIj", "must be an app-level token"),
        ("SLACK_BOT_TOKEN", "xoxb-your-token", "holds a placeholder"),
        ("SLACK_BOT_TOKEN", "xoxb-000000000000", "holds a placeholder"),
        ("SLACK_SIGNING_SECRET", "changeme", "holds a placeholder"),
        ("SLACK_SIGNING_SECRET", "<signing secret>", "holds a placeholder"),
        ("HOLDSHORT_RESUME_SECRETS", "x" * 40, "holds a placeholder"),
        ("HOLDSHORT_RESUME_SECRETS", "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3H", "fewer than 32 bytes"),
        (
            "HOLDSHORT_RESUME_SECRETS",
            "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf,short-one",
            "fewer than 32 bytes",
        ),
        ("HOLDSHORT_STORE_URL", "redis://:canary-pw@host:1/x", "database that is no number"),
        ("HOLDSHORT_STORE_URL", "mysql://:canary-pw@host/", "'mysql', which is no store"),
        ("HOLDSHORT_STORE_REPLICAS", "all", "must be a number from 0 to 9"),
        ("HOLDSHORT_STORE_REPLICAS", "-1", "must be a number from 0 to 9"),
        ("HOLDSHORT_MAX_OPEN_ASKS_PER_APPROVER", "0", "must be a number from 1 to 999999"),
        ("HOLDSHORT_MAX_OPEN_ASKS_PER_APPROVER", "few", "must be a number from 1 to 999999"),
        ("HOLDSHORT_TOOL_THREADS", "0", "must be a number from 1 to 9999"),
        ("HOLDSHORT_TOOL_THREADS", "many", "must be a number from 1 to 9999"),
        ("HOLDSHORT_DURABILITY", "lax", "must be strict or relaxed"),
        ("HOLDSHORT_STORE_URL", "/srv/x.db", "no scheme"),
        ("HOLDSHORT_STORE_URL", "sqlite:///", "which is no store"),
        ("HOLDSHORT_SLACK_MODE", "webhook", "must be http or socket"),
        ("HOLDSHORT_SLACK_API_URL", "slack.com/api", "must be an http or https address"),
        ("HOLDSHORT_SLACK_API_URL", "file:///etc", "must be an http or https address"),
        ("HOLDSHORT_AGENTS", "deployer", "write module:attribute"),
        ("HOLDSHORT_AGENTS", "a:b c:d", "write module:attribute"),
        ("HOLDSHORT_PORT", "http", "must be a number from 0 to 65535"),
        ("HOLDSHORT_PORT", "65536", "must be a number from 0 to 65535"),
        ("HOLDSHORT_PORT", "-1", "must be a number from 0 to 65535"),
        ("HOLDSHORT_PORT", "9" * 5000, "must be a number from 0 to 65535"),
        ("HOLDSHORT_HOST", "a..b", "which is no name of a host"),
        ("HOLDSHORT_HOST", "a" * 64, "which is no name of a host"),
        ("HOLDSHORT_SLACK_API_URL", "http://a..b/api/", "which is no name of a host"),
        ("HOLDSHORT_SLACK_API_URL", "http://localhost:abc/", "must have a port"),
        ("HOLDSHORT_SLACK_API_URL", "http://localhost:99999/", "must have a port"),
        ("SLACK_BOT_TOKEN", "xoxb-1111\n-2222-AbCdEfGhIj", "holds a line break"),
        ("HOLDSHORT_RESUME_SECRETS", "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf\udcff", "no UTF-8 text"),
    ],
)
def test_what_is_malformed_is_one_line_that_names_it_and_no_secret(
    name: str, value: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch, **{name: value})

    (said,) = problems()

    assert said.startswith(name)
    assert line in said
    assert "\n" not in said
    if name.startswith("SLACK") or "SECRET" in name:
        assert value not in said
    assert "canary-pw" not in said


def test_one_secret_for_two_purposes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, HOLDSHORT_RESUME_SECRETS=GOOD["SLACK_SIGNING_SECRET"])

    (said,) = problems()

    assert "SLACK_SIGNING_SECRET and HOLDSHORT_RESUME_SECRETS hold the same secret" in said


def test_a_variable_and_its_file_at_once_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment(monkeypatch, SLACK_BOT_TOKEN_FILE=str(tmp_path / "token"))

    (said,) = problems()

    assert said == "SLACK_BOT_TOKEN and SLACK_BOT_TOKEN_FILE are both set: keep one of them"


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "No such file or directory"), (b"", "is empty"), (b"\xff\xfe\x00", "not UTF-8")],
)
def test_a_file_that_cannot_be_used_is_named(
    content: bytes | None, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    environment(monkeypatch, SLACK_BOT_TOKEN=None, SLACK_BOT_TOKEN_FILE=str(file))

    (said,) = problems()

    assert said.startswith("SLACK_BOT_TOKEN ")
    assert "SLACK_BOT_TOKEN_FILE" in said
    assert why in said


def test_missing_and_malformed_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, SLACK_BOT_TOKEN=None, HOLDSHORT_PORT="x")
    assert len(problems()) == 2


def test_no_repr_and_no_text_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)
    read = read_settings(Purpose.SERVE)

    shown = f"{read!r} {read} {read.model_dump()} {read.model_dump_json()}"

    assert [secret for secret in read.secrets if secret in shown] == []
    assert len(read.secrets) == 4


def test_what_is_given_in_code_needs_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, HOLDSHORT_PORT="not a port", HOLDSHORT_STORE_URL="redis://x")
    given: Any = {name.lower(): value for name, value in GOOD.items() if name.startswith("SLACK")}

    read = given_settings(Purpose.EMBED, **given, resume_secrets=GOOD["HOLDSHORT_RESUME_SECRETS"])

    assert (read.port, read.store_url) == (8787, "")


def test_what_is_given_in_code_comes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(monkeypatch, HOLDSHORT_PORT="80")
    assert read_settings(Purpose.SERVE, port=81).port == 81


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:////abs/x.db", Path("/abs/x.db")),
        ("sqlite:///rel/x.db", Path("rel/x.db")),
        ("memory:", None),
        ("unix:///run/redis.sock", read_address("unix:///run/redis.sock")),
        ("rediss+cluster://a,b", read_address("rediss+cluster://a,b")),
    ],
)
def test_the_forms_of_a_store_url(url: str, place: Place) -> None:
    secrets = GOOD["HOLDSHORT_RESUME_SECRETS"]
    read = given_settings(Purpose.TERMINAL, store_url=url, resume_secrets=secrets)
    assert read.store_place == place


def test_a_password_in_the_store_url_is_a_secret() -> None:
    read = given_settings(
        Purpose.TERMINAL,
        store_url="redis://bot:canary%2Fpw@host",
        resume_secrets=GOOD["HOLDSHORT_RESUME_SECRETS"],
    )
    assert "canary" not in repr(read)
    assert "canary/pw" in read.secrets


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://slack.com/api/", "http://secure-proxy:1"),
        ("wss://wss-primary.slack.com/link", "http://secure-proxy:1"),
        ("http://slack.test/api/", "http://plain-proxy:1"),
        ("http://127.0.0.1:8/api/", None),
        ("http://127.9.9.9:8/api/", None),
        ("http://localhost:8/api/", None),
        ("http://slack.localhost:8/api/", None),
        ("http://[::1]:8/api/", None),
        ("https://inside.corp/api/", None),
    ],
)
def test_this_machine_and_what_the_environment_excepts_need_no_proxy(
    url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://secure-proxy:1")
    monkeypatch.setenv("HTTP_PROXY", "http://plain-proxy:1")
    monkeypatch.setenv("NO_PROXY", "inside.corp")
    assert proxy_for(url) == proxy


def test_only_the_settings_read_the_environment() -> None:
    root = Path(__file__).parents[2] / "bot"
    readers = re.compile(r"\bos\.(environ|getenv)\b|\bgetproxies")
    # HOLDSHORT_MODEL is the example's own, and the demo asks whether it is set.
    ours = [path for path in root.glob("*.py") if not path.name.startswith("demo")]
    found = [path.name for path in ours if readers.search(path.read_text(encoding="utf-8"))]
    # slack_app hides variables from Bolt; it takes no value from them.
    assert sorted(found) == ["settings.py", "slack_app.py"]
