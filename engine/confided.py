"""What a run was told in confidence: the values that its tools' schemas mark as secret."""

from collections.abc import Iterable, Iterator

from pydantic import TypeAdapter

from engine.entries import Record, RecordKind, read_edit
from engine.redaction import redact
from engine.schema import Json

MARKS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])
"""Where a call's arguments are secret, as a record of the kind ``marks`` holds it."""
_JSON: TypeAdapter[Json] = TypeAdapter(Json)


def confided(records: Iterable[Record]) -> tuple[str, ...]:
    """Return the secrets among the arguments that a run's calls were given, edits too.

    Raises:
        UndecodableRecordError: an edit is of an unknown form.

    """
    known = tuple(records)
    marks = {
        (one.entry, one.index): MARKS.validate_json(one.body)
        for one in known
        if one.kind is RecordKind.MARKS
    }
    return tuple(dict.fromkeys(secret for one in known for secret in _in(one, marks)))


def _in(record: Record, marks: dict[tuple[int, int], tuple[str, ...]]) -> Iterator[str]:
    if record.kind is RecordKind.ARGUMENTS and (record.entry, record.index) in marks:
        marked = marks[record.entry, record.index]
        yield from redact(_JSON.validate_json(record.body), marked).secrets
    elif record.kind is RecordKind.EDIT:
        edit = read_edit(record)
        yield from redact(_JSON.validate_json(edit.arguments), edit.secrets).secrets
