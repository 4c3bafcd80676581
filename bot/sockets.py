"""Socket Mode: one connection to Slack, and a watchdog that rebuilds it when it falls silent.

The SDK reconnects by itself as a rule, and has been seen to stop doing so
(https://github.com/slackapi/bolt-python/issues/1529, python-slack-sdk#1110, #1446): its loops can
end, and a connection that was refused is tried again with the same used-up address.
"""

import asyncio
from dataclasses import dataclass

from aiohttp import WSMessage
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.logs import get_log
from bot.settings import proxy_for
from bot.slack_requests import MalformedRequestError, check_shape
from bot.tasks import Tasks

_log = get_log(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How the connection is watched, in seconds.

    Attributes:
        ping: Between pings; Slack answers each with a frame.
        silence: Without a frame for so long, the connection is built anew.
        look: Between looks at it.
        close: How long closing an old connection may take.

    """

    ping: float = 10.0
    silence: float = 45.0
    look: float = 2.0
    close: float = 3.0


class _Handler(AsyncSocketModeHandler):
    """Bolt's handler; the tasks in which frames are handled are held until they end."""

    client: SocketModeClient

    def __init__(
        self, app: AsyncApp, app_token: str, web_client: AsyncWebClient, ping: float, tasks: Tasks
    ) -> None:
        super().__init__(app, app_token, web_client=web_client, ping_interval=ping)
        # The SDK takes a proxy from the environment wherever none is given.
        self.client.proxy = proxy_for(web_client.base_url)
        self._tasks = tasks

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override] # as Bolt's own
        with self._tasks.current():
            try:
                check_shape(req.payload)
            except MalformedRequestError:
                _log.warning("a frame could not be read", kind=req.type)
                await client.send_socket_mode_response({"envelope_id": req.envelope_id})
                return
            await super().handle(client, req)


class SocketLine:
    """The line to Slack in Socket Mode. Make it inside a running loop."""

    def __init__(
        self,
        app: AsyncApp,
        app_token: str,
        client: AsyncWebClient,
        tasks: Tasks,
        pace: Pace | None = None,
    ) -> None:
        """Take what a connection is made of; none is opened before ``run``."""
        self._app = app
        self._app_token = app_token
        self._web_client = client
        self._tasks = tasks
        self._pace = pace or Pace()
        self._loop = asyncio.get_running_loop()
        self._handler: _Handler | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._heard_at = self._loop.time()
        self._last_pong: float | None = None

    async def trouble(self) -> str:
        """Say what is wrong with the line; empty if nothing is."""
        client = self._handler.client if self._handler else None
        if client is None or client.current_session is None or client.current_session.closed:
            return "not connected"
        silent = self._silent_for()
        return f"no frame for {silent:.0f} s" if silent > self._pace.silence else ""

    @property
    def silence(self) -> float:
        """Return how long ago the last frame came, in seconds."""
        return self._silent_for()

    async def run(self) -> None:
        """Keep the line up until cancelled."""
        try:
            await self._build()
            while True:
                await asyncio.sleep(self._pace.look)
                if self._silent_for() > self._pace.silence:
                    _log.warning("the socket fell silent and is built anew")
                    await self._build()
        finally:
            await self._take_down()

    def _silent_for(self) -> float:
        pong = self._handler.client.last_ping_pong_time if self._handler else None
        if pong != self._last_pong:
            self._last_pong = pong
            self._heard_at = self._loop.time()
        return self._loop.time() - self._heard_at

    async def _build(self) -> None:
        await self._take_down()
        handler = _Handler(
            self._app, self._app_token, self._web_client, self._pace.ping, self._tasks
        )
        handler.client.on_message_listeners.append(self._hear)
        self._handler = handler
        self._heard_at = self._loop.time()
        # It tries until it succeeds; the watch goes on meanwhile.
        connecting = handler.connect_async()  # type: ignore[no-untyped-call] # Bolt's
        self._connecting = asyncio.create_task(connecting)

    async def _hear(self, _frame: WSMessage) -> None:
        self._heard_at = self._loop.time()

    async def _take_down(self) -> None:
        handler, self._handler = self._handler, None
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
            self._connecting = None
        if handler is None:
            return
        try:
            async with asyncio.timeout(self._pace.close):
                await handler.close_async()  # type: ignore[no-untyped-call] # Bolt's
        except Exception as error:  # noqa: BLE001 - a broken connection may fail to close in any way
            _log.info("a socket did not close", why=type(error).__name__)
            await handler.client.aiohttp_client_session.close()
