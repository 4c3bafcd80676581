"""Remembered rules: an approval that settles like calls for a while, and the port that keeps them.

A rule is never about a bare tool: it names every argument of the call it was given for, and says of
each that it must be exactly what it was, or that it may be anything. A call with an argument more,
or one less, is another call.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import ClassVar, Literal, Protocol

from pydantic import Field

from engine.errors import InvalidAnswerError
from engine.guard import clip
from engine.identity import Actor, Approvers, Vote
from engine.ids import ApprovalId, PersonId, Ref, RunId
from engine.redaction import HIDDEN, escape_step, redact
from engine.schema import Frozen, Json, canonical_json, digest_of

MAX_TERMS = 64
"""Arguments of one rule, each part of an object or a list counted."""
MAX_POINTER = 500
MAX_SHOWN = 200
"""Characters of a value that are kept to be shown."""
MAX_LIVE = 100
"""Live rules of one agent for one owner."""
LASTS: Mapping[int, str] = {1: "1 hour", 8: "8 hours", 24: "1 day", 168: "7 days"}
"""For how many hours a rule may hold; never for good."""
_ID_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID_LENGTH = 9


class RememberFault(StrEnum):
    """Why an approval cannot be remembered."""

    HIGH_RISK = "high_risk"
    LATE = "late"
    ONCE = "once"
    EDITED = "edited"
    TOO_LARGE = "too_large"
    UNTELLABLE = "untellable"
    UNKNOWN_ARGUMENT = "unknown_argument"
    SECRET = "secret"  # noqa: S105 - a word for people
    NOTHING_PINNED = "nothing_pinned"
    FULL = "full"


class RememberRefusedError(InvalidAnswerError):
    """This may be approved, but not be remembered. Nothing was recorded."""

    _SAID: ClassVar = {
        RememberFault.HIGH_RISK: "calls of high risk are always asked",
        RememberFault.LATE: "others have answered this already, and did not see it",
        RememberFault.ONCE: "it was to be approved once",
        RememberFault.EDITED: "edited arguments are approved once",
        RememberFault.TOO_LARGE: f"more than {MAX_TERMS} arguments cannot be overseen",
        RememberFault.UNTELLABLE: "the names of its arguments cannot be shown",
        RememberFault.UNKNOWN_ARGUMENT: "the call has no argument {about}",
        RememberFault.SECRET: "{about} is kept secret, so it has to stay as it is",
        RememberFault.NOTHING_PINNED: "at least one argument has to stay as it is",
        RememberFault.FULL: f"{MAX_LIVE} rules for this agent and owner hold already",
    }

    def __init__(self, fault: RememberFault, about: str = "") -> None:
        """Keep the fault, and the argument it is about."""
        super().__init__(f"cannot be remembered: {self._SAID[fault].format(about=about)}")
        self.fault = fault
        self.about = about


class Wish(Frozen):
    """What a person asks for with an approval: to settle like calls, for so many hours.

    Attributes:
        loose: The arguments that may be anything, by JSON pointer; every other stays as it is.
        conversation: Only for runs of the same conversation; else for all of the same owner.

    """

    hours: Literal[1, 8, 24, 168]
    loose: tuple[str, ...] = Field(default=(), max_length=MAX_TERMS)
    conversation: bool = False


class Term(Frozen):
    """What a rule wants of one argument: what ``digest`` is the digest of; anything without one.

    ``shown`` is the value as it may be shown, clipped. The value itself is not kept.
    """

    at: str = Field(max_length=MAX_POINTER)
    shown: str = ""
    digest: str = ""

    @property
    def loose(self) -> bool:
        """Tell whether the argument may be anything."""
        return not self.digest


class Wished(Frozen):
    """A wish as it stands on a ticket for all to see who vote later: by whom, and its terms."""

    terms: tuple[Term, ...]
    hours: int
    conversation: bool
    by: Actor
    at: datetime


class Revoked(Frozen):
    """Who ended a rule before its time, and when."""

    by: Actor
    at: datetime


class RememberedRule(Frozen):
    """An approval that settles like calls: of one agent, one tool as it was, and these arguments.

    Attributes:
        approval: The ticket it was given on.
        fingerprint: Of the tool as it was; a tool that has changed is asked for again.
        owner: For whose runs it holds.
        conversation: In which conversation alone; empty for all of the owner's.
        context: The digest of the context of the run it was given in, which policies and tools
            see: another context may mean another thing. Empty where there was none.
        approvers: Who may decide such calls. It settles no call that others are asked for.
        votes: Who gave it. They have to be such as could give it still.

    """

    schema_version: Literal[1] = 1
    id: str
    approval: ApprovalId
    ref: Ref
    run: RunId
    agent: str
    tool: str
    fingerprint: str
    terms: tuple[Term, ...]
    owner: PersonId
    conversation: str = ""
    context: str = ""
    approvers: Approvers
    votes: tuple[Vote, ...]
    granted_at: datetime
    expires_at: datetime
    revoked: Revoked | None = None

    def live(self, now: datetime) -> bool:
        """Tell whether it holds at a moment."""
        return self.revoked is None and now < self.expires_at

    @property
    def over_at(self) -> datetime:
        """Return when it ended, or will end."""
        if self.revoked is None:
            return self.expires_at
        return min(self.revoked.at, self.expires_at)

    @property
    def granted_by(self) -> tuple[PersonId, ...]:
        """Return who gave it."""
        return tuple(dict.fromkeys(vote.actor.id for vote in self.votes))

    def fits(self, arguments: Json) -> bool:
        """Tell whether a call's arguments are such as the terms say."""
        found = dict(islice(leaves(arguments), len(self.terms) + 1))
        shape = shape_of(arguments)
        if found.keys() != {term.at for term in self.terms}:
            return False
        return all(
            term.loose or term.digest == _pin(self.approval, shape, term.at, found[term.at])
            for term in self.terms
        )


