"""What Slack says: whose token, which scopes, whose clock, which channel, and who people are."""

from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.bootstrap import make_client, read_identity
from bot.directory import SlackDirectory, error_code
from bot.doctor_findings import Finding, failure, ok, warning
from bot.manifest import SCOPES
from bot.settings import Settings, SettingsError, SlackMode
from engine.agents import Agent
from engine.errors import DirectoryUnavailableError, UnknownGroupError
from engine.identity import (
    OWNER,
    Actor,
    Approvers,
    Group,
    Standing,
    Via,
    fold,
    is_email,
    stands,
)
from engine.ids import Clock, PersonId

TIMEOUT_S = 10.0
MOST_SKEW_S = 60
"""Slack's requests are judged within 300 s of this clock (bot/slack_requests.py)."""
MOST_SOCKETS = 10
"""Connections that Slack lets an app have (https://github.com/slackapi/node-slack-sdk/issues/1654)."""
_NOTED_SKEW_S = 10
_TO_LOOK = frozenset({"channels:read", "groups:read"})
"""Only the examination wants these."""
_REINSTALL = "put them into the app's OAuth & Permissions (or paste manifest.yml), and reinstall it"
_NOT_PEOPLE = {
    Standing.GUEST: "is a guest, and guests are refused",
    Standing.BOT: "is a bot, and bots are refused",
    Standing.OUTSIDER: "is of another workspace, and outsiders are refused",
    Standing.DEACTIVATED: "is deactivated",
    Standing.UNKNOWN: "is nobody that Slack knows",
}


@dataclass(frozen=True, slots=True)
class _Said:
    """Slack's answer to one call: its data and headers, or what went wrong."""

    data: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


async def check_slack(settings: Settings, agents: Sequence[Agent], clock: Clock) -> list[Finding]:
    """Ask Slack all there is to ask. Nothing is posted, and no socket is opened.

    A socket would be sent a part of what people press, and lose it.
    """
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as session:
        client = make_client(settings, session)
        said = await _ask(client.auth_test())
        found = [_token(said, client.base_url), *_clock(said, clock)]
        if said.error:
            return found
        found += _scopes(said)
        found += await _way_in(settings, client)
        found += await _channel(settings, client)
        return found + await _people(settings, agents, client, said, clock)


async def _ask(call: Awaitable[AsyncSlackResponse]) -> _Said:
    try:
        answer = await call
    except SlackApiError as error:
        headers = getattr(error.response, "headers", None) or {}
        return _Said(headers=headers, error=error_code(error))
    except (TimeoutError, aiohttp.ClientError, ValueError) as error:
        return _Said(error=f"no answer ({type(error).__name__})")
    data = answer.data if isinstance(answer.data, dict) else {}
    return _Said(data, answer.headers)


def _token(said: _Said, url: str) -> Finding:
    if not said.error:
        bot, team = said.data.get("user", "?"), said.data.get("team", "?")
        return ok("slack token", f"bot {bot} in workspace {team}")
    if said.error.startswith("no answer"):
        return failure(
            "slack token",
            f"{url}: {said.error}",
            "see that this host reaches Slack, and what HOLDSHORT_SLACK_API_URL and proxies say",
        )
    return failure(
        "slack token",
        f"Slack refuses SLACK_BOT_TOKEN: {said.error}",
        "copy the Bot User OAuth Token anew from your Slack app's page OAuth & Permissions",
    )


def _clock(said: _Said, clock: Clock) -> Iterator[Finding]:
    try:
        there = parsedate_to_datetime(said.headers["Date"])
    except (KeyError, TypeError, ValueError):
        return
    off = round((clock() - there).total_seconds())
    text = f"{abs(off)} s {'ahead of' if off > 0 else 'behind'} Slack's"
    if abs(off) > MOST_SKEW_S:
        remedy = "set this host's clock by NTP: past 300 s every press is refused"
        yield failure("clock", text, remedy)
    elif abs(off) > _NOTED_SKEW_S:
        yield warning("clock", text, "set this host's clock by NTP")
    else:
        yield ok("clock", f"within {_NOTED_SKEW_S} s of Slack's")


def _scopes(said: _Said) -> Iterator[Finding]:
    told = said.headers.get("x-oauth-scopes") or said.headers.get("X-OAuth-Scopes")
    if told is None:
        yield warning("scopes", "Slack does not say which there are", "look at the app's page")
        return
    granted = {one.strip() for one in told.split(",")} - {""}
    missing, spare = sorted(set(SCOPES) - granted), sorted(granted - {*SCOPES, *_TO_LOOK})
    if missing:
        yield failure("scopes", f"missing: {', '.join(missing)}", _REINSTALL)
    else:
        yield ok("scopes", f"all there: {', '.join(SCOPES)}")
    if spare:
        text = f"more than Holdshort needs: {', '.join(spare)}"
        yield warning("scopes", text, "take them from the app: what it cannot do, nobody can abuse")


