"""A local Slack, its people, and the two real peers: slack_sdk's client and a Bolt app."""

import os
import time
from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, LocalSlackClient
from tests.bot.local_slack.peers import BoltApp, Clock, PlainApp

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    # slack_sdk obeys these even for loopback addresses.
    for name in PROXIES:
        if name in os.environ:
            monkeypatch.delenv(name)


@pytest.fixture
def clock() -> Clock:
    # Bolt judges signatures by the real clock, so ours starts where that one is.
    return Clock(float(int(time.time())))


@pytest.fixture
async def slack(clock: Clock) -> AsyncIterator[LocalSlack]:
    async with LocalSlack(clock=clock, seed=1) as running:
        yield running


@pytest.fixture
async def impatient_slack(clock: Clock) -> AsyncIterator[LocalSlack]:
    async with LocalSlack(clock=clock, seed=1, ack_timeout_s=0.05) as running:
        yield running


@pytest.fixture
def web(slack: LocalSlack) -> AsyncWebClient:
    return AsyncWebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])


@pytest.fixture
async def people(slack: LocalSlack) -> AsyncIterator[LocalSlackClient]:
    async with LocalSlackClient(slack.url) as client:
        yield client


@pytest.fixture
async def bolt(slack: LocalSlack) -> AsyncIterator[BoltApp]:
    app = BoltApp(slack)
    slack.request_url = await app.start()
    yield app
    await app.stop()


@pytest.fixture
async def app() -> AsyncIterator[PlainApp]:
    plain = PlainApp()
    await plain.start()
    yield plain
    await plain.stop()
