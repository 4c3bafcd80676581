"""What a conversation is made of, and the write-once records it is kept in."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Literal

from engine.errors import UndecodableRecordError
from engine.ids import CallId
from engine.schema import Frozen, Json


class RecordKind(StrEnum):
    """What a record holds."""

    INPUT = "input"
    RESPONSE = "response"
    WORDS = "words"
    ARGUMENTS = "arguments"
    RESULT = "result"
    FIELDS = "fields"
    """What may be edited of a call that asks: ``engine.fields``."""
    MARKS = "marks"
    """Where a call's arguments are secret: ``engine.confided``."""
    EDIT = "edit"
    """Arguments that took the place of a call's own; the index is the number of its event."""


@dataclass(frozen=True, slots=True)
class Record:
    """A write-once row of a run: which entry, which call of it (0 for the others), and JSON.

    An edit's index is the number of the event that tells of it, as a call may be edited often.
    """

    entry: int
    kind: RecordKind
    index: int
    body: str


class CallOutcome(StrEnum):
    """How a call ended, as the model is told."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RETRY = "retry"
    DENIED = "denied"


class CallResult(Frozen):
    """The one result of a tool call: what the model is told, and how long the tool ran (s)."""

    call: CallId
    provider_id: str
    tool: str
    outcome: CallOutcome
    content: Json
    seconds: float | None = None


class ArgumentsEdit(Frozen):
    """What a person made of a call's arguments: canonical JSON, and where they are secret."""

    call: CallId
    arguments: str
    secrets: tuple[str, ...] = ()


class UserInput(Frozen):
    """What a person said to the agent."""

    kind: Literal["user_input"] = "user_input"
    text: str


class Step(Frozen):
    """One settled model step: the model layer's response, opaque here, and each call's result.

    ``edits`` are the last word on the arguments of those calls that people edited.
    """

    kind: Literal["step"] = "step"
    response: str
    results: tuple[CallResult, ...]
    edits: tuple[ArgumentsEdit, ...] = ()


Entry = UserInput | Step


def read_entries(records: Iterable[Record]) -> tuple[Entry, ...]:
    """Return the entries that these records make, in order.

    Raises:
        UndecodableRecordError: an entry has neither an input nor a response.

    """
    ordered = sorted(records, key=lambda record: (record.entry, record.kind, record.index))
    return tuple(
        _read_entry(number, tuple(group))
        for number, group in groupby(ordered, key=lambda record: record.entry)
    )


def _read_entry(number: int, records: tuple[Record, ...]) -> Entry:
    bodies = {record.kind: record.body for record in records}
    if RecordKind.INPUT in bodies:
        return UserInput.model_validate_json(bodies[RecordKind.INPUT])
    if RecordKind.RESPONSE not in bodies:
        raise UndecodableRecordError(f"entry {number} holds neither an input nor a response")
    results = tuple(
        CallResult.model_validate_json(record.body)
        for record in records
        if record.kind is RecordKind.RESULT
    )
    edits = tuple(edit for edit in read_edits(records).values() if not _is_own(edit, records))
    return Step(response=bodies[RecordKind.RESPONSE], results=results, edits=edits)


def _is_own(edit: ArgumentsEdit, records: tuple[Record, ...]) -> bool:
    """Tell whether an edit put the model's own arguments back."""
    index = int(edit.call.rpartition(".")[2])
    own = (record for record in records if record.kind is RecordKind.ARGUMENTS)
    return any(record.index == index and record.body == edit.arguments for record in own)


def read_edits(records: Iterable[Record]) -> dict[CallId, ArgumentsEdit]:
    """Return the last edit of each call that was edited; the records are of one entry.

    Raises:
        UndecodableRecordError: a record holds something else.

    """
    edits = sorted((r for r in records if r.kind is RecordKind.EDIT), key=lambda r: r.index)
    return {edit.call: edit for edit in map(read_edit, edits)}


def read_edit(record: Record) -> ArgumentsEdit:
    """Return the edit that a record holds.

    Raises:
        UndecodableRecordError: it holds something else.

    """
    try:
        return ArgumentsEdit.model_validate_json(record.body)
    except ValueError as error:
        raise UndecodableRecordError("a stored edit is of an unknown form") from error
