"""The workbench of one transition: gathers what changes, and hands it over as one Change."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from engine.cards import SHARE, CardKey, Role
from engine.entries import CallOutcome, CallResult, Record, RecordKind
from engine.events import (
    CallFinished,
    Fact,
    RunEvent,
    TicketClosed,
    TicketOpened,
    link_event,
)
from engine.ids import ApprovalId, CommitId, Moment
from engine.lifecycle.seal import sealed
from engine.lifecycle.table import CallCause, RunCause, move_call, move_run
from engine.runs import Batch, Run, RunStatus, ToolCall
from engine.store import Change, ClaimEffect, KeyRecord
from engine.tickets import Resolution, ResumeTicket

OUTCOME_SUBJECT = "outcome"


class Draft:
    """Gathers one transition of one run. Lives and dies inside a pure function."""

    def __init__(self, run: Run, moment: Moment) -> None:
        """Start from a run as it was loaded."""
        self._run = run
        self._fields: dict[str, Any] = {}
        self.moment = moment
        self._before = run.version
        self._event_count, self._event_head = run.event_count, run.event_head
        self._events: list[RunEvent] = []
        self._records: list[Record] = []
        self._opened: list[ResumeTicket] = []
        self._closed: list[ResumeTicket] = []
        self._raised: dict[CardKey, None] = {}

    @property
    def run(self) -> Run:
        """Return the run as it is by now, but for its version and its count of events."""
        if self._fields:
            # Not at each change: most are followed by another before anybody looks.
            self._run, self._fields = self._run.model_copy(update=self._fields), {}
        return self._run

    @property
    def now(self) -> datetime:
        """Return the moment of this transition."""
        return self.moment.now

    @property
    def batch(self) -> Batch:
        """Return the open batch.

        Raises:
            ValueError: the run has none.

        """
        batch = self.run.batch
        if batch is None:
            raise ValueError("this run has no open batch")
        return batch

    def note(self, fact: Fact) -> None:
        """Append an event."""
        self._event_count += 1
        event = link_event(self._event_head, self._event_count, self.now, fact)
        self._event_head = event.link
        self._events.append(event)

    def set(self, **fields: Any) -> None:  # noqa: ANN401 - fields of Run, checked by its model
        """Change fields of the run."""
        self._fields.update(fields)

    def move(self, cause: RunCause) -> None:
        """Move the run."""
        self.set(status=move_run(self.run.status, cause))

    def move_call(self, call: ToolCall, cause: CallCause, **fields: Any) -> ToolCall:  # noqa: ANN401
        """Move a call of the batch, changing fields of it with the move."""
        moved = call.model_copy(update={"state": move_call(call.state, cause), **fields})
        self.set(batch=self.batch.put(moved))
        return moved

    def write(self, kind: RecordKind, entry: int, body: str, index: int = 0) -> None:
        """Add a write-once record."""
        self._records.append(Record(entry=entry, kind=kind, index=index, body=body))

    def give_result(self, call: ToolCall, result: CallResult, cause: CallCause) -> None:
        """Settle a call with its one result; the last call of a batch settles the batch."""
        self.move_call(call, cause)
        retried = result.outcome is CallOutcome.RETRY
        self.set(retries=self.run.retries + 1 if retried else 0)
        index = call_index(call)
        self.write(RecordKind.RESULT, self.batch.entry, result.model_dump_json(), index)
        self.note(
            CallFinished(
                call=call.id, tool=call.tool, outcome=result.outcome, seconds=result.seconds
            )
        )
        raise_ask_of(self, call)

    def settle(self) -> None:
        """Turn a batch whose calls all have results into an entry; go on if nothing is open."""
        if self.run.batch is not None and self.run.batch.settled:
            self.set(entry_count=self.run.batch.entry + 1, batch=None)
        if self.run.status is RunStatus.WAITING and not self.run.tickets:
            self.move(RunCause.ANSWERED)
            self.set(attempt=self.moment.ids.new("att"))

    def open_ticket(self, ticket: ResumeTicket) -> None:
        """Open a ticket, seal it with its call as it is now, and want the cards that show it."""
        ticket = sealed(ticket, self.batch.call(ticket.target.call))
        self.set(tickets=(*self.run.tickets, ticket))
        self._opened.append(ticket)
        self.note(
            TicketOpened(
                approval=ticket.approval,
                ref=ticket.ref,
                target=ticket.target.kind,
                call=ticket.target.call,
                digest=ticket.digest,
                deadline=ticket.deadline,
            )
        )
        raise_ticket(self, ticket)
        raise_ticket(self, ticket, Role.ASKED)

    def close_ticket(self, ticket: ResumeTicket, resolution: Resolution) -> None:
        """Close a ticket; the owner is told unless it was the owner who decided."""
        approval, call = ticket.approval, self.batch.call(ticket.target.call)
        left = tuple(t for t in self.run.tickets if t.approval != approval)
        tries = sum(one.count for one in self.run.refused if one.approval == approval)
        others = tuple(one for one in self.run.refused if one.approval != approval)
        self.set(tickets=left, refused=others)
        self._closed.append(sealed(ticket.model_copy(update={"resolution": resolution}), call))
        self.note(
            TicketClosed(approval=approval, call=call.id, resolution=resolution, refused=tries)
        )
        raise_ticket(self, ticket)
        raise_ticket(self, ticket, Role.ASKED)
        if resolution.actor.id != self.run.owner and not resolution.withdrawn:
            self.raise_card(ticket.approval, Role.DECIDED)

    def raise_card(self, subject: str, role: Role) -> None:
        """Want a card to show the run as it is after this change."""
        if self.run.notify:
            key = CardKey(run=self.run.id, subject=subject, role=role, notifier=self.run.notify)
            self._raised[key] = None

    def share_card(self, approvals: Sequence[ApprovalId]) -> None:
        """Show tickets that this transition opened on one card instead of one for each."""
        shared = SHARE.join(approvals)
        for call in self.batch.calls:
            if call.approval in approvals:
                self.set(batch=self.batch.put(call.model_copy(update={"card": shared})))
        for key in [key for key in self._raised if key.subject in approvals]:
            del self._raised[key]
        self.raise_card(shared, Role.ASK)
        self.raise_card(shared, Role.ASKED)

    def change(
        self,
        claim: ClaimEffect = ClaimEffect.NONE,
        *,
        key: KeyRecord | None = None,
        not_after: datetime | None = None,
        not_before: datetime | None = None,
        confirm: bool = False,
    ) -> Change:
        """Return all of it as one Change."""
        fields = {
            **vars(self.run),
            "version": self._before + 1,
            "updated_at": self.now,
            "event_count": self._event_count,
            "event_head": self._event_head,
        }
        return Change(
            commit=CommitId(self.moment.ids.new("cmt")),
            expected=self._before,
            run=Run(**fields),
            events=tuple(self._events),
            records=tuple(self._records),
            opened=tuple(self._opened),
            closed=tuple(self._closed),
            raised=tuple(self._raised),
            key=key,
            not_after=not_after,
            not_before=not_before,
            claim=claim,
            confirm=confirm,
        )


def keep_open(draft: Draft, ticket: ResumeTicket) -> ResumeTicket:
    """Put a changed ticket in the place of what it was; return it sealed anew."""
    anew = sealed(ticket, draft.batch.call(ticket.target.call))
    rest = tuple(anew if t.approval == anew.approval else t for t in draft.run.tickets)
    draft.set(tickets=rest)
    return anew


def raise_ticket(draft: Draft, ticket: ResumeTicket, role: Role = Role.ASK) -> None:
    """Want the card that shows a ticket, which it may share, to show the run as it is.

    One that is held back has none yet: which it will be on is decided when it begins to ask.
    """
    if ticket.held is not None:
        return
    call = draft.batch.call(ticket.target.call)
    draft.raise_card(subject_of(call, ticket.approval), role)


def raise_ask_of(draft: Draft, call: ToolCall) -> None:
    """Want the cards of a call's tickets, if it had any, to show what became of it."""
    for approval in (call.approval, call.inquiry):
        if approval is not None:
            draft.raise_card(subject_of(call, approval), Role.ASK)


def subject_of(call: ToolCall, approval: ApprovalId) -> str:
    """Return the subject of the card that shows an approval; one that came later shares none."""
    return call.card if approval in call.card.split(SHARE) else approval


def call_index(call: ToolCall) -> int:
    """Return the position of a call in its batch, from its id ``<step>.<index>``."""
    return int(call.id.rpartition(".")[2])
