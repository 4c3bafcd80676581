"""One database thread: operations run there in the order they came, and never on the event loop."""

import asyncio
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from engine.errors import StoreError, StoreUnavailableError
from engine.stores.sqlite_database import Database

T = TypeVar("T")
Operation = Callable[[Database], T]


@dataclass(slots=True)
class _Job(Generic[T]):
    """One operation, and where its outcome is awaited."""

    operation: Operation[T]
    loop: asyncio.AbstractEventLoop
    outcome: "asyncio.Future[T]"
    after: Callable[[T], None] | None
    orphaned: Callable[[T], None] | None
    taken: bool = False

    def perform(self, connected: Callable[[], Database]) -> None:
        """Run the operation (in the database thread) and pass its outcome to the loop."""
        try:
            result = self.operation(connected())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            self._post(self._fail, _translated(error))
        else:
            self._post(self._succeed, result)

    def _post(self, callback: Callable[[Any], None], value: object) -> None:
        # The loop may have been closed while the operation ran; then nobody waits any more.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(callback, value)

    def _succeed(self, result: T) -> None:
        if self.after is not None:
            self.after(result)
        if not self.outcome.done():
            self.outcome.set_result(result)
        if self.orphaned is not None:
            # Whoever waits goes on before this runs, unless it was cancelled even now.
            self.loop.call_soon(self._look_after, self.orphaned, result)

    def _look_after(self, orphaned: Callable[[T], None], result: T) -> None:
        if not self.taken:
            orphaned(result)

    def _fail(self, error: BaseException) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error)


@dataclass(frozen=True, slots=True)
class _End:
    """The last thing a thread is asked: close the connection, if there is one, and go."""

    loop: asyncio.AbstractEventLoop | None = None
    ended: "asyncio.Future[None] | None" = None

    def perform(self, database: Database | None) -> None:
        """Close the connection (in the database thread) and tell the loop, if one waits."""
        if database is not None:
            database.close()
        if self.loop is not None and self.ended is not None:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(_tell, self.ended)


_Jobs = SimpleQueue[_Job[Any] | _End]


class DatabaseThread:
    """A thread that owns the connection; it starts with the first operation.

    A cancelled caller does not stop its operation: it runs to its end, whole or not at all.
    """

    def __init__(self, connect: Callable[[], Database]) -> None:
        """Take the function that opens the database; it is called in the thread."""
        self._connect = connect
        self._jobs: _Jobs | None = None
        self._closed = False
        self.hops = 0

    async def run(
        self,
        operation: Operation[T],
        *,
        after: Callable[[T], None] | None = None,
        orphaned: Callable[[T], None] | None = None,
    ) -> T:
        """Run an operation in the thread and return its result.

        ``after`` is called on the loop with the result, even when the caller is gone by then;
        ``orphaned`` only when the caller is gone.

        Raises:
            StoreUnavailableError: the database did not answer, or is closed.

        """
        job = self._submit(operation, after, orphaned)
        result = await job.outcome
        job.taken = True
        return result

    def forget(self, operation: Operation[object]) -> None:
        """Queue an operation that nobody waits for."""
        with suppress(StoreUnavailableError):
            self._submit(operation).outcome.add_done_callback(asyncio.Future.exception)

    async def close(self) -> None:
        """Let the queued operations finish, close the connection and end the thread."""
        if self._closed or self._jobs is None:
            self._closed = True
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        self._jobs.put(_End(loop, ended))
        await ended

    def _submit(
        self,
        operation: Operation[T],
        after: Callable[[T], None] | None = None,
        orphaned: Callable[[T], None] | None = None,
    ) -> _Job[T]:
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        if self._jobs is None:
            self._jobs = self._start()
        loop = asyncio.get_running_loop()
        job = _Job(operation, loop, loop.create_future(), after, orphaned)
        self._jobs.put(job)
        self.hops += 1
        return job

    def _start(self) -> _Jobs:
        jobs: _Jobs = SimpleQueue()
        # Daemon, and ended with its owner: a store that nobody closed (a test, a script) keeps
        # neither the process nor the connection alive. What was acknowledged is committed.
        Thread(
            target=_work, args=(jobs, self._connect), name="holdshort-store", daemon=True
        ).start()
        weakref.finalize(self, jobs.put, _End())
        return jobs


def _work(jobs: _Jobs, connect: Callable[[], Database]) -> None:
    database: Database | None = None

    def connected() -> Database:
        nonlocal database
        if database is None:
            database = connect()
        return database

    while not isinstance(job := jobs.get(), _End):
        job.perform(connected)
        del job  # or the last result would live until the next job
    job.perform(database)


def _tell(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)


def _translated(error: BaseException) -> BaseException:
    match error:
        case sqlite3.IntegrityError():
            translated: StoreError = StoreError(f"the change breaks a rule of the store: {error}")
        case sqlite3.Error() | OSError():
            translated = StoreUnavailableError(f"the database did not answer: {error}")
        case _:
            return error
    translated.__cause__ = error
    return translated
