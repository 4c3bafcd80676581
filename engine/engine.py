"""The facade: start, resume, cancel, tick, and look."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from engine.agents import Agent, AgentRegistry, notifier_of
from engine.answers import Answers
from engine.cards import CardKey, Notifier, Receipt, Role, TicketNotice
from engine.courier import Courier
from engine.deciders import Deciders
from engine.errors import (
    CommitConflictError,
    NotAllowedError,
    RefTakenError,
    Refusal,
    RunNotFoundError,
)
from engine.events import RunEvent
from engine.identity import Actor, Directory, OpenDirectory, Via
from engine.ids import (
    REF_LENGTH,
    Moment,
    PersonId,
    RunId,
    Surroundings,
    normalise_ref,
    place_for,
)
from engine.lifecycle.answer import Recorded
from engine.lifecycle.edit import Edit
from engine.lifecycle.end import cancel
from engine.lifecycle.start import Started, StartRequest, start
from engine.notices import NoticeWriter
from engine.revoking import Revoking
from engine.rules import Rule, tightening
from engine.runs import Origin, Run, RunStatus
from engine.schema import Json
from engine.settling import Settling
from engine.store import Page, RunFilter, Store
from engine.sweeper import Sweeper
from engine.tickets import Decision, ResumeTicket
from engine.tokens import KeyRing
from engine.usher import Usher

if TYPE_CHECKING:
    from engine.executor import Executor
    from engine.recheck import Recheck
    from engine.worker import Worker, WorkerOptions

TICK_LEASE = timedelta(seconds=10)


class RunEngine:
    """Starts runs, takes answers, and says how things stand. Safe to use from many processes."""

    def __init__(
        self,
        *,
        store: Store,
        agents: Sequence[Agent],
        resume_secret: str | Sequence[str],
        notifiers: Mapping[str, Notifier] | None = None,
        directory: Directory | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """Wire an engine.

        Args:
            store: Where runs live.
            agents: The agents this engine can start and advance.
            resume_secret: Signs resume tokens; at least 32 bytes. Several: newest first, the
                newest signs and all verify.
            notifiers: By the names that agents' ``notify`` uses.
            directory: Tells what an actor is; without one every human counts as a member.
            surroundings: The clock, ids and fault report; the real ones unless given.

        Raises:
            InvalidAgentDefinitionError: a secret is missing or short, or an agent names no
                registered notifier.

        """
        secrets = [resume_secret] if isinstance(resume_secret, str) else list(resume_secret)
        self._keys = KeyRing(secrets)
        self._store = store
        self.agents = AgentRegistry(agents)
        self._notifiers = dict(notifiers or {})
        self._notify = {a.name: notifier_of(a, self._notifiers) or "" for a in self.agents}
        self._surroundings = surroundings or Surroundings()
        self._executor: Executor | None = None
        self._writer = NoticeWriter(store, self._keys)
        self.deciders = Deciders(directory or OpenDirectory(), self.agents)
        self.answers = Answers(
            store,
            self._keys,
            self.deciders,
            _CheckOnDemand(self.agents),
            self._writer,
            self._surroundings,
        )
        self.revoking = Revoking(store, self.deciders, self._surroundings)
        self.sweeper = Sweeper(store, self._surroundings)
        self.usher = Usher(store, self.agents, self._surroundings)
        self.courier = Courier(store, self._notifiers, self._writer, self._surroundings)

    @property
    def store(self) -> Store:
        """Return the store this engine works on."""
        return self._store

    @property
    def surroundings(self) -> Surroundings:
        """Return the clock, ids and fault report of this engine."""
        return self._surroundings

    async def start(
        self,
        agent: str,
        text: str,
        *,
        owner: str,
        requester: str = "",
        origin: Origin | None = None,
        context: Json = None,
        conversation: str = "",
        concurrency_key: str = "",
        priority: int = 0,
        idempotency_key: str = "",
        rules: Sequence[Rule] = (),
    ) -> Started:
        """Queue a run and return its id and ref; a repeat of the same key returns the same run.

        Args:
            agent: Name of a registered agent.
            text: What the agent is asked to do.
            owner: The person it works for: told, and asked by default.
            requester: The person who starts it, if not the owner.
            origin: Where it was started; its cards go there.
            context: The caller's JSON, given to policies and tools.
            conversation: Runs that share history; the run's own id unless given.
            concurrency_key: At most one live run with this key goes on at a time.
            priority: Higher goes first.
            idempotency_key: Names this start; scoped by agent and concurrency key.
            rules: Permission rules for this run, besides its agent's: they ask or deny.

        Raises:
            UnknownAgentError, IdempotencyConflictError, InvalidRuleError: nothing was started.

        """
        request = StartRequest(
            agent=agent,
            snapshot=self.agents.get(agent).snapshot,
            notify=self._notify[agent],
            text=text,
            owner=PersonId(owner),
            requester=PersonId(requester or owner),
            origin=origin or Origin(),
            context=context,
            conversation=conversation,
            concurrency_key=concurrency_key,
            priority=priority,
            key=idempotency_key,
            rules=tightening(rules),
        )
        return await self._start(request)

    async def resume(
        self,
        token: str,
        decision: Decision,
        *,
        actor: Actor,
        idempotency_key: str | None = None,
    ) -> Recorded:
        """Record one person's decision; returns before any tool runs.

        With a key, a repeat returns the recorded outcome (see ``answers.key``). Without one, a
        second answer is refused with InvalidRunStateError.

        Raises:
            InvalidResumeTokenError: malformed, forged, expired, superseded, or another way in.
            ResumeError: refused; see its subclasses. Nothing changed.
            DirectoryUnavailableError: the actor could not be looked up. Nothing changed.
            StoreUnavailableError: it is not known whether it was recorded; the same key tells.
            StoreUnconfirmedError: it is recorded, but on one server only; the same key tells more.

        """
        return await self.answers.record(token, decision, actor, idempotency_key)

    async def token_for(self, ref: str, via: Via) -> str:
        """Mint a token for the ticket a person named by its ref (it may be closed by now).

        Raises:
            RunNotFoundError: no ticket goes by that ref.
            InvalidRunStateError: the ref is a run's, and not exactly one ticket of it is open.

        """
        _, ticket = await self.answers.find(ref)
        return self._keys.mint(ticket, via)

    async def notice(self, token: str, via: Via) -> TicketNotice:
        """Return what a person is shown of the ticket that a token points at.

        Raises:
            InvalidResumeTokenError: malformed, forged, or for another way in.
            RunNotFoundError: the ticket is gone.

        """
        claims = self._keys.read(token, via)
        loaded = await self._store.load(claims.run_id, approval=claims.approval_id)
        ticket = loaded.run.ticket(claims.approval) or loaded.closed
        if ticket is None:
            raise RunNotFoundError(claims.approval)
        return await self._writer.ticket(loaded.run, ticket, via)

    async def ending(self, run: Run) -> str:
        """Return what a run came to as people are shown it: secrets hidden; empty if it goes on."""
        return await self._writer.ending(run)

    async def adopt(self, token: str, via: Via, notifier: str, receipt: Receipt) -> None:
        """Take in a card that was found where its receipt was lost, so that it is closed too."""
        claims = self._keys.read(token, via)
        cards = await self._store.cards(claims.run_id)
        shared = (one.key for one in cards if one.key.role is Role.ASK)
        found = (key.subject for key in shared if claims.approval_id in key.approvals)
        subject = next(found, claims.approval)
        key = CardKey(run=claims.run_id, subject=subject, role=Role.ASK, notifier=notifier)
        await self._store.adopt_card(key, receipt)

    async def cancel(self, run_id: RunId, *, actor: Actor) -> Run:
        """Cancel a run; where a tool is running, it is cancelled once that has ended.

        Raises:
            RunNotFoundError: no such run.
            InvalidRunStateError: it has ended.
            NotAllowedError: the actor is neither its owner, its requester nor an approver.
            DirectoryUnavailableError: the actor could not be looked up. Nothing changed.

        """
        while True:
            loaded = await self._store.load(run_id)
            run = loaded.run
            if not await self.deciders.concern(run, run.tickets, actor, loaded.now):
                raise NotAllowedError(Refusal.NOT_AN_APPROVER, _concerned(run))
            change = cancel(run, actor, self._surroundings.moment())
            try:
                await self._store.commit(change)
            except CommitConflictError:
                continue
            return change.run

    async def get_run(self, name: str) -> Run:
        """Return a run by its id or ref; one that is being advanced shows as running.

        Raises:
            RunNotFoundError: no run goes by that name.

        """
        run_id = RunId(name)
        if len(name.strip()) == REF_LENGTH:
            found = await self._store.find(normalise_ref(name))
            if found is None:
                raise RunNotFoundError(name)
            run_id = found.run
        loaded = await self._store.load(run_id)
        if loaded.running and loaded.run.status is RunStatus.QUEUED:
            return loaded.run.model_copy(update={"status": RunStatus.RUNNING})
        return loaded.run

    async def list_runs(
        self, wanted: RunFilter | None = None, limit: int = 50, cursor: str = ""
    ) -> Page:
        """Return a page of runs, newest first."""
        return await self._store.list_runs(wanted or RunFilter(), limit, cursor)

    async def events(self, run_id: RunId, after: int = 0) -> tuple[RunEvent, ...]:
        """Return what happened to a run, after the event of that number."""
        return await self._store.events(run_id, after)

    def worker(self, options: "WorkerOptions") -> "Worker":
        """Return a worker for this engine's runs. Loads the model layer."""
        # Processes that run no model must never load it (about 1 s and 60 MB).
        from engine.executor import Executor  # noqa: PLC0415
        from engine.worker import Worker  # noqa: PLC0415

        if self._executor is None:
            settling = Settling(self._store.rules, self.deciders, self._surroundings)
            self._executor = Executor(self._store, self.agents, settling, self._surroundings)
        return Worker(self._store, self._executor, self._surroundings, options)

    async def tick(self) -> None:
        """Run each loop once: time out tickets, advance runs, release asks, deliver due cards."""
        from engine.worker import WorkerOptions  # noqa: PLC0415 - as in ``worker``

        await self.sweeper.sweep()
        name = self._surroundings.ids.new("tick")
        await self.worker(WorkerOptions(name=name, lease=TICK_LEASE)).drain_ready()
        await self.usher.release()
        await self.courier.deliver()

    async def _start(self, request: StartRequest) -> Started:
        while True:
            moment = self._surroundings.moment()
            change = start(request, self._new_run_id(request, moment), moment)
            try:
                done = await self._store.commit(change)
            except RefTakenError:
                continue
            if done.outcome is not None:
                return Started.model_validate_json(done.outcome)
            return Started(run=change.run.id, ref=change.run.ref)

    def _new_run_id(self, request: StartRequest, moment: Moment) -> RunId:
        unique = moment.ids.new("run")
        place = request.concurrency_key or request.key or unique
        return RunId(place_for(place) + unique)


class _CheckOnDemand:
    """The check of edited arguments, loaded with the model layer when the first edit arrives."""

    def __init__(self, agents: AgentRegistry) -> None:
        self._agents = agents
        self._check: Recheck | None = None

    async def check(self, run: Run, ticket: ResumeTicket, arguments: dict[str, Json]) -> Edit:
        from engine.recheck import Recheck  # noqa: PLC0415 - as in ``worker``

        if self._check is None:
            self._check = Recheck(self._agents)
        return await self._check.check(run, ticket, arguments)


def _concerned(run: Run) -> tuple[PersonId, ...]:
    approvers = [person for ticket in run.tickets for person in ticket.approvers.people]
    return tuple(dict.fromkeys((run.owner, run.requester, *approvers)))
