"""One claimed run on its way: its present state, its records, and how it commits."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.admission import Admission
from engine.agents import RunScope
from engine.entries import Record
from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    NoBerthError,
    RefTakenError,
    StoreUnavailableError,
    StoreUnconfirmedError,
    TicketMismatchError,
)
from engine.guard import clip
from engine.ids import ApprovalId, CallId, Moment, Surroundings
from engine.lifecycle.edit import arguments_of
from engine.lifecycle.end import fail
from engine.lifecycle.execute import operation
from engine.lifecycle.hold import hold_back
from engine.lifecycle.propose import permission_digest
from engine.lifecycle.seal import check_cleared
from engine.runs import CallState, Failure, Run, ToolCall
from engine.store import Change, Claim, Store
from engine.tickets import ResumeTicket

# Together well under a lease, so a result in hand outlives a store that is away for a moment.
_PAUSES_S = (0.05, 0.2, 0.5, 1.0, 2.0)

Transition = Callable[[Run, Moment], Change | None]


class StoppedError(Exception):
    """The run ended under our hands; there is nothing left to do."""


@dataclass(slots=True)
class Journey:
    """One claimed run on its way: its present state, its records, and how it commits."""

    store: Store
    surroundings: Surroundings
    run: Run
    claim: Claim
    admission: Admission
    records: list[Record] | None = None
    cleared: dict[ApprovalId, ResumeTicket] = field(default_factory=dict)

    def scope(self, call: CallId | None = None) -> RunScope:
        """Return what a tool may know of the run; of one call, with the name of its effect."""
        return RunScope.of(self.run, operation(self.run, call) if call else None)

    async def commit(self, transition: Transition) -> bool:
        """Commit a transition of the present run; False where it had nothing to change."""
        while True:
            change = transition(self.run, self.surroundings.moment())
            if change is None:
                return False
            change = self.admission.bounded(change)
            try:
                change = await self._commit_within(change)
            except RefTakenError:
                continue
            except CommitConflictError:
                await self._reload()
                continue
            except StoreUnconfirmedError:
                self._keep(change)
                raise
            self._keep(change)
            return True

    async def _commit_within(self, change: Change) -> Change:
        """Commit, with asks held back of which there would be too many; return what was committed."""
        try:
            await self._commit(change)
        except NoBerthError:
            held = await self.store.berths.take(change.asks)
            less = hold_back(self.run, change, held)
            try:
                await self._commit(less)
            except (ClaimLostError, CommitConflictError, RefTakenError):
                await self.store.berths.leave([ask.approval for ask in change.asks])
                raise
            return less
        return change

    async def _commit(self, change: Change) -> None:
        """Commit; a store that does not answer, or not for all, is asked again by the same id."""
        for pause in _PAUSES_S:
            try:
                await self.store.commit(change, self.claim)
            except (StoreUnavailableError, StoreUnconfirmedError) as error:
                self.surroundings.report("worker", error)
                await asyncio.sleep(pause)
            else:
                return
        await self.store.commit(change, self.claim)

    async def fail(self, code: str, message: str) -> None:
        """End the run with a failure."""
        failure = Failure(code=code, message=clip(message))
        await self.commit(lambda run, moment: fail(run, failure, moment))

    def arguments(self, call: ToolCall) -> str | None:
        """Return a call's stored arguments, as people edited them; None where they are missing.

        The records have been loaded: a call is only looked at once its batch is worked off.
        """
        return arguments_of(self.records or (), call.id, call.tool, call.digest)

    async def load_records(self) -> list[Record]:
        """Return the run's records; they are read once."""
        if self.records is None:
            self.records = list(await self.store.records(self.run.id))
        return self.records

    async def load(self) -> None:
        """Load all that calls of the open batch are judged by, at once."""
        if self.records is None:
            await asyncio.gather(self.load_records(), self.load_cleared())
        else:
            await self.load_cleared()

    async def load_cleared(self) -> None:
        """Load the closed tickets that let calls of the open batch run, each once."""
        for call in self.run.batch.calls if self.run.batch else ():
            approval = call.approval
            if call.state is CallState.ALLOWED and approval and approval not in self.cleared:
                closed = (await self.store.load(self.run.id, approval=approval)).closed
                if closed is not None:
                    self.cleared[approval] = closed

    def unlike(self, call: ToolCall) -> str:
        """Return what of an allowed call is not as it was judged and allowed; empty if nothing."""
        arguments = self.arguments(call)
        if arguments is None or permission_digest(call.tool, arguments) != call.digest:
            return f"the stored arguments of call {call.id} are not those that were judged"
        try:
            check_cleared(call, self.cleared.get(call.approval) if call.approval else None)
        except TicketMismatchError as error:
            return f"call {call.id} is not what was allowed ({error.axis})"
        return ""

    async def _reload(self) -> None:
        loaded = await self.store.load(self.run.id)
        self.run = loaded.run
        if not self.run.live:
            raise StoppedError

    def _keep(self, change: Change) -> None:
        self.run = change.run
        if self.records is not None:
            self.records.extend(change.records)
