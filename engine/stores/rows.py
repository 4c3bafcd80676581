"""How moments, runs, events and cards are written as columns and read back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from engine.cards import Card, CardKey, Receipt, Role
from engine.entries import Record, RecordKind
from engine.errors import UndecodableRecordError
from engine.events import RunEvent
from engine.ids import RunId
from engine.remembered import RememberedRule
from engine.runs import Run
from engine.tickets import ResumeTicket

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EVENTS = TypeAdapter(tuple[RunEvent, ...])

T = TypeVar("T")
Row = tuple[Any, ...]
OnUndecodable = Callable[[UndecodableRecordError], None]


def to_micros(moment: datetime) -> int:
    """Return a moment as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def to_moment(micros: int) -> datetime:
    """Return the moment that many microseconds after 1970."""
    return _EPOCH + micros * _MICROSECOND


def span(duration: timedelta) -> int:
    """Return a duration in microseconds."""
    return duration // _MICROSECOND


def read_run(run: RunId, body: str) -> Run:
    """Return a run from its body.

    Raises:
        UndecodableRecordError: it is of an unknown version, or damaged.

    """
    return _decoded(Run.model_validate_json, body, run, "the run")


def read_ticket(run: RunId, body: str) -> ResumeTicket:
    """Return a closed ticket of a run.

    Raises:
        UndecodableRecordError: it is of an unknown version, or damaged.

    """
    return _decoded(ResumeTicket.model_validate_json, body, run, "a ticket")


def write_events(events: tuple[RunEvent, ...]) -> str:
    """Return events as a JSON array."""
    return _EVENTS.dump_json(events).decode()


def read_events(run: RunId, body: str) -> tuple[RunEvent, ...]:
    """Return events from a JSON array.

    Raises:
        UndecodableRecordError: one is of an unknown kind, or damaged.

    """
    return _decoded(_EVENTS.validate_json, body, run, "its events")


def read_record(run: RunId, row: Row) -> Record:
    """Return a record from (entry, kind, idx, body).

    Raises:
        UndecodableRecordError: it is of an unknown kind.

    """
    entry, kind, index, body = row
    try:
        return Record(entry, RecordKind(kind), index, body)
    except ValueError as error:
        raise _undecodable(run, f"record {entry}.{index}", error) from error


def read_receipt(run: RunId, body: str | None) -> Receipt | None:
    """Return a card's receipt, if it has one.

    Raises:
        UndecodableRecordError: it is of an unknown version, or damaged.

    """
    if body is None:
        return None
    return _decoded(Receipt.model_validate_json, body, run, "a card's receipt")


def read_card(row: Row) -> Card:
    """Return a card from its row.

    The columns: number, run id, subject, role, notifier, duplicate, wanted, shown, attempts,
    fence, receipt.

    Raises:
        UndecodableRecordError: its role is unknown, or its receipt cannot be read.

    """
    _, run, subject, role, notifier, duplicate, wanted, shown, attempts, fence, receipt = row
    try:
        return Card(
            key=CardKey(
                run=run, subject=subject, role=Role(role), notifier=notifier, duplicate=duplicate
            ),
            wanted=wanted,
            shown=shown,
            receipt=read_receipt(run, receipt),
            attempts=attempts,
            fence=fence,
        )
    except ValueError as error:
        raise _undecodable(run, f"a card ({role})", error) from error


def read_rule(name: str, body: str | bytes) -> RememberedRule:
    """Return a remembered rule.

    Raises:
        UndecodableRecordError: it is of an unknown version, or damaged.

    """
    try:
        return RememberedRule.model_validate_json(body)
    except ValidationError as error:
        raise UndecodableRecordError(
            f"the remembered rule {name} cannot be read ({error.error_count()} faults);"
            " was it written by a newer Holdshort?"
        ) from error


class Readable:
    """Reads rows that others must not wait for: one that cannot be read is passed over.

    It is reported once, and remembered with its version, so that the next poll does not try again.
    Nothing is written: the process that wrote the row may be running beside this one.
    """

    def __init__(self, report: OnUndecodable | None) -> None:
        """Take what is called with each row that cannot be read."""
        self._report = report
        self._known: set[tuple[str, int]] = set()

    def run(self, run: RunId, version: int, body: str) -> Run | None:
        """Return a run, or None where it cannot be read."""
        name = (run, version)
        if name in self._known:
            return None
        try:
            return read_run(run, body)
        except UndecodableRecordError as error:
            self._remember(name, error)
            return None

    def look(self, run: RunId, body: str) -> None:
        """Report a run that cannot be read, and remember nothing: it is about to go."""
        try:
            read_run(run, body)
        except UndecodableRecordError as error:
            if self._report is not None:
                self._report(error)

    def card(self, row: Row) -> Card | None:
        """Return a card, or None where it cannot be read."""
        name = (f"card {row[0]}", int(row[6]))
        if name in self._known:
            return None
        try:
            return read_card(row)
        except UndecodableRecordError as error:
            self._remember(name, error)
            return None

    def rule(self, name: str, body: str | bytes) -> RememberedRule | None:
        """Return a remembered rule, or None where it cannot be read."""
        known = (f"rule {name}", 1)
        if known in self._known:
            return None
        try:
            return read_rule(name, body)
        except UndecodableRecordError as error:
            self._remember(known, error)
            return None

    @property
    def passed_over(self) -> tuple[tuple[str, int], ...]:
        """Return the names and versions that are known to be unreadable."""
        return tuple(self._known)

    def known(self, name: str, version: int) -> bool:
        """Tell whether that version of a run (or ``card <number>``) is known to be unreadable."""
        return (name, version) in self._known

    def _remember(self, name: tuple[str, int], error: UndecodableRecordError) -> None:
        self._known.add(name)
        if self._report is not None:
            self._report(error)


def _decoded(decode: Callable[[str], T], body: str, run: RunId, what: str) -> T:
    try:
        return decode(body)
    except ValidationError as error:
        raise _undecodable(run, what, error) from error


def _undecodable(run: str, what: str, error: ValueError) -> UndecodableRecordError:
    # The error's own text would repeat what was stored, which may be anybody's words.
    count = error.error_count() if isinstance(error, ValidationError) else 1
    return UndecodableRecordError(
        f"run {run}: {what} cannot be read ({count} faults); was it written by a newer Holdshort?"
    )
