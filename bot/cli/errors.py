"""What a command says when it could not do its work, and the exit status it ends with."""

from bot.replies import FOR_TERMINAL, refused
from bot.store_copy import CopyStoppedError
from engine.errors import ConfigurationError, HoldshortError, UnknownAgentError
from notifiers.text import Style, inert

FAILED = 1
MISCONFIGURED = 2


def explain(error: Exception) -> tuple[str, int]:
    """Return what to say of an error, and the exit status: 1 refused or failed, 2 set up wrongly."""
    if isinstance(error, ConfigurationError):
        known = isinstance(error, UnknownAgentError)
        said = refused(error, FOR_TERMINAL) if known else str(error)
        return inert(said, Style.BOX), MISCONFIGURED
    if isinstance(error, CopyStoppedError):
        return inert(str(error)), FAILED
    if isinstance(error, HoldshortError):
        return refused(error, FOR_TERMINAL), FAILED
    if isinstance(error, OSError) and error.strerror:
        about = f"{error.filename}: " if error.filename else ""
        return inert(f"{about}{error.strerror}"), FAILED
    return inert(f"unexpected {type(error).__name__}: {error}"), FAILED
