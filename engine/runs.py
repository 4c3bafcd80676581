"""Runs and their tool calls: what is stored of one durable execution."""

from datetime import datetime
from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from engine.identity import Via
from engine.ids import ApprovalId, CallId, OpId, PersonId, Ref, RunId
from engine.policy import Verdict
from engine.rules import Rule
from engine.schema import Frozen, Json
from engine.tickets import UNDECLARED, Declared, Edited, ResumeTicket


class RunStatus(StrEnum):
    """Where a run is. ``running`` is a view of ``queued`` with a live claim; it is not stored."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED})


class CallState(StrEnum):
    """Where a tool call is (the moves are data in ``lifecycle/table.py``)."""

    REQUESTED = "requested"
    AWAITING = "awaiting"
    ALLOWED = "allowed"
    EXECUTING = "executing"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    BLOCKED = "blocked"


SETTLED = frozenset({CallState.COMPLETED, CallState.BLOCKED})


class Replay(StrEnum):
    """What may be done with a call of this tool whose outcome was lost."""

    NEVER = "never"
    SAFE = "safe"
    IDEMPOTENT = "idempotent"


class ToolCall(Frozen):
    """One call of a batch. Its arguments and its result are records of their own.

    ``approval`` is the ticket that let it run, if it had to ask; ``inquiry`` the last one that
    asked what became of it. ``because`` is what the model is told where the verdict is DENY.
    ``settled`` is the remembered rule that let it run unasked.
    """

    id: CallId
    provider_id: str
    tool: str
    digest: str
    fingerprint: str = ""
    verdict: Verdict | None = None
    because: str = ""
    settled: str = ""
    state: CallState = CallState.REQUESTED
    replay: Replay = Replay.NEVER
    timeout_s: float = 0.0
    declared: Declared = UNDECLARED
    edited: Edited | None = None
    approval: ApprovalId | None = None
    inquiry: ApprovalId | None = None
    card: str = ""
    attempts: int = 0
    op: OpId | None = None
    started_at: datetime | None = None


class Batch(Frozen):
    """All calls of one model step, until each has exactly one result."""

    entry: int
    calls: tuple[ToolCall, ...]

    @property
    def settled(self) -> bool:
        """Tell whether every call has its result."""
        return all(call.state in SETTLED for call in self.calls)

    def call(self, call_id: CallId) -> ToolCall:
        """Return one call.

        Raises:
            KeyError: no call of this batch has that id.

        """
        for call in self.calls:
            if call.id == call_id:
                return call
        raise KeyError(call_id)

    def put(self, changed: ToolCall) -> Self:
        """Return the batch with one call replaced."""
        calls = tuple(changed if call.id == changed.id else call for call in self.calls)
        return self.model_copy(update={"calls": calls})


class Usage(Frozen):
    """What a run has used so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Origin(Frozen):
    """Where a run was started: a Slack channel and thread, the terminal, or the API."""

    via: Via = Via.API
    channel: str = ""
    thread: str = ""


class CancelRequest(Frozen):
    """A cancel that came while a tool ran: carried out when its result is in."""

    by: PersonId
    at: datetime


class Refused(Frozen):
    """Attempts to answer an open ticket by people who may not: whose, and how many in all."""

    approval: ApprovalId
    people: tuple[str, ...] = ()
    count: int = 0


class Denial(Frozen):
    """How often people have denied one call (tool and arguments) in a run."""

    tool: str
    digest: str
    count: int


class Failure(Frozen):
    """Why a run failed: a stable code and a sentence."""

    code: str
    message: str


class Run(Frozen):
    """One durable execution of an Agent."""

    schema_version: Literal[1] = 1
    id: RunId
    ref: Ref
    version: int
    status: RunStatus
    agent: str
    snapshot: str
    owner: PersonId
    requester: PersonId
    origin: Origin
    context: Json
    conversation: str
    notify: str = ""
    concurrency_key: str = ""
    priority: int = 0
    trace: str
    attempt: str
    created_at: datetime
    updated_at: datetime
    entry_count: int
    batch: Batch | None = None
    tickets: tuple[ResumeTicket, ...] = ()
    refused: tuple[Refused, ...] = ()
    denials: tuple[Denial, ...] = ()
    retries: int = 0
    usage: Usage = Usage()
    rules: tuple[Rule, ...] = ()
    cancel: CancelRequest | None = None
    output: str | None = None
    failure: Failure | None = None
    event_count: int = 0
    event_head: str = ""

    @model_validator(mode="after")
    def _waits_exactly_while_a_ticket_is_open(self) -> Self:
        if (self.status is RunStatus.WAITING) != bool(self.tickets):
            raise ValueError("a run is waiting if and only if a ticket is open")
        return self

    @property
    def waiting(self) -> ResumeTicket | None:
        """Return the first open ticket, in the order of the calls."""
        return self.tickets[0] if self.tickets else None

    @property
    def live(self) -> bool:
        """Tell whether the run has not ended."""
        return self.status not in TERMINAL

    def ticket(self, approval: str) -> ResumeTicket | None:
        """Return the open ticket of that approval id, if there is one."""
        return next((t for t in self.tickets if t.approval == approval), None)

    @property
    def deadline(self) -> datetime | None:
        """Return the earliest deadline of the open tickets."""
        return min((t.deadline for t in self.tickets if t.deadline), default=None)
