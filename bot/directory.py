"""The Directory in Slack: what someone is in the home workspace, asked when it matters."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.tasks import Tasks
from engine.errors import DirectoryUnavailableError
from engine.identity import Actor, ActorKind, Standing
from engine.ids import Clock

KEPT_FOR = timedelta(seconds=60)
MOST_KEPT = 2000
TIMEOUT_S = 1.0
_METHOD = "users.info"
_NOBODY = frozenset({"user_not_found", "user_not_visible", "invalid_arguments"})


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
class _Person:
    """What ``users.info`` said of someone, and when we asked."""

    standing: Standing
    teams: frozenset[str]
    asked_at: datetime


class SlackDirectory:
    """Describes actors by ``users.info``, cached for a minute, and fails closed.

    Bolt tells that Slack sent a click, not that a member made it: it takes the workspace of the
    installation for the clicker's own (slack_bolt/request/internals.py, extract_actor_team_id).
    So the team in the payload's ``user`` and the one of ``users.info`` must both be home.
    """

    def __init__(self, client: AsyncWebClient, identity: SlackIdentity, clock: Clock) -> None:
        """Take a client, whose workspace is home, and the clock that ages the cache."""
        self._client = client
        self._identity = identity
        self._clock = clock
        self._known: OrderedDict[str, _Person] = OrderedDict()
        self._lookups: dict[str, asyncio.Task[_Person]] = {}
        self._tasks = Tasks()

    async def describe(self, actor: Actor) -> Standing:
        """Return the actor's standing in the home workspace.

        Raises:
            DirectoryUnavailableError: Slack did not tell in time.

        """
        if actor.kind is not ActorKind.HUMAN:
            return Standing.BOT
        person = self._remembered(actor.id) or await self._look_up(actor.id)
        if person.standing is not Standing.MEMBER:
            return person.standing
        homes = self._identity.homes
        came_from_home = not actor.team or actor.team in homes | person.teams
        return person.standing if came_from_home else Standing.OUTSIDER

    def _remembered(self, user: str) -> _Person | None:
        person = self._known.get(user)
        if person is None:
            return None
        age = self._clock() - person.asked_at
        return person if timedelta(0) <= age < KEPT_FOR else None

    async def _look_up(self, user: str) -> _Person:
        """Ask Slack; several who ask for the same person at once share one call."""
        task = self._lookups.get(user)
        if task is None:
            task = self._lookups[user] = self._tasks.start(self._ask(user))
            task.add_done_callback(lambda _: self._lookups.pop(user, None))
        person = await asyncio.shield(task)
        self._remember(user, person)
        return person

    def _remember(self, user: str, person: _Person) -> None:
        self._known[user] = person
        self._known.move_to_end(user)
        while len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)

    async def _ask(self, user: str) -> _Person:
        asked_at = self._clock()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await self._users_info(user)
        except SlackApiError as error:
            code = error_code(error)
            if code in _NOBODY:
                return _Person(Standing.UNKNOWN, frozenset(), asked_at)
            raise DirectoryUnavailableError(f"{_METHOD}: {code}") from None
        except (TimeoutError, aiohttp.ClientError, ValueError) as error:
            raise DirectoryUnavailableError(f"{_METHOD}: {type(error).__name__}") from None
        found = answer.get("user")
        if not isinstance(found, dict):
            raise DirectoryUnavailableError(f"{_METHOD}: unreadable answer")
        return self._read(found, asked_at)

    async def _users_info(self, user: str) -> AsyncSlackResponse:
        """Ask by POST, which Slack takes for every method (https://docs.slack.dev/apis/web-api).

        The SDK would ask by GET: some fakes know no GET, and it writes who is asked about into an
        address, which proxies keep.
        """
        try:
            return await self._client.api_call(_METHOD, data={"user": user})
        except aiohttp.ServerDisconnectedError:
            # An idle connection may be closed as we use it. A GET is repeated by aiohttp; this
            # only reads, so it may be repeated as well.
            return await self._client.api_call(_METHOD, data={"user": user})

    def _read(self, user: Mapping[str, Any], asked_at: datetime) -> _Person:
        """Read a user object (https://docs.slack.dev/reference/objects/user-object)."""
        grid = user.get("enterprise_user")
        grid = grid if isinstance(grid, dict) else {}
        organisation = grid.get("enterprise_id") or user.get("enterprise_id") or ""
        teams = {user.get("team_id") or "", organisation}
        at_home = bool(self._identity.homes & teams)
        standing = _standing(user, at_home=at_home)
        # On Grid a member may come by any workspace of the home organisation.
        same_organisation = organisation and organisation == self._identity.enterprise
        own = {str(team) for team in grid.get("teams") or ()} if same_organisation else set()
        return _Person(standing, frozenset(own), asked_at)


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
