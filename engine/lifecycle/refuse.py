"""Refuse: somebody who may not decide tried to, which changes nothing but is not forgotten."""

from dataclasses import replace

from engine.errors import Refusal
from engine.events import AnswerRefused
from engine.ids import Moment
from engine.lifecycle.draft import Draft
from engine.runs import Refused, Run
from engine.store import Change
from engine.tickets import ResumeCommand

MOST_TOLD = 20
"""People whose first attempt on one ticket is an event of its own; all others only count."""


def note_refusal(
    run: Run, command: ResumeCommand, refusal: Refusal, moment: Moment
) -> Change | None:
    """Return the Change that keeps an attempt; None where the ticket is no longer open.

    The first attempt of each person on a ticket is an event, up to ``MOST_TOLD`` people; beyond
    that the run only counts, so that nobody can make it grow by pressing a button.
    """
    ticket = run.ticket(command.approval)
    if ticket is None:
        return None
    draft = Draft(run, moment)
    fresh = Refused(approval=ticket.approval)
    known = next((one for one in run.refused if one.approval == ticket.approval), fresh)
    person, people = command.actor.key, known.people
    if person not in people and len(people) < MOST_TOLD:
        people = (*people, person)
        draft.note(
            AnswerRefused(
                approval=ticket.approval,
                call=ticket.target.call,
                actor=command.actor,
                decision=command.decision.kind,
                refusal=refusal,
            )
        )
    others = tuple(one for one in run.refused if one.approval != ticket.approval)
    counted = Refused(approval=ticket.approval, people=people, count=known.count + 1)
    draft.set(refused=(*others, counted))
    change = draft.change()
    # The run itself did not get on, so it is not shown as changed.
    return replace(change, run=change.run.model_copy(update={"updated_at": run.updated_at}))
