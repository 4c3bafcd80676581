"""User code held in: tools, policies, models and the like can end a call or a run, never the loop.

asyncio lets SystemExit and KeyboardInterrupt out of a task and so out of the loop with everything
on it; and ``except Exception`` misses a CancelledError that user code raised by itself.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterator

from engine.shapes import whole_secrets

MAX_TEXT_CHARS = 8_192
_CLIPPED = re.compile(r" … \([0-9,]+ characters, clipped\)\Z")
_UNREADABLE = "its text cannot be read"


class EscapeError(Exception):
    """User code raised what is meant to end a task or the process; the cause is what it raised."""


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Make an EscapeError of whatever user code raises inside that is not an Exception.

    Our own cancelling goes through, and so does the closing of a coroutine that nobody runs.

    Raises:
        EscapeError: user code raised SystemExit, KeyboardInterrupt, CancelledError or the like.

    """
    task = _current_task()
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if _is_ours(error, task):
            raise
        raise EscapeError(describe_error(error)) from error


def describe_error(error: BaseException) -> str:
    """Return an error's kind and text, whatever its author made of it, as ``clip`` leaves it."""
    if isinstance(error, EscapeError):
        return text_of(error)
    return clip(f"{kind_of(error)}: {text_of(error)}")


def kind_of(error: BaseException) -> str:
    """Return the name of an error's type; of what escaped, where it is that."""
    if isinstance(error, EscapeError) and error.__cause__ is not None:
        return kind_of(error.__cause__)
    return clip(type(error).__name__)


def text_of(error: BaseException) -> str:
    """Return an error's text as ``clip`` leaves it; a stand-in where it has none to give."""
    try:
        return clip(str(error))
    except BaseException:  # noqa: BLE001 - an author's __str__ may raise anything at all
        return _UNREADABLE


def clip(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """Return text that can be stored: no lone surrogates, at most ``limit`` characters and a count.

    What is cut is counted: ``abc … (30,000,000 characters, clipped)``. It is never cut within
    what looks like a secret: half of one would not be known for what it is.
    """
    whole = len(text) <= limit
    kept = text if whole else text[: whole_secrets(text, limit)]
    kept = kept.encode("utf-8", "backslashreplace").decode()
    return kept if whole else f"{kept} … ({len(text):,} characters, clipped)"


def split_clipped(text: str) -> tuple[str, str]:
    """Return what ``clip`` kept of a text, and the mark it set; no mark where it cut nothing."""
    found = _CLIPPED.search(text)
    return (text[: found.start()], found[0]) if found else (text, "")


def _is_ours(error: BaseException, task: "asyncio.Task[object] | None") -> bool:
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit) and _current_task() is not task


def _current_task() -> "asyncio.Task[object] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
