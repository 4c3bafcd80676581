"""What a parked run waits for, who may answer with what, and the answers: pure types."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self, assert_never

from pydantic import Field

from engine.identity import Actor, Approvers, Vote
from engine.ids import ApprovalId, CallId, OpId, PersonId, Ref, RunId, TokenId
from engine.remembered import Wish, Wished
from engine.schema import Frozen, Json


class Risk(StrEnum):
    """How much harm a wrong call of a tool can do, by its author's word."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Default(Frozen):
    """What an argument is that a call leaves out, as its tool's schema states it.

    Attributes:
        at: The way to it: a JSON pointer.
        value: As it may be shown.
        hidden: Where a whole value in it is kept secret: JSON pointers that begin with ``at``.
        masked: Where a part of a text is.

    """

    at: str
    value: Json
    hidden: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()


class Declared(Frozen):
    """What a tool's author declared of one call, as it was true when the run parked.

    Attributes:
        risk: None where the tool declares none; nothing is said of it then.
        title: What the call does, in the author's words and with the model's values: untrusted.
        untitled: Why there is no title though the tool describes its calls.
        secrets: Where the schema marks the arguments as secret: JSON pointers, ``*`` for any name.
        defaults: What the arguments are that it leaves out.
        more_defaults: How many more values of these there are, beyond what is kept.

    """

    risk: Risk | None = None
    title: str = ""
    untitled: str = ""
    secrets: tuple[str, ...] = ()
    defaults: tuple[Default, ...] = ()
    more_defaults: int = 0


UNDECLARED = Declared()


class ToolPermission(Frozen):
    """A tool call that needs a person's Allow."""

    kind: Literal["tool_permission"] = "tool_permission"
    call: CallId
    tool: str


class RemoteInput(Frozen):
    """A question whose answer becomes the asking call's result."""

    kind: Literal["remote_input"] = "remote_input"
    call: CallId
    tool: str
    prompt: str


class OutcomeUnknown(Frozen):
    """A call that was started and whose outcome was lost. Has no deadline."""

    kind: Literal["outcome_unknown"] = "outcome_unknown"
    call: CallId
    tool: str
    op: OpId
    rerun_from: datetime


AwaitTarget = Annotated[ToolPermission | RemoteInput | OutcomeUnknown, Field(discriminator="kind")]


class Allow(Frozen):
    """The call may run; with ``arguments``, these are all of them, and they take its own's place.

    With ``remember``, like calls may run for a while too; with ``once``, what others wished to be
    remembered is not. What is kept of a decision holds none of these: arguments are a record of
    their own, and what is wished for stands on the ticket.
    """

    kind: Literal["allow"] = "allow"
    arguments: dict[str, Json] | None = None
    remember: Wish | None = None
    once: bool = False


class Deny(Frozen):
    """The call may not run, or the question is declined."""

    kind: Literal["deny"] = "deny"
    reason: str = ""


class Answer(Frozen):
    """The answer to a question."""

    kind: Literal["answer"] = "answer"
    value: str


class Settle(Frozen):
    """What a person found out about a lost call: it happened, it did not (run it), or give up."""

    kind: Literal["settle"] = "settle"
    outcome: Literal["happened", "not_happened", "abandon"]
    value: str = ""


Decision = Annotated[Allow | Deny | Answer | Settle, Field(discriminator="kind")]


def accepted_kinds(target: AwaitTarget) -> tuple[str, ...]:
    """Return the kinds of decision that can answer this target (DESIGN section 6)."""
    match target:
        case ToolPermission():
            return ("allow", "deny")
        case RemoteInput():
            return ("answer", "deny")
        case OutcomeUnknown():
            return ("settle",)
        case _:
            assert_never(target)


class Resolution(Frozen):
    """How a ticket ended: the decision, by whom, when (by the store's clock).

    ``instead_of`` is the approver whose place the actor took, if they stood in for one;
    ``edited`` tells that their word changed the arguments.
    """

    decision: Decision
    actor: Actor
    at: datetime
    instead_of: PersonId | None = None
    edited: bool = False
    timed_out: bool = False
    withdrawn: bool = False

    @property
    def word(self) -> str:
        """Return the decision as one word for a person, or for a log."""
        if self.timed_out:
            return "timed out"
        if self.withdrawn:
            return "withdrawn"
        match self.decision:
            case Allow():
                return "approved with edits" if self.edited else "approved"
            case Deny():
                return "denied"
            case Answer():
                return "answered"
            case Settle(outcome=outcome):
                return f"settled ({outcome.replace('_', ' ')})"
            case _:
                assert_never(self.decision)


class Edited(Frozen):
    """That people changed a call's arguments: by whom, when last, and what is told of the model's own.

    ``original`` is the digest of the model's own arguments; ``secrets`` is where these are secret.
    """

    original: str
    secrets: tuple[str, ...] = ()
    by: tuple[Actor, ...]
    at: datetime


class HeldBack(Frozen):
    """That a ticket is not asked yet, as too many others are open.

    Attributes:
        timeout: How long silence is not yet a denial, from when it is asked.
        full: What it counts for (an agent, an approver) where no more could be open.
        news: Who is told by it that asks wait: ``here``, where they are put; ``owner``.

    """

    timeout: timedelta
    full: tuple[str, ...] = ()
    news: tuple[str, ...] = ()


class ResumeTicket(Frozen):
    """The committed fact that a parked run waits on.

    A ticket that is held back has no deadline and no card; one that was closed so never had any.

    ``seal`` is the digest of everything else here and of the call, as they were committed.
    ``wished``: what is remembered if this is allowed.
    """

    schema_version: Literal[1] = 1
    approval: ApprovalId
    ref: Ref
    run: RunId
    conversation: str
    snapshot: str
    fingerprint: str
    token: TokenId
    target: AwaitTarget
    digest: str
    opened_at: datetime
    deadline: datetime | None
    approvers: Approvers
    requester: PersonId
    declared: Declared = UNDECLARED
    edited: Edited | None = None
    held: HeldBack | None = None
    wished: Wished | None = None
    votes: tuple[Vote, ...] = ()
    resolution: Resolution | None = None
    seal: str = ""

    @property
    def needed(self) -> int:
        """Return how many seats must allow. Only a permission may take more than one word."""
        return self.approvers.quorum if isinstance(self.target, ToolPermission) else 1

    @property
    def counted(self) -> int:
        """Return how many seats have allowed so far."""
        return len({vote.seat for vote in self.votes})

    def vote_of(self, person: PersonId) -> Vote | None:
        """Return the vote that a person gave, if they did."""
        return next((vote for vote in self.votes if vote.person == person), None)


class ResumeCommand(Frozen):
    """One answer, with the identity of the ticket it was made for."""

    approval: ApprovalId
    run: RunId
    conversation: str
    snapshot: str
    fingerprint: str
    digest: str
    call: CallId
    decision: Decision
    actor: Actor
    now: datetime

    @classmethod
    def from_ticket(
        cls, ticket: ResumeTicket, decision: Decision, *, actor: Actor, now: datetime
    ) -> Self:
        """Copy every identity from the committed ticket; the caller adds only the answer."""
        return cls(
            approval=ticket.approval,
            run=ticket.run,
            conversation=ticket.conversation,
            snapshot=ticket.snapshot,
            fingerprint=ticket.fingerprint,
            digest=ticket.digest,
            call=ticket.target.call,
            decision=decision,
            actor=actor,
            now=now,
        )
