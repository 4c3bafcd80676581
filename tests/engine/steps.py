"""Runs taken step by step through the pure transitions."""

from datetime import UTC, datetime, timedelta
from typing import Any

from engine.entries import CallOutcome, CallResult
from engine.identity import Actor, Approvers, Claimant, Person, Standing, Via
from engine.ids import CallId, Ids, Moment, PersonId, RunId
from engine.lifecycle.answer import Judgement, answer
from engine.lifecycle.execute import begin
from engine.lifecycle.propose import Asking, Gated, Proposal, propose
from engine.lifecycle.start import StartRequest, start
from engine.policy import Verdict
from engine.runs import Origin, Run, ToolCall, Usage
from engine.store import Change
from engine.tickets import Decision, ResumeCommand, ResumeTicket

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALICE, BOB = PersonId("UALICE"), PersonId("UBOB")
ASKING = Asking(approvers=Approvers(people=(BOB,)), timeout=timedelta(hours=1))
HOUR = timedelta(hours=1)


def at(now: datetime = NOON) -> Moment:
    return Moment(now, Ids())


def started() -> Run:
    request = StartRequest(
        agent="deployer",
        snapshot="snap",
        notify="slack",
        text="deploy",
        owner=ALICE,
        requester=ALICE,
        origin=Origin(),
    )
    return start(request, RunId("run_1"), at()).run


def call(index: int, **fields: Any) -> ToolCall:
    base = {"provider_id": f"p{index}", "tool": "deploy", "digest": f"d{index}", "timeout_s": 60.0}
    return ToolCall(id=CallId(f"1.{index}"), **{**base, **fields})


def asks(index: int, **fields: Any) -> Gated:
    return Gated(call=call(index, verdict=Verdict.ASK, **fields), arguments="{}")


def allowed(index: int, **fields: Any) -> Gated:
    return Gated(call=call(index, verdict=Verdict.ALLOW, **fields), arguments="{}")


def denied(index: int) -> Gated:
    return Gated(call=call(index, verdict=Verdict.DENY), arguments="{}")


def question(index: int) -> Gated:
    return Gated(call=call(index, tool="ask_human"), arguments="{}", asks="Which ticket?")


def proposed(*gated: Gated) -> Change:
    return propose(started(), Proposal("[]", "", gated, Usage(requests=1)), ASKING, at())


def decide(
    run: Run, decision: Decision, by: PersonId = BOB, now: datetime = NOON, number: int = 0
) -> Change:
    ticket = run.tickets[number]
    actor = Actor(id=by, via=Via.SLACK)
    command = ResumeCommand.from_ticket(ticket, decision, actor=actor, now=now)
    change, _ = answer(run, Judgement(command, claimant(ticket, actor)), at(now), None)
    return change


def claimant(ticket: ResumeTicket, actor: Actor) -> Claimant:
    """Return a member in good standing, who has a seat if they are named."""
    person = Person(actor.id, Standing.MEMBER, frozenset({actor.id}))
    seat = actor.id if actor.id in ticket.approvers.people else None
    return Claimant(actor, person, seat, requested=actor.id == ticket.requester)


def result(index: int, outcome: CallOutcome = CallOutcome.SUCCEEDED) -> CallResult:
    return CallResult(
        call=CallId(f"1.{index}"),
        provider_id=f"p{index}",
        tool="deploy",
        outcome=outcome,
        content="ok",
    )


def executing(*gated: Gated) -> Run:
    return begin(proposed(*gated).run, CallId("1.0"), at()).run


def kinds(change: Change) -> list[str]:
    return [event.fact.kind for event in change.events]
