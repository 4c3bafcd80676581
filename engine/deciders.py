"""Deciders: what is found out about whoever wants to decide, at the moment they act."""

import asyncio
import inspect
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime

from engine.agents import AgentRegistry
from engine.errors import ConfigurationError, DirectoryUnavailableError, NotAllowedError
from engine.guard import clip, contained, kind_of
from engine.identity import (
    Actor,
    ActorKind,
    Approvers,
    Claimant,
    Directory,
    Person,
    StandIn,
    Via,
    fold,
    is_email,
    judge,
    stands,
)
from engine.ids import PersonId
from engine.policy import PolicyContext
from engine.runs import Run
from engine.threads import Seat, ToolThreads
from engine.tickets import ResumeTicket

ON_CALL_TIMEOUT_S = 3.0
ON_CALL_THREADS = 32


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be decided, and by whom: of a ticket, or of a call that is like one."""

    approvers: Approvers
    requester: PersonId
    tool: str


class Deciders:
    """Asks the Directory and the agent's on-call function; judges nothing itself."""

    def __init__(self, directory: Directory, agents: AgentRegistry) -> None:
        """Take who can tell who people are, and the agents, whose on-call functions are asked."""
        self._directory = directory
        self._agents = agents
        self._threads = ToolThreads(ON_CALL_THREADS)

    async def look(self, run: Run, ticket: ResumeTicket, actor: Actor, now: datetime) -> Claimant:
        """Return what is known of an actor who wants to decide a ticket.

        Raises:
            DirectoryUnavailableError, ConfigurationError: as for ``look_at``.

        """
        asked = Question(ticket.approvers, ticket.requester, ticket.target.tool)
        return await self.look_at(run, asked, actor, now)

    async def look_at(self, run: Run, asked: Question, actor: Actor, now: datetime) -> Claimant:
        """Return what is known of an actor who is to decide something of a run.

        Raises:
            DirectoryUnavailableError: it could not be found out.
            UnknownGroupError: the ticket's approvers name a group that is not there.
            UnknownAgentError: whoever is on call is known only to an agent that is not loaded.

        """
        who = asked.approvers
        person = await self._directory.describe(actor)
        if actor.kind is not ActorKind.HUMAN or not stands(who, person):
            return Claimant(actor, person, seat=None, requested=False)
        requester = await self._somebody(asked.requester) if who.four_eyes else None
        requested = _same(requester, actor.id, person)
        roll = _Roll(self._directory, self._agents, self._threads, run, asked)
        seat = person.id if await roll.names(person.ids) else None
        for one in who.stand_ins:
            if seat is None and now <= one.until and await self._is(one.by, person):
                # An owner decides what they started themselves; no other decides their own for them.
                if who.people == (run.owner,) and await self._started(asked, actor, person):
                    continue
                seat = await self._seat_of(one, roll, requester)
        return Claimant(actor, person, seat, requested)

    async def concern(
        self, run: Run, tickets: Sequence[ResumeTicket], actor: Actor, now: datetime
    ) -> bool:
        """Tell whether a run is someone's business: its owner's, its requester's, a decider's.

        Raises:
            DirectoryUnavailableError: it could not be found out.
            ConfigurationError: as for ``look``.

        """
        if actor.id in {run.owner, run.requester}:
            return True
        return any([await self._names(run, ticket, actor, now) for ticket in tickets])

    async def may(self, run: Run, ticket: ResumeTicket, actor: Actor, now: datetime) -> bool:
        """Tell whether someone could decide a ticket now; False too where nobody can say."""
        asked = Question(ticket.approvers, ticket.requester, ticket.target.tool)
        return await self.seat(run, asked, actor, now) is not None

    async def seat(self, run: Run, asked: Question, actor: Actor, now: datetime) -> PersonId | None:
        """Return whose vote someone could give now; None where they could not, or nobody can say."""
        try:
            return judge(asked.approvers, await self.look_at(run, asked, actor, now))
        except (NotAllowedError, DirectoryUnavailableError, ConfigurationError):
            return None

    async def _names(self, run: Run, ticket: ResumeTicket, actor: Actor, now: datetime) -> bool:
        if actor.id in ticket.approvers.people:
            return True
        return (await self.look(run, ticket, actor, now)).seat is not None

    async def _seat_of(
        self, stand_in: StandIn, roll: "_Roll", requester: Person | None
    ) -> PersonId | None:
        """Return the seat of whoever is away, if they have one that counts."""
        absent = await self._somebody(stand_in.absent)
        ids = absent.ids | {stand_in.absent}
        if _same(requester, stand_in.absent, absent) or not await roll.names(ids):
            return None
        return absent.id

    async def _started(self, asked: Question, actor: Actor, person: Person) -> bool:
        return _same(await self._somebody(asked.requester), actor.id, person)

    async def _is(self, name: PersonId, person: Person) -> bool:
        if name in person.ids:
            return True
        return is_email(name) and await self._directory.find(fold(name)) in person.ids

    async def _somebody(self, name: PersonId) -> Person:
        """Return whom a name stands for, as the Directory knows them."""
        found = await self._directory.find(fold(name)) if is_email(name) else name
        person = await self._directory.describe(Actor(id=found or name, via=Via.SYSTEM))
        return Person(person.id, person.standing, person.ids | {name})


