"""The commit: how a change is told to the script that checks and writes it, and what it answers."""

import json
from typing import Any

from engine.cards import CardKey
from engine.entries import Record
from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    DeadlineNotReachedError,
    DeadlinePassedError,
    IdempotencyConflictError,
    RefTakenError,
    StoreError,
    StoreUnavailableError,
    StoreUnconfirmedError,
)
from engine.events import RunEvent
from engine.ids import ApprovalId, CommitId, Ref, RunId
from engine.store import Change, Claim, ClaimEffect, Done, KeyRecord
from engine.stores.keys import (
    CHANNEL,
    Place,
    home_of,
    name_of_key,
    name_of_record,
    name_of_ticket,
    place_of_ref,
    scope_of,
)
from engine.stores.packing import pack
from engine.stores.redis_scripts import Server
from engine.stores.rows import to_micros, write_events
from engine.tickets import ResumeTicket

_HIGHEST_PRIORITY = 2**31 - 1
STRANGER = "the store is not the one that this process opened: was it flushed? Look, then restart"
_REFUSALS: dict[str, tuple[type[StoreError], str]] = {
    "absent": (CommitConflictError, "run {run} does not exist"),
    "conflict": (CommitConflictError, "run {run} is at version {detail}, not {expected}"),
    "lost": (ClaimLostError, "run {run} is no longer held by this claim"),
    "late": (DeadlinePassedError, "past {not_after}"),
    "early": (DeadlineNotReachedError, "not past {not_before}"),
    "ref": (RefTakenError, "ref {detail} is in use"),
    "written": (StoreError, "run {run} has its {detail} already"),
    "stranger": (StoreUnavailableError, STRANGER),
}


async def commit(
    server: Server, change: Change, claim: Claim | None, store: str, ring: str
) -> Done:
    """Commit one change; ``store`` is the identity of the store it is meant for."""
    place = home_of(change.run.id)
    told = _facts(change, claim, place) | {"store": store, "bell": CHANNEL, "ring": ring}
    reply, confirmed = await server.run_confirmed(
        "commit",
        _keys(change, place),
        server.now(),
        json.dumps(told),
        pack(change.run.model_dump_json()),
        log_line(change.commit, change.events),
        *write_once(change.records, change.closed),
        wanted=change.confirm,
    )
    done = _outcome(change, reply)
    if change.confirm and (done.replayed or not confirmed):
        await confirm(server, done.run)
    return done


async def confirm(server: Server, run: RunId) -> None:
    """See to it that replicas have what is known of a run.

    Raises:
        StoreUnconfirmedError: too few of them have.

    """
    if not server.replicas:
        return
    _, confirmed = await server.run_confirmed("touch", [home_of(run).key("run", run)], wanted=True)
    if not confirmed:
        raise StoreUnconfirmedError(f"run {run}: written, but not confirmed by the replicas")


def field_of(key: CardKey) -> str:
    """Return the name of a card among the facts of its run, whichever post of it."""
    return "c" + json.dumps([key.subject, key.role.value, key.notifier], separators=(",", ":"))


def tell_key(key: KeyRecord, run: RunId, version: int) -> str:
    """Return what a key stands for, as it is written."""
    return json.dumps([key.body, key.outcome, run, version])


def read_told(key: str, scope: str, told: str) -> tuple[KeyRecord, str, int]:
    """Return the record of a key, and the run and version it stands for."""
    body, outcome, run, version = json.loads(told)
    return KeyRecord(scope, key, body, outcome), run, version


def _keys(change: Change, place: Place) -> list[str]:
    run = change.run.id
    keys = [
        place.key("meta"),
        *(place.key(kind, run) for kind in ("run", "facts", "log")),
        *(place.key(kind) for kind in ("ready", "due", "behind", "refs", "holds")),
    ]
    if change.key is not None and change.key.scope != scope_of(run):
        keys.append(place.start_key(change.key))
    return keys


