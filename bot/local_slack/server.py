"""The fake Slack itself: one aiohttp server that wires the parts together."""

from __future__ import annotations

import asyncio
import time
from mimetypes import guess_type
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, Unpack

from aiohttp import web

from bot.local_slack.acts import People
from bot.local_slack.acts.stage import Stage
from bot.local_slack.calls import Calls
from bot.local_slack.control import Control, local_only
from bot.local_slack.credentials import Credentials
from bot.local_slack.dispatch import Dispatcher
from bot.local_slack.faults import Faults, Sleep
from bot.local_slack.ids import Clock, Mint
from bot.local_slack.methods import METHODS, Method, TokenKind
from bot.local_slack.payloads import Payloads
from bot.local_slack.response_urls import ResponseUrls
from bot.local_slack.sockets import SocketHub
from bot.local_slack.web_api import WebApi
from bot.local_slack.workspace import Workspace
from bot.local_slack.world import World, default_world

ACK_TIMEOUT_S = 3.0
# A page's stream of events ends only when it is cut, and aiohttp takes 0 for "wait for ever".
GOODBYE_S = 0.1
MAX_BODY_BYTES = 4 * 1024 * 1024
PAGE = Path(__file__).parent / "page"


class Options(TypedDict, total=False):
    """How a LocalSlack may differ from the usual one.

    signing_secret, bot_token, app_token: made afresh if not given.
    request_url: where HTTP deliveries go; nowhere if not given.
    world: who and what there is; `default_world()` if not given.
    clock: epoch seconds, for message times, triggers, response URLs and signatures.
    ack_timeout_s: how long the app may take to answer; 3 s if not given, as at Slack.
    sleep: how the `slow` fault waits; `asyncio.sleep` if not given.
    seed: with one, ids come in the same order each time.
    """

    signing_secret: str | None
    bot_token: str | None
    app_token: str | None
    request_url: str | None
    world: World | None
    clock: Clock
    ack_timeout_s: float
    sleep: Sleep
    seed: int | None


class LocalSlack:
    """A small, strict Slack on this machine; takes `Options` by name."""

    def __init__(self, **options: Unpack[Options]) -> None:
        clock = options.get("clock", time.time)
        mint = Mint(clock, options.get("seed"))
        self.credentials = Credentials.fresh(
            mint,
            signing_secret=options.get("signing_secret"),
            bot_token=options.get("bot_token"),
            app_token=options.get("app_token"),
        )
        self.workspace = Workspace(options.get("world") or default_world(), mint)
        self.faults = Faults()
        self.calls = Calls(clock, self.workspace.feed)
        self.sockets = SocketHub(self.workspace)
        self._dispatcher = Dispatcher(
            self.workspace,
            self.credentials,
            self.sockets,
            ack_timeout_s=options.get("ack_timeout_s", ACK_TIMEOUT_S),
        )
        self._dispatcher.request_url = options.get("request_url")
        self._payloads = Payloads(self.workspace, self.credentials.verification_token)
        self.people = People(Stage(self.workspace, self._payloads, self._dispatcher))
        self._sleep = options.get("sleep", asyncio.sleep)
        self._runner: web.AppRunner | None = None
        self._url = ""

    @property
    def world(self) -> World:
        """Return the users, channels and groups; tests may add to them."""
        return self.workspace.world

    @property
    def signing_secret(self) -> str:
        """Return what requests to the app are signed with."""
        return self.credentials.signing_secret

    @property
    def bot_token(self) -> str:
        """Return the `xoxb-` token of the Web API."""
        return self.credentials.bot_token

    @property
    def app_token(self) -> str:
        """Return the `xapp-` token of Socket Mode."""
        return self.credentials.app_token

    @property
    def request_url(self) -> str | None:
        """Return where HTTP deliveries go; None for nowhere."""
        return self._dispatcher.request_url

    @request_url.setter
    def request_url(self, url: str | None) -> None:
        self._dispatcher.request_url = url

    @property
    def url(self) -> str:
        """Return the address of the server, without a slash at the end; empty before `start`."""
        return self._url

    @property
    def api_url(self) -> str:
        """Return the `base_url` to give a Slack client."""
        return f"{self._url}/api/"

    @property
    def page_url(self) -> str:
        """Return the address of the page to click in."""
        return f"{self._url}/"

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one. Raises OSError if the port is taken."""
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[local_only])
        app.add_routes(self._routes())
        # A client that goes away ends its call, so that nothing waits for nobody.
        runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=GOODBYE_S, access_log=None
        )
        await runner.setup()
        self._runner = runner
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        self._url = _address(runner)
        self._payloads.response_root = f"{self._url}/response/"
        self.sockets.root = f"ws{self._url.removeprefix('http')}/socket/"

    async def stop(self) -> None:
        """Stop listening; whatever still waits is let go. Calling it twice does no harm."""
        self.faults.clear()
        await self.sockets.close()
        await self._dispatcher.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def _routes(self) -> list[web.RouteDef]:
        methods = {
            **METHODS,
            "apps.connections.open": Method(self.sockets.open_call, token=TokenKind.APP),
        }
        api = WebApi(
            self.workspace, self.credentials, methods, self.calls, self.faults, self._sleep
        )
        urls = ResponseUrls(self.workspace, self.calls, self.faults, self._sleep)
        control = Control(
            self.workspace,
            self.people,
            self._dispatcher,
            self.sockets,
            self.calls,
            self.faults,
        )
        return [
            web.route("*", "/api/{method}", api.handle),
            web.post("/response/{pass_id}", urls.handle),
            web.get("/socket/{ticket}", self.sockets.handle),
            *control.routes(),
            web.get("/", _page_file),
            web.get("/{name}", _page_file),
        ]


def _address(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"http://[{host}]:{port}" if ":" in str(host) else f"http://{host}:{port}"


async def _page_file(request: web.Request) -> web.StreamResponse:
    # The name holds no slash, so it cannot lead out of the folder.
    path = PAGE / request.match_info.get("name", "index.html")
    if not path.is_file():
        raise web.HTTPNotFound
    # Not a FileResponse: that leaves its file open when the browser goes away halfway.
    kind = guess_type(path.name)[0] or "application/octet-stream"
    return web.Response(
        body=path.read_bytes(), content_type=kind, headers={"Cache-Control": "no-store"}
    )
