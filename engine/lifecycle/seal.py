"""The seal of a ticket: what was committed is what is answered, and what runs."""

from engine.errors import TicketMismatchError
from engine.policy import Verdict
from engine.runs import Run, ToolCall
from engine.schema import canonical_json, digest_of
from engine.tickets import Allow, ResumeTicket

_OF_THE_CALL = {
    "id",
    "provider_id",
    "tool",
    "digest",
    "fingerprint",
    "verdict",
    "because",
    "settled",
    "replay",
    "timeout_s",
    "declared",
    "edited",
}
"""What does not change about a call between its being judged and its result."""


def sealed(ticket: ResumeTicket, call: ToolCall) -> ResumeTicket:
    """Return the ticket with the seal of its present fields and its call's."""
    return ticket.model_copy(update={"seal": _seal(ticket, call)})


def check_open(run: Run, ticket: ResumeTicket) -> None:
    """Refuse an open ticket that is not as it was committed, or whose call is not there.

    Raises:
        TicketMismatchError: a field of the ticket or of its call is not as it was.

    """
    calls = run.batch.calls if run.batch else ()
    call = next((one for one in calls if one.id == ticket.target.call), None)
    if call is None:
        raise TicketMismatchError("call")
    check_seal(ticket, call)


def check_seal(ticket: ResumeTicket, call: ToolCall) -> None:
    """Refuse a ticket that is not as it was committed, or that is another call's.

    A digest without a key shows that one thing was changed behind the engine's back; it does not
    stop somebody who can write the store from sealing anew.

    Raises:
        TicketMismatchError: a field of the ticket or of the call is not as it was.

    """
    if ticket.seal != _seal(ticket, call):
        raise TicketMismatchError("seal")
    if ticket.approval not in {call.approval, call.inquiry}:
        raise TicketMismatchError("call")


def check_cleared(call: ToolCall, ticket: ResumeTicket | None) -> None:
    """Refuse an allowed call whose closed ticket does not allow it: this very call, by its quorum.

    A call that its policy allowed has no ticket.

    Raises:
        TicketMismatchError: there is no such ticket, it is not as it was, or it allows nothing.

    """
    if call.approval is None and call.verdict is Verdict.ALLOW:
        return
    if ticket is None:
        raise TicketMismatchError("approval")
    check_seal(ticket, call)
    end = ticket.resolution
    allowed = end is not None and isinstance(end.decision, Allow)
    if not allowed or ticket.counted < ticket.needed:
        raise TicketMismatchError("decision")


def _seal(ticket: ResumeTicket, call: ToolCall) -> str:
    of_ticket = ticket.model_dump(mode="json", exclude={"seal"})
    of_call = call.model_dump(mode="json", include=_OF_THE_CALL)
    return digest_of("ticket", canonical_json(of_ticket), canonical_json(of_call))
