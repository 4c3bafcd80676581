"""Parcels: all of a run read at one moment, or put in as it was in another store."""

import json
from typing import Any

from engine.cards import Card
from engine.entries import Record
from engine.errors import (
    CommitConflictError,
    IdempotencyConflictError,
    RefTakenError,
    RunClaimedError,
    RunNotFoundError,
    StoreError,
    StoreUnavailableError,
)
from engine.ids import ApprovalId, CommitId, Ref, RunId
from engine.runs import Run
from engine.store import KeyRecord, Parcel, PastCommit
from engine.stores import packing
from engine.stores.keys import CHANNEL, Place, home_of, name_of_key, place_of_run, scope_of
from engine.stores.redis_cards import message_of, read_cards, split_receipt
from engine.stores.redis_commit import (
    STRANGER,
    confirm,
    field_of,
    log_line,
    named_by,
    rank_of,
    read_told,
    tell_key,
    write_once,
)
from engine.stores.redis_scripts import Argument, Server
from engine.stores.rows import (
    read_events,
    read_record,
    read_run,
    read_ticket,
    to_micros,
    to_moment,
)


async def pack(server: Server, run: RunId) -> Parcel:
    """Read all of a run in one script."""
    place = place_of_run(run)
    if place is None:
        raise RunNotFoundError(run)
    keys = [*_of_run(place, run), place.key("holds"), place.key("refs")]
    word, *told = await server.run("pack", keys, server.now(), run)
    if word == b"absent":
        raise RunNotFoundError(run)
    if word == b"claimed":
        raise RunClaimedError(run, told[0].decode())
    # Whoever asks builds on it that this is what is kept.
    await confirm(server, run)
    return _parcel(run, told)


async def unpack(server: Server, parcel: Parcel, store: str, ring: str) -> None:
    """Write all of a run in one script; ``store`` is the identity of the store it is meant for."""
    run, place = parcel.run, home_of(parcel.run.id)
    started = [(key, at) for key, at in parcel.keys if key.scope != scope_of(run.id)]
    told = {
        "id": run.id,
        "row": _row(parcel),
        "holds": parcel.holds_key,
        "refs": [named_by(ref, run.id, approval, place) for ref, approval in parcel.refs],
        "started": [_started(key, run.id, version) for key, version in started],
        "lines": len(parcel.commits),
        "cards": [_card(card) for card in parcel.cards],
        "store": store,
        "bell": CHANNEL,
        "ring": ring,
    }
    kinds = ("ready", "due", "behind", "refs", "holds")
    keys = [place.key("meta"), *_of_run(place, run.id), *(place.key(kind) for kind in kinds)]
    reply, confirmed = await server.run_confirmed(
        "unpack",
        [*keys, *(place.start_key(key) for key, _ in started)],
        server.now(),
        json.dumps(told),
        *_bodies(parcel),
        wanted=True,
    )
    if reply[0] != b"done":
        raise _refusal(run.id, *(part.decode() for part in reply))
    if not confirmed:
        await confirm(server, run.id)


def _of_run(place: Place, run: RunId) -> list[str]:
    return [place.key(kind, run) for kind in ("run", "facts", "log")]


def _parcel(run: RunId, told: list[Any]) -> Parcel:
    (since, fence, losses, claimed, holds), facts, log, refs, started, cards = told
    named = {name.decode(): body for name, body in facts}
    return Parcel(
        run=read_run(run, packing.unpack(named["b"])),
        since=to_moment(int(since)),
        fence=int(fence),
        losses=int(losses) + claimed,
        holds_key=bool(holds),
        commits=tuple(_past(run, line) for line in log),
        records=_records(run, named),
        closed=tuple(
            read_ticket(run, packing.unpack(named[name])) for name in _of_kind("t", named)
        ),
        refs=tuple(sorted(_ref(ref, approval) for ref, approval in refs)),
        keys=_keys(run, named, started),
        cards=read_cards(cards),
    )


def _of_kind(kind: str, named: dict[str, bytes]) -> list[str]:
    return sorted(name for name in named if name.startswith(kind))


def _past(run: RunId, line: bytes) -> PastCommit:
    name, _, events = line.split(b"\n", 2)
    return PastCommit(CommitId(name.decode()), read_events(run, packing.unpack(events)))


def _records(run: RunId, named: dict[str, bytes]) -> tuple[Record, ...]:
    rows = []
    for name in _of_kind("r", named):
        entry, kind, index = name[1:].split(".")
        rows.append((int(entry), kind, int(index), packing.unpack(named[name])))
    return tuple(read_record(run, row) for row in sorted(rows))


def _ref(ref: bytes, approval: bytes) -> tuple[Ref, ApprovalId | None]:
    return Ref(ref.decode()), ApprovalId(approval.decode()) if approval else None


def _keys(
    run: RunId, named: dict[str, bytes], started: list[Any]
) -> tuple[tuple[KeyRecord, int], ...]:
    asked = [(scope_of(run), name[1:], named[name]) for name in _of_kind("k", named)]
    asked += [(*json.loads(scope_and_key), told) for scope_and_key, told in started]
    found = []
    for scope, key, told in sorted(asked):
        record, _, version = read_told(key, scope, told.decode())
        found.append((record, version))
    return tuple(found)


def _row(parcel: Parcel) -> dict[str, str]:
    run: Run = parcel.run
    fields = {
        "v": str(run.version),
        "s": run.status.value,
        "g": run.agent,
        "o": run.owner,
        "k": run.concurrency_key,
        "p": rank_of(run.priority),
        "a": f"{to_micros(parcel.since):016}",
        "d": str(to_micros(run.deadline)) if run.deadline else "",
        "f": str(parcel.fence or ""),
        "l": str(parcel.losses or ""),
    }
    kept = {"g", "o"}
    return {name: value for name, value in fields.items() if value or name in kept}


def _started(key: KeyRecord, run: RunId, version: int) -> dict[str, str]:
    return {
        "key": key.key,
        "named": json.dumps([key.scope, key.key]),
        "told": tell_key(key, run, version),
    }


def _card(card: Card) -> dict[str, Any]:
    return {
        "field": field_of(card.key),
        "duplicate": card.key.duplicate,
        "wanted": card.wanted,
        "shown": card.shown,
        "attempts": card.attempts,
        "fence": card.fence,
        "message": message_of(card.receipt),
    }


def _bodies(parcel: Parcel) -> list[Argument]:
    run = parcel.run
    bodies: list[Argument] = [log_line(made.id, made.events) for made in parcel.commits]
    bodies += [split_receipt(card.receipt)[0] if card.receipt else "" for card in parcel.cards]
    bodies += ["b", packing.pack(run.model_dump_json())]
    bodies += write_once(parcel.records, parcel.closed)
    for key, version in parcel.keys:
        if key.scope == scope_of(run.id):
            bodies += [name_of_key(key.key), tell_key(key, run.id, version)]
    return bodies


def _refusal(run: RunId, word: str, detail: str = "") -> Exception:
    match word:
        case "stranger":
            return StoreUnavailableError(STRANGER)
        case "there":
            return CommitConflictError(f"there is a run {run} already")
        case "held":
            return CommitConflictError(f"run {detail} holds the concurrency key of run {run}")
        case "key":
            return IdempotencyConflictError(detail)
        case "ref":
            return RefTakenError(f"ref {detail} is in use")
        case _:
            return StoreError(f"the unpack script answered {word!r}")
