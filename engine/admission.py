"""Admission: which asks a change opens, and what each counts for."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from engine.agents import Agent, AgentRegistry
from engine.berths import Ask
from engine.errors import UnknownAgentError
from engine.identity import Approvers, fold
from engine.runs import Run
from engine.store import Change
from engine.tickets import OutcomeUnknown, ResumeTicket

AGENT = "agent:"
"""Begins the name under which the asks of an agent are counted."""


class Admission:
    """Knows the limits of the agents of this process."""

    def __init__(self, agents: AgentRegistry) -> None:
        """Take the agents."""
        self._agents = agents

    def bounded(self, change: Change) -> Change:
        """Return a change with the asks of the tickets that it opens."""
        return (
            replace(change, asks=self.asks(change.run, change.opened)) if change.opened else change
        )

    def asks(self, run: Run, tickets: Iterable[ResumeTicket]) -> tuple[Ask, ...]:
        """Return the asks of tickets that are under a limit; none where the agent is not known."""
        try:
            agent = self._agents.get(run.agent)
        except UnknownAgentError:
            return ()
        if agent.max_open_asks is None and agent.max_open_asks_per_approver is None:
            return ()
        return tuple(
            _ask(run, ticket, agent)
            for ticket in tickets
            if not isinstance(ticket.target, OutcomeUnknown)
        )


def names_of(agent: str, approvers: Approvers) -> tuple[str, ...]:
    """Return what an ask counts for: its agent, and each approver as they are named."""
    return (f"{AGENT}{agent}", *_approvers(agent, approvers))


def _ask(run: Run, ticket: ResumeTicket, agent: Agent) -> Ask:
    """Return the ask of a ticket; what has happened to a call that was lost is asked in any case."""
    within: dict[str, int] = {}
    if agent.max_open_asks is not None:
        within[f"{AGENT}{agent.name}"] = agent.max_open_asks
    if agent.max_open_asks_per_approver is not None:
        for name in _approvers(agent.name, ticket.approvers):
            within[name] = agent.max_open_asks_per_approver
    counted = () if agent.max_open_asks is not None else (f"{AGENT}{agent.name}",)
    told = (f"here:{agent.name}:{run.origin.channel}", f"owner:{agent.name}:{run.owner}")
    return Ask(ticket.approval, run.id, tuple(sorted(within.items())), (*told, *counted))


def _approvers(agent: str, approvers: Approvers) -> Iterator[str]:
    yield from dict.fromkeys(f"person:{fold(person)}" for person in approvers.people)
    yield from dict.fromkeys(f"{one.kind.value}:{one.id}" for one in approvers.crowd)
    if approvers.on_call:
        yield f"on-call:{agent}"
