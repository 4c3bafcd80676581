"""The store for replicas: Redis or Valkey, one server, Sentinel or a Cluster.

Every transition is one script in one place (see ``keys``). The server's clock is the authority.
"""

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from engine.cards import Card, CardKey, Receipt
from engine.entries import Record
from engine.errors import RunNotFoundError, StoreUnavailableError, StoreVersionError
from engine.events import RunEvent
from engine.gauges import Gauges
from engine.ids import ApprovalId, Clock, Ref, RunId
from engine.remembered import RememberedRules
from engine.runs import Run
from engine.store import Change, Claim, Done, Found, Loaded, Page, Parcel, RunFilter
from engine.stores import (
    redis_cards,
    redis_claims,
    redis_commit,
    redis_gauges,
    redis_parcels,
    redis_purge,
    redis_reads,
)
from engine.stores.bell import Bell
from engine.stores.keys import EVERYWHERE, Place, place_of_ref, place_of_run
from engine.stores.redis_bell import Listener
from engine.stores.redis_berths import RedisBerths
from engine.stores.redis_connection import Client
from engine.stores.redis_outlook import Outlook, Work
from engine.stores.redis_rules import RedisRules
from engine.stores.redis_scripts import Server
from engine.stores.rows import OnUndecodable, Readable

LAYOUT = 1
T = TypeVar("T")