def _same(requester: Person | None, name: PersonId, person: Person) -> bool:
    """Tell whether someone is the requester, by any of the ids that either goes by."""
    if requester is None:
        return False
    return not (person.ids | {name}).isdisjoint(requester.ids)


@dataclass(slots=True)
class _Roll:
    """Everyone whom one question's approvers name; each source is asked once, and only if needed."""

    directory: Directory
    agents: AgentRegistry
    threads: ToolThreads
    run: Run
    asked: Question
    on_call: frozenset[PersonId] | None = None
    addresses: dict[PersonId, PersonId | None] = field(default_factory=dict)

    @property
    def who(self) -> Approvers:
        return self.asked.approvers

    async def names(self, ids: Collection[PersonId]) -> bool:
        """Tell whether one of these ids is named, directly or by a group."""
        if await self._lists(self.who.people, ids):
            return True
        for group in self.who.crowd:
            if not (await self.directory.members(group)).isdisjoint(ids):
                return True
        return self.who.on_call and await self._lists(await self._whoever_is_on_call(), ids)

    async def _lists(self, people: Collection[PersonId], ids: Collection[PersonId]) -> bool:
        if any(person in ids for person in people):
            return True
        for address in _addresses(people):
            if address not in self.addresses:
                self.addresses[address] = await self.directory.find(address)
            if self.addresses[address] in ids:
                return True
        return False

    async def _whoever_is_on_call(self) -> frozenset[PersonId]:
        if self.on_call is None:
            agent = self.agents.get(self.run.agent)
            try:
                async with asyncio.timeout(ON_CALL_TIMEOUT_S):
                    named = await self._ask(agent.on_call)
            except ConfigurationError:
                raise
            except Exception as error:
                # Its text is the function's own and may hold anything; its kind tells enough.
                why = f"the on-call function of {agent.name!r} failed: {kind_of(error)}"
                raise DirectoryUnavailableError(why) from error
            self.on_call = frozenset(PersonId(name) for name in named)
        return self.on_call

    async def _ask(self, on_call: object) -> Sequence[str]:
        if not callable(on_call):
            raise TypeError("the agent has no on-call function any more")
        facts = PolicyContext(
            run=self.run.id,
            agent=self.run.agent,
            tool=self.asked.tool,
            owner=self.run.owner,
            requester=self.run.requester,
            context=self.run.context,
        )
        with contained():
            if inspect.iscoroutinefunction(on_call):
                named = await on_call(facts)
            else:
                # It may ask another system and block; the loop must not, nor its own few threads,
                # which look up the names of hosts.
                with self.threads.under(Seat("an on-call function")):
                    asked = self.threads.submit(copy_context().run, on_call, facts)
                named = await asyncio.wrap_future(asked)
            if inspect.isawaitable(named):
                named = await named
            return _people(named)


def _people(named: object) -> Sequence[str]:
    """Return whom an on-call function named."""
    people = tuple(named) if isinstance(named, Iterable) and not isinstance(named, str) else (None,)
    if not all(isinstance(name, str) and name and clip(name) == name for name in people):
        raise TypeError("an on-call function returns a list of people")
    return people


def _addresses(people: Collection[PersonId]) -> Iterator[PersonId]:
    return (fold(person) for person in people if is_email(person))
