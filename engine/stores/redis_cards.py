"""Cards: which are behind, who is showing them, and what is shown where."""

import json
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Any

from engine.cards import Card, CardKey, Receipt
from engine.ids import RunId
from engine.stores.keys import CHANNEL, Place, home_of, place_of_run
from engine.stores.packing import pack, unpack
from engine.stores.redis_commit import field_of
from engine.stores.redis_scripts import Argument, Server
from engine.stores.rows import Readable, Row, read_card, span, to_micros

_RECEIPT = 10
"""Where the row of a card has its receipt."""


async def take(
    server: Server, courier: str, lease: timedelta, limit: int, readable: Readable
) -> tuple[Card, ...]:
    """Lease cards that are behind and due, passing over those that cannot be read."""
    names = await _due(server, limit, readable)
    taken: list[Row] = []
    for place, some in groupby(sorted(names), key=lambda name: home_of(RunId(name))):
        taken += await _lease(server, place, list(some), courier, lease)
    taken.sort(key=lambda row: names.index(row[0]))
    return tuple(card for row in taken if (card := readable.card(row)) is not None)


async def of_run(server: Server, run: RunId) -> tuple[Card, ...]:
    """Return a run's cards in the order they were made."""
    place = place_of_run(run)
    if place is None:
        return ()
    rows = await server.run("cards", [place.key("facts", run)], run)
    return read_cards(rows)


def read_cards(rows: list[Any]) -> tuple[Card, ...]:
    """Return cards from what a script told of them, in the order they were made."""
    return tuple(read_card(_row(told)) for told in sorted(rows, key=lambda told: told[2]))


async def shown(server: Server, card: Card, version: int, receipt: Receipt, ring: str) -> bool:
    """Record what a card shows; tell whether it, or another post of it, is behind now."""
    key = card.key
    behind = await server.run(
        "card_shown",
        _keys(key),
        *(server.now(), key.run, field_of(key), key.duplicate, card.fence, version),
        *(*split_receipt(receipt), message_of(card.receipt), CHANNEL, ring),
    )
    return bool(behind)


async def failed(server: Server, card: Card, retry_at: datetime) -> None:
    """Give the lease back, if it still is this one."""
    key = card.key
    await server.run(
        "card_failed",
        _keys(key)[1:],
        *(key.run, field_of(key), key.duplicate, card.fence, to_micros(retry_at)),
    )


async def adopt(server: Server, key: CardKey, receipt: Receipt, ring: str) -> bool:
    """Take a message in as a post of this card; tell whether it was unknown."""
    unknown = await server.run(
        "adopt_card",
        _keys(key),
        *(server.now(), key.run, field_of(key), *split_receipt(receipt), CHANNEL, ring),
    )
    return bool(unknown)


async def _due(server: Server, limit: int, readable: Readable) -> list[str]:
    """Return the names of the cards to take, longest due first."""
    while True:
        known = len(readable.passed_over)
        replies = await server.run_everywhere("behind", ["behind"], server.now(), limit + known)
        late = sorted((told for some in replies for told in some), key=lambda told: told[0])
        rows = (_row(told) for _, told in late)
        names = list(islice((row[0] for row in rows if readable.card(row)), limit))
        # Cards that were now found to be unreadable took the place of others.
        if len(names) == limit or len(readable.passed_over) == known:
            return names


async def _lease(
    server: Server, place: Place, names: list[str], courier: str, lease: timedelta
) -> list[Row]:
    keys, arguments = [place.key("behind")], list[Argument]()
    for name in names:
        run, field = name.split(" ", 1)
        keys.append(place.key("facts", run))
        arguments += [run, field]
    rows, confirmed = await server.run_confirmed(
        "take_cards", keys, server.now(), span(lease), courier, *arguments, wanted=True
    )
    # A message that shows what a failover may take back would have lost its buttons for good. Such
    # a card waits until its lease ends; one that nobody has seen yet asks, at the worst, in vain.
    return [row for row in map(_row, rows) if confirmed or row[_RECEIPT] is None]


def _keys(key: CardKey) -> list[str]:
    place = home_of(key.run)
    return [place.key("run", key.run), place.key("facts", key.run), place.key("behind")]


def split_receipt(receipt: Receipt) -> tuple[bytes, str]:
    """Return a receipt without the message it names, and that; an empty one where it names none."""
    if not receipt.shown:
        return pack(receipt.model_dump_json()), ""
    rest = receipt.model_dump_json(exclude={"place", "id"})
    return pack(f"{len(receipt.place)}{rest}"), message_of(receipt)


def _join(rest: str, message: str) -> str:
    """Return a receipt as JSON, put together from what ``split_receipt`` made of it."""
    length, _, fields = rest.partition("{")
    if not length:
        return rest
    place, message_id = message[: int(length)], message[int(length) + 1 :]
    return f'{{"place":{json.dumps(place)},"id":{json.dumps(message_id)},{fields}'


def message_of(receipt: Receipt | None) -> str:
    """Return the name of the message that a receipt is of; an empty one where it is of none."""
    return f"{receipt.place}/{receipt.id}" if receipt is not None and receipt.shown else ""


def _row(told: list[Any]) -> Row:
    """Return a card's row as ``read_card`` wants it; its number is its name among all cards."""
    *named, rest, message = told
    run, field, _, duplicate, wanted, shown, attempts, fence = (
        part.decode() if isinstance(part, bytes) else part for part in named
    )
    (subject, role, notifier), _ = json.JSONDecoder().raw_decode(field[1:])
    receipt = None if rest is None else _join(unpack(rest), message.decode())
    name = f"{run} {field}"
    return (
        *(name, run, subject, role, notifier, duplicate),
        *(wanted, shown, attempts, fence, receipt),
    )
