"""Propose: a model's response becomes a batch; calls that ask park the run."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from engine.confided import MARKS
from engine.entries import CallOutcome, CallResult, RecordKind
from engine.events import CallDropped, CallGated, CallNotAsked, CallRejected
from engine.guard import clip
from engine.identity import Approvers
from engine.ids import ApprovalId, CallId, Moment, PersonId, TokenId, place_of
from engine.lifecycle.denials import ENDLESS, Enough, Patience, enough
from engine.lifecycle.draft import Draft, call_index
from engine.lifecycle.table import CallCause, RunCause
from engine.policy import Verdict
from engine.redaction import mask, redact
from engine.runs import SETTLED, Batch, CallState, Run, ToolCall, Usage
from engine.schema import digest_of
from engine.store import Change, ClaimEffect
from engine.tickets import AwaitTarget, RemoteInput, ResumeTicket, ToolPermission

MAX_WORDS = 4_000
CARD_TICKETS = 4
"""Tickets on one card: with their buttons, no more fit what Slack takes in one message."""
ANSWER_SCHEMA = '{"type":"string"}'


@dataclass(frozen=True, slots=True)
class Gated:
    """One proposed call after the gate, in the model's order.

    Exactly one of these holds: it was ``rejected`` before its policy, it ``asks`` a person a
    question, or policy and rules gave ``call.verdict``; ``rule`` names the rule that did, and
    ``granted_by`` the people whose remembered approval it is, if it is one.
    ``fields`` is what may be edited of the call, as JSON.
    """

    call: ToolCall
    arguments: str
    rejected: str = ""
    asks: str | None = None
    rule: str = ""
    fields: str = ""
    granted_by: tuple[PersonId, ...] = ()


@dataclass(frozen=True, slots=True)
class Asking:
    """How this agent asks: whom, and for how long silence is not yet a denial.

    ``in_turn``: the calls of a step are gone through one after another, each done before the next.
    ``patience``: how many denials are enough.
    """

    approvers: Approvers
    timeout: timedelta
    in_turn: bool = False
    patience: Patience = ENDLESS


@dataclass(frozen=True, slots=True)
class Proposal:
    """A model's response, opaque here; its words beside the calls; the calls gated; its cost.

    ``dropped`` are calls that are in the response no more, as another one asks first.
    """

    response: str
    words: str
    calls: tuple[Gated, ...]
    usage: Usage
    dropped: tuple[ToolCall, ...] = ()


def propose(run: Run, proposal: Proposal, asking: Asking, moment: Moment) -> Change:
    """Return the Change that keeps the response and its batch, parking the run where it asks."""
    draft = Draft(run, moment)
    entry = run.entry_count
    draft.set(batch=Batch(entry=entry, calls=tuple(g.call for g in proposal.calls)))
    draft.set(usage=proposal.usage)
    draft.write(RecordKind.RESPONSE, entry, proposal.response)
    if proposal.words:
        draft.write(RecordKind.WORDS, entry, _words(proposal))
    for gated in proposal.calls:
        draft.write(RecordKind.ARGUMENTS, entry, gated.arguments, call_index(gated.call))
        marks = gated.call.declared.secrets
        if marks:
            draft.write(
                RecordKind.MARKS, entry, MARKS.dump_json(marks).decode(), call_index(gated.call)
            )
        if gated.fields:
            draft.write(RecordKind.FIELDS, entry, gated.fields, call_index(gated.call))
        _judged(draft, gated)
    for call in proposal.dropped:
        draft.note(CallDropped(call=call.id, tool=call.tool))
    prompts = {g.call.id: g.asks for g in proposal.calls if g.asks is not None}
    _go_through(draft, prompts, asking)
    share_cards(draft, draft.run.tickets)
    draft.settle()
    return park_if_asking(draft)


def proceed(run: Run, prompts: Mapping[CallId, str], asking: Asking, moment: Moment) -> Change:
    """Return the Change that goes on through a batch whose calls take turns.

    Calls up to the next that runs or asks leave their ``requested``; ``prompts`` are the questions
    of those that ask a person.
    """
    draft = Draft(run, moment)
    _go_through(draft, prompts, asking)
    draft.settle()
    return park_if_asking(draft)


def share_cards(draft: Draft, tickets: Iterable[ResumeTicket]) -> None:
    """Put the permissions that ask the same people until the same moment on cards together.

    Decided once, when they begin to ask, so that no ticket is ever on two cards. The rest of the
    step keeps cards of its own.
    """
    alike: dict[tuple[Approvers, datetime | None], list[ApprovalId]] = {}
    for ticket in tickets:
        if isinstance(ticket.target, ToolPermission):
            alike.setdefault((ticket.approvers, ticket.deadline), []).append(ticket.approval)
    for approvals in alike.values():
        cards = ceil(len(approvals) / CARD_TICKETS)
        size = ceil(len(approvals) / cards)
        for start in range(0, len(approvals), size):
            some = approvals[start : start + size]
            if len(some) > 1:
                draft.share_card(some)


def first_ask_only(
    run: Run, gated: Sequence[Gated], patience: Patience
) -> tuple[tuple[Gated, ...], tuple[ToolCall, ...]]:
    """Return the calls without those that ask after the first that asks, and these."""
    asking = [
        g
        for g in gated
        if not g.rejected
        and (g.asks is not None or _must_ask(g.call))
        and enough(run, g.call, patience) is None
    ]
    later = {g.call.id for g in asking[1:]}
    kept = tuple(g for g in gated if g.call.id not in later)
    return kept, tuple(g.call for g in asking[1:])


def park_if_asking(draft: Draft) -> Change:
    """Return the draft's Change, the run parked and its claim given back if a ticket is open."""
    if not draft.run.tickets:
        return draft.change(ClaimEffect.KEEP)
    draft.move(RunCause.PARK)
    return draft.change(ClaimEffect.RELEASE)


