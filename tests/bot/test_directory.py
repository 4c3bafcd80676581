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
from bot import remembering
from bot.bootstrap import make_client
from bot.directory import SlackDirectory, SlackIdentity
from bot.local_slack import Channel, Fault, FaultKind, LocalSlack, LocalSlackClient, User, UserGroup
from engine.errors import DirectoryUnavailableError, UnknownGroupError
from engine.identity import SYSTEM, Actor, Group, GroupKind, Standing, Via
from engine.ids import PersonId
from tests.bot.stage import ALICE, BOB, CAROL, GONE, GUEST, OUTSIDER, ROBOT, Clock, settings_for

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
        return (await self.directory.describe(actor)).standing

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
    assert (await desk.directory.describe(SYSTEM)).standing is Standing.BOT
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
    monkeypatch.setattr(remembering, "MOST_KEPT", 2)
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

        person = await SlackDirectory(client, HOME, Clock()).describe(actor)

    assert person.standing is Standing.MEMBER
    assert asked == [("", {"user": BOB})]


class Answering:
    """A client that answers whatever it is asked with one user object."""

    def __init__(self, user: object) -> None:
        self._user = user

    async def api_call(self, method: str, **_: object) -> "Answering":
        return self

    @property
    def data(self) -> dict[str, Any]:
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
    assert (await directory.describe(actor)).standing is standing


@pytest.mark.parametrize("user", [None, [], "U1"])
async def test_an_answer_without_a_user_lets_nobody_through(user: object) -> None:
    client: Any = Answering(user)
    with pytest.raises(DirectoryUnavailableError):
        await SlackDirectory(client, GRID, Clock()).describe(
            Actor(id=PersonId("U1"), via=Via.SLACK)
        )


async def members(desk: Desk, group: str, kind: GroupKind = GroupKind.USERS) -> set[str]:
    return set(await desk.directory.members(Group(kind, group)))


async def test_a_group_is_its_people_as_of_at_most_a_minute_ago(desk: Desk) -> None:
    assert await members(desk, "S0ONCALL") == {BOB, CAROL}
    desk.slack.world.put_group(
        UserGroup(id="S0ONCALL", handle="oncall", name="On call", users=(ALICE,))
    )
    desk.clock.move(timedelta(seconds=59))
    assert await members(desk, "S0ONCALL") == {BOB, CAROL}

    desk.clock.move(timedelta(seconds=2))

    assert await members(desk, "S0ONCALL") == {ALICE}
    assert len(desk.slack.calls.select("usergroups.users.list")) == 2


async def test_a_big_channel_is_read_to_its_end(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 100)
    crowd = tuple(f"U0C{number:03}" for number in range(250))
    desk.slack.world.put_channel(Channel(id="C0BIG", name="big", members=crowd))

    assert await members(desk, "C0BIG", GroupKind.CHANNEL) == set(crowd)
    assert len(desk.slack.calls.select("conversations.members")) == 3


async def test_a_channel_of_too_many_is_no_group_of_approvers(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    monkeypatch.setattr(module, "MOST_MEMBERS", 3)
    with pytest.raises(UnknownGroupError, match="more than 3 members"):
        await members(desk, "C0DEPLOYS", GroupKind.CHANNEL)


@pytest.mark.parametrize(
    ("group", "kind", "code"),
    [
        ("S0NONE", GroupKind.USERS, "no_such_subteam"),
        ("", GroupKind.USERS, "invalid_arguments"),
        ("C0NONE", GroupKind.CHANNEL, "channel_not_found"),
        ("C0PRIVATE", GroupKind.CHANNEL, "channel_not_found"),
    ],
)
async def test_a_group_that_slack_does_not_know_is_told_from_a_slack_that_is_away(
    group: str, kind: GroupKind, code: str, desk: Desk
) -> None:
    with pytest.raises(UnknownGroupError, match=f"{kind.value} '{group}' .*Slack says {code}"):
        await members(desk, group, kind)
    assert desk.directory.trouble == ""


@pytest.mark.parametrize("email", ["bob@local.example", "BOB@local.example"])
async def test_an_address_is_its_members(email: str, desk: Desk) -> None:
    assert await desk.directory.find(email) == BOB


@pytest.mark.parametrize("email", ["dan@local.example", "eve@other.example", "x@y"])
async def test_an_address_of_nobody_active_here_is_nobodys(email: str, desk: Desk) -> None:
    assert await desk.directory.find(email) is None


async def test_addresses_that_the_app_may_not_look_up_are_a_fault_of_its_setup(desk: Desk) -> None:
    app = desk.slack.world.app
    scopes = app.scopes - {"users:read.email", "usergroups:read"}
    desk.slack.world.app = app.model_copy(update={"scopes": scopes})

    with pytest.raises(UnknownGroupError, match="missing_scope"):
        await desk.directory.find("bob@local.example")
    with pytest.raises(UnknownGroupError, match="missing_scope"):
        await members(desk, "S0ONCALL")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind=FaultKind.TIMEOUT),
        Fault(kind=FaultKind.SERVER_ERROR),
        Fault(kind=FaultKind.HTML),
        Fault(kind=FaultKind.RATELIMITED),
    ],
)
async def test_no_group_and_no_address_is_told_by_a_slack_that_is_away(
    desk: Desk, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    lasting = fault.model_copy(update={"times": None})
    desk.slack.faults.plant(lasting)

    for asking in (members(desk, "S0ONCALL"), desk.directory.find("bob@local.example")):
        with pytest.raises(DirectoryUnavailableError):
            await asking
    assert desk.directory.trouble
    assert await desk.directory.recover()

    desk.slack.faults.clear()
    assert await desk.directory.recover() == ""
    assert await members(desk, "S0ONCALL") == {BOB, CAROL}


async def test_one_human_of_the_organisation_is_counted_under_one_id() -> None:
    user = {
        "id": "U1",
        "team_id": "T0SALES",
        "enterprise_user": {"id": "W1", "enterprise_id": "E0ORG", "teams": ["T0SALES"]},
    }
    client: Any = Answering(user)
    directory = SlackDirectory(client, GRID, Clock())

    found = [
        await directory.describe(Actor(id=PersonId(who), team="T0SALES", via=Via.SLACK))
        for who in ("U1", "W1")
    ]

    assert {person.id for person in found} == {"W1"}
    assert found[0].ids == {"U1", "W1"}


async def test_an_organisation_that_is_not_ours_gives_nobody_a_second_id() -> None:
    user = {"team_id": "T0LOCAL", "enterprise_user": {"id": "W0BOSS", "enterprise_id": "E0EVIL"}}
    client: Any = Answering(user)
    found = await SlackDirectory(client, GRID, Clock()).describe(
        Actor(id=PersonId("U1"), team="T0LOCAL", via=Via.SLACK)
    )
    assert found.id == "U1"
    assert found.ids == {"U1"}


@pytest.mark.parametrize("team", ["T0EVIL", "T0LOCAL"])
async def test_no_name_fits_someone_who_does_not_come_from_where_they_belong(
    desk: Desk, team: str
) -> None:
    who = BOB if team == "T0EVIL" else OUTSIDER
    found = await desk.directory.describe(Actor(id=PersonId(who), team=team, via=Via.SLACK))
    assert (found.standing, found.ids) == (Standing.OUTSIDER, frozenset())
