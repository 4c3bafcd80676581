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


@dataclass(frozen=True, slots=True)
class Record:
    """A write-once row of a run: which entry, which call of it (0 for the others), and JSON."""

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


class UserInput(Frozen):
    """What a person said to the agent."""

    kind: Literal["user_input"] = "user_input"
    text: str


class Step(Frozen):
    """One settled model step: the model layer's response, opaque here, and each call's result."""

    kind: Literal["step"] = "step"
    response: str
    results: tuple[CallResult, ...]


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
    return Step(response=bodies[RecordKind.RESPONSE], results=results)
