"""What is known to go wrong between Slack, Bolt and an approval: each guard fails a test if gone.

The numbers are those of the traps in the notes that this project began with.
"""

import asyncio

import aiohttp
import pytest

from bot import directory
from bot.answers import Desk
from bot.bootstrap import make_client
from bot.local_slack import Fault, FaultKind, Forgery, LocalSlack
from bot.settings import Purpose, SettingsError, given_settings
from bot.slack_app import make_app
from bot.slack_requests import SignatureCheck
from bot.tasks import Patience, Tasks
from bot.whispers import Whispers
from notifiers import names
from tests.bot.stage import BOB, DEPLOYS, RESUME_SECRET, Stage, on_stage, settings_for

MODES = pytest.mark.parametrize("mode", ["http", "socket"])


class BrokenError(Exception):
    """What nobody foresaw."""


# Trap 1: an exception soon after the ack loses the ack.


@MODES
async def test_1_a_listener_that_fails_right_after_its_ack_is_acknowledged(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise BrokenError

    async with on_stage(mode=mode) as on:
        _, card = await on.park()
        monkeypatch.setattr(Desk, "tell", fail)

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert pressed.elapsed_ms < 2500
        assert "Something went wrong" in await on.told(BOB)


@MODES
async def test_1_a_listener_that_fails_before_its_ack_is_acknowledged(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise BrokenError

    async with on_stage(mode=mode) as on:
        _, card = await on.park()
        monkeypatch.setattr(Desk, "submit", fail)

        pressed = await on.press(BOB, card, names.DENY)

        assert pressed.acked
        assert "Something went wrong" in await on.told(BOB)


async def test_1_even_failing_to_apologise_costs_no_ack(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise BrokenError

    async with on_stage() as on:
        _, card = await on.park()
        monkeypatch.setattr(Whispers, "tell", fail)

        assert (await on.press(BOB, card)).acked


# Trap 2: a form that contains the word "payload" is taken for an interaction.


@MODES
async def test_2_a_command_may_contain_the_word_payload(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        typed = await on.people.slash(BOB, DEPLOYS, "show payload")
        assert "payload" in await on.answered(typed)


async def test_2_so_may_the_name_of_the_channel() -> None:
    async with on_stage() as on:
        forged = Forgery(set={"channel_name": "payload=x"})
        typed = await on.people.slash(BOB, DEPLOYS, "help", forge=forged)
        assert "/holdshort run" in await on.answered(typed)


# Trap 3: Bolt asks auth.test on the first request, and swallows the click when that fails.


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind=FaultKind.ERROR, method="auth.test", error="invalid_auth", times=None),
        Fault(kind=FaultKind.RATELIMITED, method="auth.test", times=None),
        Fault(kind=FaultKind.TIMEOUT, method="auth.test", times=None),
    ],
)
async def test_3_no_press_waits_for_auth_test_or_is_lost_to_it(fault: Fault) -> None:
    async with on_stage() as on:
        _, card = await on.park()
        await on.people.faults.plant(fault)

        pressed = await on.press(BOB, card)

        assert pressed.elapsed_ms < 2500
        assert (await on.told(BOB)).startswith("Recorded: approved")
        assert len(on.calls("auth.test")) == 1


async def test_3_a_form_opens_though_auth_test_hangs() -> None:
    async with on_stage() as on:
        _, card = await on.park()
        await on.people.faults.plant(Fault(kind=FaultKind.TIMEOUT, method="auth.test", times=None))

        await on.press(BOB, card, names.DENY_REASON)

        assert (await on.modal(BOB))["callback_id"] == names.DENY_FORM


# Trap 4: nothing stops a replay of a signed request.


@pytest.mark.parametrize("fresh", [False, True])
async def test_4_a_replayed_press_is_the_same_press(fresh: bool) -> None:  # noqa: FBT001 - a parameter
    async with on_stage() as on:
        run, card = await on.park()
        first = await on.press(BOB, card)
        recorded = await on.told(BOB)
        await on.until_run(run.id, lambda now: not now.live)
        ended = await on.run(run.id)
        assert first.delivery_id is not None

        again = await on.people.resend(first.delivery_id, retry_num=1, fresh_signature=fresh)

        assert again.acked
        assert await on.told(BOB, 2) == recorded
        assert await on.run(run.id) == ended
        assert on.ledger.effects == ["deploy 1.4.2 prod"]


async def test_4_a_replayed_command_starts_no_second_run() -> None:
    async with on_stage() as on:
        typed = await on.people.slash(BOB, DEPLOYS, "run deployer please")
        said = await on.answered(typed)
        assert typed.delivery_id is not None

        again = await on.people.resend(typed.delivery_id)

        assert again.body["text"] == said
        assert len((await on.runtime.engine.list_runs()).runs) == 1


# Trap 5 has a file of its own: test_slack_requests.py.


# Trap 6: an empty signing secret goes unnoticed, and the environment is read behind our back.


@pytest.mark.parametrize("secret", ["", "  ", ","])
def test_6_an_empty_signing_secret_is_refused_at_the_start(secret: str) -> None:
    with pytest.raises(SettingsError, match="SLACK_SIGNING_SECRET is not set"):
        given_settings(
            Purpose.EMBED,
            slack_bot_token="xoxb-1-2-abcdef",
            slack_signing_secret=secret,
            resume_secrets=RESUME_SECRET,
        )


@pytest.mark.parametrize("secrets", [[], [""], ["good-one-77aa", ""]])
def test_6_a_check_without_a_secret_cannot_be_made(secrets: list[str]) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        SignatureCheck(secrets)


async def test_6_what_bolt_would_take_from_the_environment_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "SLACK_CLIENT_ID",
        "SLACK_CLIENT_SECRET",
        "SLACK_BOT_TOKEN",
        "SLACK_SIGNING_SECRET",
        "SLACK_VERIFICATION_TOKEN",
    ):
        monkeypatch.setenv(name, "taken-from-the-environment")
    async with on_stage() as on:
        slack = on.runtime.slack
        assert slack is not None
        desk = Desk(on.runtime.engine, Whispers(slack.client, slack.session), Tasks(), Patience())
        app = make_app(slack, desk, Tasks())
        assert app.oauth_flow is None
        assert app._token is None

        _, card = await on.park()
        await on.press(BOB, card)

        assert (await on.told(BOB)).startswith("Recorded")


