"""Remember: an approval that is to settle like calls, from the wish on the ticket to the rule."""

from engine.errors import InvalidRunStateError
from engine.events import RememberDropped, RememberWished
from engine.identity import Actor
from engine.ids import TokenId
from engine.lifecycle.draft import Draft, keep_open
from engine.remembered import (
    RememberedRule,
    RememberFault,
    RememberRefusedError,
    Term,
    Wished,
    context_digest,
    rule_id,
    until,
)
from engine.runs import Run
from engine.tickets import Allow, Decision, ResumeCommand, ResumeTicket, Risk


def check_wish(ticket: ResumeTicket, decision: Decision) -> None:
    """Refuse a wish that cannot be granted on this ticket, whoever has it.

    Whoever votes sees what will be remembered, so the wish comes with the first vote or never.

    Raises:
        RememberRefusedError: the call is of high risk, it comes with edits, or others have voted.

    """
    if not isinstance(decision, Allow) or decision.remember is None:
        return
    if decision.once:
        raise RememberRefusedError(RememberFault.ONCE)
    if ticket.declared.risk is Risk.HIGH:
        raise RememberRefusedError(RememberFault.HIGH_RISK)
    if decision.arguments is not None or ticket.edited is not None:
        raise RememberRefusedError(RememberFault.EDITED)
    if ticket.votes or ticket.wished is not None:
        raise RememberRefusedError(RememberFault.LATE)


def put_wish(
    draft: Draft, ticket: ResumeTicket, command: ResumeCommand, terms: tuple[Term, ...]
) -> ResumeTicket:
    """Put the wish of an approval on its ticket.

    The ticket's new token id makes every card that does not show the wish refuse.

    Raises:
        ValueError: the decision wishes for nothing.

    """
    decision = command.decision
    wish = decision.remember if isinstance(decision, Allow) else None
    if wish is None:
        raise ValueError("nothing is to be remembered")
    draft.note(
        RememberWished(
            approval=ticket.approval,
            call=ticket.target.call,
            actor=command.actor,
            hours=wish.hours,
            loose=wish.loose,
            conversation=wish.conversation,
        )
    )
    wished = Wished(
        terms=terms,
        hours=wish.hours,
        conversation=wish.conversation,
        by=command.actor,
        at=command.now,
    )
    fresh = {"wished": wished, "token": TokenId(draft.moment.ids.new("tok"))}
    return keep_open(draft, ticket.model_copy(update=fresh))


def drop_wish(draft: Draft, ticket: ResumeTicket, actor: Actor) -> ResumeTicket:
    """Take the wish off a ticket, if there is one: somebody allows this call and no others."""
    if ticket.wished is None:
        return ticket
    call = draft.batch.call(ticket.target.call)
    draft.note(RememberDropped(approval=ticket.approval, call=call.id, actor=actor))
    return keep_open(draft, ticket.model_copy(update={"wished": None}))


def rule_of(run: Run, ticket: ResumeTicket) -> RememberedRule | None:
    """Return the rule that a closed ticket makes; None where nothing is to be remembered.

    Raises:
        InvalidRunStateError: the ticket was not allowed by its quorum.

    """
    wished, end = ticket.wished, ticket.resolution
    if wished is None:
        return None
    allowed = end is not None and isinstance(end.decision, Allow)
    if end is None or not allowed or ticket.counted < ticket.needed:
        raise InvalidRunStateError("only an approval by its quorum is remembered")
    return RememberedRule(
        id=rule_id(ticket.approval),
        approval=ticket.approval,
        ref=ticket.ref,
        run=run.id,
        agent=run.agent,
        tool=ticket.target.tool,
        fingerprint=ticket.fingerprint,
        terms=wished.terms,
        owner=run.owner,
        conversation=run.conversation if wished.conversation else "",
        context=context_digest(run.context),
        approvers=ticket.approvers,
        votes=ticket.votes,
        granted_at=end.at,
        expires_at=until(wished, end.at),
    )
