"""Hold: asks beyond what may be open at once wait without a deadline, and are released later."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from engine.berths import Held
from engine.cards import SHARE, CardKey, Role
from engine.events import Fact, RunEvent, TicketHeld, TicketOpened, TicketReleased, link_event
from engine.identity import SYSTEM
from engine.ids import ApprovalId, Moment
from engine.lifecycle.denials import ENDLESS, Enough, Patience, enough
from engine.lifecycle.draft import Draft, keep_open, raise_ticket
from engine.lifecycle.propose import not_asked, share_cards
from engine.lifecycle.seal import check_open, sealed
from engine.runs import Batch, Run
from engine.store import Change
from engine.tickets import Deny, HeldBack, Resolution, ResumeTicket

_ROLES = {"here": Role.HELD, "owner": Role.HELD_OWNER}


def hold_back(before: Run, change: Change, waiting: Collection[Held]) -> Change:
    """Return a change of the run ``before`` with the tickets that must wait held back.

    They have no deadline and no card, nor a row on one that they would share. Whoever was not told
    yet that asks wait is told once.
    """
    held = {one.approval: one for one in waiting}
    opened = tuple(
        _held(change.run, t, held[t.approval]) if t.approval in held else t for t in change.opened
    )
    now = {ticket.approval: ticket for ticket in opened}
    events = tuple(_relinked(before, change.events, now))
    run = change.run.model_copy(
        update={
            "tickets": tuple(now.get(t.approval, t) for t in change.run.tickets),
            "event_count": events[-1].seq,
            "event_head": events[-1].link,
            "batch": _apart(change.run.batch, held),
        }
    )
    raised = (*_without(change.raised, held), *_told(run, opened))
    return replace(change, run=run, events=events, opened=opened, raised=raised, asks=())


def release(
    run: Run,
    approvals: Collection[ApprovalId],
    moment: Moment,
    patience: Patience = ENDLESS,
) -> Change | None:
    """Return the Change that asks what was held back; None where nothing of it is any more.

    What was denied often enough since is not asked.

    Raises:
        TicketMismatchError: a field of a ticket or of its call is not as it was committed.

    """
    held = [(t, t.held) for t in run.tickets if t.approval in approvals and t.held is not None]
    if not held:
        return None
    draft = Draft(run, moment)
    released = []
    for ticket, back in held:
        check_open(run, ticket)
        call = draft.batch.call(ticket.target.call)
        worn = _worn(draft, ticket, patience)
        if worn is not None:
            _withdraw(draft, ticket, worn)
            continue
        deadline = moment.now + back.timeout
        asked = keep_open(draft, ticket.model_copy(update={"held": None, "deadline": deadline}))
        draft.note(
            TicketReleased(
                approval=ticket.approval, ref=ticket.ref, call=call.id, deadline=deadline
            )
        )
        raise_ticket(draft, asked)
        raise_ticket(draft, asked, Role.ASKED)
        released.append(asked)
    share_cards(draft, released)
    for ticket, back in held:
        for name in back.news:
            draft.raise_card(ticket.approval, _ROLES[name])
    draft.settle()
    return draft.change()


def _worn(draft: Draft, ticket: ResumeTicket, patience: Patience) -> Enough | None:
    """Return why a call is not to be asked; None where it may be, or somebody has taken it up."""
    if ticket.votes or ticket.edited is not None:
        return None
    return enough(draft.run, draft.batch.call(ticket.target.call), patience)


def _withdraw(draft: Draft, ticket: ResumeTicket, worn: Enough) -> None:
    end = Resolution(decision=Deny(reason=worn.told), actor=SYSTEM, at=draft.now, withdrawn=True)
    draft.close_ticket(ticket, end)
    not_asked(draft, draft.batch.call(ticket.target.call), worn)


def _apart(batch: Batch | None, held: Collection[ApprovalId]) -> Batch | None:
    """Return a batch whose calls share cards with none that wait."""
    if batch is None:
        return None
    calls = [call.model_copy(update={"card": _rest(call.card, held)}) for call in batch.calls]
    return batch.model_copy(update={"calls": tuple(calls)})


def _without(raised: tuple[CardKey, ...], held: Collection[ApprovalId]) -> Iterator[CardKey]:
    """Yield the cards that are left where those that wait are on none."""
    for key in raised:
        rest = [one for one in key.approvals if one not in held]
        if rest:
            yield key.model_copy(update={"subject": SHARE.join(rest)})


def _rest(card: str, held: Collection[ApprovalId]) -> str:
    """Return what is left of a shared card; empty where nobody shares it."""
    rest = [one for one in card.split(SHARE) if one not in held]
    return SHARE.join(rest) if len(rest) > 1 else ""


def _held(run: Run, ticket: ResumeTicket, held: Held) -> ResumeTicket:
    if ticket.deadline is None or run.batch is None:
        raise ValueError("only what may be too late can wait")
    named = [name.partition(":")[0] for name in held.news]
    back = HeldBack(
        timeout=ticket.deadline - ticket.opened_at,
        full=held.full,
        news=tuple(name for name in named if name in _ROLES),
    )
    waits = ticket.model_copy(update={"deadline": None, "held": back})
    return sealed(waits, run.batch.call(ticket.target.call))


def _relinked(
    before: Run, events: tuple[RunEvent, ...], now: Mapping[ApprovalId, ResumeTicket]
) -> Iterator[RunEvent]:
    seq, head = before.event_count, before.event_head
    for event in events:
        for fact in _facts(event.fact, now):
            seq += 1
            linked = link_event(head, seq, event.at, fact)
            head = linked.link
            yield linked


def _facts(fact: Fact, now: Mapping[ApprovalId, ResumeTicket]) -> Iterator[Fact]:
    ticket = now.get(fact.approval) if isinstance(fact, TicketOpened) else None
    if not isinstance(fact, TicketOpened) or ticket is None or ticket.held is None:
        yield fact
        return
    yield fact.model_copy(update={"deadline": None})
    yield TicketHeld(
        approval=ticket.approval, ref=ticket.ref, call=fact.call, full=ticket.held.full
    )


def _told(run: Run, opened: tuple[ResumeTicket, ...]) -> Iterator[CardKey]:
    for ticket in opened if run.notify else ():
        for name in ticket.held.news if ticket.held else ():
            yield CardKey(
                run=run.id, subject=ticket.approval, role=_ROLES[name], notifier=run.notify
            )
