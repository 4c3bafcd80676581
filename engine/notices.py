"""Notices: what a card says, made from the committed state at the moment it is shown."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pydantic import SecretStr, TypeAdapter

from engine.admission import names_of, told_of
from engine.cards import (
    BatchNotice,
    Card,
    Effect,
    EffectState,
    HeldNotice,
    Notice,
    Original,
    OutcomeNotice,
    Receipt,
    Role,
    TicketNotice,
)
from engine.confided import confided
from engine.entries import CallResult, Record, RecordKind
from engine.fields import FIELDS, Field
from engine.identity import Via
from engine.ids import ApprovalId, CallId
from engine.lifecycle.edit import arguments_of
from engine.redaction import Redacted, mask, redact, value_at
from engine.runs import CallState, Run, ToolCall
from engine.schema import Json, canonical_json
from engine.store import Store
from engine.tickets import (
    Allow,
    Answer,
    AwaitTarget,
    Decision,
    Deny,
    RemoteInput,
    Resolution,
    ResumeTicket,
    Settle,
    ToolPermission,
)
from engine.tokens import KeyRing

_JSON: TypeAdapter[Json] = TypeAdapter(Json)


@dataclass(frozen=True, slots=True)
class Written:
    """A notice and the run's version it tells; None where there is nothing (more) to say."""

    notice: Notice | None
    version: int
    wait_for_ask: bool = False


