"""The three-second rule, with the seconds made short: what the person sees when it is broken."""

import pytest

from bot.local_slack import LocalSlack, LocalSlackClient
from tests.bot.local_slack.peers import PlainApp

CHANNEL = "C0DEPLOYS"


@pytest.fixture
async def slack(impatient_slack: LocalSlack, app: PlainApp) -> LocalSlack:
    impatient_slack.request_url = app.url
    return impatient_slack


async def notice(people: LocalSlackClient) -> str:
    [found] = (await people.state("U0BOB"))["notices"]
    return str(found["text"])


async def test_an_answer_that_comes_too_late_is_a_timeout(
    people: LocalSlackClient, app: PlainApp
) -> None:
    app.gate.clear()
    result = await people.slash("U0BOB", CHANNEL)

    assert (result.delivered, result.acked) == (True, False)
    assert result.failure == "operation_timeout"
    assert result.elapsed_ms >= 50
    assert len(app.received) == 1
    assert await notice(people) == '/holdshort failed with the error "operation_timeout"'


@pytest.mark.parametrize("status", [404, 500, 302, 201])
async def test_any_status_but_200_is_a_failure(
    people: LocalSlackClient, app: PlainApp, status: int
) -> None:
    app.status = status
    result = await people.slash("U0BOB", CHANNEL)

    assert (result.delivered, result.acked, result.status) == (True, False, status)
    assert await notice(people) == '/holdshort failed with the error "dispatch_failed"'


async def test_an_app_that_does_not_listen_is_a_failure(
    slack: LocalSlack, people: LocalSlackClient, app: PlainApp
) -> None:
    await app.stop()
    result = await people.slash("U0BOB", CHANNEL)

    assert (result.delivered, result.acked, result.status) == (False, False, None)
    assert await notice(people) == '/holdshort failed with the error "dispatch_failed"'
    await app.start()
    slack.request_url = app.url
    assert (await people.slash("U0BOB", CHANNEL)).acked


async def test_an_app_with_no_address_is_a_failure(people: LocalSlackClient) -> None:
    await people.app.set_request_url(None)
    result = await people.slash("U0BOB", CHANNEL)

    assert (result.delivered, result.via) == (False, "nothing")
    assert await notice(people) == '/holdshort failed with the error "dispatch_failed"'
    assert await people.app.request_url() is None


async def test_a_notice_is_private(people: LocalSlackClient, app: PlainApp) -> None:
    app.status = 500
    await people.slash("U0BOB", CHANNEL)

    assert (await people.state("U0ALICE"))["notices"] == []
