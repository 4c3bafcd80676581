"""Logs: structured, to standard error, and never with a secret in them.

Everything is masked after it has been rendered, so that no field, exception text or foreign
logger can get around it.
"""

import logging
import re
import sys
from collections.abc import MutableMapping, Sequence
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

from engine.errors import HoldshortError
from engine.guard import kind_of, text_of
from engine.shapes import SECRET

MASK = "[masked]"

_SHAPES = re.compile(
    r"""
    # Slack tokens: bot, app-level, user, refresh.
    \b(?:xox[a-z](?:\.xox[a-z])?|xapp|xwfp)-[A-Za-z0-9-]{6,}
    # Resume tokens: two base64url parts with a dot; a torn one is known by how it begins.
    | \beyJ[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]*)?
    | [A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])
    # Response URLs and webhooks: whoever has one can post.
    | https?://hooks\.slack(?:-gov)?\.com/[^\s"'\\]*
    | https?://[^\s"'\\]*/response/[^\s"'\\]*
    # The address of a socket carries its ticket.
    | wss?://[^\s"'\\]+
    # Trigger ids: https://docs.slack.dev/interactivity/handling-user-interaction
    | \b\d{8,}\.\d{8,}\.[0-9a-f]{16,}\b
    # Signatures of Slack's requests.
    | \bv0=[0-9a-f]{64}\b
    """,
    re.VERBOSE,
)

# These log request bodies, with tokens in them: Bolt at INFO when a signature is bad
# (slack_bolt/middleware/request_verification), the SDK at DEBUG for every call and frame.
_TALKATIVE = ("slack_bolt", "slack_sdk", "aiohttp", "asyncio", "httpx", "httpcore", "urllib3")
BOLT = "slack_bolt.holdshort"
"""The logger to give to Bolt: each of its own takes the level of this one, once and for all."""


class Mask:
    """Replaces whatever looks like a secret, and the secrets that are known."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        """Take the secrets of the settings."""
        # Longest first: one secret may be the beginning of another.
        self._known = sorted({one for one in secrets if one}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        for secret in self._known:
            text = text.replace(secret, MASK)
        return SECRET.sub(MASK, _SHAPES.sub(MASK, text))


class _MaskedFormatter(structlog.stdlib.ProcessorFormatter):
    """Renders a record, then masks what came out."""

    def __init__(self, mask: Mask, processors: Sequence[Processor]) -> None:
        super().__init__(processors=processors, foreign_pre_chain=_SHARED)
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        return self._mask(super().format(record))


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def _worth_saying(record: logging.LogRecord) -> bool:
    """Stop what a talkative logger says below a warning, whatever level it was set to."""
    return record.levelno >= logging.WARNING or record.name.split(".")[0] not in _TALKATIVE


def configure_logs(
    *, secrets: Sequence[str] = (), stream: TextIO | None = None, level: int = logging.INFO
) -> None:
    """Send every log of this process to one stream: JSON, or ``key=value`` to a terminal."""
    out = stream if stream is not None else sys.stderr
    handler = logging.StreamHandler(out)
    handler.setFormatter(_MaskedFormatter(Mask(secrets), _render(tty=out.isatty())))
    handler.addFilter(_worth_saying)
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one.formatter, _MaskedFormatter)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    quieten()


def quieten() -> None:
    """Let the loggers that write request bodies say only what is wrong."""
    for name in (*_TALKATIVE, BOLT):
        logging.getLogger(name).setLevel(logging.WARNING)


def get_log(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger; what is logged goes wherever this process sends its logs."""
    log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return log


def report_fault(part: str, error: Exception) -> None:
    """Log a fault that a loop survived; with its traceback if it is none of our own errors."""
    unforeseen = None if isinstance(error, HoldshortError) else error
    get_log("holdshort").warning(
        "fault",
        part=part,
        error=kind_of(error),
        detail=text_of(error),
        exc_info=unforeseen,
    )


def _render(*, tty: bool) -> list[Processor]:
    last: Processor = (
        structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"])
        if tty
        else structlog.processors.JSONRenderer()
    )
    return [
        structlog.processors.format_exc_info,
        _drop_meta,
        last,
    ]


def _drop_meta(
    _logger: object, _name: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    event.pop("_record", None)
    event.pop("_from_structlog", None)
    return event


# Through the standard library at once: structlog by itself would print to standard output.
structlog.configure(
    processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    wrapper_class=structlog.stdlib.BoundLogger,
    logger_factory=structlog.stdlib.LoggerFactory(),
)