async def _way_in(settings: Settings, client: AsyncWebClient) -> list[Finding]:
    if settings.slack_mode is SlackMode.HTTP:
        number = len(settings.slack_signing_secret)
        if not number:
            return []
        text = f"HTTP, with {_count(number, 'signing secret')}; only a request of Slack's can tell"
        return [ok("way in", f"{text} whether it is the right one")]
    token = settings.slack_app_token
    if token is None:
        return []
    said = await _ask(client.apps_connections_open(app_token=token.get_secret_value()))
    if said.error:
        remedy = "make an app-level token with connections:write, and turn Socket Mode on"
        return [failure("way in", f"Slack refuses SLACK_APP_TOKEN: {said.error}", remedy)]
    return [
        ok("way in", "Socket Mode; Slack gives a socket to this app token"),
        ok(
            "sockets",
            f"an app may have {MOST_SOCKETS}; each replica takes one, and a second as it reconnects",
        ),
    ]


async def _channel(settings: Settings, client: AsyncWebClient) -> list[Finding]:
    name = settings.slack_channel
    if not name:
        text = "none set: cards go where a run was started, else to the owner's messages"
        return [ok("channel", text)]
    said = await _ask(client.conversations_info(channel=name))
    if said.error:
        return [_unseen(name, said.error)]
    channel = said.data.get("channel")
    return list(_states(name, channel if isinstance(channel, dict) else {}))


def _unseen(name: str, error: str) -> Finding:
    if error == "missing_scope":
        remedy = "to have it looked at, add channels:read (groups:read where it is private)"
        return warning("channel", f"{name} cannot be looked at without a scope for it", remedy)
    remedy = "set the id of a channel there is; if it is private, invite the bot to it first"
    return failure("channel", f"{name}: {error}", remedy)


def _states(name: str, channel: Mapping[str, Any]) -> Iterator[Finding]:
    called = f"{name} (#{channel.get('name', '?')})"
    if channel.get("is_archived"):
        yield failure("channel", f"{called} is archived", "unarchive it, or set another")
    if not channel.get("is_member") and not channel.get("is_im"):
        yield failure("channel", f"the bot is not in {called}", "type /invite @holdshort there")
    if any(channel.get(f"is_{how}") for how in ("ext_shared", "org_shared", "pending_ext_shared")):
        text = f"{called} is shared with others (Slack Connect): they read what is asked"
        yield warning("channel", text, "set a channel of your own workspace's")
    if channel.get("is_member") and not channel.get("is_archived"):
        yield ok("channel", f"{called} is there, and the bot is in it")


async def _people(
    settings: Settings,
    agents: Sequence[Agent],
    client: AsyncWebClient,
    said: _Said,
    clock: Clock,
) -> list[Finding]:
    try:
        directory = SlackDirectory(client, read_identity(said.data), clock)
    except SettingsError as error:
        return [failure("approvers", str(error), "install the app in one workspace")]
    found: list[Finding] = []
    for agent in agents:
        found += [one async for one in _approvers(agent, directory)]
    if settings.operator:
        about = f"HOLDSHORT_OPERATOR, {settings.operator},"
        wrong = await _wrong_with(PersonId(settings.operator), OWNER, directory)
        remedy = "set it to your own member id, from your Slack profile"
        found.append(
            failure("operator", f"{about} {wrong}", remedy)
            if wrong
            else ok("operator", f"{about} is a member")
        )
    return found


async def _approvers(agent: Agent, directory: SlackDirectory) -> AsyncIterator[Finding]:
    who = agent.who
    if who.empty:
        yield ok("approvers", f"agent {agent.name}: whoever owns the run")
        return
    wrong: dict[str, str] = {}
    for person in (*who.people, *(one.by for one in who.stand_ins)):
        wrong[person] = await _wrong_with(person, who, directory)
    wrong |= {group.id: await _wrong_with_group(group, directory) for group in who.crowd}
    for named in (one for one in wrong if wrong[one]):
        text = f"agent {agent.name}: {named} {wrong[named]}"
        yield failure("approvers", text, "name whom Slack knows by their id, or take it out")
    good = [named for named in wrong if not wrong[named]]
    if who.on_call:
        good.append("whoever is on call")
    if good:
        yield ok("approvers", f"agent {agent.name}: {', '.join(good)}")


async def _wrong_with(person: PersonId, who: Approvers, directory: SlackDirectory) -> str:
    try:
        known = await directory.find(fold(person)) if is_email(person) else person
        if known is None:
            return "is nobody's address"
        found = await directory.describe(Actor(id=known, via=Via.SYSTEM))
    except (DirectoryUnavailableError, UnknownGroupError) as error:
        return f"cannot be looked up: {error}"
    if stands(who, found):
        return ""
    return _NOT_PEOPLE[found.standing]


async def _wrong_with_group(group: Group, directory: SlackDirectory) -> str:
    try:
        members = await directory.members(group)
    except UnknownGroupError as error:
        return f"is unknown: {error}"
    except DirectoryUnavailableError as error:
        return f"cannot be looked up: {error}"
    return "" if members else "has nobody in it"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
