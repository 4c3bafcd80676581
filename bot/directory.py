"""The Directory in Slack: what someone is, and who is in a group, asked when it matters."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.remembering import Remembering
from engine.errors import DirectoryUnavailableError, UnknownGroupError
from engine.identity import Actor, ActorKind, Group, GroupKind, Person, Standing
from engine.ids import Clock, PersonId

TIMEOUT_S = 1.0
"""For one call to Slack; somebody who pressed a button is waiting."""
MOST_MEMBERS = 10_000
_PAGE = 1000
_NOBODY = frozenset({"user_not_found", "user_not_visible", "invalid_arguments"})
_NOT_OURS = frozenset({"missing_scope", "not_allowed_token_type", "plan_upgrade_required"})
"""Slack will not tell before somebody changes the app or the plan."""
_NO_GROUP = frozenset({"no_such_subteam", "invalid_arguments"}) | _NOT_OURS
_NO_CHANNEL = frozenset({"channel_not_found", "invalid_arguments"}) | _NOT_OURS
_NO_ADDRESS = frozenset({"users_not_found"}) | _NOT_OURS
_ANSWERS = _NOBODY | _NO_GROUP | _NO_CHANNEL | _NO_ADDRESS
"""Slack said no, so it is there."""


@dataclass(frozen=True, slots=True)
class SlackIdentity:
    """Whose bot token this is, as ``auth.test`` said once at the start."""

    team: str
    enterprise: str
    bot_user: str
    bot_id: str

    @property
    def homes(self) -> frozenset[str]:
        """Return the ids that stand for home: the workspace, and on Grid its organisation."""
        return frozenset(filter(None, (self.team, self.enterprise)))


@dataclass(frozen=True, slots=True)
class _Known:
    """What ``users.info`` said of someone: who they are, and the workspaces they may come by."""

    person: Person
    teams: frozenset[str]


class SlackDirectory:
    """Tells who people are by the Web API; remembers it for a minute, and fails closed.

    Bolt tells that Slack sent a click, not that a member made it: it takes the workspace of the
    installation for the clicker's own (slack_bolt/request/internals.py, extract_actor_team_id).
    So the team in the payload's ``user`` and the one of ``users.info`` must both be home.

    ``trouble`` says what kept Slack from telling when it was last asked; empty if nothing did.
    """

    def __init__(self, client: AsyncWebClient, identity: SlackIdentity, clock: Clock) -> None:
        """Take a client, whose workspace is home, and the clock that ages what is remembered."""
        self.trouble = ""
        self._asked: tuple[str, dict[str, Any]] = ("users.info", {"user": identity.bot_user})
        self._client = client
        self._identity = identity
        self._people: Remembering[str, _Known] = Remembering(self._ask, clock)
        self._groups: Remembering[Group, frozenset[PersonId]] = Remembering(self._list, clock)
        self._addresses: Remembering[str, PersonId | None] = Remembering(self._look_up, clock)

    async def describe(self, actor: Actor) -> Person:
        """Return what the actor is in the home workspace.

        Raises:
            DirectoryUnavailableError: Slack did not tell in time.

        """
        if actor.kind is not ActorKind.HUMAN:
            return Person(actor.id, Standing.BOT, frozenset())
        known = await self._people.get(actor.id)
        if not actor.team or actor.team in known.teams:
            return known.person
        # Not who they say they are, or not from where: no name of ours fits them.
        member = known.person.standing is Standing.MEMBER
        standing = Standing.OUTSIDER if member else known.person.standing
        return Person(known.person.id, standing, frozenset())

    async def members(self, group: Group) -> frozenset[PersonId]:
        """Return the people of a user group or a channel.

        Raises:
            UnknownGroupError: Slack knows no such group, or does not let us see it.
            DirectoryUnavailableError: Slack did not tell in time.

        """
        return await self._groups.get(group)

    async def find(self, email: str) -> PersonId | None:
        """Return the active member with this e-mail address; None where there is none.

        Raises:
            UnknownGroupError: the app may not look up addresses at all.
            DirectoryUnavailableError: Slack did not tell in time.

        """
        return await self._addresses.get(email)

    async def recover(self) -> str:
        """Return what is wrong now; after trouble Slack is asked again, as nobody else may."""
        if self.trouble:
            method, arguments = self._asked
            with contextlib.suppress(DirectoryUnavailableError):
                try:
                    await self._call(method, **arguments)
                except SlackApiError as error:
                    self._unless(error, _ANSWERS, method)
        return self.trouble

    async def _ask(self, user: str) -> _Known:
        try:
            answer = await self._call("users.info", user=user)
        except SlackApiError as error:
            self._unless(error, _NOBODY, "users.info")
            unknown = Person(PersonId(user), Standing.UNKNOWN, frozenset())
            return _Known(unknown, self._identity.homes)
        found = answer.get("user")
        if not isinstance(found, dict):
            raise self._troubled("users.info: unreadable answer")
        return self._read(user, found)

    async def _list(self, group: Group) -> frozenset[PersonId]:
        if group.kind is GroupKind.USERS:
            method, refused = "usergroups.users.list", _NO_GROUP
        else:
            method, refused = "conversations.members", _NO_CHANNEL
        try:
            if group.kind is GroupKind.USERS:
                return _ids((await self._call(method, usergroup=group.id)).get("users"))
            return await self._channel(group.id)
        except SlackApiError as error:
            self._unless(error, refused, method)
            why = f"Slack says {error_code(error)}"
            raise UnknownGroupError(group.kind.value, group.id, why) from None

    async def _channel(self, channel: str) -> frozenset[PersonId]:
        found: frozenset[PersonId] = frozenset()
        cursor = ""
        while len(found) <= MOST_MEMBERS:
            page = {"cursor": cursor} if cursor else {}
            answer = await self._call("conversations.members", channel=channel, limit=_PAGE, **page)
            found |= _ids(answer.get("members"))
            after = answer.get("response_metadata")
            cursor = str(after.get("next_cursor") or "") if isinstance(after, dict) else ""
            if not cursor:
                return found
        why = f"it has more than {MOST_MEMBERS:,} members"
        raise UnknownGroupError(GroupKind.CHANNEL.value, channel, why)

    async def _look_up(self, email: str) -> PersonId | None:
        try:
            answer = await self._call("users.lookupByEmail", email=email)
        except SlackApiError as error:
            self._unless(error, _NO_ADDRESS, "users.lookupByEmail")
            if error_code(error) in _NOT_OURS:
                why = f"Slack says {error_code(error)}"
                raise UnknownGroupError("e-mail address", email, why) from None
            return None
        found = answer.get("user")
        return PersonId(str(found["id"])) if isinstance(found, dict) and found.get("id") else None

    async def _call(self, method: str, **arguments: Any) -> Mapping[str, Any]:  # noqa: ANN401 - as the SDK has it
        """Ask Slack.

        Raises:
            SlackApiError: Slack answered, and said no.
            DirectoryUnavailableError: Slack did not answer so that it could be read.

        """
        asked = (method, arguments)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await self._post(method, arguments)
        except SlackApiError:
            self._asked = asked
            raise
        except (TimeoutError, aiohttp.ClientError, ValueError) as error:
            self._asked = asked
            raise self._troubled(f"{method}: {type(error).__name__}") from None
        self.trouble = ""
        return answer.data if isinstance(answer.data, dict) else {}

    async def _post(self, method: str, arguments: dict[str, Any]) -> AsyncSlackResponse:
        """Ask by POST, which Slack takes for every method (https://docs.slack.dev/apis/web-api).

        The SDK would ask by GET: some fakes know no GET, and it writes who is asked about into an
        address, which proxies keep.
        """
        try:
            return await self._client.api_call(method, data=arguments)
        except aiohttp.ServerDisconnectedError:
            # An idle connection may be closed as we use it. A GET is repeated by aiohttp; this
            # only reads, so it may be repeated as well.
            return await self._client.api_call(method, data=arguments)

    def _unless(self, error: SlackApiError, expected: frozenset[str], method: str) -> None:
        """Take an answer that is one of the expected refusals; any other is trouble."""
        code = error_code(error)
        if code not in expected:
            raise self._troubled(f"{method}: {code}") from None
        self.trouble = ""

    def _troubled(self, why: str) -> DirectoryUnavailableError:
        self.trouble = why
        return DirectoryUnavailableError(why)

    def _read(self, asked: str, user: Mapping[str, Any]) -> _Known:
        """Read a user object (https://docs.slack.dev/reference/objects/user-object)."""
        grid = user.get("enterprise_user")
        grid = grid if isinstance(grid, dict) else {}
        organisation = grid.get("enterprise_id") or user.get("enterprise_id") or ""
        teams = frozenset(map(str, filter(None, (user.get("team_id"), organisation))))
        homes = self._identity.homes
        standing = _standing(user, at_home=not homes.isdisjoint(teams))
        # On Grid one human has an id in each workspace and one in the whole organisation.
        ours = bool(organisation) and organisation == self._identity.enterprise
        everywhere = str(grid.get("id") or "") if ours else ""
        ids = {PersonId(asked), PersonId(everywhere)} - {PersonId("")}
        person = Person(PersonId(everywhere or asked), standing, frozenset(ids))
        workspaces = frozenset(map(str, grid.get("teams") or ()))
        if homes.isdisjoint(teams):
            return _Known(person, teams | workspaces - homes)
        return _Known(person, homes | workspaces if ours else homes)


def _ids(listed: object) -> frozenset[PersonId]:
    return frozenset(PersonId(str(one)) for one in listed) if isinstance(listed, list) else _NONE


_NONE: frozenset[PersonId] = frozenset()


def _standing(user: Mapping[str, Any], *, at_home: bool) -> Standing:
    """Return the first reason why someone is no member, or MEMBER. What is absent is refused."""
    if user.get("deleted"):
        return Standing.DEACTIVATED
    if user.get("is_bot") or user.get("is_workflow_bot") or user.get("id") == "USLACKBOT":
        return Standing.BOT
    if user.get("is_stranger") or not at_home:
        return Standing.OUTSIDER
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return Standing.GUEST
    return Standing.MEMBER


def error_code(error: SlackApiError) -> str:
    """Return Slack's error code; the error's text would repeat the whole answer."""
    data = getattr(error.response, "data", None)
    return str(data.get("error", "unknown")) if isinstance(data, dict) else "unreadable answer"
