"""Who acts, who may decide, and the port that tells what someone is. Pure but for the port."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from engine.errors import NotAllowedError, Refusal, UnknownGroupError
from engine.ids import PersonId
from engine.schema import Frozen


class ActorKind(StrEnum):
    """What sort of being acts."""

    HUMAN = "human"
    SYSTEM = "system"


class Via(StrEnum):
    """The way in by which an actor came; also the audience of a token."""

    SLACK = "slack"
    TERMINAL = "terminal"
    API = "api"
    SYSTEM = "system"


class Actor(Frozen):
    """Someone who acts: canonical identity (kind, team, id) and the way in.

    ``team`` is the workspace the person belongs to; empty means the home workspace, which is what
    a person named by id alone (an owner, an operator) is taken to belong to.
    """

    kind: ActorKind = ActorKind.HUMAN
    team: str = ""
    id: PersonId
    via: Via

    @property
    def key(self) -> str:
        """Return the canonical text of this identity, without the way in."""
        return f"{self.kind.value}:{self.team}:{self.id}"


SYSTEM = Actor(kind=ActorKind.SYSTEM, id=PersonId("system"), via=Via.SYSTEM)


class Standing(StrEnum):
    """What the Directory says of an actor."""

    MEMBER = "member"
    GUEST = "guest"
    BOT = "bot"
    OUTSIDER = "outsider"
    DEACTIVATED = "deactivated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Person:
    """What the Directory says of an actor.

    Attributes:
        id: The one id under which this human is counted, whatever way they came.
        standing: What they are in the home workspace.
        ids: Every id by which Approvers may name them. Empty for whoever no name may fit.

    """

    id: PersonId
    standing: Standing
    ids: frozenset[PersonId]


class GroupKind(StrEnum):
    """What people a group is made of."""

    USERS = "user group"
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True)
class Group:
    """A name that stands for several people, whom only the Directory knows."""

    kind: GroupKind
    id: str


class Directory(Protocol):
    """Port: tells what an actor is, and who is in a group. Asked before an answer is judged."""

    async def describe(self, actor: Actor) -> Person:
        """Return what the actor is in the home workspace.

        Raises:
            DirectoryUnavailableError: it cannot be told now; nobody may be let through.

        """
        ...

    async def members(self, group: Group) -> frozenset[PersonId]:
        """Return the people of a group, as of at most a minute ago.

        Raises:
            UnknownGroupError: there is no such group.
            DirectoryUnavailableError: it cannot be told now.

        """
        ...

    async def find(self, email: str) -> PersonId | None:
        """Return the member with this e-mail address; None where there is none.

        Raises:
            UnknownGroupError: addresses cannot be looked up here at all.
            DirectoryUnavailableError: it cannot be told now.

        """
        ...


class OpenDirectory:
    """The Directory where there is no workspace to ask: whoever comes is taken for a member.

    For engines without Slack (tests, scripts, the terminal on one's own machine). The Approvers
    still decide who may answer, and no group has anybody in it.
    """

    async def describe(self, actor: Actor) -> Person:
        """Return a MEMBER for any human."""
        human = actor.kind is ActorKind.HUMAN
        standing = Standing.MEMBER if human else Standing.BOT
        return Person(actor.id, standing, frozenset({actor.id} if human else ()))

    async def members(self, group: Group) -> frozenset[PersonId]:
        """Refuse: there is nobody who knows groups.

        Raises:
            UnknownGroupError: always.

        """
        raise UnknownGroupError(group.kind.value, group.id, "there is no workspace to ask")

    async def find(self, email: str) -> PersonId | None:  # noqa: ARG002
        """Return None: an e-mail address is nobody's here, unless it is the actor's own id."""
        return None


class StandIn(Frozen):
    """Somebody who may decide in the place of an approver, until a moment."""

    absent: PersonId
    by: PersonId
    until: datetime


class Approvers(Frozen):
    """Who may decide a ticket, and how many of them it takes.

    With nobody named it is the run's owner. Named people, groups and channels are under
    four-eyes: the requester does not count unless ``four_eyes`` is false.

    Attributes:
        people: By id, or by e-mail address.
        groups: User groups by id; who is in them is looked up when somebody decides.
        channels: Channels by id: every member of them may decide.
        on_call: Whoever the agent's on-call function names when somebody decides.
        quorum: How many distinct people must allow a call. One Deny is always enough.
        four_eyes: The requester does not count.
        admitted: Guests, people of other workspaces and bots who count if they are named above;
            anyone else of them is refused though named.
        stand_ins: Who may decide in whose place, and until when.

    """

    people: tuple[PersonId, ...] = ()
    groups: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    on_call: bool = False
    quorum: int = 1
    four_eyes: bool = True
    admitted: tuple[PersonId, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()

    @property
    def empty(self) -> bool:
        """Tell whether nobody is named in any way."""
        return not (self.people or self.groups or self.channels or self.on_call)

    def just(self, person: PersonId) -> bool:
        """Tell whether nobody but this person may decide."""
        return self.people == (person,) and not (self.crowd or self.on_call or self.stand_ins)

    @property
    def crowd(self) -> tuple[Group, ...]:
        """Return every group of people that is named."""
        return (
            *(Group(GroupKind.USERS, one) for one in self.groups),
            *(Group(GroupKind.CHANNEL, one) for one in self.channels),
        )

    @property
    def most(self) -> int | None:
        """Return how many seats there are, or None where only the moment of a click can tell."""
        if self.crowd or self.on_call:
            return None
        return len({fold(person) for person in self.people}) if self.people else 1

    def resolve(self, owner: PersonId) -> "Approvers":
        """Return the approvers with the owner written in where nobody is named."""
        if not self.empty:
            return self
        people = (owner,) if owner else ()
        return self.model_copy(update={"people": people, "four_eyes": False})


OWNER = Approvers()


class Vote(Frozen):
    """One person's Allow, on a ticket that may need several.

    ``seat`` is whose vote it is: the person's own, or that of whom they stand in for. A person has
    one vote, and a seat counts once.
    """

    actor: Actor
    person: PersonId
    seat: PersonId
    at: datetime


def is_email(name: str) -> bool:
    """Tell whether somebody is named by an e-mail address."""
    return "@" in name


def fold(name: PersonId) -> PersonId:
    """Return a name in the form in which two of the same are equal: addresses ignore case."""
    return PersonId(name.lower()) if is_email(name) else name


@dataclass(frozen=True, slots=True)
class Claimant:
    """Whoever wants to decide, and what was found out about them at that moment.

    Attributes:
        actor: Who acts, as the way in proved it.
        person: What the Directory says of them.
        seat: Whose vote they may give; None where the Approvers do not name them.
        requested: They started the run.

    """

    actor: Actor
    person: Person
    seat: PersonId | None
    requested: bool


_REFUSED = {
    Standing.GUEST: Refusal.GUEST,
    Standing.BOT: Refusal.BOT,
    Standing.OUTSIDER: Refusal.OUTSIDER,
    Standing.DEACTIVATED: Refusal.DEACTIVATED,
    Standing.UNKNOWN: Refusal.UNKNOWN,
}
_ADMISSIBLE = frozenset({Standing.GUEST, Standing.BOT, Standing.OUTSIDER})


def stands(approvers: Approvers, person: Person) -> bool:
    """Tell whether someone's standing lets them decide at all: a member, or admitted by name."""
    if person.standing is Standing.MEMBER:
        return True
    return person.standing in _ADMISSIBLE and not person.ids.isdisjoint(approvers.admitted)


def judge(approvers: Approvers, claimant: Claimant) -> PersonId:
    """Return the seat that whoever wants to decide may take, or refuse them.

    Raises:
        NotAllowedError: they are not in good standing, are not named, or are the requester under
            four-eyes.

    """
    refusal = _refusal(approvers, claimant)
    if refusal is not None or claimant.seat is None:
        raise NotAllowedError(
            refusal or Refusal.NOT_AN_APPROVER,
            approvers.people,
            groups=approvers.groups,
            channels=approvers.channels,
            on_call=approvers.on_call,
        )
    return claimant.seat


def _refusal(approvers: Approvers, claimant: Claimant) -> Refusal | None:
    if not stands(approvers, claimant.person):
        return _REFUSED[claimant.person.standing]
    if approvers.empty:
        return Refusal.NOBODY
    if claimant.actor.kind is not ActorKind.HUMAN or claimant.seat is None:
        return Refusal.NOT_AN_APPROVER
    if approvers.four_eyes and claimant.requested:
        return Refusal.REQUESTER
    return None
