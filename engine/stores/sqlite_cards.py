"""Cards: which are behind, who is showing them, and what is shown where. Lite writes."""

import json
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from engine.cards import Card, CardKey, Receipt
from engine.ids import Clock, RunId
from engine.stores.packing import pack, unpack
from engine.stores.rows import Readable, read_card, read_receipt, span, to_micros
from engine.stores.sqlite_database import Database, Row, Sync

_BEHIND = """
SELECT cards.number, runs.id, subject, role, notifier, duplicate, wanted, shown, attempts,
    cards.fence, receipt
FROM cards JOIN runs ON runs.number = cards.run
WHERE wanted > shown AND due_at <= ?
ORDER BY due_at, cards.number
"""
_TAKE = """
UPDATE cards SET fence = fence + 1, attempts = attempts + 1, courier = :courier, due_at = :until
WHERE number IN (SELECT value FROM json_each(:numbers)) AND wanted > shown AND due_at <= :now
RETURNING number, (SELECT id FROM runs WHERE runs.number = cards.run), subject, role, notifier,
    duplicate, wanted, shown, attempts - 1, fence, receipt
"""
_CARDS = """
SELECT cards.number, runs.id, subject, role, notifier, duplicate, wanted, shown, attempts,
    cards.fence, receipt
FROM runs JOIN cards ON cards.run = runs.number
WHERE runs.id = ?
ORDER BY cards.number
"""
_STANDING = """
SELECT fence, receipt FROM cards
WHERE run = (SELECT number FROM runs WHERE id = :run) AND subject = :subject AND role = :role
    AND notifier = :notifier AND duplicate = :duplicate
"""
# Only where nobody else took the card, or found a message of it, meanwhile. A notifier with nothing
# to add does not make the message that is there go away.
_SHOWN = """
UPDATE cards SET shown = max(shown, :version), due_at = :now, attempts = 0, courier = NULL,
    receipt = CASE WHEN :visible OR receipt IS NULL THEN :receipt ELSE receipt END
WHERE run = (SELECT number FROM runs WHERE id = :run) AND subject = :subject AND role = :role
    AND notifier = :notifier AND duplicate = :duplicate AND fence = :fence AND receipt IS :seen
RETURNING wanted
"""
_FAILED = """
UPDATE cards SET due_at = :retry_at, courier = NULL
WHERE run = (SELECT number FROM runs WHERE id = :run) AND subject = :subject AND role = :role
    AND notifier = :notifier AND duplicate = :duplicate
    AND fence = :fence AND courier IS NOT NULL
"""
_POSTS = """
SELECT number, duplicate, receipt FROM cards
WHERE run = (SELECT number FROM runs WHERE id = :run) AND subject = :subject AND role = :role
    AND notifier = :notifier
"""
# Behind from now on, whatever was shown before this message was known.
_ATTACH = "UPDATE cards SET receipt = :receipt, shown = 0 WHERE number = :number"
_DUPLICATE = """
INSERT INTO cards (run, subject, role, notifier, duplicate, wanted, shown, due_at, receipt)
SELECT runs.number, :subject, :role, :notifier, :name, coalesce(cards.wanted, runs.version), 0,
    :now, :receipt
FROM runs LEFT JOIN cards ON cards.run = runs.number AND subject = :subject AND role = :role
    AND notifier = :notifier AND duplicate = ''
WHERE runs.id = :run
"""


def take(
    database: Database,
    courier: str,
    lease: timedelta,
    limit: int,
    clock: Clock,
    readable: Readable,
) -> tuple[Card, ...]:
    """Lease cards that are behind and due, passing over those that cannot be read."""
    now = to_micros(clock())
    with database.each(_BEHIND, (now,)) as rows:
        numbers = list(islice((row[0] for row in rows if readable.card(_unpacked(row))), limit))
    if not numbers:
        return ()
    taken = database.lite_returning(
        _TAKE,
        {
            "courier": courier,
            "until": now + span(lease),
            "now": now,
            "numbers": json.dumps(numbers),
        },
    )
    taken.sort(key=lambda row: numbers.index(row[0]))
    return tuple(card for row in taken if (card := readable.card(_unpacked(row))) is not None)