def permission_digest(tool: str, arguments: str) -> str:
    """Return the digest that binds an approval: the tool's name and the canonical arguments."""
    return digest_of("call", tool, arguments)


def question_digest(prompt: str) -> str:
    """Return the digest that binds a question: its prompt and the schema of its answer."""
    return digest_of("question", prompt, ANSWER_SCHEMA)


def open_permission(draft: Draft, call: ToolCall, asking: Asking) -> None:
    """Ask for a call; the call has made its move to awaiting."""
    target = ToolPermission(call=call.id, tool=call.tool)
    _open(draft, call, target, call.digest, asking)


def _words(proposal: Proposal) -> str:
    """Return the model's words as they are kept: masked first where they are cut."""
    if len(proposal.words) <= MAX_WORDS:
        return proposal.words
    shown = (
        redact(json.loads(gated.arguments), gated.call.declared.secrets) for gated in proposal.calls
    )
    secrets = [secret for one in shown for secret in one.secrets]
    return clip(mask(proposal.words, secrets), MAX_WORDS)


def _judged(draft: Draft, gated: Gated) -> None:
    """Note what the gate said; a call that never reached its policy has its result at once."""
    call = gated.call
    if gated.rejected:
        draft.note(CallRejected(call=call.id, tool=call.tool, reason=gated.rejected))
        result = told(call, CallOutcome.RETRY, gated.rejected)
        draft.give_result(call, result, CallCause.REJECT)
        return
    verdict = call.verdict or Verdict.ASK
    draft.note(
        CallGated(
            call=call.id,
            tool=call.tool,
            digest=call.digest,
            verdict=verdict,
            rule=gated.rule,
            granted_by=gated.granted_by,
        )
    )


def _go_through(draft: Draft, prompts: Mapping[CallId, str], asking: Asking) -> None:
    """Move the requested calls on by their verdicts; in turn, up to the first that is not done."""
    for call in draft.batch.calls:
        if call.state is CallState.REQUESTED:
            _move_on(draft, call, prompts.get(call.id), asking)
        if asking.in_turn and draft.batch.call(call.id).state not in SETTLED:
            return


def _must_ask(call: ToolCall) -> bool:
    return (call.verdict or Verdict.ASK) is Verdict.ASK


def _move_on(draft: Draft, call: ToolCall, prompt: str | None, asking: Asking) -> None:
    asks = prompt is not None or _must_ask(call)
    if asks and (worn := enough(draft.run, call, asking.patience)) is not None:
        not_asked(draft, call, worn)
    elif prompt is not None:
        waiting = draft.move_call(call, CallCause.ASK)
        target = RemoteInput(call=call.id, tool=call.tool, prompt=prompt)
        _open(draft, waiting, target, question_digest(prompt), asking)
    elif _must_ask(call):
        open_permission(draft, draft.move_call(call, CallCause.ASK), asking)
    elif call.verdict is Verdict.ALLOW:
        draft.move_call(call, CallCause.ALLOW)
    else:
        why = call.because or "policy does not allow this call"
        blocked = told(call, CallOutcome.DENIED, f"blocked: {why}")
        draft.give_result(call, blocked, CallCause.DENY)


def not_asked(draft: Draft, call: ToolCall, why: Enough) -> None:
    """Block a call for which people have said no often enough, and tell the model so."""
    draft.note(CallNotAsked(call=call.id, tool=call.tool, digest=call.digest, denials=why.denials))
    draft.give_result(call, told(call, CallOutcome.DENIED, why.told), CallCause.DENY)


def told(call: ToolCall, outcome: CallOutcome, text: str) -> CallResult:
    """Return a result made of words for the model, of a call whose tool did not run."""
    return CallResult(
        call=call.id, provider_id=call.provider_id, tool=call.tool, outcome=outcome, content=text
    )


def _open(draft: Draft, call: ToolCall, target: AwaitTarget, digest: str, asking: Asking) -> None:
    ids, run = draft.moment.ids, draft.run
    owner_only = isinstance(target, RemoteInput)
    approvers = Approvers() if owner_only else asking.approvers
    approval = ApprovalId(ids.new("apr"))
    draft.set(batch=draft.batch.put(call.model_copy(update={"approval": approval})))
    draft.open_ticket(
        ResumeTicket(
            approval=approval,
            ref=ids.ref(place_of(run.id)),
            run=run.id,
            conversation=run.conversation,
            snapshot=run.snapshot,
            fingerprint=call.fingerprint,
            token=TokenId(ids.new("tok")),
            target=target,
            digest=digest,
            opened_at=draft.now,
            deadline=draft.now + asking.timeout,
            approvers=approvers.resolve(run.owner),
            requester=run.requester,
            declared=call.declared,
            edited=call.edited,
        )
    )
