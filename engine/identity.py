"""Who acts, who may decide, and the port that tells what someone is. Pure but for the port."""

from enum import StrEnum
from typing import Protocol

from engine.errors import NotAllowedError, Refusal
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


class Directory(Protocol):
    """Port: tells what an actor is. Asked before an answer is judged."""

    async def describe(self, actor: Actor) -> Standing:
        """Return the actor's standing in the home workspace.

        Raises:
            DirectoryUnavailableError: it cannot be told now; nobody may be let through.

        """
        ...


class OpenDirectory:
    """The Directory where there is no workspace to ask: whoever comes is taken for a member.

    For engines without Slack (tests, scripts, the terminal on one's own machine). The Approvers
    still decide who may answer.
    """

    async def describe(self, actor: Actor) -> Standing:
        """Return MEMBER for any human."""
        return Standing.MEMBER if actor.kind is ActorKind.HUMAN else Standing.BOT


class Approvers(Frozen):
    """Who may decide a ticket.

    ``people`` empty means the run's owner. Four-eyes holds for named people only: the requester
    does not count among them unless ``four_eyes`` is false.
    """

    people: tuple[PersonId, ...] = ()
    four_eyes: bool = True

    def resolve(self, owner: PersonId) -> "Approvers":
        """Return the approvers with the owner written in where nobody is named."""
        if self.people:
            return self
        return Approvers(people=(owner,) if owner else (), four_eyes=False)


OWNER = Approvers()

_REFUSED = {
    Standing.GUEST: Refusal.GUEST,
    Standing.BOT: Refusal.BOT,
    Standing.OUTSIDER: Refusal.OUTSIDER,
    Standing.DEACTIVATED: Refusal.DEACTIVATED,
    Standing.UNKNOWN: Refusal.UNKNOWN,
}


def judge(approvers: Approvers, actor: Actor, standing: Standing, requester: PersonId) -> None:
    """Let an actor decide, or refuse.

    Raises:
        NotAllowedError: the actor is not a member in good standing, is not named, or is the
            requester under four-eyes.

    """
    refusal = _refusal(approvers, actor, standing, requester)
    if refusal is not None:
        raise NotAllowedError(refusal, approvers.people)


def _refusal(
    approvers: Approvers, actor: Actor, standing: Standing, requester: PersonId
) -> Refusal | None:
    if standing is not Standing.MEMBER:
        return _REFUSED[standing]
    if not approvers.people:
        return Refusal.NOBODY
    if actor.kind is not ActorKind.HUMAN or actor.id not in approvers.people:
        return Refusal.NOT_AN_APPROVER
    if approvers.four_eyes and actor.id == requester:
        return Refusal.REQUESTER
    return None
