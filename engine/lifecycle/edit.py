"""Edit: other arguments take the place of those a ticket asked for, and are asked for instead."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.cards import Role
from engine.entries import ArgumentsEdit, Record, RecordKind, read_edit
from engine.events import ArgumentsEdited
from engine.identity import Actor
from engine.ids import CallId, TokenId
from engine.lifecycle.draft import Draft, keep_open, raise_ticket
from engine.lifecycle.propose import permission_digest
from engine.tickets import Declared, Edited, ResumeTicket


@dataclass(frozen=True, slots=True)
class Edit:
    """Arguments that passed everything a model's own pass: canonical JSON, and what they declare.

    ``digest`` is that of the tool's name and the arguments, as for any call.
    """

    arguments: str
    digest: str
    declared: Declared


def put_edit(draft: Draft, ticket: ResumeTicket, edit: Edit, actor: Actor) -> ResumeTicket:
    """Ask for the edited call from here on; votes for what was asked before count no more.

    The ticket's new token id makes every card that shows the former arguments refuse.
    """
    call = draft.batch.call(ticket.target.call)
    asked = {
        "digest": edit.digest,
        "declared": edit.declared,
        "edited": _edited(ticket, actor, draft),
    }
    changed = call.model_copy(update=asked)
    draft.set(batch=draft.batch.put(changed))
    draft.note(
        ArgumentsEdited(
            approval=ticket.approval,
            call=call.id,
            actor=actor,
            before=ticket.digest,
            after=edit.digest,
            voided=len(ticket.votes),
        )
    )
    secrets = edit.declared.secrets
    kept = ArgumentsEdit(call=call.id, arguments=edit.arguments, secrets=secrets)
    number = draft.run.event_count
    draft.write(RecordKind.EDIT, draft.batch.entry, kept.model_dump_json(), number)
    token = TokenId(draft.moment.ids.new("tok"))
    fresh = {**asked, "token": token, "votes": (), "wished": None}
    anew = keep_open(draft, ticket.model_copy(update=fresh))
    raise_ticket(draft, anew)
    raise_ticket(draft, anew, Role.ASKED)
    return anew


def _edited(ticket: ResumeTicket, actor: Actor, draft: Draft) -> Edited:
    before = ticket.edited
    if before is not None:
        editors = tuple(dict.fromkeys((*before.by, actor)))
        return before.model_copy(update={"by": editors, "at": draft.now})
    secrets = ticket.declared.secrets
    return Edited(original=ticket.digest, secrets=secrets, by=(actor,), at=draft.now)


def arguments_of(records: Iterable[Record], call: CallId, tool: str, digest: str) -> str | None:
    """Return a call's stored arguments; of several forms, the one with this digest.

    Where none has it, they are the model's own: whoever runs them compares the digest. None where
    there are none.

    Raises:
        UndecodableRecordError: an edit is of an unknown form.

    """
    entry, _, index = call.partition(".")
    own: str | None = None
    for record in records:
        if record.entry != int(entry):
            continue
        if record.kind is RecordKind.ARGUMENTS and record.index == int(index):
            own = record.body
        elif record.kind is RecordKind.EDIT:
            edit = read_edit(record)
            if edit.call == call and permission_digest(tool, edit.arguments) == digest:
                return edit.arguments
    return own
