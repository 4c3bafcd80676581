"""Start: a request becomes a queued run."""

from dataclasses import dataclass

from engine.entries import RecordKind, UserInput
from engine.events import RunStarted
from engine.ids import Moment, PersonId, Ref, RunId, place_of
from engine.lifecycle.draft import Draft
from engine.rules import Rule
from engine.runs import Origin, Run, RunStatus
from engine.schema import Frozen, Json, canonical_json, digest_of
from engine.store import Change, KeyRecord


@dataclass(frozen=True, slots=True)
class StartRequest:
    """What a caller asks for; ``key`` empty means that a repeat starts another run."""

    agent: str
    snapshot: str
    notify: str
    text: str
    owner: PersonId
    requester: PersonId
    origin: Origin
    context: Json = None
    conversation: str = ""
    concurrency_key: str = ""
    priority: int = 0
    key: str = ""
    rules: tuple[Rule, ...] = ()


class Started(Frozen):
    """What a caller is told of a start; the same for every repeat of its key."""

    run: RunId
    ref: Ref


def start(request: StartRequest, run_id: RunId, moment: Moment) -> Change:
    """Return the Change that creates a queued run."""
    draft = Draft(_new_run(request, run_id, moment), moment)
    text = UserInput(text=request.text)
    draft.write(RecordKind.INPUT, 0, text.model_dump_json())
    draft.note(RunStarted(agent=request.agent, owner=request.owner, requester=request.requester))
    return draft.change(key=_key_record(request, draft.run))


def _new_run(request: StartRequest, run_id: RunId, moment: Moment) -> Run:
    return Run(
        id=run_id,
        ref=moment.ids.ref(place_of(run_id)),
        version=0,
        status=RunStatus.QUEUED,
        agent=request.agent,
        snapshot=request.snapshot,
        owner=request.owner,
        requester=request.requester,
        origin=request.origin,
        context=request.context,
        conversation=request.conversation or run_id,
        notify=request.notify,
        concurrency_key=request.concurrency_key,
        priority=request.priority,
        trace=moment.ids.new("trc"),
        attempt=moment.ids.new("att"),
        rules=request.rules,
        created_at=moment.now,
        updated_at=moment.now,
        entry_count=1,
    )


def _key_record(request: StartRequest, run: Run) -> KeyRecord | None:
    if not request.key:
        return None
    rules = [canonical_json(rule.model_dump(mode="json")) for rule in request.rules]
    body = digest_of(
        "start",
        request.agent,
        request.text,
        request.owner,
        request.requester,
        canonical_json(request.context),
        request.conversation,
        *rules,
    )
    return KeyRecord(
        scope=f"start:{request.agent}:{request.concurrency_key}",
        key=request.key,
        body=body,
        outcome=Started(run=run.id, ref=run.ref).model_dump_json(),
    )
