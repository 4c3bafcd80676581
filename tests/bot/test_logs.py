"""Logs: JSON or key=value, everything through one place, and no secret in them whatever happens."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import aiohttp
import pytest

from bot.logs import MASK, Mask, configure_logs, get_log, report_fault
from bot.metered_store import MeteredStore
from bot.metrics import Meters
from bot.slack_requests import MAX_BODY_BYTES
from engine.errors import StoreUnavailableError
from engine.identity import Via
from engine.ids import Ids, Moment, utc_now
from engine.lifecycle.end import fail
from engine.runs import Failure
from engine.store import ClaimEffect
from notifiers import names
from tests.bot.faulty_store import FaultyStore
from tests.bot.stage import BOB, CAROL, DEPLOYS, RESUME_SECRET, on_stage
from tests.contracts.play import Play
from tests.factories import HeldClock


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """Give the root logger, and put it back as it was."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


TOKEN = "eyJ2IjoxLCJrIjoiYWJjIn0_-x." + "A-_b" * 10 + "abc"
SECRETS = [
    "xoxb-1111-2222-AbCdEf",
    "xoxp-1111-2222-AbCdEf",
    "xoxe.xoxb-1-AbCdEf",
    "sk-" + "aB3dE6gH9jK2mN5p",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "xapp-1-A0-33-0123456789abcdef",
    TOKEN,
    TOKEN[:24],
    "https://hooks.slack.com/actions/T0/1/abc",
    "https://hooks.slack-gov.com/commands/T0/1/abc",
    "http://127.0.0.1:80/response/ABCDEF",
    "wss://wss-primary.slack.com/link/?ticket=abc&app_id=1",
    "13345224609.738474920.8088930838d88f008e0",
    "v0=" + "0a" * 32,
]


@pytest.mark.parametrize("secret", SECRETS)
def test_whatever_looks_like_a_secret_is_masked_wherever_it_stands(secret: str) -> None:
    mask = Mask()
    for shape in ("{}", "a {} b", '{{"k": "{}"}}', "({})", "x={},", "'{}'", "\n{}\n"):
        said = mask(shape.format(secret))
        assert secret not in said
        assert MASK in said


@pytest.mark.parametrize(
    "harmless",
    [
        "run_a7a6dx7s2jtmrk6w3tv5",
        "K7F3QD",
        "1796013271.292681",
        "bot.local_slack.methods",
        "https://slack.com/api/chat.postMessage",
        "2026-11-30T04:31:44.084084Z",
        "0a" * 32,
    ],
)
def test_what_is_no_secret_stays_readable(harmless: str) -> None:
    assert Mask()(harmless) == harmless


def test_known_secrets_are_masked_whatever_they_look_like() -> None:
    mask = Mask(["hunter", "hunter2-longer"])
    assert mask("a hunter2-longer b hunter c") == f"a {MASK} b {MASK} c"


def test_a_stream_that_is_no_terminal_gets_json(root: logging.Logger) -> None:
    out = StringIO()
    configure_logs(stream=out)

    get_log("bot.test").info("something", count=1)
    logging.getLogger("foreign").warning("said %s", "this")

    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["event"], first["count"], first["level"]) == ("something", 1, "info")
    assert (second["event"], second["logger"]) == ("said this", "foreign")


def test_a_terminal_gets_key_and_value(root: logging.Logger) -> None:
    out = Terminal()
    configure_logs(stream=out)

    get_log("bot.test").info("something", count=1)

    assert "event='something'" in out.getvalue()
    assert "count=1" in out.getvalue()


def test_configuring_twice_logs_once(root: logging.Logger) -> None:
    configure_logs(stream=StringIO())
    out = StringIO()
    configure_logs(stream=out)

    get_log("bot.test").info("something")

    assert len(out.getvalue().splitlines()) == 1
    assert len([h for h in root.handlers if isinstance(h, logging.StreamHandler)]) >= 1


def test_a_talkative_logger_says_only_what_is_wrong_whatever_level_it_has(
    root: logging.Logger,
) -> None:
    out = StringIO()
    configure_logs(stream=out, level=logging.DEBUG)
    # As Bolt does: each of its loggers gets a level of its own.
    for name in ("slack_bolt.AsyncApp", "slack_sdk.web.async_client", "aiohttp.access"):
        logger = logging.getLogger(name)
        before = logger.level
        logger.setLevel(logging.DEBUG)
        logger.info("Invalid request signature detected (body: canary)")
        logger.warning("this is wrong")
        logger.setLevel(before)

    assert "canary" not in out.getvalue()
    assert out.getvalue().count("this is wrong") == 3


