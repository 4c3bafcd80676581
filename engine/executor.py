"""Advance one claimed run to its next outcome: parked, ended, handed back, or lost."""

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from enum import StrEnum

from engine.admission import Admission
from engine.agents import Agent, AgentRegistry
from engine.entries import CallResult, read_entries
from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    ConfigurationError,
    ModelRequestError,
    StoreUnconfirmedError,
    ToolHangsError,
    UndecodableRecordError,
)
from engine.events import ApprovalRemembered
from engine.gate import Gate, LastLook, question_in, rule_books, still_secret
from engine.guard import describe_error
from engine.ids import CallId, Moment, Surroundings
from engine.journey import Journey, StoppedError, Transition
from engine.lifecycle.denials import Patience
from engine.lifecycle.draft import call_index
from engine.lifecycle.end import carry_out_cancel, fail, finish
from engine.lifecycle.execute import (
    ask_again,
    begin,
    block,
    complete,
    complete_late,
    operation,
    recover,
    tighten,
    withhold,
)
from engine.lifecycle.propose import Asking, Proposal, first_ask_only, proceed, propose
from engine.lifecycle.remember import rule_of
from engine.model import ModelQuestion, ModelReply, ask_model, without_calls
from engine.policy import Verdict
from engine.runs import CallState, Failure, Run, RunStatus, ToolCall, Usage
from engine.settling import Settling
from engine.store import Change, Claim, Store
from engine.tickets import Risk
from engine.tools import Ending, Toolbox, ToolShelf

MAX_RETRIES = 5
MAX_LOSSES = 8


class Advanced(StrEnum):
    """How an advance ended."""

    PARKED = "parked"
    ENDED = "ended"
    HANDED_BACK = "handed back"
    LOST = "lost"


class Executor:
    """Advances claimed runs."""

    def __init__(
        self,
        store: Store,
        agents: AgentRegistry,
        settling: Settling,
        surroundings: Surroundings,
    ) -> None:
        """Take what every run needs."""
        self._store = store
        self._settling = settling
        self._agents = agents
        self._surroundings = surroundings
        self._admission = Admission(agents)
        self._shelf = ToolShelf(surroundings.tool_threads)

    async def advance(self, run: Run, claim: Claim, stop: asyncio.Event) -> Advanced:
        """Take a claimed run as far as it goes, or to the next boundary once ``stop`` is set.

        Raises:
            ModelRequestError: the model could not be reached; hand the run back and try later.
            UnknownAgentError: this process does not know the run's agent; another may.
            StoreUnconfirmedError: a call may not start yet; hand the run back and try later.
            StoreError: the store failed; the lease will lapse.

        """
        journey = Journey(self._store, self._surroundings, run, claim, self._admission)
        try:
            await self._go(journey, stop)
        except StoppedError:
            return Advanced.ENDED
        except ClaimLostError:
            return Advanced.LOST
        if journey.run.status is RunStatus.QUEUED:
            await self._store.release(claim)
            return Advanced.HANDED_BACK
        parked = journey.run.status is RunStatus.WAITING
        return Advanced.PARKED if parked else Advanced.ENDED

    async def _go(self, journey: Journey, stop: asyncio.Event) -> None:
        if journey.claim.losses >= MAX_LOSSES:
            text = f"given up after {journey.claim.losses} attempts that did not get on"
            await journey.fail("gave_up", text)
            return
        agent = self._agents.get(journey.run.agent)
        try:
            async with self._shelf.open(agent, journey.scope()) as toolbox:
                last_look = LastLook(agent.name, rule_books(agent, journey.run), toolbox)
                await _Advance(journey, agent, toolbox, last_look, self._settling).run(stop)
        except StoreUnconfirmedError:
            # Known to have begun on one server only: the tool is not started.
            await journey.commit(withhold)
            raise
        except (ConfigurationError, UndecodableRecordError) as error:
            await journey.fail("invalid_agent_definition", str(error))


