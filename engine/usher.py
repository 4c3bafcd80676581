"""The usher: puts to people what was held back, and sees to it that no berth is lost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from engine.admission import Admission
from engine.agents import AgentRegistry
from engine.berths import Ask, Berth
from engine.errors import (
    CommitConflictError,
    RunNotFoundError,
    TicketMismatchError,
    UndecodableRecordError,
    UnknownAgentError,
)
from engine.ids import ApprovalId, RunId, Surroundings
from engine.lifecycle.denials import ENDLESS, Patience
from engine.lifecycle.hold import release
from engine.runs import Run, RunStatus
from engine.store import RunFilter, Store

BATCH = 100
AT_LEISURE = 10
"""Runs or berths that are compared in one go where there is no hurry, one of these each second."""
RECOUNT_EVERY = timedelta(minutes=10)
PAGE_EVERY = timedelta(seconds=1)
"""With a hundred thousand parked runs a comparison at full speed would take a core for seconds."""
UNCOMMITTED = timedelta(minutes=5)
"""How long an ask may have its berth before its ticket is there: much longer than any commit."""


class Usher:
    """Releases tickets. Any number may work on the same store."""

    def __init__(self, store: Store, agents: AgentRegistry, surroundings: Surroundings) -> None:
        """Take the store, and the agents whose limits are to be kept."""
        self._store = store
        self._agents = agents
        self._admission = Admission(agents)
        self._surroundings = surroundings
        self._knew = True
        self._recount: _Recount | None = None
        self._recount_at = surroundings.clock()

    async def release(self) -> int:
        """Release asks that have their berth now; return for how many there was something to do.

        From the start on, and every few minutes, berths and tickets are compared, a page at a time
        and at leisure.
        """
        called = await self._store.berths.called(BATCH)
        released = sum([await self._release(run, some) for run, some in _by_run(called).items()])
        return released + await self._compare()

    async def _release(self, run_id: RunId, called: Sequence[Berth]) -> int:
        """Release what is held back of a run; what is not there (any more) gives its berth back."""
        approvals = {one.approval for one in called}
        try:
            loaded = await self._store.load(run_id)
            moment = self._surroundings.moment()
            at = type(moment)(loaded.now, moment.ids)
            change = release(loaded.run, approvals, at, self._patience(loaded.run))
            if change is not None:
                await self._store.commit(change)
        except CommitConflictError:
            # Somebody answered, or another usher was faster: the next look tells.
            return len(approvals)
        except UndecodableRecordError:
            return 0
        except RunNotFoundError:
            return await self._forget(called, set())
        except TicketMismatchError as error:
            # Nobody is asked what was not committed so; it stays as it is until it is cancelled.
            self._surroundings.report("usher", error)
        there = {ticket.approval for ticket in loaded.run.tickets}
        await self._store.berths.settle(sorted(approvals & there))
        return len(approvals & there) + await self._forget(called, there)

    def _patience(self, run: Run) -> Patience:
        try:
            agent = self._agents.get(run.agent)
        except UnknownAgentError:
            return ENDLESS
        return Patience(agent.deny_limit, agent.tool_deny_limit)

    async def _compare(self) -> int:
        """Compare a page of what is known with what is there; return 0 where there is no hurry.

        There is hurry only where nothing is known though something was, or may have been: in a
        copied store, or after a loss.
        """
        now = self._surroundings.clock()
        if now < self._recount_at:
            return 0
        nothing = not await self._store.berths.known(0, 1)
        if self._recount is None or (nothing and self._knew):
            hurry = nothing and self._knew
            self._recount = _Recount(hurry=hurry, open_only=hurry)
        self._knew = not nothing
        if not await self._next_page(self._recount):
            self._recount, self._recount_at = None, now + RECOUNT_EVERY
        elif self._recount.hurry:
            return 1
        else:
            self._recount_at = now + PAGE_EVERY
        return 0

    async def _next_page(self, at: "_Recount") -> bool:
        """Compare the next page, first of runs and then of berths; tell whether there are more."""
        many = BATCH if at.hurry else AT_LEISURE
        if at.after is None:
            wanted = RunFilter(statuses=(RunStatus.WAITING,))
            page = await self._store.list_runs(wanted, many, at.cursor)
            await self._restore(page.runs, open_only=at.open_only)
            at.cursor = page.cursor
            if not page.cursor and not at.open_only:
                at.after = 0
            at.open_only = at.open_only and bool(page.cursor)
            return True
        known = await self._store.berths.known(at.after, many)
        if known:
            await self._check(known)
            at.after = known[-1].number
        return bool(known)

    async def _restore(self, runs: Sequence[Run], *, open_only: bool) -> None:
        """See to it that every ticket of these runs has its berth, or waits for one."""
        opened = [ask for run in runs for ask in self._asks(run, held=False)]
        waiting = [ask for run in runs if not open_only for ask in self._asks(run, held=True)]
        if not (opened or waiting):
            return
        unknown = set(await self._store.berths.restore(opened, waiting))
        # What was closed since it was read has left already, and would not leave again.
        for run in runs:
            if any(ticket.approval in unknown for ticket in run.tickets):
                there = await self._there(run.id)
                late = {ticket.approval for ticket in run.tickets} & unknown - there
                await self._store.berths.leave(sorted(late))

    def _asks(self, run: Run, *, held: bool) -> tuple[Ask, ...]:
        tickets = [ticket for ticket in run.tickets if (ticket.held is not None) is held]
        return self._admission.asks(run, tickets)

    async def _there(self, run: RunId) -> set[ApprovalId]:
        """Return the open tickets of a run; none where it is gone."""
        try:
            return {ticket.approval for ticket in (await self._store.load(run)).run.tickets}
        except RunNotFoundError:
            return set()

    async def _check(self, known: Sequence[Berth]) -> None:
        """Give back the berths of tickets that are closed or gone."""
        for run, berths in _by_run(known).items():
            try:
                there = await self._there(run)
            except UndecodableRecordError:
                continue
            await self._forget(berths, there)

    async def _forget(self, berths: Sequence[Berth], there: set[ApprovalId]) -> int:
        """Give back the berths of tickets that are not there, unless these may still come."""
        before = self._surroundings.clock() - UNCOMMITTED
        gone = [one.approval for one in berths if one.approval not in there and one.since < before]
        if gone:
            await self._store.berths.leave(gone)
        return len(gone)


@dataclass(slots=True)
class _Recount:
    """How far berths and tickets are compared: which page of runs, then after which berth.

    ``open_only``: the runs are gone through for open asks first, and once more for those that wait,
    which would else take the room of open ones that are not known yet.
    """

    hurry: bool
    open_only: bool
    cursor: str = ""
    after: int | None = None


def _by_run(berths: Iterable[Berth]) -> dict[RunId, list[Berth]]:
    runs: dict[RunId, list[Berth]] = {}
    for one in berths:
        runs.setdefault(one.run, []).append(one)
    return runs