def test_a_secret_in_a_traceback_is_masked(root: logging.Logger) -> None:
    out = StringIO()
    configure_logs(secrets=["a-known-secret-5f2c"], stream=out)

    try:
        raise ValueError(f"{TOKEN} and a-known-secret-5f2c")  # noqa: TRY301 - raised to be logged
    except ValueError:
        get_log("bot.test").exception("failed")

    assert "ValueError" in out.getvalue()
    assert TOKEN not in out.getvalue()
    assert "a-known-secret-5f2c" not in out.getvalue()


def test_a_fault_of_ours_is_one_line_and_any_other_has_its_traceback(root: logging.Logger) -> None:
    out = StringIO()
    configure_logs(stream=out)

    report_fault("worker", StoreUnavailableError("busy"))
    report_fault("courier", ValueError("odd"))

    ours, other = (json.loads(line) for line in out.getvalue().splitlines())
    assert (ours["part"], ours["error"], "exception" in ours) == (
        "worker",
        "StoreUnavailableError",
        False,
    )
    assert "ValueError: odd" in other["exception"]


class MuteError(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise SystemExit(4)


def test_a_fault_whose_text_cannot_be_had_is_logged_by_its_kind(root: logging.Logger) -> None:
    out = StringIO()
    configure_logs(stream=out)

    report_fault("worker", MuteError())

    assert json.loads(out.getvalue())["error"] == "MuteError"


async def test_a_run_that_fails_is_one_line_with_its_reason(root: logging.Logger) -> None:
    out = StringIO()
    configure_logs(stream=out)
    store = FaultyStore()
    metered = MeteredStore(store, Meters())
    run = await Play(store, HeldClock()).start()
    message = f"no\nkey {TOKEN} " + "x" * 1000
    failed = fail(run, Failure(code="model_failed", message=message), Moment(utc_now(), Ids()))
    change = replace(failed, claim=ClaimEffect.NONE)

    store.lose = 1
    with pytest.raises(StoreUnavailableError):
        await metered.commit(change)
    await metered.commit(change)
    await metered.close()

    (line,) = (json.loads(line) for line in out.getvalue().splitlines())
    assert (line["event"], line["level"]) == ("run failed", "warning")
    assert (line["run"], line["agent"], line["code"]) == (run.ref, run.agent, "model_failed")
    assert line["why"].startswith(f"no key {MASK} xxx")
    assert len(line["why"]) < 400


@pytest.mark.parametrize("mode", ["http", "socket"])
async def test_no_canary_gets_into_the_logs_by_any_way_of_failing(
    mode: str, root: logging.Logger
) -> None:
    out = StringIO()
    configure_logs(stream=out, level=logging.DEBUG)
    typed = "canary-typed-answer"
    async with on_stage(mode=mode) as on:
        run, card = await on.park()
        question, asked = await on.park("curious")
        token = await on.runtime.engine.token_for(run.tickets[0].ref, Via.SLACK)
        await on.press(CAROL, card)
        await on.press(BOB, card, names.DENY_REASON)
        await on.modal(BOB)
        await on.people.submit(BOB, {names.REASON_BLOCK: typed})
        await on.people.slash(BOB, DEPLOYS, f"answer {question.tickets[0].ref} {typed}")
        await on.press_as_shown(BOB, asked, names.DECLINE)
        await refused_in_every_way(on, token)
        urls = [delivery.payload.get("response_url", "") for delivery in on.slack.people.deliveries]
        triggers = [d.payload.get("trigger_id", "") for d in on.slack.people.deliveries]
        slack = on.slack
    logged = out.getvalue()
    canaries = [
        token,
        typed,
        slack.bot_token,
        slack.app_token,
        slack.signing_secret,
        RESUME_SECRET,
        *filter(None, urls),
        *filter(None, triggers),
    ]
    ours = "\n".join(line for line in logged.splitlines() if "local_slack" not in line)
    assert "serving" in ours
    assert [canary for canary in canaries if canary in ours] == []


async def refused_in_every_way(on: Any, token: str) -> None:
    """Send what is refused, with secrets in it: badly signed, too large, unreadable."""
    body = f"payload=%7B{token}&response_url=https://hooks.slack.com/actions/T0/1/abc"
    async with aiohttp.ClientSession() as session:
        for data, headers in (
            (body, {}),
            (body, {"X-Slack-Request-Timestamp": "x", "X-Slack-Signature": "v0=ä"}),
            (body, {"X-Slack-Request-Timestamp": "1", "X-Slack-Signature": "v0=" + "0" * 64}),
            ("x" * 10, {"X-Slack-Request-Timestamp": str(MAX_BODY_BYTES)}),
        ):
            url = f"{on.bot.slack_url}?token={token}"
            async with session.post(url, data=data, headers=headers) as response:
                assert response.status in {401, 404}