def of_run(database: Database, run: RunId) -> tuple[Card, ...]:
    """Return a run's cards in the order they were made."""
    return tuple(read_card(_unpacked(row)) for row in database.all(_CARDS, (run,)))


def shown(database: Database, card: Card, version: int, receipt: Receipt, clock: Clock) -> bool:
    """Record what a card shows; tell whether it, or another post of it, is behind now."""
    values = {
        **_names(card.key),
        "version": version,
        "receipt": _packed(receipt),
        "visible": receipt.shown,
        "seen": _packed(card.receipt) if card.receipt else None,
        "fence": card.fence,
        "now": to_micros(clock()),
    }
    rows = database.lite_returning(_SHOWN, values)
    if rows:
        return version < int(rows[0][0])
    with database.transaction(Sync.NORMAL):
        return _shown_after_all(database, card, receipt, values)


def _shown_after_all(
    database: Database, card: Card, receipt: Receipt, values: dict[str, Any]
) -> bool:
    row = database.one(_STANDING, values)
    if row is None:
        return False
    fence, body = row
    if fence != card.fence:
        return _keep(database, card.key, receipt, values["now"])
    ((wanted,),) = database.all(_SHOWN, {**values, "seen": body})
    # The message that became known while this one was being posted has lost its row.
    before = _read_receipt(card.key.run, body)
    displaced = not _same(before, card.receipt)
    displaced = displaced and _keep(database, card.key, before, values["now"])
    return displaced or values["version"] < int(wanted)


def failed(database: Database, card: Card, retry_at: datetime) -> None:
    """Give the lease back, if it still is this one."""
    values = {**_names(card.key), "fence": card.fence, "retry_at": to_micros(retry_at)}
    database.lite(_FAILED, values)


def adopt(database: Database, key: CardKey, receipt: Receipt, clock: Clock) -> bool:
    """Take a message in as a post of this card; tell whether it was unknown."""
    with database.transaction(Sync.NORMAL):
        return _keep(database, key, receipt, to_micros(clock()))


def _keep(database: Database, key: CardKey, receipt: Receipt | None, now: int) -> bool:
    """Give a message a row, unless it has one; tell whether it was given one."""
    if receipt is None or not receipt.shown:
        return False
    posts = [
        (number, duplicate, _read_receipt(key.run, body))
        for number, duplicate, body in database.all(_POSTS, _names(key))
    ]
    if any(_same(known, receipt) for _, _, known in posts):
        return False
    body = _packed(receipt)
    for number, duplicate, known in posts:
        if not duplicate and (known is None or not known.shown):
            return database.change(_ATTACH, {"number": number, "receipt": body}) > 0
    name = f"{receipt.place}/{receipt.id}" if posts else ""
    # The row of that name may be of another message by now, if that one was posted anew.
    if any(name == duplicate for _, duplicate, _ in posts):
        name = f"{name}#{len(posts)}"
    values = {**_names(key), "name": name, "receipt": body, "now": now}
    return database.change(_DUPLICATE, values) > 0


def _packed(receipt: Receipt) -> bytes:
    return pack(receipt.model_dump_json())


def _unpacked(row: Row) -> Row:
    *names, receipt = row
    return (*names, None if receipt is None else unpack(receipt))


def _read_receipt(run: RunId, body: bytes | None) -> Receipt | None:
    return read_receipt(run, None if body is None else unpack(body))


def _same(one: Receipt | None, other: Receipt | None) -> bool:
    """Tell whether two receipts name one message."""
    if one is None or other is None:
        return one is other
    return (one.place, one.id) == (other.place, other.id)


def _names(key: CardKey) -> dict[str, object]:
    return {
        "run": key.run,
        "subject": key.subject,
        "role": key.role.value,
        "notifier": key.notifier,
        "duplicate": key.duplicate,
    }
