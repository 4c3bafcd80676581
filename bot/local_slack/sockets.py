"""Socket Mode: tickets, connections, envelopes and acks.

Each payload goes to one connection, chosen by chance (slackapi/bolt-python#448). An app may have
ten at a time; one more is answered `disconnect` with `too_many_websockets` and closed
(slackapi/java-slack-sdk#1223).
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
from aiohttp import web
from pydantic import BaseModel, ConfigDict

from bot.local_slack.changes import ChangeKind
from bot.local_slack.methods import Call
from bot.local_slack.workspace import Workspace

Json = dict[str, Any]

CLOSE_TIMEOUT_S = 1.0
CONNECTION_LIFE_S = 18_060
MAX_CONNECTIONS = 10


class SocketView(BaseModel):
    """A connection as a test sees it: what it was sent, and whether it is only half open."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    half_open: bool
    envelopes: tuple[str, ...]


class Connection:
    """One WebSocket of the app."""

    def __init__(self, connection_id: int, ws: web.WebSocketResponse) -> None:
        self.id = connection_id
        self.ws = ws
        self.half_open = False
        self.envelopes: list[str] = []
        self.transport: asyncio.Transport | None = None

    def view(self) -> SocketView:
        """Describe the connection."""
        return SocketView(id=self.id, half_open=self.half_open, envelopes=tuple(self.envelopes))


class SocketHub:
    """All connections of the app and the acks they owe."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace
        self._tickets: set[str] = set()
        self._connections: dict[int, Connection] = {}
        self._owed: dict[str, asyncio.Future[Any]] = {}
        self._last_id = 0
        self.root = ""
        self.late_acks: list[str] = []

    @property
    def connected(self) -> bool:
        """Tell whether any connection is up, as far as Slack can know."""
        return bool(self._connections)

    def views(self) -> list[SocketView]:
        """Describe every connection, oldest first."""
        return [connection.view() for connection in self._connections.values()]

    def open_call(self, _call: Call) -> Json:
        """apps.connections.open: a fresh address, good for one connection."""
        ticket = self._space.mint.secret()
        self._tickets.add(ticket)
        return {"url": f"{self.root}{ticket}"}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection for as long as it lives."""
        ticket = request.match_info["ticket"]
        if ticket not in self._tickets:
            raise web.HTTPUnauthorized
        self._tickets.remove(ticket)
        ws = web.WebSocketResponse(autoping=False, timeout=CLOSE_TIMEOUT_S)
        await ws.prepare(request)
        if len(self._connections) >= MAX_CONNECTIONS:
            await ws.send_json(self._goodbye("too_many_websockets"))
            await ws.close()
            return ws
        connection = self._admit(ws, request)
        try:
            await ws.send_json(self._hello())
            await self._listen(connection)
        finally:
            self._connections.pop(connection.id, None)
            self._space.feed.tell(ChangeKind.SOCKETS)
        return ws

    async def send(self, envelope: Json, timeout_s: float) -> object:
        """Send an envelope through one connection and return the payload of its ack.

        Raises TimeoutError if no ack comes in time, also when the connection breaks meanwhile.
        """
        chosen = list(self._connections.values())
        connection = chosen[self._space.mint.pick(len(chosen))]
        envelope_id = self._space.mint.secret()
        owed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._owed[envelope_id] = owed
        connection.envelopes.append(envelope_id)
        try:
            async with asyncio.timeout(timeout_s):
                await connection.ws.send_json({"envelope_id": envelope_id, **envelope})
                return await owed
        except ConnectionError:
            raise TimeoutError from None
        finally:
            del self._owed[envelope_id]

    async def say_goodbye(self, reason: str, connection_id: int | None = None) -> None:
        """Send a `disconnect` frame (reasons: warning, refresh_requested, link_disabled)."""
        for connection in self._chosen(connection_id):
            await connection.ws.send_json(self._goodbye(reason))

    def cut(self, connection_id: int | None = None) -> None:
        """Cut connections without a word."""
        for connection in self._chosen(connection_id):
            if connection.transport is not None:
                connection.transport.abort()

    def half_open(self, connection_id: int | None = None, *, on: bool = True) -> None:
        """Stop reading and answering pings, while the connection stays up; or start again."""
        for connection in self._chosen(connection_id):
            connection.half_open = on

    async def close(self) -> None:
        """Close every connection."""
        for connection in self._chosen(None):
            await connection.ws.close()

    def _admit(self, ws: web.WebSocketResponse, request: web.Request) -> Connection:
        self._last_id += 1
        connection = Connection(self._last_id, ws)
        connection.transport = request.transport
        self._connections[connection.id] = connection
        self._space.feed.tell(ChangeKind.SOCKETS)
        return connection

    async def _listen(self, connection: Connection) -> None:
        async for message in connection.ws:
            if connection.half_open:
                continue
            if message.type is aiohttp.WSMsgType.PING:
                await connection.ws.pong(message.data)
            elif message.type is aiohttp.WSMsgType.TEXT:
                self._take_ack(message.data)

    def _take_ack(self, text: str) -> None:
        try:
            frame = json.loads(text)
        except ValueError:
            return
        if not isinstance(frame, dict) or "envelope_id" not in frame:
            return
        envelope_id = str(frame["envelope_id"])
        owed = self._owed.get(envelope_id)
        if owed is None or owed.done():
            self.late_acks.append(envelope_id)
        else:
            owed.set_result(frame.get("payload"))

    def _chosen(self, connection_id: int | None) -> list[Connection]:
        if connection_id is None:
            return list(self._connections.values())
        return [self._connections[connection_id]]

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self._connections),
            "debug_info": {
                "host": "applink-local",
                "build_number": 1,
                "approximate_connection_time": CONNECTION_LIFE_S,
            },
            "connection_info": {"app_id": self._space.world.app.id},
        }

    def _goodbye(self, reason: str) -> Json:
        return {
            "type": "disconnect",
            "reason": reason,
            "debug_info": {"host": "applink-local"},
        }
