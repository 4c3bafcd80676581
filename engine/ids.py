"""Names: the types of ids, how they are minted, and how a moment is passed to pure code."""

import hashlib
import logging
import os
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NewType

from engine.guard import describe_error

RunId = NewType("RunId", str)
ApprovalId = NewType("ApprovalId", str)
CallId = NewType("CallId", str)
TokenId = NewType("TokenId", str)
CommitId = NewType("CommitId", str)
OpId = NewType("OpId", str)
Ref = NewType("Ref", str)
PersonId = NewType("PersonId", str)

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
REF_LENGTH = 6
_LETTERS = bytes(ord(CROCKFORD[byte & 31]) for byte in range(256))
_CONFUSED = str.maketrans({"O": "0", "I": "1", "L": "1"})

Entropy = Callable[[int], bytes]
Clock = Callable[[], datetime]
Report = Callable[[str, Exception], None]


def log_fault(part: str, error: Exception) -> None:
    """Log a fault that a loop survived, without a traceback: its text holds no secrets."""
    logging.getLogger("holdshort").warning("%s: %s", part, describe_error(error))


def utc_now() -> datetime:
    """Return the wall clock as an aware datetime in UTC."""
    return datetime.now(UTC)


def normalise_ref(typed: str) -> Ref:
    """Return what a person meant by a typed ref: upper case, with O, I and L read as digits.

    Crockford's base 32 defines these readings (https://www.crockford.com/base32.html).
    """
    return Ref(typed.strip().upper().translate(_CONFUSED))


def place_for(key: str) -> str:
    """Return the place where what has this key belongs: one of 0 to 9 and a to f.

    Every run id begins with its place, and every ref of it, whichever store it is in: a store that
    is spread over servers must know from a name alone where to look. The rule is fixed for good.
    """
    return hashlib.blake2b(key.encode(), digest_size=1).hexdigest()[0]


def place_of(run: RunId) -> str:
    """Return the place that a run's id names; none in one made before ids had a place."""
    place, prefix, _ = run.partition("run_")
    return place if prefix else ""


class Pool:
    """Random bytes of the system, taken in from it many at a time.

    Each time the system is asked, Python lets another thread run, and waits for its turn again:
    with a busy database thread that took longer than all else in a transition.
    """

    CHUNK = 32
    """Bytes that are given out at most at a time; no byte is given out twice."""
    _CHUNKS = 64

    def __init__(self) -> None:
        """Start empty. A forked process starts empty too, or it would mint its parent's ids."""
        self._chunks: deque[bytes] = deque()
        os.register_at_fork(after_in_child=self._chunks.clear)

    def __call__(self, count: int) -> bytes:
        """Return that many random bytes, 32 at most."""
        while True:
            try:
                return self._chunks.popleft()[:count]  # atomic: any thread may ask
            except IndexError:
                drawn = secrets.token_bytes(self.CHUNK * self._CHUNKS)
                self._chunks.extend(
                    drawn[start : start + self.CHUNK] for start in range(0, len(drawn), self.CHUNK)
                )


_POOL = Pool()


@dataclass(frozen=True, slots=True)
class Ids:
    """Mints ids from injected entropy, so that a test can know them."""

    entropy: Entropy = _POOL

    def new(self, prefix: str) -> str:
        """Return ``<prefix>_`` and 20 Crockford characters (100 random bits)."""
        return f"{prefix}_{self._draw(20).lower()}"

    def ref(self, place: str = "") -> Ref:
        """Return six Crockford characters for a person to type (25 random bits and a place).

        The run's place is the first of them: whoever has the ref knows where to look.
        """
        return Ref(place.upper() + self._draw(REF_LENGTH - len(place)))

    def _draw(self, length: int) -> str:
        return self.entropy(length).translate(_LETTERS).decode("ascii")


@dataclass(frozen=True, slots=True)
class Moment:
    """What a pure transition is given from outside: the time, and a source of ids."""

    now: datetime
    ids: Ids


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The impure world, injected once: a clock, a source of ids, and where faults are told.

    ``report`` is told of faults that the loops survive: which part, and the error.
    ``tool_threads``: how many synchronous tools may run at once, hanging ones among them.
    """

    clock: Clock = utc_now
    ids: Ids = Ids()
    report: Report = log_fault
    tool_threads: int = 64

    def moment(self) -> Moment:
        """Return the present moment."""
        return Moment(self.clock(), self.ids)
