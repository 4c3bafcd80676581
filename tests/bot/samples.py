"""Values that tests of texts are made of."""

from datetime import UTC, datetime

from engine import Approvers, ResumeTicket
from engine.ids import ApprovalId, CallId, OpId, PersonId, Ref, RunId, TokenId
from engine.tickets import OutcomeUnknown

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lost_ticket() -> ResumeTicket:
    """Return the ticket of a call whose outcome is unknown."""
    return ResumeTicket(
        approval=ApprovalId("apr_1"),
        ref=Ref("K7F3QD"),
        run=RunId("run_1"),
        conversation="run_1",
        snapshot="",
        fingerprint="",
        token=TokenId("tok_1"),
        target=OutcomeUnknown(call=CallId("0.0"), tool="deploy", op=OpId("op_1"), rerun_from=NOON),
        digest="",
        opened_at=NOON,
        deadline=None,
        approvers=Approvers(people=(PersonId("U0BOB"),)),
        requester=PersonId("U0BOB"),
    )
