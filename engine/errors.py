"""Every error Holdshort raises on purpose, grouped by what the caller does next.

HoldshortError
├── ConfigurationError              fix the code or the settings, then start again
│   ├── InvalidAgentDefinitionError
│   ├── InvalidRuleError
│   ├── UnknownAgentError
│   ├── StoreUnfitError
│   ├── UnknownGroupError
│   └── StoreVersionError
├── InvalidResumeTokenError         refuse the way in; nothing changed
├── ResumeError                     tell the person; nothing changed
│   ├── RunNotFoundError
│   ├── InvalidRunStateError
│   │   ├── AlreadyDecidedError
│   │   └── AlreadyVotedError
│   ├── TicketMismatchError
│   ├── TicketExpiredError         also an InvalidResumeTokenError
│   ├── WrongDecisionError, TooEarlyError
│   ├── InvalidAnswerError
│   │   ├── InvalidArgumentsError
│   │   └── RememberRefusedError   in engine/remembered.py
│   ├── EditRefusedError, NotAllowedError
│   └── IdempotencyConflictError
├── ToolCallError                   tell the model; the run goes on
│   └── ToolHangsError             and look at the tool
├── ModelRequestError               retry the step, or fail the run
├── StoreError                      retry, or give way
│   ├── StoreUnavailableError
│   ├── StoreUnconfirmedError      do not build on it yet; ask again under the same commit id
│   ├── CommitConflictError, ClaimLostError
│   ├── DeadlinePassedError, DeadlineNotReachedError
│   ├── NoBerthError
│   ├── RefTakenError
│   ├── RunClaimedError            stop the processes that serve this store
│   └── UndecodableRecordError
├── DirectoryUnavailableError       refuse, ask to try again
└── DeliveryError                   the courier retries, or falls back
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import ClassVar


class HoldshortError(Exception):
    """Base of every error that Holdshort raises on purpose."""


class ConfigurationError(HoldshortError):
    """Something a developer or operator must fix before Holdshort can run."""


class InvalidAgentDefinitionError(ConfigurationError):
    """An Agent, or the engine around it, is defined in a way that could not be run safely."""


class InvalidRuleError(ConfigurationError):
    """A permission rule is malformed.

    ``rule`` names the rule, or the file where ``line`` says where in it; ``key`` and ``index`` are
    the word of the rule that is at fault; ``column`` counts from 1, and is 0 where it is all of it.
    """

    def __init__(
        self,
        problem: str,
        *,
        rule: str = "",
        key: str = "",
        index: int = 0,
        line: int = 0,
        column: int = 0,
    ) -> None:
        """Keep what is wrong and where."""
        place = f"{rule}:{line}:{column}" if line else " ".join(filter(None, (rule, key)))
        at = f", column {column}" if column and not line else ""
        super().__init__(f"{place}{at}: {problem}" if place else problem)
        self.problem = problem
        self.rule = rule
        self.key = key
        self.index = index
        self.line = line
        self.column = column


class UnknownAgentError(ConfigurationError):
    """No Agent of that name is registered with this engine."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        """Name the agent asked for and the ones there are."""
        listed = ", ".join(known) or "none"
        super().__init__(f"no agent named {name!r}; this engine knows: {listed}")
        self.name = name
        self.known = known


class UnknownGroupError(ConfigurationError):
    """Approvers name a group of people that the Directory does not know."""

    def __init__(self, kind: str, group: str, why: str) -> None:
        """Name the group, what kind it is, and what the Directory said."""
        super().__init__(f"the {kind} {group!r} cannot be looked up: {why}")
        self.kind = kind
        self.group = group
        self.why = why


class StoreVersionError(ConfigurationError):
    """The store was written by a newer Holdshort than this one."""


class StoreUnfitError(ConfigurationError):
    """The store's server is set up so that it might lose or delete what was decided."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Keep the lines, one for each thing that is wrong, each with its remedy."""
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class TokenFault(StrEnum):
    """Why a resume token was refused."""

    MALFORMED = "malformed"
    FORGED = "forged"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    WRONG_AUDIENCE = "wrong_audience"


