"""Who someone is: asked of Slack when it matters, remembered for a minute, failing closed."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from slack_sdk.web.async_client import AsyncWebClient

from bot import directory as module
from bot.bootstrap import make_client
from bot.directory import SlackDirectory, SlackIdentity
from bot.local_slack import Fault, FaultKind, LocalSlack, LocalSlackClient, User
from engine.errors import DirectoryUnavailableError
from engine.identity import SYSTEM, Actor, Standing, Via
from engine.ids import PersonId
from tests.bot.stage import ALICE, BOB, GONE, GUEST, OUTSIDER, ROBOT, Clock, settings_for

HOME = SlackIdentity(team="T0LOCAL", enterprise="", bot_user="U0HOLDSHORT", bot_id="B0HOLDSHORT")
GRID = SlackIdentity(team="T0LOCAL", enterprise="E0ORG", bot_user="U0HOLDSHORT", bot_id="B0")


@dataclass
class Desk:
    """A directory of a local Slack."""

    slack: LocalSlack
    directory: SlackDirectory
    clock: Clock

    async def describe(self, user: str, team: str = "") -> Standing:
        actor = Actor(id=PersonId(user), team=team, via=Via.SLACK)
        return await self.directory.describe(actor)

    @property
    def asked(self) -> int:
        return len(self.slack.calls.select("users.info"))


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(module, "TIMEOUT_S", 30.0)  # a busy machine is not what is tested
    async with LocalSlack() as slack, aiohttp.ClientSession() as session:
        clock = Clock()
        yield Desk(
            slack, SlackDirectory(make_client(settings_for(slack), session), HOME, clock), clock
        )


@pytest.mark.parametrize(
    ("user", "team", "standing"),
    [
        (BOB, "", Standing.MEMBER),
        (BOB, "T0LOCAL", Standing.MEMBER),
        (BOB, "T0OTHER", Standing.OUTSIDER),
        (GUEST, "T0LOCAL", Standing.GUEST),
        (OUTSIDER, "T0OTHER", Standing.OUTSIDER),
        (OUTSIDER, "T0LOCAL", Standing.OUTSIDER),
        (GONE, "T0LOCAL", Standing.DEACTIVATED),
        (ROBOT, "T0LOCAL", Standing.BOT),
        ("U0NOBODY", "T0LOCAL", Standing.UNKNOWN),
        ("", "T0LOCAL", Standing.UNKNOWN),
    ],
)
async def test_what_someone_is(desk: Desk, user: str, team: str, standing: Standing) -> None:
    assert await desk.describe(user, team) is standing


async def test_a_single_channel_guest_is_a_guest(desk: Desk) -> None:
    desk.slack.world.put_user(User(id="U0SINGLE", name="s", is_ultra_restricted=True))
    assert await desk.describe("U0SINGLE") is Standing.GUEST


async def test_a_stranger_is_an_outsider_though_of_the_home_team(desk: Desk) -> None:
    desk.slack.world.put_user(User(id="U0ODD", name="o", is_stranger=True))
    assert await desk.describe("U0ODD") is Standing.OUTSIDER


async def test_no_machine_of_ours_is_a_person(desk: Desk) -> None:
    assert await desk.directory.describe(SYSTEM) is Standing.BOT
    assert desk.asked == 0


async def test_an_answer_is_remembered_for_a_minute_and_not_longer(desk: Desk) -> None:
    await desk.describe(BOB)
    desk.clock.move(timedelta(seconds=59))
    await desk.describe(BOB)
    assert desk.asked == 1
    desk.slack.world.deactivate(BOB)

    desk.clock.move(timedelta(seconds=2))

    assert await desk.describe(BOB) is Standing.DEACTIVATED
    assert desk.asked == 2


async def test_a_clock_that_was_set_back_makes_nothing_last_longer(desk: Desk) -> None:
    await desk.describe(BOB)
    desk.clock.move(timedelta(hours=-1))
    await desk.describe(BOB)
    assert desk.asked == 2


async def test_many_who_ask_for_one_person_at_once_share_one_call(desk: Desk) -> None:
    held = desk.slack.faults.plant(Fault(kind=FaultKind.HOLD, method="users.info"))
    asking = [asyncio.create_task(desk.describe(BOB)) for _ in range(20)]
    async with LocalSlackClient(desk.slack.url) as people:
        await people.wait_for(lambda: _waiting(desk))
    desk.slack.faults.release(held)

    assert set(await asyncio.gather(*asking)) == {Standing.MEMBER}
    assert desk.asked == 1


async def _waiting(desk: Desk) -> bool:
    return any(one.waiting for one in desk.slack.faults.views())


async def test_only_so_many_are_remembered(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 2)
    for user in (ALICE, BOB, GUEST, ALICE):
        await desk.describe(user)
    assert desk.asked == 4
    await desk.describe(ALICE)
    assert desk.asked == 4


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind=FaultKind.TIMEOUT),
        # A question that was dropped is asked once more.
        Fault(kind=FaultKind.DROP_BEFORE, times=2),
        Fault(kind=FaultKind.DROP_AFTER_ACCEPT, times=2),
        Fault(kind=FaultKind.SERVER_ERROR),
        Fault(kind=FaultKind.HTML),
        Fault(kind=FaultKind.RATELIMITED),
        Fault(kind=FaultKind.ERROR, error="missing_scope"),
        Fault(kind=FaultKind.ERROR, error="invalid_auth"),
    ],
)
async def test_whatever_keeps_slack_from_answering_lets_nobody_through_and_is_not_remembered(
    desk: Desk, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    desk.slack.faults.plant(fault)

    with pytest.raises(DirectoryUnavailableError):
        await desk.describe(BOB)

    desk.slack.faults.clear()
    assert await desk.describe(BOB) is Standing.MEMBER


@pytest.mark.parametrize("kind", [FaultKind.DROP_BEFORE, FaultKind.DROP_AFTER_ACCEPT])
async def test_a_question_that_was_dropped_once_is_asked_again(desk: Desk, kind: FaultKind) -> None:
    desk.slack.faults.plant(Fault(kind=kind, method="users.info"))

    assert await desk.describe(BOB) is Standing.MEMBER


async def test_who_is_asked_about_stands_in_no_address() -> None:
    asked = []

    async def users_info(request: web.Request) -> web.Response:
        asked.append((request.query_string, dict(await request.post())))
        return web.json_response({"ok": True, "user": {"id": BOB, "team_id": "T0LOCAL"}})

    app = web.Application()
    app.add_routes([web.post("/api/users.info", users_info)])
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        client = AsyncWebClient(
            base_url=str(server.make_url("/api/")), session=session, retry_handlers=[]
        )
        actor = Actor(id=PersonId(BOB), via=Via.SLACK)

        standing = await SlackDirectory(client, HOME, Clock()).describe(actor)

    assert standing is Standing.MEMBER
    assert asked == [("", {"user": BOB})]


class Answering:
    """A client that answers users.info with one user object."""

    def __init__(self, user: object) -> None:
        self._user = user

    async def api_call(self, *_: object, **__: object) -> dict[str, Any]:
        return {"ok": True, "user": self._user}


@pytest.mark.parametrize(
    ("user", "team", "standing"),
    [
        ({"team_id": "T0LOCAL"}, "T0LOCAL", Standing.MEMBER),
        ({"team_id": "E0ORG"}, "T0LOCAL", Standing.MEMBER),
        (
            {
                "team_id": "T0SALES",
                "enterprise_user": {"enterprise_id": "E0ORG", "teams": ["T0SALES"]},
            },
            "T0SALES",
            Standing.MEMBER,
        ),
        (
            {"team_id": "T0LOCAL", "enterprise_user": {"enterprise_id": "E0ORG"}},
            "E0ORG",
            Standing.MEMBER,
        ),
        (
            {
                "team_id": "T0SALES",
                "enterprise_user": {"enterprise_id": "E0ORG", "teams": ["T0SALES"]},
            },
            "T0EVIL",
            Standing.OUTSIDER,
        ),
        (
            {
                "team_id": "T0EVIL",
                "enterprise_user": {"enterprise_id": "E0EVIL", "teams": ["T0LOCAL"]},
            },
            "T0LOCAL",
            Standing.OUTSIDER,
        ),
        ({"team_id": "T0EVIL"}, "T0EVIL", Standing.OUTSIDER),
        ({}, "T0LOCAL", Standing.OUTSIDER),
        ({"team_id": None, "enterprise_user": []}, "", Standing.OUTSIDER),
        ({"team_id": "T0LOCAL", "is_workflow_bot": True}, "", Standing.BOT),
        ({"team_id": "T0LOCAL", "id": "USLACKBOT"}, "", Standing.BOT),
    ],
)
async def test_on_grid_home_is_the_organisation(
    user: dict[str, Any], team: str, standing: Standing
) -> None:
    client: Any = Answering(user)
    directory = SlackDirectory(client, GRID, Clock())
    actor = Actor(id=PersonId("U1"), team=team, via=Via.SLACK)
    assert await directory.describe(actor) is standing


@pytest.mark.parametrize("user", [None, [], "U1"])
async def test_an_answer_without_a_user_lets_nobody_through(user: object) -> None:
    client: Any = Answering(user)
    with pytest.raises(DirectoryUnavailableError):
        await SlackDirectory(client, GRID, Clock()).describe(
            Actor(id=PersonId("U1"), via=Via.SLACK)
        )