class NoticeWriter:
    """Writes notices from the store; mints the token that a card carries."""

    def __init__(self, store: Store, keys: KeyRing) -> None:
        """Take the store to read and the keys to mint with."""
        self._store = store
        self._keys = keys

    async def write(self, card: Card, via: Via) -> Written:
        """Return what this card must say now.

        Raises:
            RunNotFoundError: the run is gone.

        """
        if card.key.role is Role.OUTCOME:
            run = (await self._store.load(card.key.run)).run
            return Written(await self._outcome(run, card.key.idempotency), run.version)
        if card.key.role in {Role.HELD, Role.HELD_OWNER}:
            return await self._write_held(card)
        if len(card.key.approvals) > 1 and card.key.role is not Role.DECIDED:
            return await self._write_batch(card, via)
        return await self._write_ticket(card, via)

    async def ticket(self, run: Run, ticket: ResumeTicket, via: Via) -> TicketNotice:
        """Return what a person is shown of one ticket, for one way in."""
        records = await self._store.records(run.id, _entry(ticket))
        return self._notice(run, ticket, Role.ASK, records, via)

    async def ending(self, run: Run) -> str:
        """Return what a run came to, in its model's words or its failure's, as it may be shown."""
        text = run.output or (run.failure.message if run.failure else "")
        return mask(text, confided(await self._store.records(run.id))) if text else ""

    async def _outcome(self, run: Run, idempotency: str) -> OutcomeNotice | None:
        if run.live:
            return None
        return OutcomeNotice(
            idempotency=idempotency,
            run=run.id,
            run_ref=run.ref,
            agent=run.agent,
            owner=run.owner,
            origin=run.origin,
            status=run.status,
            text=await self.ending(run),
        )

    async def _write_batch(self, card: Card, via: Via) -> Written:
        """Write of several tickets; the version is that of the oldest state that was read."""
        parts = [await self._told(card, approval, via) for approval in card.key.approvals]
        version = min(one.version for one in parts)
        tickets = tuple(one.notice for one in parts if isinstance(one.notice, TicketNotice))
        if not tickets:
            return Written(None, version)
        ask = await self._ask_receipt(card) if card.key.role is not Role.ASK else None
        told = BatchNotice(
            role=card.key.role, idempotency=card.key.idempotency, tickets=tickets, ask=ask
        )
        asked = card.key.role is Role.ASKED
        if asked and card.receipt is None and told.resolution is not None:
            return Written(None, version)
        return Written(told, version, wait_for_ask=asked and ask is None)

    async def _told(self, card: Card, approval: ApprovalId, via: Via) -> Written:
        loaded = await self._store.load(card.key.run, approval=approval)
        ticket = loaded.run.ticket(approval) or loaded.closed
        if ticket is None or (ticket.held is not None and card.key.role is not Role.DECIDED):
            return Written(None, loaded.run.version)
        records = await self._store.records(card.key.run, _entry(ticket))
        notice = self._notice(loaded.run, ticket, card.key.role, records, via)
        return Written(notice, loaded.run.version)

    async def _write_ticket(self, card: Card, via: Via) -> Written:
        key = card.key
        written = await self._told(card, ApprovalId(key.subject), via)
        notice = written.notice
        if not isinstance(notice, TicketNotice):
            return written
        ask = await self._ask_receipt(card) if key.role is not Role.ASK else None
        if key.role is Role.ASKED and card.receipt is None and notice.resolution is not None:
            return Written(None, written.version)
        told = notice.model_copy(update={"idempotency": key.idempotency, "ask": ask})
        waits = key.role is Role.ASKED and ask is None
        return Written(told, written.version, wait_for_ask=waits)

    async def _write_held(self, card: Card) -> Written:
        """Say that asks wait, if the one that is to tell it does, or has told it, or others do."""
        approval = ApprovalId(card.key.subject)
        loaded = await self._store.load(card.key.run, approval=approval)
        run, ticket = loaded.run, loaded.run.ticket(approval) or loaded.closed
        posted = card.receipt is not None and card.receipt.shown
        if ticket is None:
            return Written(None, run.version)
        agent, *approvers = names_of(run.agent, ticket.approvers)
        names = (told_of(run)[card.key.role], agent, *approvers)
        told, own, *others = await self._store.berths.count(names)
        waits = ticket.held is not None and ticket.resolution is None
        if not (posted or waits or told.waiting):
            return Written(None, run.version)
        full = ticket.held.full if ticket.held else (agent,)
        by_agent = agent in full or not others
        notice = HeldNotice(
            role=card.key.role,
            idempotency=card.key.idempotency,
            run=run.id,
            run_ref=run.ref,
            agent=run.agent,
            owner=run.owner,
            origin=run.origin,
            approvers=ticket.approvers,
            requester=run.requester,
            full="agent" if by_agent else "approver",
            opened=own.open if by_agent else max(one.open for one in others),
            waiting=own.waiting,
            at=loaded.now,
        )
        return Written(notice, run.version)

    def _notice(
        self,
        run: Run,
        ticket: ResumeTicket,
        role: Role,
        records: tuple[Record, ...],
        via: Via,
    ) -> TicketNotice:
        open_here = ticket.resolution is None and role is Role.ASK
        token = SecretStr(self._keys.mint(ticket, via)) if open_here else None
        call = _shown_call(ticket, records)
        inside = partial(mask, secrets=call.secrets)
        return TicketNotice(
            role=role,
            idempotency=f"{run.id}:{ticket.approval}",
            run=run.id,
            run_ref=run.ref,
            agent=run.agent,
            approval=ticket.approval,
            ref=ticket.ref,
            target=_masked_target(ticket.target),
            arguments=call.shown.arguments,
            hidden=call.shown.hidden,
            masked=call.shown.masked,
            fields=_fields(ticket, records),
            original=_original(call.own),
            altered=call.altered,
            edited=ticket.edited,
            wished=ticket.wished,
            declared=ticket.declared,
            says=inside(_body(ticket, records, RecordKind.WORDS) or ""),
            owner=run.owner,
            requester=run.requester,
            approvers=ticket.approvers,
            origin=run.origin,
            deadline=ticket.deadline,
            held=ticket.held is not None,
            digest=ticket.digest,
            votes=ticket.votes,
            needed=ticket.needed,
            resolution=_masked_end(ticket.resolution),
            effect=_effect(run, ticket, records, inside),
            token=token,
        )

    async def _ask_receipt(self, card: Card) -> Receipt | None:
        for other in await self._store.cards(card.key.run):
            about = set(card.key.approvals) & set(other.key.approvals)
            same = bool(about) and other.key.role is Role.ASK
            if same and other.receipt is not None:
                return other.receipt
        return None


def _entry(ticket: ResumeTicket) -> int:
    return int(ticket.target.call.partition(".")[0])