class InvalidResumeTokenError(HoldshortError):
    """The token opens nothing: malformed, forged, expired, superseded, or for another way in."""

    def __init__(self, fault: TokenFault) -> None:
        """Keep the fault for the log; the text never repeats any part of the token."""
        super().__init__(f"this resume token cannot be used ({fault.value})")
        self.fault = fault


class ResumeError(HoldshortError):
    """An answer was refused. The ticket, the call and the token are exactly as they were."""


class RunNotFoundError(ResumeError):
    """No run, and no open ticket, goes by that id or ref; or no remembered rule."""

    def __init__(self, name: str, *, listed: str = "list") -> None:
        """Name what was looked for, and the command that lists such."""
        super().__init__(f"nothing here goes by {name!r}")
        self.name, self.listed = name, listed


class InvalidRunStateError(ResumeError):
    """The run is not in a state that allows this."""

    def __init__(self, message: str, *, code: str = "not_awaiting") -> None:
        """Keep a stable code beside the sentence."""
        super().__init__(message)
        self.code = code


class AlreadyDecidedError(InvalidRunStateError):
    """The ticket was decided before this answer came."""

    def __init__(self, *, decision: str, by: str, at: datetime) -> None:
        """Carry what was decided, by whom (a person's id, or ``system``) and when."""
        super().__init__(f"already decided: {decision} by {by} at {at.isoformat()}")
        self.decision = decision
        self.by = by
        self.at = at


class AlreadyVotedError(InvalidRunStateError):
    """This person has allowed this already; it takes others too."""

    def __init__(self, *, at: datetime, votes: int, needed: int) -> None:
        """Carry when they did, and how many of how many allowed it so far."""
        super().__init__(f"already allowed at {at.isoformat()}: {votes} of {needed}")
        self.at = at
        self.votes = votes
        self.needed = needed


class TicketMismatchError(ResumeError):
    """A command does not match the committed ticket on one axis, or the ticket was tampered with.

    The axis is approval, run, conversation, snapshot, fingerprint, digest or call; ``seal`` and
    ``arguments`` where what is stored is not what was committed.
    """

    def __init__(self, axis: str) -> None:
        """Name the axis."""
        super().__init__(f"the answer does not match the ticket: {axis} differs")
        self.axis = axis


class TicketExpiredError(InvalidResumeTokenError, ResumeError):
    """The answer came after the ticket's deadline, which is also its token's."""

    def __init__(self, deadline: datetime) -> None:
        """Carry the deadline that has passed."""
        super().__init__(TokenFault.EXPIRED)
        self.deadline = deadline


class WrongDecisionError(ResumeError):
    """This kind of decision cannot answer this kind of ticket."""

    def __init__(self, given: str, accepted: tuple[str, ...]) -> None:
        """Name what was given and what would be accepted."""
        super().__init__(f"{given!r} cannot answer this; it takes: {', '.join(accepted)}")
        self.given = given
        self.accepted = accepted


class InvalidAnswerError(ResumeError):
    """The typed answer does not fit what was asked. Nothing was consumed."""


class InvalidArgumentsError(InvalidAnswerError):
    """Edited arguments do not fit their tool. Nothing was consumed."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        """Keep what is wrong, each with the argument it is about (empty: with all of them)."""
        told = [f"{name}: {what}" if name else what for name, what in faults]
        super().__init__("; ".join(told))
        self.faults = tuple(faults)


class EditFault(StrEnum):
    """Why a call's arguments cannot be edited."""

    NOT_EDITABLE = "not_editable"
    POLICY = "policy"
    UNCHECKED = "unchecked"


class EditRefusedError(ResumeError):
    """These arguments may not take the place of those that were asked for."""

    _SAID: ClassVar = {
        EditFault.NOT_EDITABLE: "the arguments of {tool} cannot be edited",
        EditFault.POLICY: "the policy of {tool} denies it with these arguments",
        EditFault.UNCHECKED: "these arguments of {tool} could not be checked ({why})",
    }

    def __init__(self, fault: EditFault, tool: str, why: str = "") -> None:
        """Name the tool, and what went wrong where it could not be checked."""
        super().__init__(self._SAID[fault].format(tool=tool, why=why))
        self.fault = fault
        self.tool = tool
        self.why = why


