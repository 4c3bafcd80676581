"""Names for new things, in Slack's shapes: message times, view ids, trigger ids, tokens."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the epoch, as `time.time`."""

_LETTERS = string.ascii_uppercase + string.digits
_TICKS_PER_SECOND = 1_000_000


class Mint:
    """Makes ids and timestamps; with a seed the same ones in the same order."""

    def __init__(self, clock: Clock, seed: int | None = None) -> None:
        self._clock = clock
        self._random = random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311
        self._last_tick = 0

    def now(self) -> float:
        """Return the present moment in seconds since the epoch."""
        return self._clock()

    def ts(self) -> str:
        """Return a new message time; no two are the same, even when the clock stands still."""
        self._last_tick = max(round(self._clock() * _TICKS_PER_SECOND), self._last_tick + 1)
        seconds, micros = divmod(self._last_tick, _TICKS_PER_SECOND)
        return f"{seconds}.{micros:06d}"

    def word(self, prefix: str, length: int = 10) -> str:
        """Return an id such as `V0K3M9...`."""
        return prefix + "".join(self._random.choices(_LETTERS, k=length))

    def secret(self, length: int = 32) -> str:
        """Return a lower-case hexadecimal word that cannot be guessed when there is no seed."""
        return f"{self._random.getrandbits(length * 4):0{length}x}"

    def trigger_id(self) -> str:
        """Return a trigger id in the format Slack asks for, `132456.7890123.abcdef`."""
        number = self._random.randrange(10**9, 10**12)
        return f"{number}.{self._random.randrange(10**9, 10**10)}.{self.secret()}"

    def pick(self, count: int) -> int:
        """Choose one of `count` things by chance."""
        return self._random.randrange(count)
