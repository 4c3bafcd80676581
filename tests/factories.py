"""Runs, tickets, changes and cards with sensible values; a test names only what it is about."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from engine.berths import Ask
from engine.cards import CardKey, Receipt, Role
from engine.entries import Record, RecordKind
from engine.events import RunEvent, RunStarted, link_event
from engine.identity import Actor, Approvers, Via, Vote
from engine.ids import (
    CROCKFORD,
    ApprovalId,
    CallId,
    CommitId,
    PersonId,
    Ref,
    RunId,
    TokenId,
    place_of,
)
from engine.remembered import RememberedRule, Revoked, rule_id, terms_of
from engine.runs import Origin, Run, RunStatus
from engine.store import Change
from engine.tickets import Allow, Decision, Resolution, ResumeTicket, ToolPermission

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
OWNER = PersonId("UOWNER")

_numbers = count(1)


class HeldClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def move(self, **step: float) -> datetime:
        """Move by a timedelta's arguments; return the new time."""
        self.now += timedelta(**step)
        return self.now


def make_ref(place: str = "") -> Ref:
    """Return a ref, of that place of the store, that no other call returns."""
    number = next(_numbers)
    drawn = "".join(CROCKFORD[number >> shift & 31] for shift in range(25, -1, -5))
    return Ref(place.upper() + drawn[len(place) :])


def make_run(place: str = "", **given: Any) -> Run:
    """Return a run as it is created at that place of the store: queued, at version 1."""
    number = next(_numbers)
    usual: dict[str, Any] = {
        "id": RunId(f"{place}run_{number:06}"),
        "ref": make_ref(place),
        "version": 1,
        "status": RunStatus.QUEUED,
        "agent": "deployer",
        "snapshot": "snapshot",
        "owner": OWNER,
        "requester": OWNER,
        "origin": Origin(),
        "context": {},
        "conversation": f"conversation_{number}",
        "trace": f"trace_{number}",
        "attempt": "attempt_1",
        "created_at": START,
        "updated_at": START,
        "entry_count": 0,
    }
    return Run(**(usual | given))


def make_next(run: Run, **given: Any) -> Run:
    """Return the run one version later, with what is given changed."""
    kept = {name: getattr(run, name) for name in Run.model_fields}
    return type(run)(**(kept | {"version": run.version + 1} | given))


def make_parked(run: Run, *tickets: ResumeTicket, **given: Any) -> Run:
    """Return the run one version later, waiting on these tickets, or on one of its own."""
    opened = tickets or (make_ticket(run),)
    return make_next(run, status=RunStatus.WAITING, tickets=opened, **given)


def make_ended(run: Run, status: RunStatus = RunStatus.SUCCEEDED, **given: Any) -> Run:
    """Return the run one version later, ended."""
    return make_next(run, status=status, tickets=(), **given)


def make_ticket(run: Run, **given: Any) -> ResumeTicket:
    """Return an open ticket of a run, due an hour after the start."""
    number = next(_numbers)
    usual: dict[str, Any] = {
        "approval": ApprovalId(f"approval_{number}"),
        "ref": make_ref(place_of(run.id)),
        "run": run.id,
        "conversation": run.conversation,
        "snapshot": run.snapshot,
        "fingerprint": "fingerprint",
        "token": TokenId(f"token_{number}"),
        "target": ToolPermission(call=CallId("0.0"), tool="deploy"),
        "digest": "digest",
        "opened_at": START,
        "deadline": START + timedelta(hours=1),
        "approvers": Approvers(people=(run.owner,), four_eyes=False),
        "requester": run.requester,
    }
    return ResumeTicket(**(usual | given))


def make_closed(ticket: ResumeTicket, decision: Decision | None = None) -> ResumeTicket:
    """Return a ticket decided by its requester."""
    actor = Actor(id=ticket.requester, via=Via.API)
    resolution = Resolution(decision=decision or Allow(), actor=actor, at=START)
    return ticket.model_copy(update={"resolution": resolution})


def make_change(run: Run, **given: Any) -> Change:
    """Return the change that brings a run to the version it has."""
    usual: dict[str, Any] = {
        "commit": CommitId(f"commit_{next(_numbers)}"),
        "expected": run.version - 1,
    }
    return Change(run=run, **(usual | given))


def make_event(seq: int) -> RunEvent:
    """Return an event with that number."""
    fact = RunStarted(agent="deployer", owner=OWNER, requester=OWNER)
    return link_event("", seq, START, fact)


def make_record(entry: int, kind: RecordKind = RecordKind.INPUT, index: int = 0) -> Record:
    """Return a record."""
    return Record(entry, kind, index, f'{{"of": "{entry}.{index}"}}')


def make_ask(approval: str, most: int = 1, **given: Any) -> Ask:
    """Return an ask of an agent and an approver who may have so many open."""
    usual: dict[str, Any] = {
        "approval": ApprovalId(approval),
        "run": RunId("run_of_" + approval),
        "within": (("agent:a", most), ("person:U1", most)),
        "told": ("owner:a:UOWNER",),
    }
    return Ask(**(usual | given))


def make_card_key(run: Run, **given: Any) -> CardKey:
    """Return the key of a card that asks."""
    usual: dict[str, Any] = {
        "run": run.id,
        "subject": "approval_of_" + run.id,
        "role": Role.ASK,
        "notifier": "inbox",
    }
    return CardKey(**(usual | given))


def make_receipt(**given: Any) -> Receipt:
    """Return where a message is; no two are the same message."""
    usual: dict[str, Any] = {"place": "C1", "id": f"message_{next(_numbers)}"}
    return Receipt(**(usual | given))


class NewerRun(Run):
    """A run as some later version would write it: this one cannot read it."""

    mood: str = "calm"


class NewerTicket(ResumeTicket):
    """A ticket that this version cannot read."""

    mood: str = "calm"


class NewerReceipt(Receipt):
    """A receipt that this version cannot read."""

    mood: str = "calm"


def make_newer(run: Run) -> NewerRun:
    """Return the run as a later version would write it."""
    return NewerRun(**{name: getattr(run, name) for name in Run.model_fields})


def make_rule(**given: Any) -> RememberedRule:
    """Return a rule that the owner gave at the start, for an hour."""
    number = next(_numbers)
    approval = ApprovalId(f"approval_{number}")
    owner = Actor(id=OWNER, via=Via.SLACK)
    usual: dict[str, Any] = {
        "id": rule_id(approval),
        "approval": approval,
        "ref": make_ref(),
        "run": RunId(f"run_{number}"),
        "agent": "deployer",
        "tool": "deploy",
        "fingerprint": "fingerprint",
        "terms": terms_of({"env": "prod", "version": "1"}, (), ("/version",), approval),
        "owner": OWNER,
        "approvers": Approvers(people=(OWNER,), four_eyes=False),
        "votes": (Vote(actor=owner, person=OWNER, seat=OWNER, at=START),),
        "granted_at": START,
        "expires_at": START + timedelta(hours=1),
    }
    return RememberedRule(**(usual | given))


def make_revoked(at: datetime = START) -> Revoked:
    """Return what is kept of the owner's revoking a rule."""
    return Revoked(by=Actor(id=OWNER, via=Via.SLACK), at=at)