def _facts(change: Change, claim: Claim | None, place: Place) -> dict[str, Any]:
    run = change.run
    facts: dict[str, Any] = {
        "commit": change.commit,
        "expected": change.expected,
        "id": run.id,
        "version": str(run.version),
        "status": run.status.value,
        "agent": run.agent,
        "owner": run.owner,
        "rank": rank_of(run.priority),
        "frees": change.claim is ClaimEffect.RELEASE or not run.live,
        "ends": not run.live,
        "refs": _refs(change, place),
        "raised": [field_of(key) for key in change.raised],
        "asked": _asked(change),
        "key": run.concurrency_key or None,
        "fence": str(claim.fence) if claim else None,
        "deadline": str(to_micros(run.deadline)) if run.deadline else None,
        "not_after": str(to_micros(change.not_after)) if change.not_after else None,
        "not_before": str(to_micros(change.not_before)) if change.not_before else None,
    }
    # In Lua a null would be something.
    return {name: value for name, value in facts.items() if value is not None}


def rank_of(priority: int) -> str:
    """Return a priority as ten digits, the higher the smaller.

    Raises:
        StoreError: it has more digits than that.

    """
    if abs(priority) > _HIGHEST_PRIORITY:
        raise StoreError(f"priority {priority} is beyond {_HIGHEST_PRIORITY}")
    return f"{_HIGHEST_PRIORITY - priority:010}"


def _refs(change: Change, place: Place) -> list[tuple[Ref, str]]:
    run = change.run
    refs = [named_by(run.ref, run.id, None, place)] if change.expected == 0 else []
    return refs + [named_by(one.ref, run.id, one.approval, place) for one in change.opened]


def named_by(ref: Ref, run: RunId, approval: ApprovalId | None, place: Place) -> tuple[Ref, str]:
    """Return a ref and what it points at, as it is written.

    Raises:
        StoreError: it would not be looked for at this place.

    """
    if place_of_ref(ref) != place:
        raise StoreError(f"ref {ref} would not be found: it is not of the place of its run")
    return ref, f"{run} {approval}" if approval else run


def _asked(change: Change) -> dict[str, object] | None:
    key, run = change.key, change.run
    if key is None:
        return None
    told = tell_key(key, run.id, run.version)
    if key.scope == scope_of(run.id):
        return {"name": name_of_key(key.key), "told": told}
    return {"start": json.dumps([key.scope, key.key]), "told": told}


def log_line(commit: CommitId, events: tuple[RunEvent, ...]) -> bytes:
    """Return the line of a commit in the log of its run."""
    last = events[-1].seq if events else 0
    return f"{commit}\n{last}\n".encode() + pack(write_events(events))


def write_once(records: tuple[Record, ...], closed: tuple[ResumeTicket, ...]) -> list[str | bytes]:
    """Return names and bodies of records and closed tickets among the facts of their run."""
    facts: list[str | bytes] = []
    for record in records:
        facts += [name_of_record(record), pack(record.body)]
    for ticket in closed:
        facts += [name_of_ticket(ticket.approval), pack(ticket.model_dump_json())]
    return facts


def _outcome(change: Change, told: list[Any]) -> Done:
    reply = [part.decode() if isinstance(part, bytes) else part for part in told]
    run, word = change.run.id, reply[0]
    if word in {"done", "again"}:
        outcome = change.key.outcome if change.key else None
        return Done(run, change.expected + 1, outcome, replayed=word == "again")
    if word == "told" and change.key is not None:
        record, told_run, version = read_told(change.key.key, change.key.scope, reply[1])
        if record.body != change.key.body:
            raise IdempotencyConflictError(record.key)
        return Done(type(run)(told_run), version, record.outcome, replayed=True)
    raise _refusal(change, reply)


def _refusal(change: Change, reply: list[Any]) -> StoreError:
    word, detail = reply[0], reply[1] if len(reply) > 1 else ""
    kind, text = _REFUSALS.get(word, (StoreError, "the commit script answered {word!r}"))
    return kind(
        text.format(
            word=word,
            detail=detail,
            run=change.run.id,
            expected=change.expected,
            not_after=change.not_after,
            not_before=change.not_before,
        )
    )
