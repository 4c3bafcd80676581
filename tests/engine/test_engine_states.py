"""Whatever people, workers and clocks do, in any order: the invariants hold after each step."""

import asyncio
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine import Agent, Allow, Approvers, Deny, Settle
from engine.cards import Role, TicketNotice
from engine.errors import HoldshortError
from engine.events import ArgumentsEdited, CallStarted, TicketClosed, VoteCast
from engine.identity import Via
from engine.ids import PersonId
from engine.lifecycle.execute import begin
from engine.lifecycle.propose import permission_digest
from engine.runs import CallState, Run, RunStatus
from engine.tickets import Decision
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    Call,
    Ledger,
    person,
    repeat_results,
    script,
    stage,
)
from tests.engine.town import but_for_attempts

DAVE = PersonId("UDAVE")
PEOPLE = [ALICE, BOB, CAROL, DAVE, PersonId("UMALLORY")]
TWO_OF_THREE = Approvers(people=(BOB, CAROL, DAVE), quorum=2)
WAYS = [(Via.TERMINAL, ""), (Via.SLACK, "T1"), (Via.API, "")]
DECISIONS = [
    Allow(),
    Allow(arguments={"version": "3"}),
    Allow(arguments={"version": 4}),
    Deny(),
    Deny(reason="no"),
    Settle(outcome="happened"),
    Settle(outcome="not_happened"),
    Settle(outcome="abandon"),
]


def two_deploys(ledger: Ledger) -> Agent:
    """Ask about two calls in one step, with a third that needs no asking."""
    calls: list[Call] = [
        ("deploy", {"version": "1"}),
        ("refund", {"order": 7}),
        ("deploy", {"version": "2"}),
    ]
    return Agent(
        name="a",
        model=script(calls, repeat_results),
        tools=[ledger.deploy, ledger.refund],
        approvals={"deploy": "user"},
        approvers=TWO_OF_THREE,
        approval_timeout=timedelta(hours=1),
    )


def check_votes(run: Run, closed: TicketClosed, votes: set[str]) -> None:
    if isinstance(closed.resolution.decision, Allow):
        assert len(votes) == 2
        assert run.requester not in votes


