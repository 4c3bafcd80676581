"""A Directory that tests fill in, and a run without the traces that a refusal leaves."""

from dataclasses import dataclass, field

from engine.errors import DirectoryUnavailableError, UnknownGroupError
from engine.identity import Actor, ActorKind, Group, Person, Standing
from engine.ids import PersonId
from engine.runs import Run


@dataclass
class Town:
    """Everyone is a member unless said otherwise; ``aliases`` tell the one id of whoever has two."""

    standings: dict[str, Standing] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    down: bool = False

    async def describe(self, actor: Actor) -> Person:
        self._check()
        if actor.kind is not ActorKind.HUMAN:
            return Person(actor.id, Standing.BOT, frozenset())
        one = PersonId(self.aliases.get(actor.id, actor.id))
        standing = self.standings.get(actor.id, Standing.MEMBER)
        return Person(one, standing, frozenset({one, actor.id}))

    async def members(self, group: Group) -> frozenset[PersonId]:
        self._check()
        if group.id not in self.groups:
            raise UnknownGroupError(group.kind.value, group.id, "nobody knows it")
        return frozenset(PersonId(who) for who in self.groups[group.id])

    async def find(self, email: str) -> PersonId | None:
        self._check()
        found = self.addresses.get(email)
        return PersonId(found) if found else None

    def _check(self) -> None:
        if self.down:
            raise DirectoryUnavailableError("the town is away")


def but_for_attempts(run: Run) -> Run:
    """Return a run without what is kept of refused attempts, to compare the rest of it."""
    kept = {"version": 0, "event_count": 0, "event_head": "", "refused": ()}
    return run.model_copy(update=kept)