@dataclass(frozen=True, slots=True)
class _Advance:
    """The step loop of one run with its agent's tools at hand."""

    journey: Journey
    agent: Agent
    toolbox: Toolbox
    last_look: LastLook
    settling: Settling
    anew: dict[CallId, ToolCall] = field(default_factory=dict)

    @property
    def _asking(self) -> Asking:
        in_turn = self.agent.asks == "one_by_one"
        patience = Patience(self.agent.deny_limit, self.agent.tool_deny_limit)
        return Asking(self.agent.who, self.agent.approval_timeout, in_turn, patience)

    async def run(self, stop: asyncio.Event) -> None:
        await self.journey.commit(lambda run, moment: recover(run, self._asking, moment))
        while self.journey.run.status is RunStatus.QUEUED and not self._may_stop(stop):
            await self._step()

    def _may_stop(self, stop: asyncio.Event) -> bool:
        """Tell whether to hand the run back here: never between ``executing`` and its tool."""
        batch = self.journey.run.batch
        executing = batch is not None and any(
            call.state is CallState.EXECUTING for call in batch.calls
        )
        return stop.is_set() and not executing

    async def _step(self) -> None:
        run = self.journey.run
        if run.cancel is not None:
            await self.journey.commit(carry_out_cancel)
        elif run.batch is not None:
            await self._work_off()
        elif run.retries >= MAX_RETRIES:
            await self.journey.fail("too_many_retries", "the model kept making calls that fail")
        elif run.usage.requests >= self.agent.max_steps:
            await self.journey.fail("max_steps", f"not done after {self.agent.max_steps} steps")
        else:
            await self._ask_model()

    async def _ask_model(self) -> None:
        reply = await self._reply()
        if reply is None:
            return
        run = self.journey.run
        usage = _add(run.usage, reply.usage)
        if not reply.calls:
            await self.journey.commit(
                lambda run, moment: finish(run, reply.response, reply.text, usage, moment)
            )
            return
        try:
            gate = Gate(run, self.agent, self.toolbox, self.settling)
            gated = await gate.judge(reply.calls)
        except Exception as error:  # noqa: BLE001 - a policy that fails must not let a call through
            await self.journey.fail("policy_failed", describe_error(error))
            return
        proposal = Proposal(reply.response, reply.text, gated, usage)
        if self.agent.asks == "first_only":
            proposal = _with_first_ask_only(run, proposal, self._asking)
        await self.journey.commit(lambda run, moment: propose(run, proposal, self._asking, moment))

    async def _reply(self) -> ModelReply | None:
        run = self.journey.run
        records = [r for r in await self.journey.load_records() if r.entry < run.entry_count]
        question = ModelQuestion(
            model=self.agent.model,
            instructions=self.agent.instructions,
            entries=read_entries(records),
            tools=[one for one in self.toolbox.definitions if not self._hidden(one.name)],
        )
        try:
            return await ask_model(question)
        except ModelRequestError as error:
            if error.retryable:
                raise
            await self.journey.fail("model_failed", str(error))
            return None

    def _hidden(self, tool: str) -> bool:
        """Tell whether the model is not offered a tool: no call of it could ever run."""
        return any(book.hides(self.agent.name, tool) for book in self.last_look.books)

    async def _work_off(self) -> None:
        """Run the next allowed call of the open batch."""
        await self.journey.load()
        for one in self.journey.run.batch.calls if self.journey.run.batch else ():
            await self.last_look.load(one, self.journey.arguments(one))
            await self._describe_anew(one)
        call = _next(self.journey.run)
        if call is None and _has_more(self.journey.run):
            await self.journey.commit(self._proceed)
        elif call is None:
            await self.journey.fail("stuck", "the open batch has nothing that could go on")
        elif call.state is CallState.EXECUTING:
            await self._execute(call)
        else:
            await self._see_what_holds(call)
            remembered = await self._remembered(call)
            await self.journey.commit(self._begin_or_refuse(call, remembered))

    async def _see_what_holds(self, call: ToolCall) -> None:
        """See whether the rule that settled a call still does, for the call as it would run now."""
        holds = False
        if call.settled and call.tool in self.toolbox.names:
            now_is = call.model_copy(update={"fingerprint": self._fingerprint(call)})
            arguments = self.journey.arguments(call) or "{}"
            holds = await self.settling.still(self.journey.run, self.agent, now_is, arguments)
        self.last_look.holding = call.id if holds else None

    async def _remembered(self, call: ToolCall) -> ApprovalRemembered | None:
        """Keep the rule that a call's approval makes, before the call begins; return that as a fact.

        Done again after a crash, it finds the rule kept.
        """
        ticket = self.journey.cleared.get(call.approval) if call.approval else None
        risky = self.agent.option(call.tool).danger is Risk.HIGH
        if ticket is None or ticket.wished is None or risky or self._refused(call) is not None:
            return None
        rule = rule_of(self.journey.run, ticket)
        return await self.settling.keep(rule, call.id) if rule is not None else None

    def _begin_or_refuse(
        self, call: ToolCall, remembered: ApprovalRemembered | None = None
    ) -> Transition:
        """Return the transition of an allowed call: it begins, unless something changed since."""
        call_id = call.id
        return self._refused(call) or (lambda run, moment: begin(run, call_id, moment, remembered))

    def _refused(self, call: ToolCall) -> Transition | None:
        """Return the transition of an allowed call that may not begin as it is; None if it may."""
        call_id = call.id
        unlike = self.journey.unlike(call)
        if unlike:
            return lambda run, moment: fail(run, Failure(code="altered", message=unlike), moment)
        if call.tool not in self.toolbox.names:
            reason = f"the tool {call.tool} is no longer there"
            return lambda run, moment: block(run, call_id, reason, moment)
        ruling = self.last_look.tightened(call)
        denied = ruling is not None and ruling.verdict is Verdict.DENY
        if not denied and self._has_changed(call):
            anew = self._anew(call)
            return lambda run, moment: ask_again(run, anew, self._asking, moment)
        if ruling is not None:
            anew = self._anew(call)
            return lambda run, moment: tighten(run, anew, ruling, self._asking, moment)
        return None

    async def _describe_anew(self, call: ToolCall) -> None:
        """Take in what its tool declares by now of an allowed call that may have to be asked for."""
        known = call.state is CallState.ALLOWED and call.tool in self.toolbox.names
        if not known or not (
            self._has_changed(call) or call.settled or self.last_look.tightened(call)
        ):
            return
        text = self.journey.arguments(call) or "{}"
        with contextlib.suppress(Exception):  # what does not fit the tool now, it will say itself
            values = await self.toolbox.check(call.tool, text)
            gate = Gate(self.journey.run, self.agent, self.toolbox)
            self.anew[call.id] = still_secret(await gate.described(call, text, values), call)

    def _has_changed(self, call: ToolCall) -> bool:
        """Tell whether a tool is not any more what a person approved."""
        approved = call.approval is not None or bool(call.settled)
        return approved and self._fingerprint(call) != call.fingerprint

    def _anew(self, call: ToolCall) -> ToolCall:
        anew = self.anew.get(call.id, call)
        return anew.model_copy(update={"fingerprint": self._fingerprint(call)})

    def _fingerprint(self, call: ToolCall) -> str:
        return self.toolbox.fingerprint(call.tool, self.agent.option(call.tool).version)

    async def _execute(self, call: ToolCall) -> None:
        clock = self.journey.surroundings.clock
        arguments = self.journey.arguments(call) or ""
        started = clock()
        scope = self.journey.scope(call.id)
        ending = await self.toolbox.run(call.tool, arguments, scope, call.timeout_s)
        self._tell_of_hang(call, ending)
        result = _result(call, ending, (clock() - started).total_seconds())
        try:
            await self.journey.commit(
                lambda run, moment: self._then_next(complete(run, result, moment), moment)
            )
        except ClaimLostError:
            await self._hand_in_late(call, result)
            raise

    def _tell_of_hang(self, call: ToolCall, ending: Ending) -> None:
        if ending.hangs:
            who = f"tool {call.tool} of run {self.journey.run.ref}"
            told = ToolHangsError(f"{who}: {ending.hangs}; threads of tools {self.toolbox.threads}")
            self.journey.surroundings.report("worker", told)

    async def _hand_in_late(self, call: ToolCall, result: CallResult) -> None:
        """Give in the result of a call that was taken for lost while it ran."""
        journey = self.journey
        op = operation(journey.run, call.id)
        while True:
            run = (await journey.store.load(journey.run.id)).run
            change = complete_late(run, op, result, journey.surroundings.moment())
            if change is None:
                return
            try:
                await journey.store.commit(change)
            except CommitConflictError:
                continue
            return

    def _then_next(self, change: Change, moment: Moment) -> Change:
        """Add to a result's commit what follows from it at once: a cancel, or the next call."""
        run = change.run
        if run.cancel is not None:
            return change.then(carry_out_cancel(run, moment))
        call = _next(run)
        if call is None and _has_more(run):
            change = change.then(self._proceed(run, moment))
            run = change.run
            call = _next(run)
        if call is None or self._looks_first(call):
            return change
        following = self._begin_or_refuse(call)(run, moment)
        return change.then(following) if following is not None else change

    def _looks_first(self, call: ToolCall) -> bool:
        """Tell whether a call may only begin in a step of its own: its rule has to be seen to."""
        ticket = self.journey.cleared.get(call.approval) if call.approval else None
        return bool(call.settled) or (ticket is not None and ticket.wished is not None)

    def _proceed(self, run: Run, moment: Moment) -> Change:
        """Go on with calls that had to wait for their turn."""
        asks = [c for c in run.batch.calls if c.verdict is None] if run.batch else []
        prompts = {c.id: question_in(self.journey.arguments(c) or "{}") for c in asks}
        return proceed(run, prompts, self._asking, moment)


def _has_more(run: Run) -> bool:
    calls = run.batch.calls if run.batch else ()
    return any(call.state is CallState.REQUESTED for call in calls)


def _with_first_ask_only(run: Run, proposal: Proposal, asking: Asking) -> Proposal:
    kept, dropped = first_ask_only(run, proposal.calls, asking.patience)
    if not dropped:
        return proposal
    response = without_calls(proposal.response, [call_index(call) for call in dropped])
    return replace(proposal, response=response, calls=kept, dropped=dropped)


def _next(run: Run) -> ToolCall | None:
    calls = run.batch.calls if run.batch else ()
    going = (CallState.EXECUTING, CallState.ALLOWED)
    return next((call for call in calls if call.state in going), None)


def _result(call: ToolCall, ending: Ending, seconds: float) -> CallResult:
    return CallResult(
        call=call.id,
        provider_id=call.provider_id,
        tool=call.tool,
        outcome=ending.outcome,
        content=ending.content,
        seconds=round(seconds, 3),
    )


def _add(before: Usage, more: Usage) -> Usage:
    return Usage(
        requests=before.requests + more.requests,
        input_tokens=before.input_tokens + more.input_tokens,
        output_tokens=before.output_tokens + more.output_tokens,
    )