# Traps 7 and 8: the SDK posts again by itself, and waits by itself.


async def test_7_a_dropped_connection_makes_no_second_call() -> None:
    async with LocalSlack() as slack, aiohttp.ClientSession() as session:
        client = make_client(settings_for(slack), session)
        slack.faults.plant(Fault(kind=FaultKind.DROP_AFTER_ACCEPT, method="chat.postMessage"))

        with pytest.raises(aiohttp.ServerDisconnectedError):
            await client.chat_postMessage(channel=DEPLOYS, text="once")

        assert len(slack.calls.select("chat.postMessage")) == 1


async def test_8_a_press_never_waits_for_a_rate_limit() -> None:
    limited = Fault(kind=FaultKind.RATELIMITED, method="users.info", retry_after_s=30, times=None)
    async with on_stage() as on:
        run, card = await on.park()
        await on.people.faults.plant(limited)

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert pressed.elapsed_ms < 2500
        assert "Could not check who may decide" in await on.told(BOB)
        assert await on.run(run.id) == run


@pytest.mark.parametrize(
    "kind",
    [FaultKind.SERVER_ERROR, FaultKind.HTML, FaultKind.DROP_BEFORE, FaultKind.TIMEOUT],
)
async def test_8_whatever_way_slack_fails_to_say_who_presses_nobody_is_let_through(
    kind: FaultKind,
) -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await on.people.faults.plant(Fault(kind=kind, method="users.info", times=None))

        pressed = await on.press(BOB, card)

        assert pressed.acked
        assert "Could not check who may decide" in await on.told(BOB)
        assert await on.run(run.id) == run


@pytest.mark.parametrize("kind", [FaultKind.DROP_BEFORE, FaultKind.SERVER_ERROR])
async def test_8_whoever_cannot_be_told_by_the_response_url_is_told_otherwise(
    kind: FaultKind,
) -> None:
    async with on_stage() as on:
        _, card = await on.park()
        await on.people.faults.plant(Fault(kind=kind, method="response_url", times=None))

        await on.press(BOB, card)

        assert (await on.told(BOB)).startswith("Recorded")


# Trap 9: nobody holds or awaits what a listener still has to do.


@MODES
async def test_9_at_the_end_what_is_still_to_be_said_is_said(mode: str) -> None:
    async with on_stage(mode=mode) as on:
        _, card = await on.park()
        held = await on.people.faults.plant(
            Fault(kind=FaultKind.HOLD_BEFORE, method="response_url")
        )
        await on.press(BOB, card)
        await on.people.wait_for(lambda: _waiting(on, held))

        stopping = asyncio.create_task(on.bot.stop())
        await asyncio.wait({stopping}, timeout=0.3)
        assert not stopping.done()
        await on.people.faults.release(held)
        await stopping

        assert (await on.told(BOB)).startswith("Recorded: approved")


@MODES
async def test_9_at_the_end_what_is_in_hand_is_recorded_and_acknowledged(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "TIMEOUT_S", 5.0)
    async with on_stage(mode=mode) as on:
        _, card = await on.park()
        held = await on.people.faults.plant(Fault(kind=FaultKind.HOLD_BEFORE, method="users.info"))
        pressing = asyncio.create_task(on.press(BOB, card))
        await on.people.wait_for(lambda: _waiting(on, held))

        stopping = asyncio.create_task(on.bot.stop())
        await asyncio.wait({stopping}, timeout=0.3)
        await on.people.faults.release(held)
        await stopping

        assert (await pressing).acked
        assert (await on.told(BOB)).startswith("Recorded: approved")


async def _waiting(on: Stage, held: int) -> bool:
    return any(one.id == held and one.waiting for one in await on.people.faults.list())
