"""One database thread: operations run there in the order they came, and never on the event loop."""

import asyncio
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from operator import attrgetter
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from engine.errors import StoreError, StoreUnavailableError
from engine.stores.sqlite_database import Database, Sync

T = TypeVar("T")
Operation = Callable[[Database], T]
MOST_TOGETHER = 128
"""How many operations share one transaction at most: others want to write to the file, too."""


class Writes(Enum):
    """What an operation surely writes, and so what it may wait for."""

    NOTHING = "nothing"
    """It reads; or it reads first, and writes where there is something to take."""
    LITE = "lite"
    FULL = "full"


@dataclass(slots=True)
class _Job(Generic[T]):
    """One operation, and where its outcome is awaited."""

    operation: Operation[T]
    writes: Writes
    loop: asyncio.AbstractEventLoop
    awaited: "asyncio.Future[T]"
    after: Callable[[T], None] | None
    orphaned: Callable[[T], None] | None
    taken: bool = False
    outcome: tuple[T] | BaseException | None = None

    def perform(self, database: Database) -> None:
        """Run the operation (in the database thread), unless nobody waits for it any more."""
        self.outcome = None
        if self.awaited.cancelled():
            return
        try:
            self.outcome = (self.operation(database),)
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Give it this outcome in place of the one it has."""
        self.outcome = _translated(error)

    def tell(self) -> None:
        """Tell the outcome to whoever waits (on the loop), if it was performed."""
        match self.outcome:
            case BaseException() as error:
                if not self.awaited.done():
                    self.awaited.set_exception(error)
            case (result,):
                self._succeed(result)

    def _succeed(self, result: T) -> None:
        if self.after is not None:
            self.after(result)
        if not self.awaited.done():
            self.awaited.set_result(result)
        if self.orphaned is not None:
            # Whoever waits goes on before this runs, unless it was cancelled even now.
            self.loop.call_soon(self._look_after, self.orphaned, result)

    def _look_after(self, orphaned: Callable[[T], None], result: T) -> None:
        if not self.taken:
            orphaned(result)


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

    Operations run in the order they came. Writes that queue up while the thread is busy are made
    in one transaction with whatever was asked between them: the disk, or another process's lock,
    is waited for once, and nobody is told anything before all of it is durable.

    An operation whose caller is cancelled while it is queued is not begun. Once begun it runs to
    its end, whole or not at all.
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
        writes: Writes = Writes.NOTHING,
        after: Callable[[T], None] | None = None,
        orphaned: Callable[[T], None] | None = None,
    ) -> T:
        """Run an operation in the thread and return its result.

        ``after`` is called on the loop with the result, even when the caller is gone by then;
        ``orphaned`` only when the caller is gone.

        Raises:
            StoreUnavailableError: the database did not answer, or is closed.

        """
        job = self._submit(operation, writes, after, orphaned)
        result = await job.awaited
        job.taken = True
        return result

    def forget(self, operation: Operation[T], after: Callable[[T], None] | None = None) -> None:
        """Queue an operation that nobody waits for; ``after`` is called as in ``run``."""
        with suppress(StoreUnavailableError):
            job = self._submit(operation, after=after)
            job.awaited.add_done_callback(asyncio.Future.exception)

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
        writes: Writes = Writes.NOTHING,
        after: Callable[[T], None] | None = None,
        orphaned: Callable[[T], None] | None = None,
    ) -> _Job[T]:
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        if self._jobs is None:
            self._jobs = self._start()
        loop = asyncio.get_running_loop()
        job = _Job(operation, writes, loop, loop.create_future(), after, orphaned)
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
    end: _End | None = None
    while end is None:
        queued, end = _queued(jobs)
        try:
            database = database or connect()
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            for job in queued:
                job.fail(error)
            _deliver(queued)
        else:
            _perform(database, queued)
        queued.clear()  # or the last results would live until the next
    end.perform(database)


def _queued(jobs: _Jobs) -> tuple[list[_Job[Any]], _End | None]:
    """Wait for an operation; return it and those behind it, and the end if it is among them."""
    found: list[_Job[Any]] = []
    job = jobs.get()
    with suppress(Empty):
        while not isinstance(job, _End):
            found.append(job)
            if len(found) == MOST_TOGETHER:
                return found, None
            job = jobs.get_nowait()
        return found, job
    return found, None


def _perform(database: Database, queued: list[_Job[Any]]) -> None:
    """Run operations in order; those from the first write to the last share a transaction."""
    if len(queued) == 1:
        _perform_each(database, queued)
        return
    writes = [place for place, job in enumerate(queued) if job.writes is not Writes.NOTHING]
    first, end = (writes[0], writes[-1] + 1) if writes else (0, 0)
    _perform_each(database, queued[:first])
    if len(writes) > 1:
        _perform_together(database, queued[first:end])
    else:
        _perform_each(database, queued[first:end])
    _perform_each(database, queued[end:])


def _perform_each(database: Database, jobs: list[_Job[Any]]) -> None:
    for job in jobs:
        job.perform(database)
    _deliver(jobs)


def _perform_together(database: Database, jobs: list[_Job[Any]]) -> None:
    full = any(job.writes is Writes.FULL for job in jobs)
    try:
        with database.group(Sync.FULL if full else Sync.NORMAL):
            for job in jobs:
                job.perform(database)
                if not database.in_transaction:
                    raise sqlite3.OperationalError("the disk took none of it")
    except sqlite3.Error as error:
        # Nothing is written, so what was read in between may never have been.
        for job in jobs:
            if job.writes is Writes.NOTHING:
                job.perform(database)
            else:
                job.fail(error)
    _deliver(jobs)


def _deliver(jobs: list[_Job[Any]]) -> None:
    for loop, waiting in groupby(jobs, attrgetter("loop")):
        # The loop may have been closed while the operations ran; then nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell_all, tuple(waiting))


def _tell_all(jobs: tuple[_Job[Any], ...]) -> None:
    for job in jobs:
        job.tell()


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
