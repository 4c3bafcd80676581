"""What a store sent to its database, and how it is sent again: as much at once as the first time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Send = Callable[[Any], Awaitable[Any]]


@dataclass(slots=True)
class Sent:
    """One thing sent.

    Attributes:
        what: A turn of the database thread, or a command.
        after: How many of the tape were back when it was sent.
        answer: What came back.

    """

    what: Any
    after: int
    answer: Any = None


class _Flight:
    """Counts what is back, and wakes the player."""

    def __init__(self) -> None:
        self.back = 0
        self._wanted = 0
        self._player: asyncio.Future[None] | None = None

    def land(self, _: object = None) -> None:
        self.back += 1
        if self._player is not None and self.back >= self._wanted:
            self._player.set_result(None)
            self._player = None

    async def until(self, wanted: int) -> None:
        if self.back < wanted:
            self._wanted = wanted
            self._player = asyncio.get_running_loop().create_future()
            await self._player


async def play(tape: list[Sent], send: Send) -> tuple[float, int]:
    """Send a tape, each once as many are back as were when it was sent first.

    So no more is under way at any moment than was then, and no less; but nothing of the engine's
    own work is done in between. What is alone under way is awaited at once, without a task.

    Returns:
        The seconds that took, and how many answers were others than the first time.

    """
    answers: list[Any] = [None] * len(tape)
    flight, tasks = _Flight(), set()

    async def one(place: int) -> None:
        answers[place] = await send(tape[place].what)

    begun = time.perf_counter()
    for place, sent in enumerate(tape):
        await flight.until(sent.after)
        if flight.back == place and _alone(tape, place):
            await one(place)
            flight.land()
        else:
            task = asyncio.create_task(one(place))
            task.add_done_callback(flight.land)
            tasks.add(task)
    await flight.until(len(tape))
    passed = time.perf_counter() - begun
    for task in tasks:
        task.result()
    return passed, sum(sent.answer != answer for sent, answer in zip(tape, answers, strict=True))


def _alone(tape: list[Sent], place: int) -> bool:
    return place + 1 == len(tape) or tape[place + 1].after == place + 1
