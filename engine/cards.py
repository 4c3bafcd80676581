"""Cards, what they say, and the port that shows them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, Protocol

import pydantic
from pydantic import SecretStr

from engine.entries import CallOutcome
from engine.fields import Field
from engine.identity import Approvers, Via, Vote
from engine.ids import ApprovalId, PersonId, Ref, RunId
from engine.remembered import Wished
from engine.runs import Origin, RunStatus
from engine.schema import Frozen, Json
from engine.tickets import UNDECLARED, AwaitTarget, Declared, Edited, Resolution


class Role(StrEnum):
    """What a card is for."""

    ASK = "ask"
    """Shown where the approvers are, with the buttons."""
    ASKED = "asked"
    """Tells the owner, without buttons, that something waits."""
    DECIDED = "decided"
    """Tells the owner how a ticket ended."""
    OUTCOME = "outcome"
    """Tells the owner how the run ended."""
    HELD = "held"
    """Tells, where the approvers are, that asks wait as too many are open."""
    HELD_OWNER = "held_owner"
    """Tells the owner the same."""


SHARE = "+"
"""What joins the approval ids of tickets that share a card; no id has it."""


class CardKey(Frozen):
    """Names one card: of which run, about what, in which role, through which notifier.

    ``subject`` is an approval id, several joined by ``+`` (the calls of one step that share a
    card), or ``outcome``. ``duplicate`` is empty for the card that the
    engine wanted; a second post of it (its receipt was lost) is a row of its own, named by where
    it is.
    """

    run: RunId
    subject: str
    role: Role
    notifier: str
    duplicate: str = ""

    @property
    def approvals(self) -> tuple[ApprovalId, ...]:
        """Return the approvals that this card is about; for an outcome's card nothing of sense."""
        return tuple(ApprovalId(one) for one in self.subject.split(SHARE))

    @property
    def idempotency(self) -> str:
        """Return the stable key of this card at its destination: ``<run>:<approval>``."""
        base = f"{self.run}:{self.subject}"
        return base if self.role in {Role.ASK, Role.OUTCOME} else f"{base}:{self.role.value}"


class Receipt(Frozen):
    """Where a card was shown: a place (a channel) and the message's id in it.

    ``shown`` is false where the notifier decided that this card had nothing to add there. ``also``
    names further posts of the same card; each is given a row of its own, so it is never stored.
    """

    place: str
    id: str
    link: str = ""
    note: str = ""
    shown: bool = True
    also: "tuple[Receipt, ...]" = ()


class Card(Frozen):
    """One thing shown at one destination, brought up to the wanted version of its run."""

    key: CardKey
    wanted: int
    shown: int = 0
    receipt: Receipt | None = None
    attempts: int = 0
    fence: int = 0


class EffectState(StrEnum):
    """What became of an approved call."""

    PENDING = "pending"
    RUNNING = "running"
    FINISHED = "finished"
    UNKNOWN = "unknown"


class Effect(Frozen):
    """What became of a call after its ticket closed; ``text`` is all of its result."""

    state: EffectState
    outcome: CallOutcome | None = None
    text: str = ""
    seconds: float | None = None


class Original(Frozen):
    """The arguments that the model gave a call which people edited, as they may be shown."""

    arguments: Json
    hidden: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()


class TicketNotice(Frozen):
    """All that a card about one ticket may say. Text in it is untrusted; renderers make it inert.

    ``token`` is there exactly while the ticket can be answered from this card. What looks like a
    secret, or is marked as one, is in none of the texts; ``hidden`` and ``masked`` point at the
    arguments from which it was taken, as ``redaction.Redacted`` does. ``fields`` are what may be
    edited; None where nothing may. Of edited arguments ``original`` are the model's own, and
    ``altered`` points at the arguments whose change cannot be seen, as they are secret. ``wished``
    is what is remembered if this is allowed.
    """

    kind: Literal["ticket"] = "ticket"
    role: Role
    idempotency: str
    run: RunId
    run_ref: Ref
    agent: str
    approval: ApprovalId
    ref: Ref
    target: AwaitTarget
    arguments: Json = None
    hidden: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    fields: tuple[Field, ...] | None = None
    original: Original | None = None
    altered: tuple[str, ...] = ()
    edited: Edited | None = None
    wished: Wished | None = None
    declared: Declared = UNDECLARED
    says: str = ""
    owner: PersonId
    requester: PersonId
    approvers: Approvers
    origin: Origin
    deadline: datetime | None
    held: bool = False
    digest: str
    votes: tuple[Vote, ...] = ()
    needed: int = 1
    resolution: Resolution | None = None
    effect: Effect | None = None
    token: SecretStr | None = None
    ask: Receipt | None = None


class BatchNotice(Frozen):
    """All that the one card of several tickets may say: calls of one step that ask the same people.

    Whom it asks, until when and for whom is the same for all of them.
    """

    kind: Literal["batch"] = "batch"
    role: Role
    idempotency: str
    tickets: tuple[TicketNotice, ...] = pydantic.Field(min_length=1)
    ask: Receipt | None = None

    @property
    def first(self) -> TicketNotice:
        """Return the ticket of the first call."""
        return self.tickets[0]

    @property
    def open(self) -> tuple[TicketNotice, ...]:
        """Return the tickets that are not decided."""
        return tuple(one for one in self.tickets if one.resolution is None)

    @property
    def resolution(self) -> Resolution | None:
        """Return how the last of them ended; None while one is open."""
        ends = [one.resolution for one in self.tickets if one.resolution is not None]
        done = len(ends) == len(self.tickets)
        return max(ends, key=lambda end: end.at) if done else None

    @property
    def owner(self) -> PersonId:
        """Return whom the run works for."""
        return self.first.owner

    @property
    def requester(self) -> PersonId:
        """Return who started the run."""
        return self.first.requester

    @property
    def approvers(self) -> Approvers:
        """Return who may decide each of them."""
        return self.first.approvers

    @property
    def origin(self) -> Origin:
        """Return where the run was started."""
        return self.first.origin


class OutcomeNotice(Frozen):
    """How a run ended."""

    kind: Literal["outcome"] = "outcome"
    idempotency: str
    run: RunId
    run_ref: Ref
    agent: str
    owner: PersonId
    origin: Origin
    status: RunStatus
    text: str


class HeldNotice(Frozen):
    """That asks of an agent wait, as too many are open: said once, until none waits any more.

    Attributes:
        full: Of which there are too many: the agent's asks, or those of approvers, who are named
            in ``approvers``.
        opened: How many asks are open there.
        waiting: How many of the agent's wait, at the moment ``at``.

    """

    kind: Literal["held"] = "held"
    role: Role
    idempotency: str
    run: RunId
    run_ref: Ref
    agent: str
    owner: PersonId
    origin: Origin
    approvers: Approvers
    requester: PersonId
    full: Literal["agent", "approver"]
    opened: int
    waiting: int
    at: datetime


Asked = TicketNotice | BatchNotice
"""What is told of one ticket, or of several that share a card."""
Notice = Annotated[
    TicketNotice | BatchNotice | OutcomeNotice | HeldNotice, pydantic.Field(discriminator="kind")
]


class Notifier(Protocol):
    """Port: shows a card's notice, and updates it in place when it can.

    ``audience`` is the way in by which people answer what it shows; tokens are minted for it.
    """

    audience: Via

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:
        """Show the notice, or bring the message of ``receipt`` up to it; return where it is.

        Raises:
            DeliveryError: it was not shown, or it is not known whether it was.

        """
        ...
