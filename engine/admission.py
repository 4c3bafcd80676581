"""Admission: which asks a change opens, and what each counts for."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from engine.agents import Agent, AgentRegistry
from engine.berths import Ask
from engine.cards import Role
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
        """Return the asks of tickets that are under a limit; none where the agent is not known.

        What is held back stands in the line though its agent has no limit any more: only from there
        is it released.
        """
        try:
            agent = self._agents.get(run.agent)
        except UnknownAgentError:
            return ()
        limited = (agent.max_open_asks, agent.max_open_asks_per_approver) != (None, None)
        return tuple(
            _ask(run, ticket, agent)
            for ticket in tickets
            if (limited or ticket.held is not None)
            and not isinstance(ticket.target, OutcomeUnknown)
        )


def names_of(agent: str, approvers: Approvers) -> tuple[str, ...]:
    """Return what an ask counts for: its agent, and each approver as they are named."""
    return (f"{AGENT}{agent}", *_approvers(agent, approvers))


def told_of(run: Run) -> dict[Role, str]:
    """Return the names under which those asks are counted that a card tells of: there, to its owner."""
    return {
        Role.HELD: f"here:{run.agent}:{run.origin.channel}",
        Role.HELD_OWNER: f"owner:{run.agent}:{run.owner}",
    }


def _ask(run: Run, ticket: ResumeTicket, agent: Agent) -> Ask:
    """Return the ask of a ticket; what has happened to a call that was lost is asked in any case."""
    within: dict[str, int] = {}
    if agent.max_open_asks is not None:
        within[f"{AGENT}{agent.name}"] = agent.max_open_asks
    if agent.max_open_asks_per_approver is not None:
        for name in _approvers(agent.name, ticket.approvers):
            within[name] = agent.max_open_asks_per_approver
    counted = () if agent.max_open_asks is not None else (f"{AGENT}{agent.name}",)
    told = (*told_of(run).values(), *counted)
    return Ask(ticket.approval, run.id, tuple(sorted(within.items())), told)


def _approvers(agent: str, approvers: Approvers) -> Iterator[str]:
    yield from dict.fromkeys(f"person:{fold(person)}" for person in approvers.people)
    yield from dict.fromkeys(f"{one.kind.value}:{one.id}" for one in approvers.crowd)
    if approvers.on_call:
        yield f"on-call:{agent}"
