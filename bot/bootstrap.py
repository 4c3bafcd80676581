"""The composition root: from the settings to a running engine, and nothing is wired elsewhere."""

import asyncio
import contextlib
import importlib
import secrets
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.askable import check_askable
from bot.directory import SlackDirectory, SlackIdentity, error_code
from bot.house_rules import under_house_rules
from bot.logs import report_fault
from bot.metered_store import MeteredStore
from bot.metrics import Meters
from bot.named import check_named
from bot.settings import Settings, SettingsError, SlackMode, proxy_for
from bot.stores import open_store, try_store
from engine import Actor, Agent, RunEngine, Via
from engine.cards import Notice, Notifier, Receipt
from engine.errors import (
    ConfigurationError,
    DeliveryError,
    DirectoryUnavailableError,
)
from engine.guard import describe_error
from engine.identity import Directory, Group, Person
from engine.ids import PersonId, Surroundings
from engine.store import Store
from notifiers.slack import SlackNotifier

SLACK = "slack"
"""The name under which agents find the Slack notifier."""

CALL_TIMEOUT_S = 15.0
PAUSES_S = (1.0, 2.0, 4.0, 8.0)
"""Between tries to reach Slack at the start."""

_REFUSED = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_expired",
        "token_revoked",
        "not_allowed_token_type",
        "org_login_required",
        "team_access_not_granted",
    }
)


@dataclass(frozen=True, slots=True)
class SlackSide:
    """What the serving process needs of Slack: one connection pool, and who we are there."""

    client: AsyncWebClient
    session: aiohttp.ClientSession
    identity: SlackIdentity
    directory: SlackDirectory


@dataclass(frozen=True, slots=True)
class Runtime:
    """A wired engine. ``slack`` is None in a terminal process."""

    settings: Settings
    engine: RunEngine
    slack: SlackSide | None
    meters: Meters


class ElsewhereNotifier:
    """Stands for the Slack notifier where no cards are delivered: another process shows them."""

    audience = Via.SLACK

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:  # noqa: ARG002
        """Refuse: a terminal process runs no courier.

        Raises:
            DeliveryError: always.

        """
        raise DeliveryError("cards are delivered by the serving process")


class DirectoryOnDemand:
    """Slack's word on who someone is, fetched only when an answer is to be judged.

    For a terminal process: a command that only looks needs no Slack. Every method raises
    DirectoryUnavailableError where Slack does not answer or refuses the token.
    """

    def __init__(self, settings: Settings, around: Surroundings, stack: AsyncExitStack) -> None:
        """Take the settings, with a bot token, and what closes the connection at the end."""
        self._settings = settings
        self._around = around
        self._stack = stack
        self._opened: SlackDirectory | None = None

    async def describe(self, actor: Actor) -> Person:
        """Return what the actor is in the workspace of the bot token."""
        return await (await self._open()).describe(actor)

    async def members(self, group: Group) -> frozenset[PersonId]:
        """Return the people of a group."""
        return await (await self._open()).members(group)

    async def find(self, email: str) -> PersonId | None:
        """Return the member with this e-mail address."""
        return await (await self._open()).find(email)

    async def _open(self) -> SlackDirectory:
        if self._opened is None:
            opening = _open_slack(self._settings, self._around, pauses=())
            try:
                self._opened = (await self._stack.enter_async_context(opening)).directory
            except SettingsError as error:
                raise DirectoryUnavailableError(str(error)) from error
        return self._opened


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    agents: Sequence[Agent] | None = None,
    store: Store | None = None,
    surroundings: Surroundings | None = None,
    pauses: Iterable[float] = PAUSES_S,
) -> AsyncIterator[Runtime]:
    """Wire everything, and take it apart at the end.

    Args:
        settings: What the environment says. Their purpose decides whether Slack is part of it.
        agents: Instead of those that the settings name.
        store: Instead of the one that the settings name; it is closed at the end too.
        surroundings: The clock, ids and fault report.
        pauses: Seconds to wait between tries to reach Slack.

    Raises:
        ConfigurationError: something must be put right first; the text says what.

    """
    meters = Meters()
    around = surroundings or Surroundings(report=report_fault)
    around = replace(
        around, report=meters.counting(around.report), tool_threads=settings.tool_threads
    )
    given = load_agents(settings.agents) if agents is None else agents
    known = under_house_rules(given, settings)
    if settings.purpose.serves:
        check_askable(known)
    async with AsyncExitStack() as stack:
        opened = store or await open_store(settings, around)
        stack.push_async_callback(opened.close)
        await try_store(opened)
        slack: SlackSide | None = None
        directory: Directory | None = None
        if settings.purpose.serves:
            slack = await stack.enter_async_context(_open_slack(settings, around, pauses))
            directory = slack.directory
            await check_named(known, directory)
        elif settings.slack_bot_token:
            directory = DirectoryOnDemand(settings, around, stack)
        metered = MeteredStore(opened, meters)
        engine = _wire(settings, known, metered, around, slack, directory)
        yield Runtime(settings, engine, slack, meters)


