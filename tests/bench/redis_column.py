"""A Valkey server that syncs each write, as it is measured."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from redis.exceptions import ResponseError

from engine.store import Store
from engine.stores.redis import RedisStore
from engine.stores.redis_address import read_address
from engine.stores.redis_connection import Client, _Client, open_writer
from tests.bench.tapes import Sent, play
from tests.contracts.redis_stores import open_redis_store
from tests.servers.process import ServerProcess

Command = tuple[Any, ...]
_SCRIPTS = ("evalsha", "eval")
_NOT_DATA = ("mem_clients_normal", "mem_aof_buffer", "mem_replication_backlog")
"""Buffers that come and go with connections."""


class RedisColumn:
    """A server of its own per folder, on a Unix socket, with ``appendfsync always``.

    The tape holds the commands that the client was given: EVALSHA with keys and arguments, and
    plain reads. The replay gives them to a client of the same kind on another such server, which
    has the same history, so each script does the same work again; that it does is seen by the gist
    of the answers, for moments and the order of fields in a hash are each server's own. With many
    tasks as many commands are under way, on as many connections. Nothing of the engine's own work
    is done in between, nor does anybody hear the messages that scripts publish.
    """

    def __init__(self) -> None:
        """Begin without a server."""
        self._stack = ExitStack()
        self._servers: dict[int, ServerProcess] = {}

    def open(self, folder: Path) -> RedisStore:
        """Return a store on a new server."""
        del folder  # the server has one of its own
        server = self._serve()
        store = open_redis_store(server.url)
        self._servers[id(store)] = server
        return store

    def close(self) -> None:
        """End the servers."""
        self._stack.close()
        self._servers.clear()

    @contextmanager
    def taping(self) -> Iterator[list[Sent]]:
        """Tape the commands given to clients, and what was answered."""
        tape: list[Sent] = []
        execute, back = _Client.execute_command, 0

        async def taped(self: _Client, *command: Any, **options: Any) -> Any:
            nonlocal back
            sent = Sent(command, back)
            tape.append(sent)
            try:
                answer = await execute(self, *command, **options)
            except ResponseError as error:
                sent.answer = _gist(error)
                raise
            finally:
                back += 1
            sent.answer = _gist(answer)
            return answer

        with patch.object(_Client, "execute_command", taped):
            yield tape

    @asynccontextmanager
    async def replaying(self, folder: Path) -> AsyncIterator["RedisReplay"]:
        """Open a client of the same kind on another server."""
        del folder
        client = open_writer(read_address(self._serve().url))
        yield RedisReplay(client)
        await client.aclose()

    async def weigh(self, store: Store, folder: Path) -> int:
        """Return the server's used_memory, less the buffers of connections."""
        del folder
        told = self._servers[id(store)].info("memory")
        return int(told["used_memory"]) - sum(int(told.get(name, 0)) for name in _NOT_DATA)

    def spent(self, store: Store) -> dict[str, int]:
        """Return how many scripts were run."""
        told = self._servers[id(store)].info("commandstats")
        return {"scripts": sum(told.get(f"cmdstat_{n}", {"calls": 0})["calls"] for n in _SCRIPTS)}

    def _serve(self) -> ServerProcess:
        return self._stack.enter_context(ServerProcess())


class RedisReplay:
    """Sends taped commands."""

    def __init__(self, client: Client) -> None:
        """Take the client they are given to."""
        self._client = client

    async def play(self, tape: list[Sent]) -> tuple[float, int]:
        """Send them; return the seconds that took, and how many were answered otherwise."""
        return await play(tape, self._send)

    async def _send(self, command: Command) -> Any:
        try:
            return _gist(await self._client.execute_command(*command))
        except ResponseError as error:
            return _gist(error)


def _gist(answer: Any) -> tuple[Any, ...]:
    """Return how long an answer is, and the word that a commit's begins with."""
    if not isinstance(answer, list):
        return (type(answer),)
    word = answer[0] if answer and isinstance(answer[0], bytes) and answer[0].isalpha() else b""
    return len(answer), word
