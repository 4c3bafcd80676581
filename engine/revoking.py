"""Who sees a remembered rule, and who may end it before its time."""

from dataclasses import dataclass

from engine.deciders import Deciders, Question
from engine.errors import NotAllowedError, Refusal, RunNotFoundError
from engine.identity import Actor, ActorKind
from engine.ids import PersonId, Surroundings
from engine.remembered import RememberedRule, Revoked
from engine.store import Store


@dataclass(frozen=True, slots=True)
class Revoking:
    """Shows and ends remembered rules: for their owner, whoever gave them or could, the operator.

    Ending one only makes that people are asked, so everybody whose business it is may do it.
    """

    store: Store
    deciders: Deciders
    surroundings: Surroundings

    async def seen_by(self, actor: Actor, *, operator: str = "") -> tuple[RememberedRule, ...]:
        """Return the rules that somebody may see and end, those that are over too."""
        rules = await self.store.rules.listed()
        return tuple([rule for rule in rules if await self._may(rule, actor, operator)])

    async def revoke(self, name: str, actor: Actor, *, operator: str = "") -> RememberedRule:
        """End a rule, and keep who did it and when; return it. One that is over stays as it is.

        Raises:
            RunNotFoundError: no rule goes by that name.
            NotAllowedError: it is not for this actor to end it.
            StoreError: it is not known whether it was ended, or not by all replicas.

        """
        wanted = name.strip().upper()
        rules = {rule.id: rule for rule in await self.store.rules.listed()}
        if wanted not in rules:
            raise RunNotFoundError(name, listed="rules")
        rule, now = rules[wanted], self.surroundings.clock()
        if not await self._may(rule, actor, operator):
            raise NotAllowedError(Refusal.NOT_AN_APPROVER, (rule.owner, *rule.granted_by))
        ended = await self.store.rules.revoke(wanted, Revoked(by=actor, at=now))
        if ended is None:
            raise RunNotFoundError(name, listed="rules")
        return ended

    async def _may(self, rule: RememberedRule, actor: Actor, operator: str) -> bool:
        if actor.kind is not ActorKind.HUMAN:
            return False
        if actor.id in {rule.owner, *rule.granted_by} or (operator and actor.id == operator):
            return True
        return await self._could_give(rule, actor)

    async def _could_give(self, rule: RememberedRule, actor: Actor) -> bool:
        """Tell whether somebody could have approved it; of a run that is gone nobody else can say."""
        try:
            run = (await self.store.load(rule.run)).run
        except RunNotFoundError:
            return False
        asked = Question(rule.approvers, PersonId(run.requester), rule.tool)
        return await self.deciders.seat(run, asked, actor, self.surroundings.clock()) is not None