class RedisStore:
    """A Store on a server that several processes share; use it from one event loop.

    The first operation may raise StoreVersionError: a newer Holdshort made the store.
    """

    def __init__(
        self,
        client: Client,
        listen: Callable[[], Any],
        *,
        replicas: int = 0,
        clock: Clock | None = None,
        on_undecodable: OnUndecodable | None = None,
    ) -> None:
        """Take the client, and what makes a client for the connection that listens.

        ``replicas``: how many must confirm what cannot be undone. ``clock``: only for tests,
        instead of the server's. ``on_undecodable`` is called with each record that a poll passed
        over because it cannot be read.
        """
        self._server = Server(client, clock, replicas=replicas)
        self._readable = Readable(on_undecodable)
        self.rules: RememberedRules = RedisRules(self._server, self._readable)
        self._bell = Bell()
        self._ring = secrets.token_hex(8)
        self._listener = Listener(listen, self._bell, self._ring)
        self._outlook = Outlook(self._server, self._readable, self._bell, self._listener)
        self._berths = RedisBerths(self._server, self._outlook, self._ring, self._bell.ring)
        self._identity = ""
        self._errands: set[asyncio.Task[Any]] = set()

    @property
    def berths(self) -> RedisBerths:
        """Return what bounds how many asks are open at once."""
        return self._berths

    async def identity(self) -> str:
        """Return the store's own random name, given to it when it was made.

        Raises:
            StoreVersionError: a newer Holdshort made it.

        """
        if not self._identity:
            first, *others = ([place.key("meta")] for place in EVERYWHERE)
            identity = await self._introduce(first, secrets.token_hex(16))
            for place in others:
                await self._introduce(place, identity)
            self._identity = identity
        return self._identity

    async def commit(self, change: Change, claim: Claim | None = None) -> Done:
        """Check and write a change."""
        identity = await self.identity()
        async with self._berths.moved_by(change):
            with self._outlook.changing():
                done = await redis_commit.commit(self._server, change, claim, identity, self._ring)
        self._ring_if(not done.replayed)
        return done

    async def load(
        self, run: RunId, *, key: str | None = None, approval: ApprovalId | None = None
    ) -> Loaded:
        """Read a run, the record of a key in its scope, and a closed ticket, at one moment."""
        try:
            return await redis_reads.load(self._server, run, key, approval)
        except RunNotFoundError:
            await self._check_identity(place_of_run(run))
            raise

    async def records(self, run: RunId, first: int = 0) -> tuple[Record, ...]:
        """Return the run's records from entry ``first`` on, in order."""
        return await redis_reads.records(self._server, run, first)

    async def events(self, run: RunId, after: int = 0) -> tuple[RunEvent, ...]:
        """Return the run's events whose number is greater than ``after``."""
        return await redis_reads.events(self._server, run, after)

    async def find(self, ref: Ref) -> Found | None:
        """Return what a ref points at."""
        found = await redis_reads.find(self._server, ref)
        if found is None:
            await self._check_identity(place_of_ref(ref))
        return found

    async def list_runs(self, wanted: RunFilter, limit: int, cursor: str = "") -> Page:
        """Return a page of runs, newest first."""
        return await redis_reads.list_runs(self._server, wanted, limit, cursor, self._readable)

    async def claim(self, worker: str, lease: timedelta) -> tuple[Run, Claim] | None:
        """Take the next run that is ready; a caller that was cancelled meanwhile keeps nothing."""
        if await self._outlook.nothing(Work.RUNS):
            return None
        claiming = self._errand(redis_claims.claim(self._server, worker, lease, self._readable))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(self._hand_back)
            raise

    async def heartbeat(self, claim: Claim, lease: timedelta) -> Claim:
        """Extend a claim."""
        return await redis_claims.heartbeat(self._server, claim, lease)

    async def release(self, claim: Claim, retry_at: datetime | None = None) -> None:
        """Give a claim back; with ``retry_at`` the run is not ready before then."""
        with self._outlook.changing():
            await redis_claims.release(self._server, claim, retry_at, self._ring)
        self._bell.ring()

    async def due(self, limit: int) -> tuple[RunId, ...]:
        """Return waiting runs with an open ticket past its deadline."""
        if await self._outlook.nothing(Work.DEADLINES):
            return ()
        return await redis_reads.due(self._server, limit, self._readable)

    async def take_cards(self, courier: str, lease: timedelta, limit: int) -> tuple[Card, ...]:
        """Take cards that are behind, due, and not held by a live lease."""
        if await self._outlook.nothing(Work.CARDS):
            return ()
        return await redis_cards.take(self._server, courier, lease, limit, self._readable)

    async def card_shown(self, card: Card, version: int, receipt: Receipt) -> None:
        """Record what a card shows now and where."""
        with self._outlook.changing():
            behind = await redis_cards.shown(self._server, card, version, receipt, self._ring)
        self._ring_if(behind)

    async def card_failed(self, card: Card, retry_at: datetime) -> None:
        """Give the lease back; the card is not due before ``retry_at``."""
        try:
            await redis_cards.failed(self._server, card, retry_at)
        finally:
            self._outlook.forget()

    async def adopt_card(self, key: CardKey, receipt: Receipt) -> None:
        """Make a card row for a second post of a card."""
        with self._outlook.changing():
            unknown = await redis_cards.adopt(self._server, key, receipt, self._ring)
        self._ring_if(unknown)

    async def cards(self, run: RunId) -> tuple[Card, ...]:
        """Return the run's cards in the order they were made."""
        return await redis_cards.of_run(self._server, run)

    def mark(self) -> int:
        """Return a mark of the present moment, for ``wait``."""
        return self._bell.rung

    async def wait(self, at_most: timedelta, since: int | None = None) -> None:
        """Return when work may have come up since the mark, at the latest after ``at_most``."""
        known = self.mark() if since is None else since
        self._listener.start()
        await self._bell.heard(known, at_most.total_seconds())

    async def next_due(self) -> datetime | None:
        """Return the earliest moment at which a ticket, lease, card or retry falls due."""
        await self.identity()
        return await self._outlook.next_due()

    async def check(self) -> None:
        """Return if the server would take and confirm a change, and is the store that was opened."""
        identity = (await self.identity()).encode()
        found, confirmed = await self._server.ask_everywhere("check", ["meta"])
        if any(one != identity for some in found for one in some):
            raise StoreUnavailableError(redis_commit.STRANGER)
        if not confirmed:
            raise StoreUnavailableError(
                f"no decision can be confirmed: HOLDSHORT_STORE_REPLICAS is {self._server.replicas},"
                " and fewer replicas answer: check the replication, or lower it and restart"
            )

    async def purge(self, older_than: datetime, limit: int, *, dry_run: bool = False) -> int:
        """Remove up to ``limit`` runs that ended before a moment, each wholly and in one step.

        Those that cannot be read go too, and are reported.
        """
        return await redis_purge.purge(
            self._server, older_than, limit, self._readable, dry_run=dry_run
        )

    async def gauges(self) -> Gauges:
        """Count what is live, along indexes."""
        return await redis_gauges.read(self._server)

    async def pack(self, run: RunId) -> Parcel:
        """Return all there is of a run, at one moment."""
        return await redis_parcels.pack(self._server, run)

    async def unpack(self, parcel: Parcel) -> None:
        """Put a run in as it was packed."""
        identity = await self.identity()
        await redis_parcels.unpack(self._server, parcel, identity, self._ring)
        self._bell.ring()

    async def close(self) -> None:
        """Let operations in hand finish, then close the connections."""
        await self._listener.close()
        while self._errands:
            await asyncio.wait(self._errands)
        await self._server.close()

    async def _introduce(self, place: list[str], identity: str) -> str:
        known, layout = await self._server.run("open", place, identity, LAYOUT)
        if int(layout) > LAYOUT:
            raise StoreVersionError(
                f"the store has layout {int(layout)}; this Holdshort knows {LAYOUT}: upgrade it"
            )
        return str(known.decode())

    async def _check_identity(self, place: Place | None) -> None:
        """Tell an absence from a loss: nothing is known to be absent from a store that was flushed."""
        if place is None or not self._identity:
            return
        held = await self._server.read("HGET", place.key("meta"), "id")
        if held != self._identity.encode():
            raise StoreUnavailableError(redis_commit.STRANGER)

    def _errand(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    def _hand_back(self, claiming: asyncio.Task[tuple[Run, Claim] | None]) -> None:
        taken = None if claiming.cancelled() or claiming.exception() else claiming.result()
        if taken is not None:
            self._errand(self.release(taken[1]))

    def _ring_if(self, work: bool) -> None:  # noqa: FBT001 - the outcome of an operation
        if work:
            self._bell.ring()