class RememberedRules(Protocol):
    """Port: the remembered rules of a store, in commits of their own."""

    async def keep(self, rule: RememberedRule) -> None:
        """Keep a rule, once: a rule of that id that is there stays as it is.

        Raises:
            RememberRefusedError: its agent has ``MAX_LIVE`` live rules for its owner already.
            StoreError: it is not known whether it was kept.

        """
        ...

    async def live(self, agent: str, owner: PersonId) -> tuple[RememberedRule, ...]:
        """Return the rules of an agent for an owner that hold now, by the store's clock.

        One that cannot be read is not among them.

        Raises:
            StoreError: they could not be read.

        """
        ...

    async def listed(self) -> tuple[RememberedRule, ...]:
        """Return all that are kept, those that are over too, by when they were given."""
        ...

    async def revoke(self, rule: str, revoked: Revoked) -> RememberedRule | None:
        """End a rule, unless it was revoked before; return it, or None where there is none.

        Raises:
            StoreError: it is not known whether it was revoked, or not by all replicas.

        """
        ...

    async def forget(self, older_than: datetime, *, dry_run: bool = False) -> int:
        """Remove rules that were over before a moment; return how many."""
        ...


def leaves(arguments: Json, at: str = "") -> Iterator[tuple[str, Json]]:
    """Yield each argument's innermost values with their JSON pointers, in order of the names.

    What is empty, or no object or list, has nothing inside. Arguments that are empty have none.
    """
    if isinstance(arguments, dict) and (arguments or not at):
        for name in sorted(arguments):
            yield from leaves(arguments[name], f"{at}/{escape_step(name)}")
    elif isinstance(arguments, list) and arguments:
        for number, inner in enumerate(arguments):
            yield from leaves(inner, f"{at}/{number}")
    else:
        yield at, arguments


def shape_of(arguments: Json) -> str:
    """Return which objects and lists arguments are made of: a list has the pointers of an object."""
    return canonical_json(_hollow(arguments))


def _hollow(value: Json) -> Json:
    if isinstance(value, dict) and value:
        return {name: _hollow(inner) for name, inner in value.items()}
    return [_hollow(inner) for inner in value] if isinstance(value, list) and value else None


def terms_of(
    arguments: Json, marked: Sequence[str], loose: Sequence[str], approval: str
) -> tuple[Term, ...]:
    """Return what a rule wants of calls that are like this one.

    Args:
        arguments: The call's own.
        marked: Where they are secret.
        loose: What may be anything.
        approval: The ticket they are approved on.

    Raises:
        RememberRefusedError: they are too many or cannot be shown; something else than an argument,
            or a secret one, is to be anything; or all of them.

    """
    shown = redact(arguments, marked)
    values = list(islice(leaves(arguments), MAX_TERMS + 1))
    if len(values) > MAX_TERMS:
        raise RememberRefusedError(RememberFault.TOO_LARGE)
    told = dict(islice(leaves(shown.arguments), MAX_TERMS + 1))
    if told.keys() != {at for at, _ in values} or any(len(at) > MAX_POINTER for at in told):
        raise RememberRefusedError(RememberFault.UNTELLABLE)
    whole, secret = set(shown.hidden), {*shown.hidden, *shown.masked}
    for at in loose:
        if at not in told:
            raise RememberRefusedError(RememberFault.UNKNOWN_ARGUMENT, clip(at, MAX_SHOWN))
        if at in secret:
            raise RememberRefusedError(RememberFault.SECRET, at)
    if values and set(told) <= set(loose):
        raise RememberRefusedError(RememberFault.NOTHING_PINNED)
    shape = shape_of(arguments)
    return tuple(
        Term(at=at)
        if at in loose
        else Term(
            at=at,
            # Without quotes, which every text has that reads the same.
            shown=HIDDEN if at in whole else clip(canonical_json(told[at]), MAX_SHOWN),
            digest=_pin(approval, shape, at, value),
        )
        for at, value in values
    )


def context_digest(context: Json) -> str:
    """Return what a rule keeps of the context of a run."""
    return "" if context in (None, {}) else digest_of("context", canonical_json(context))


def rule_id(approval: str) -> str:
    """Return the id of the rule that an approval makes: what people type, and always the same."""
    number, letters = int(digest_of("rule", approval), 16), ""
    for _ in range(_ID_LENGTH):
        number, digit = divmod(number, len(_ID_LETTERS))
        letters += _ID_LETTERS[digit]
    return f"R{letters}"


def until(wished: Wished, granted_at: datetime) -> datetime:
    """Return when what was wished for ends, if it was granted at a moment."""
    return granted_at + timedelta(hours=wished.hours)


def _pin(approval: str, shape: str, at: str, value: Json) -> str:
    return digest_of("pin", approval, shape, at, canonical_json(value))
