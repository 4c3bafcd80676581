"""The one way from a person's word in Slack to the engine: recorded first, told afterwards."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from bot.bootstrap import SLACK
from bot.interactions import Place
from bot.logs import get_log
from bot.replies import FOR_SLACK, slow_store, told
from bot.tasks import Attempt, Patience, Tasks
from bot.whispers import Whispers
from engine import Actor, Decision, Recorded, RunEngine, Via
from engine.cards import Receipt, TicketNotice
from engine.errors import HoldshortError, InvalidResumeTokenError

T = TypeVar("T")
Outcome = Recorded | HoldshortError
_log = get_log(__name__)


class Desk:
    """Takes answers to the engine, and waits for the store only as long as Slack lets us."""

    def __init__(
        self,
        engine: RunEngine,
        whispers: Whispers,
        tasks: Tasks,
        patience: Patience,
        operator: str = "",
    ) -> None:
        """Take the engine, a way to tell people, where work is held, and who the operator is."""
        self.engine = engine
        self.operator = operator
        self.whispers = whispers
        self._tasks = tasks
        self._patience = patience

    def submit(self, token: str, decision: Decision, actor: Actor) -> Attempt[Outcome]:
        """Begin to record an answer."""
        return self.attempt(self.record(token, decision, actor))

    async def record(self, token: str, decision: Decision, actor: Actor) -> Recorded:
        """Record an answer, and log who gave it and what came of it, not what they said.

        Raises:
            HoldshortError: refused, or it is not known whether it was recorded.

        """
        log = _log.bind(actor=actor.key, decision=decision.kind)
        try:
            key = self.engine.answers.key(token, decision, actor)
            done = await self.engine.resume(token, decision, actor=actor, idempotency_key=key)
        except HoldshortError as error:
            log.warning("an answer was not taken", error=type(error).__name__, why=str(error))
            raise
        log.info("an answer was recorded", run=done.run, ref=done.ref)
        return done

    def attempt(self, work: Coroutine[Any, Any, T]) -> "Attempt[T | HoldshortError]":
        """Begin any work of the engine's for a person; its own errors become its outcome."""
        return Attempt(self._tasks.start(_outcome(work)), self._patience)

    def look(self, token: str) -> "Attempt[TicketNotice | HoldshortError]":
        """Begin to read what a person is shown of a ticket."""
        return self.attempt(self.engine.notice(token, Via.SLACK))

    async def tell(self, place: Place, outcome: Outcome | None) -> None:
        """Tell a person what came of their answer; None: the store never said."""
        text = slow_store() if outcome is None else told(outcome, FOR_SLACK, place.person)
        await self.whispers.tell(place, text)

    async def adopt(self, token: str, card: Receipt | None) -> None:
        """Take in the card that was pressed, in case its receipt was lost."""
        if card is None:
            return
        try:
            await self.engine.adopt(token, Via.SLACK, SLACK, card)
        except InvalidResumeTokenError:
            return
        except HoldshortError as error:
            _log.warning("a card was not adopted", error=type(error).__name__)


async def _outcome(work: Coroutine[Any, Any, T]) -> T | HoldshortError:
    try:
        return await work
    except HoldshortError as error:
        return error