def _index(call: CallId) -> int:
    return int(call.partition(".")[2])


def _body(ticket: ResumeTicket, records: tuple[Record, ...], kind: RecordKind) -> str | None:
    index = 0 if kind is RecordKind.WORDS else _index(ticket.target.call)
    wanted = (_entry(ticket), kind, index)
    return next((r.body for r in records if (r.entry, r.kind, r.index) == wanted), None)


def _arguments(ticket: ResumeTicket, records: tuple[Record, ...]) -> Json:
    target = ticket.target
    body = arguments_of(records, target.call, target.tool, ticket.digest)
    return _JSON.validate_json(body) if body else None


def _fields(ticket: ResumeTicket, records: tuple[Record, ...]) -> tuple[Field, ...] | None:
    if not isinstance(ticket.target, ToolPermission):
        return None
    body = _body(ticket, records, RecordKind.FIELDS)
    return FIELDS.validate_json(body) if body else None


@dataclass(frozen=True, slots=True)
class _ShownCall:
    """A call's arguments as they may be shown, and the model's own where people edited them."""

    shown: Redacted
    own: Redacted | None
    altered: tuple[str, ...]

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.shown.secrets + (self.own.secrets if self.own else ())


def _shown_call(ticket: ResumeTicket, records: tuple[Record, ...]) -> _ShownCall:
    arguments = _arguments(ticket, records)
    shown = redact(arguments, ticket.declared.secrets)
    if ticket.edited is None:
        return _ShownCall(shown, None, ())
    body = _body(ticket, records, RecordKind.ARGUMENTS)
    own = _JSON.validate_json(body) if body else None
    return _ShownCall(shown, redact(own, ticket.edited.secrets), _altered(own, arguments, shown))


def _original(own: Redacted | None) -> Original | None:
    if own is None:
        return None
    return Original(arguments=own.arguments, hidden=own.hidden, masked=own.masked)


def _altered(own: Json, arguments: Json, shown: Redacted) -> tuple[str, ...]:
    """Return where an edit changed something that is not shown; where that is unsure, too."""
    found = []
    for at in (*shown.hidden, *shown.masked):
        now = value_at(arguments, at)
        if now is None or value_at(own, at) != now:
            found.append(at)
    return tuple(found)


def _masked_target(target: AwaitTarget) -> AwaitTarget:
    if isinstance(target, RemoteInput):
        return target.model_copy(update={"prompt": mask(target.prompt)})
    return target


def _masked_end(end: Resolution | None) -> Resolution | None:
    match end.decision if end is not None else None:
        case Deny(reason=words) as said:
            decision: Decision = said.model_copy(update={"reason": mask(words)})
        case Answer(value=words) | Settle(value=words) as said:
            decision = said.model_copy(update={"value": mask(words)})
        case _:
            return end
    return end.model_copy(update={"decision": decision}) if end is not None else None


def _effect(
    run: Run, ticket: ResumeTicket, records: tuple[Record, ...], inside: Callable[[str], str]
) -> Effect | None:
    """Tell what became of a call that a closed ticket let run."""
    resolution = ticket.resolution
    if resolution is None or not isinstance(resolution.decision, Allow | Settle):
        return None
    body = _body(ticket, records, RecordKind.RESULT)
    if body is not None:
        return _finished(CallResult.model_validate_json(body), inside)
    call = _call(run, ticket.target.call)
    if call is None or not run.live:
        return None
    states = {CallState.EXECUTING: EffectState.RUNNING, CallState.UNKNOWN: EffectState.UNKNOWN}
    return Effect(state=states.get(call.state, EffectState.PENDING))


def _finished(result: CallResult, inside: Callable[[str], str]) -> Effect:
    content = result.content
    text = content if isinstance(content, str) else canonical_json(content)
    return Effect(
        state=EffectState.FINISHED,
        outcome=result.outcome,
        text=inside(text),
        seconds=result.seconds,
    )


def _call(run: Run, call_id: CallId) -> ToolCall | None:
    calls = run.batch.calls if run.batch else ()
    return next((call for call in calls if call.id == call_id), None)
