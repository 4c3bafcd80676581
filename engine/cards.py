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


class CardKey(Frozen):
    """Names one card: of which run, about what, in which role, through which notifier.

    ``subject`` is an approval id, or ``outcome``. ``duplicate`` is empty for the card that the
    engine wanted; a second post of it (its receipt was lost) is a row of its own, named by where
    it is.
    """

    run: RunId
    subject: str
    role: Role
    notifier: str
    duplicate: str = ""

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
    digest: str
    votes: tuple[Vote, ...] = ()
    needed: int = 1
    resolution: Resolution | None = None
    effect: Effect | None = None
    token: SecretStr | None = None
    ask: Receipt | None = None


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


Notice = Annotated[TicketNotice | OutcomeNotice, pydantic.Field(discriminator="kind")]


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