class EngineStates(RuleBasedStateMachine):
    """People answer, workers die, clocks move, deliveries fail; a model of the truth watches."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.on = stage(two_deploys)
        self.started = 0
        self.decided: dict[str, str] = {}
        self.votes: dict[str, set[PersonId]] = {}

    def teardown(self) -> None:
        self.runner.run(self.on.store.close())
        self.runner.close()

    def runs(self) -> list[Run]:
        return list(self.runner.run(self.on.engine.list_runs()).runs)

    @precondition(lambda self: self.started < 3)
    @rule(requester=st.sampled_from([ALICE, BOB]))
    def start(self, requester: PersonId) -> None:
        self.runner.run(self.on.engine.start("a", "go", owner=ALICE, requester=requester))
        self.started += 1

    @rule()
    def tick(self) -> None:
        self.runner.run(self.on.engine.tick())

    @rule(minutes=st.sampled_from([1, 11, 59, 61]))
    def time_passes(self, minutes: int) -> None:
        self.on.clock.move(timedelta(minutes=minutes))

    @rule()
    def deliveries_fail(self) -> None:
        self.on.inbox.fail(times=2)

    @rule(
        number=st.integers(0, 5),
        who=st.sampled_from(PEOPLE),
        way=st.sampled_from(WAYS),
        decision=st.sampled_from(DECISIONS),
    )
    def somebody_answers(
        self, number: int, who: PersonId, way: tuple[Via, str], decision: Decision
    ) -> None:
        tickets = [ticket for run in self.runs() for ticket in run.tickets]
        if not tickets:
            return
        ticket = tickets[number % len(tickets)]
        before = self.runner.run(self.on.engine.get_run(ticket.run))
        token = self.runner.run(self.on.engine.token_for(ticket.ref, way[0]))
        actor = person(who, *way)
        key = self.on.engine.answers.key(token, decision, actor)
        try:
            self.runner.run(
                self.on.engine.resume(token, decision, actor=actor, idempotency_key=key)
            )
        except HoldshortError:
            after = self.runner.run(self.on.engine.get_run(ticket.run))
            assert but_for_attempts(after) == but_for_attempts(before)
            return
        assert who in TWO_OF_THREE.people
        assert who != ticket.requester
        assert ticket.approval not in self.decided
        if isinstance(decision, Allow):
            voters = self.votes.setdefault(ticket.approval, set())
            if decision.arguments is not None:
                assert decision.arguments == {"version": "3"}
                edited = permission_digest("deploy", '{"version":"3"}')
                if ticket.digest != edited:
                    voters.clear()
            voters.add(who)
            still_open = self.runner.run(self.on.engine.get_run(ticket.run)).ticket(ticket.approval)
            assert (still_open is None) == (len(voters) >= 2)
            if still_open is not None:
                assert still_open.counted == len(voters) == 1
                return
        self.decided[ticket.approval] = decision.kind

    @rule(number=st.integers(0, 2))
    def somebody_cancels(self, number: int) -> None:
        live = [run for run in self.runs() if run.live]
        if live:
            run = live[number % len(live)]
            self.runner.run(self.on.engine.cancel(run.id, actor=person(ALICE)))

    @rule()
    def a_worker_dies_right_after_executing(self) -> None:
        taken = self.runner.run(self.on.store.claim("doomed", timedelta(seconds=10)))
        if taken is None:
            return
        run, claim = taken
        calls = run.batch.calls if run.batch else ()
        ready = [call for call in calls if call.state is CallState.ALLOWED]
        if ready and not any(call.state is CallState.EXECUTING for call in calls):
            change = begin(run, ready[0].id, self.on.engine.surroundings.moment())
            self.runner.run(self.on.store.commit(change, claim))
        self.on.clock.move(timedelta(seconds=11))

    @invariant()
    def a_run_waits_exactly_while_a_ticket_is_open(self) -> None:
        for run in self.runs():
            assert (run.status is RunStatus.WAITING) == bool(run.tickets)

    @invariant()
    def no_effect_happens_twice_for_one_start_of_its_call(self) -> None:
        started = [
            event.fact
            for run in self.runs()
            for event in self.runner.run(self.on.engine.events(run.id))
            if isinstance(event.fact, CallStarted)
        ]
        assert len(self.on.ledger.effects) <= len(started)

    @invariant()
    def every_deploy_that_started_was_allowed_by_somebody(self) -> None:
        for run in self.runs():
            allowed: set[str] = set()
            votes: dict[str, set[str]] = {}
            for event in self.runner.run(self.on.engine.events(run.id)):
                match event.fact:
                    case VoteCast(approval=approval, vote=vote):
                        votes.setdefault(approval, set()).add(vote.person)
                    case ArgumentsEdited(approval=approval):
                        votes[approval] = set()
                    case TicketClosed(resolution=resolution) as closed:
                        if isinstance(resolution.decision, Allow | Settle):
                            allowed.add(closed.call)
                        check_votes(run, closed, votes.get(closed.approval, set()))
                    case CallStarted(call=call, tool="deploy"):
                        assert call in allowed
                    case _:
                        pass

    @invariant()
    def every_deploy_that_happened_was_asked_for_or_edited_in(self) -> None:
        done = set(self.on.ledger.effects)
        assert done <= {"deploy 1 prod", "deploy 2 prod", "deploy 3 prod", "refund 7"}
        edited = any(
            isinstance(event.fact, ArgumentsEdited)
            for run in self.runs()
            for event in self.runner.run(self.on.engine.events(run.id))
        )
        assert edited or "deploy 3 prod" not in done

    @invariant()
    def every_ticket_is_closed_at_most_once(self) -> None:
        for run in self.runs():
            events = self.runner.run(self.on.engine.events(run.id))
            closed = [e.fact.approval for e in events if isinstance(e.fact, TicketClosed)]
            assert len(closed) == len(set(closed))

    @rule()
    def everything_comes_to_rest(self) -> None:
        """Once faults stop: each run has ended or waits, and each shown card tells the truth."""
        self.on.clock.move(timedelta(minutes=10))
        for _ in range(6):
            self.runner.run(self.on.engine.tick())
            self.on.clock.move(timedelta(minutes=6))
        for run in self.runs():
            assert run.status in {RunStatus.WAITING, RunStatus.SUCCEEDED, RunStatus.CANCELLED}
            still_open = {ticket.approval for ticket in run.tickets}
            for notice in self.on.inbox.latest.values():
                if (
                    isinstance(notice, TicketNotice)
                    and notice.run == run.id
                    and notice.role is Role.ASK
                ):
                    assert (notice.resolution is None) == (notice.approval in still_open)


TestEngineStates = EngineStates.TestCase
TestEngineStates.settings = settings(
    max_examples=40, stateful_step_count=25, derandomize=True, deadline=None
)
