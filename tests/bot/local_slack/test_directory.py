"""Users, user groups and conversations: who is a guest, a bot, an outsider or gone."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import Channel, LocalSlack, LocalSlackClient, User, UserGroup
from tests.bot.local_slack.refusals import refusal


async def user(web: AsyncWebClient, user_id: str) -> dict[str, object]:
    found: dict[str, object] = (await web.users_info(user=user_id))["user"]
    return found


async def test_a_user_is_described_by_what_they_are(web: AsyncWebClient) -> None:
    alice, gus = await user(web, "U0ALICE"), await user(web, "U0GUEST")
    robot, dan = await user(web, "U0ROBOT"), await user(web, "U0GONE")

    assert (alice["name"], alice["is_restricted"], alice["is_bot"]) == ("alice", False, False)
    assert alice["profile"]["email"] == "alice@local.example"  # type: ignore[index]
    assert gus["is_restricted"]
    assert robot["is_bot"]
    assert dan["deleted"]
    assert "is_restricted" not in dan


async def test_an_outsider_in_a_shared_channel_is_of_another_team_but_no_stranger(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    shared = await user(web, "U0EXT")
    slack.world.leave("C0DEPLOYS", "U0EXT")
    apart = await user(web, "U0EXT")
    slack.world.put_user(slack.world.users["U0EXT"].model_copy(update={"is_stranger": False}))
    told = await user(web, "U0EXT")

    assert shared["team_id"] == "T0OTHER"
    assert shared["is_stranger"] is False
    assert apart["is_stranger"] is True
    assert told["is_stranger"] is False


async def test_an_unknown_user_is_not_found(web: AsyncWebClient) -> None:
    assert await refusal(web.users_info(user="U0NONE")) == "user_not_found"
    assert await refusal(web.users_lookupByEmail(email="no@body")) == "users_not_found"
    assert await refusal(web.users_lookupByEmail(email="dan@local.example")) == "users_not_found"
    assert await refusal(web.users_lookupByEmail(email="eve@other.example")) == "users_not_found"


async def test_a_user_is_found_by_email(web: AsyncWebClient) -> None:
    found = await web.users_lookupByEmail(email="Bob@local.example")

    assert found["user"]["id"] == "U0BOB"


async def test_an_email_is_shown_only_with_its_scope(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    left = slack.world.app.scopes - {"users:read.email"}
    slack.world.app = slack.world.app.model_copy(update={"scopes": left})

    assert "email" not in (await user(web, "U0BOB"))["profile"]  # type: ignore[operator]


async def test_all_users_are_listed_in_pages(web: AsyncWebClient) -> None:
    first = await web.users_list(limit=3)
    rest = await web.users_list(cursor=first["response_metadata"]["next_cursor"])

    assert len(first["members"]) == 3
    assert len(rest["members"]) == 5


async def test_a_world_can_be_given_forty_approvers(
    slack: LocalSlack, web: AsyncWebClient, people: LocalSlackClient
) -> None:
    ids = [f"U0A{number:02d}" for number in range(40)]
    for user_id in ids:
        await people.world.put_user(User(id=user_id, name=user_id.lower()))
        await people.world.join("C0DEPLOYS", user_id)
    await people.world.put_group(
        UserGroup(id="S0FORTY", handle="forty", name="Forty", users=tuple(ids))
    )

    assert (await web.usergroups_users_list(usergroup="S0FORTY"))["users"] == ids
    assert (await people.state(ids[-1]))["channels"][0]["id"] == "C0DEPLOYS"
    assert len((await people.world.view()).users) == 48


async def test_groups_are_listed_with_their_users_when_asked(web: AsyncWebClient) -> None:
    bare = (await web.usergroups_list())["usergroups"][0]
    full = (await web.usergroups_list(include_users=True))["usergroups"][0]

    assert (bare["id"], bare["handle"], bare["user_count"]) == ("S0ONCALL", "oncall", 2)
    assert "users" not in bare
    assert full["users"] == ["U0BOB", "U0CAROL"]
    assert await refusal(web.usergroups_users_list(usergroup="S0NONE")) == "no_such_subteam"


async def test_a_channel_is_described(web: AsyncWebClient) -> None:
    answer = await web.conversations_info(channel="C0DEPLOYS", include_num_members=True)

    channel = answer["channel"]
    assert (channel["name"], channel["is_member"], channel["is_ext_shared"]) == (
        "deploys",
        True,
        True,
    )
    assert channel["num_members"] == 6


async def test_a_private_channel_without_the_bot_looks_like_none(web: AsyncWebClient) -> None:
    for call in (
        web.conversations_info(channel="C0PRIVATE"),
        web.conversations_members(channel="C0PRIVATE"),
        web.conversations_history(channel="C0PRIVATE"),
    ):
        assert await refusal(call) == "channel_not_found"


async def test_the_history_of_a_public_channel_needs_membership(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    slack.world.leave("C0GENERAL", "U0HOLDSHORT")

    assert (await web.conversations_info(channel="C0GENERAL"))["ok"]
    assert await refusal(web.conversations_history(channel="C0GENERAL")) == "not_in_channel"


async def test_members_include_guests_and_outsiders(web: AsyncWebClient) -> None:
    members = (await web.conversations_members(channel="C0DEPLOYS"))["members"]

    assert {"U0GUEST", "U0EXT", "U0HOLDSHORT"} < set(members)


async def test_channels_are_listed_by_type(web: AsyncWebClient) -> None:
    await web.conversations_open(users="U0BOB")
    await web.conversations_open(users="U0BOB,U0CAROL")

    public = await web.conversations_list(exclude_archived=True)
    direct = await web.conversations_list(types="im,mpim")
    private = await web.conversations_list(types="private_channel")

    assert [one["id"] for one in public["channels"]] == ["C0DEPLOYS", "C0GENERAL"]
    assert [one["is_im"] for one in direct["channels"]] == [True, False]
    assert private["channels"] == []


async def test_opening_a_dm_twice_gives_the_same_one(web: AsyncWebClient) -> None:
    first = await web.conversations_open(users=["U0BOB"], return_im=True)
    again = await web.conversations_open(channel=first["channel"]["id"])
    group = await web.conversations_open(users="U0BOB,U0CAROL")
    same = await web.conversations_open(users="U0CAROL,U0BOB")
    told = [(one.get("no_op"), one.get("already_open")) for one in (first, again, group, same)]
    assert told == [(None, None), (True, True), (None, None), (True, True)]

    assert first["channel"]["user"] == "U0BOB"
    assert again["channel"]["id"] == first["channel"]["id"]
    assert group["channel"]["id"] == same["channel"]["id"]


@pytest.mark.parametrize(
    ("users", "code"),
    [
        ("", "users_list_not_supplied"),
        ("U0NONE", "user_not_found"),
        ("U0GONE", "user_disabled"),
        ("U0ROBOT", "cannot_dm_bot"),
        (",".join(["U0BOB"] * 9), "too_many_users"),
    ],
)
async def test_a_dm_that_cannot_be_is_refused(web: AsyncWebClient, users: str, code: str) -> None:
    call = web.api_call("conversations.open", json={"users": users})

    assert await refusal(call) == code


async def test_a_stranger_cannot_be_written_to(slack: LocalSlack, web: AsyncWebClient) -> None:
    slack.world.leave("C0DEPLOYS", "U0EXT")

    assert await refusal(web.conversations_open(users="U0EXT")) == "user_not_visible"
    assert await refusal(web.chat_postMessage(channel="U0EXT", text="x")) == "channel_not_found"


async def test_a_channel_is_no_dm(web: AsyncWebClient) -> None:
    call = web.conversations_open(channel="C0DEPLOYS")

    assert await refusal(call) == "method_not_supported_for_channel_type"


async def test_the_world_can_be_changed_while_it_runs(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await people.world.put_channel(Channel(id="C0NEW", name="new", members=("U0HOLDSHORT",)))
    await people.world.join("C0NEW", "U0BOB")
    await people.world.join("C0NEW", "U0CAROL")
    await people.world.leave("C0NEW", "U0CAROL")
    await people.world.deactivate("U0BOB")

    members = (await web.conversations_members(channel="C0NEW"))["members"]
    assert members == ["U0HOLDSHORT", "U0BOB"]
    assert (await user(web, "U0BOB"))["deleted"]


async def test_on_grid_a_person_has_an_id_in_the_organisation_too(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    world = slack.world
    world.team = world.team.model_copy(update={"enterprise": "E0ORG"})
    grid = {"enterprise_user": "W0BOB", "workspaces": ("T0LOCAL", "T0SALES")}
    world.put_user(world.users["U0BOB"].model_copy(update=grid))

    by_one, by_other = await user(web, "U0BOB"), await user(web, "W0BOB")

    assert by_one == by_other
    assert by_one["enterprise_user"] == {
        "id": "W0BOB",
        "enterprise_id": "E0ORG",
        "teams": ["T0LOCAL", "T0SALES"],
    }
    assert (await web.auth_test())["enterprise_id"] == "E0ORG"
    assert "enterprise_user" not in await user(web, "U0CAROL")


async def test_a_big_channel_is_told_page_by_page(slack: LocalSlack, web: AsyncWebClient) -> None:
    crowd = tuple(f"U0C{number:03}" for number in range(250))
    slack.world.put_channel(Channel(id="C0BIG", name="big", members=crowd))
    seen: list[str] = []
    cursor = ""
    while True:
        answer = await web.conversations_members(channel="C0BIG", limit=100, cursor=cursor)
        seen += answer["members"]
        cursor = answer["response_metadata"]["next_cursor"]
        if not cursor:
            break

    assert tuple(seen) == crowd
    wrong = web.conversations_members(channel="C0BIG", cursor="bm9uc2Vuc2U=")
    assert await refusal(wrong) == "invalid_cursor"