def load_agents(names: Iterable[str]) -> tuple[Agent, ...]:
    """Return the agents at ``module:attribute``: an Agent, several, or a function of no arguments.

    Raises:
        SettingsError: a name leads nowhere, or to something else.

    """
    here = str(Path.cwd())
    if here not in sys.path:
        # As `python -m` does: the console script alone would not find the operator's own module.
        sys.path.insert(0, here)
    return tuple(agent for name in names for agent in _load(name))


def _load(name: str) -> tuple[Agent, ...]:
    module_name, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
        made = found() if callable(found) and not isinstance(found, Agent) else found
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        told = describe_error(error)
        raise SettingsError([f"HOLDSHORT_AGENTS: {name} cannot be loaded: {told}"]) from error
    several = (made,) if isinstance(made, Agent) else made
    if not isinstance(several, list | tuple) or not all(isinstance(a, Agent) for a in several):
        raise SettingsError(
            [f"HOLDSHORT_AGENTS: {name} is neither an Agent, nor Agents, nor a function of them"]
        )
    if not several:
        raise SettingsError([f"HOLDSHORT_AGENTS: {name} holds no Agent"])
    return tuple(several)


def _wire(
    settings: Settings,
    agents: Sequence[Agent],
    store: Store,
    around: Surroundings,
    slack: SlackSide | None,
    directory: Directory | None,
) -> RunEngine:
    notifier: Notifier = (
        SlackNotifier(slack.client, channel=settings.slack_channel or None)
        if slack is not None
        else ElsewhereNotifier()
    )
    return RunEngine(
        store=store,
        agents=agents,
        # Whoever only looks has tokens for themselves alone.
        resume_secret=[secret.get_secret_value() for secret in settings.resume_secrets]
        or secrets.token_urlsafe(),
        notifiers={SLACK: notifier},
        directory=directory,
        surroundings=around,
    )


@asynccontextmanager
async def _open_slack(
    settings: Settings, around: Surroundings, pauses: Iterable[float]
) -> AsyncIterator[SlackSide]:
    timeout = aiohttp.ClientTimeout(total=CALL_TIMEOUT_S)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as session:
        client = make_client(settings, session)
        identity = await _introduce(client, pauses)
        await _check_app_token(client, settings)
        directory = SlackDirectory(client, identity, around.clock)
        yield SlackSide(client, session, identity, directory)


async def _check_app_token(client: AsyncWebClient, settings: Settings) -> None:
    """Open no socket, but ask for one: a wrong token would be tried again and again.

    Raises:
        SettingsError: Slack does not accept the token.

    """
    token = settings.slack_app_token
    if not settings.purpose.serves or settings.slack_mode is not SlackMode.SOCKET or token is None:
        return
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        try:
            await client.apps_connections_open(app_token=token.get_secret_value())
        except SlackApiError as error:
            why = error_code(error)
            if why in _REFUSED:
                raise SettingsError([f"SLACK_APP_TOKEN is refused by Slack: {why}"]) from None


def make_client(settings: Settings, session: aiohttp.ClientSession) -> AsyncWebClient:
    """Return a client that posts nothing twice and lets no proxy between us and this machine.

    The SDK's default handlers repeat a call whose connection dropped, so a message may be posted
    twice; and it takes a proxy from the environment wherever none is given.
    """
    token = settings.slack_bot_token.get_secret_value() if settings.slack_bot_token else None
    client = AsyncWebClient(
        token=token, base_url=settings.slack_api_url, session=session, retry_handlers=[]
    )
    client.proxy = proxy_for(settings.slack_api_url)
    return client


async def _introduce(client: AsyncWebClient, pauses: Iterable[float]) -> SlackIdentity:
    """Ask Slack once whose token this is; no request of a person's ever waits for that.

    Raises:
        SettingsError: Slack does not accept the token, or does not answer.

    """
    for pause in (*pauses, None):
        try:
            return read_identity((await client.auth_test()).data)
        except SlackApiError as error:
            why = error_code(error)
            if why in _REFUSED:
                raise SettingsError([f"SLACK_BOT_TOKEN is refused by Slack: {why}"]) from None
        except (TimeoutError, aiohttp.ClientError) as error:
            why = type(error).__name__
        if pause is not None:
            await asyncio.sleep(pause)
    raise SettingsError([f"HOLDSHORT_SLACK_API_URL: no answer from {client.base_url}: {why}"])


def read_identity(said: object) -> SlackIdentity:
    """Return whose token it is, by the answer to ``auth.test``.

    Raises:
        SettingsError: it belongs to no workspace.

    """
    if not isinstance(said, Mapping) or not said.get("team_id"):
        raise SettingsError(["SLACK_BOT_TOKEN belongs to no workspace, by Slack's auth.test"])
    return SlackIdentity(
        team=str(said["team_id"]),
        enterprise=str(said.get("enterprise_id") or ""),
        bot_user=str(said.get("user_id") or ""),
        bot_id=str(said.get("bot_id") or ""),
    )