class Refusal(StrEnum):
    """Why an actor may not decide."""

    NOT_AN_APPROVER = "not_an_approver"
    REQUESTER = "requester"
    BOT = "bot"
    GUEST = "guest"
    OUTSIDER = "outsider"
    DEACTIVATED = "deactivated"
    UNKNOWN = "unknown"
    NOBODY = "nobody"


class NotAllowedError(ResumeError):
    """This actor may not decide this ticket."""

    def __init__(
        self,
        refusal: Refusal,
        people: tuple[str, ...],
        *,
        groups: tuple[str, ...] = (),
        channels: tuple[str, ...] = (),
        on_call: bool = False,
    ) -> None:
        """Carry the reason, and who may: people, user groups, channels, whoever is on call."""
        super().__init__(f"this actor may not decide: {refusal.value}")
        self.refusal = refusal
        self.people = people
        self.groups = groups
        self.channels = channels
        self.on_call = on_call


class TooEarlyError(ResumeError):
    """An answer that is only safe later: the lost worker may still be running the tool."""

    def __init__(self, until: datetime) -> None:
        """Carry the moment from which the answer is accepted."""
        super().__init__(f"not before {until.isoformat()}: the first attempt may still be running")
        self.until = until


class IdempotencyConflictError(ResumeError):
    """The same idempotency key came with another body."""

    def __init__(self, key: str) -> None:
        """Name the key."""
        super().__init__(f"idempotency key {key!r} was used for something else")
        self.key = key


class ToolCallError(HoldshortError):
    """A tool call that cannot run as asked; the model is told and may try again."""


class ToolHangsError(ToolCallError):
    """A tool goes on beyond its time, and cannot be stopped: it keeps its thread."""


class ModelRequestError(HoldshortError):
    """The model could not be asked. ``retryable`` tells whether asking again may help."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        """Keep whether a later try may succeed."""
        super().__init__(message)
        self.retryable = retryable


class StoreError(HoldshortError):
    """The store did not take the change."""


class StoreUnavailableError(StoreError):
    """The store did not answer in time. Whether a commit was applied is told by its commit id."""


class StoreUnconfirmedError(StoreError):
    """The change is written, but no second server has confirmed that it has it.

    If the first is lost now, so may be the change. The same commit again asks the others again.
    """


class CommitConflictError(StoreError):
    """The run changed meanwhile: load it again and decide anew."""


class ClaimLostError(StoreError):
    """Another worker holds the run now; this one must stop writing to it."""


class DeadlinePassedError(StoreError):
    """The change was only allowed up to a moment that has passed (by the store's clock)."""


class DeadlineNotReachedError(StoreError):
    """The change is only allowed from a moment that has not come (by the store's clock)."""


class NoBerthError(StoreError):
    """A change asks for more than may be open now: hold the rest back, and commit again."""


class RefTakenError(StoreError):
    """A new ref is in use already: draw another and commit again."""


class RunClaimedError(StoreError):
    """A run that is to be moved is being worked on, so it is about to change."""

    def __init__(self, run: str, worker: str) -> None:
        """Name the run and who holds it."""
        super().__init__(
            f"a live claim of {worker!r} holds run {run}: stop the processes that serve this store"
        )
        self.run = run
        self.worker = worker


class UndecodableRecordError(StoreError):
    """A stored record is of an unknown version or kind. It was left untouched."""


class DirectoryUnavailableError(HoldshortError):
    """Who someone is could not be looked up, so nobody can be let through."""


class DeliveryError(HoldshortError):
    """A notice was not shown, or it is not known whether it was.

    Attributes:
        permanent: Trying the same again will not help before someone changes something.
        retry_after: Seconds that the other side asked us to wait, if it did.

    """

    def __init__(
        self, message: str, *, permanent: bool = False, retry_after: float | None = None
    ) -> None:
        """Keep what the courier needs for its next try."""
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after
