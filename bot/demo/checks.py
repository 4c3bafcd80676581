"""What must be true at the end of the demo. Each check looks at facts, not at what was printed."""

from collections.abc import Iterator

from bot.demo.people import ALICE, BOB, REASON, newest
from bot.demo.scene import RunScene, Scene, Seen
from engine import RunStatus
from engine.cards import Role
from engine.events import TicketClosed
from engine.identity import ActorKind
from engine.tickets import Allow, Answer, Deny, Resolution
from notifiers.text import one_line


def complaints(decide: str, scene: Scene, *, scripted: bool) -> list[str]:
    """Return what is not as it should be; a model that is not the script is bound to less."""
    run = newest(scene)
    return [*_ended(scene, run), *_decided(decide, scene, run, scripted=scripted)]


def _ended(scene: Scene, run: RunScene) -> Iterator[str]:
    if run.run.status is not RunStatus.SUCCEEDED:
        yield f"the run is {run.run.status.value}"
    told = scene.messages.get(run.outcome) if run.outcome else None
    answer = one_line(run.run.output or "").rstrip(".")
    if told is None or told.to != "to alice" or answer not in one_line(told.text):
        yield "alice was not told how it ended"
    for ticket in run.tickets.values():
        card = _card(scene, run, ticket)
        if card is None:
            yield f"no card shows {ticket}"
        elif card.buttons:
            yield f"a card still has buttons: {card.text}"


def _decided(decide: str, scene: Scene, run: RunScene, *, scripted: bool) -> Iterator[str]:
    live = [line["env"] for line in scene.ledger]
    match decide:
        case "approve":
            yield from _approved(scene, run, live.count("prod"), scripted=scripted)
        case "deny":
            yield from _denied(scene, run, live.count("prod"))
            if scripted and live != ["staging"]:
                yield f"it should have gone to staging, once; the ledger says {live}"
        case _:
            yield from _ignored(scene, run)
            if live:
                yield f"nothing should have been deployed; the ledger says {live}"


def _approved(scene: Scene, run: RunScene, deployed: int, *, scripted: bool) -> Iterator[str]:
    allowed = [end for _, end in _ends(run) if isinstance(end.decision, Allow)]
    if not allowed or deployed != len(allowed):
        yield f"{len(allowed)} deployments to prod were approved, and {deployed} made"
    yield from _said(scene, run, "Approved by bob", BOB, Allow)
    if scripted:
        yield from _said(scene, run, "Answered by alice", ALICE, Answer)


def _denied(scene: Scene, run: RunScene, deployed: int) -> Iterator[str]:
    if deployed:
        yield f"prod was denied, and deployed to {deployed} times"
    yield from _said(scene, run, "Denied by bob", BOB, Deny)
    if not any(REASON in str(result.content) for result in run.results.values()):
        yield "the model was not told why it was denied"


def _ignored(scene: Scene, run: RunScene) -> Iterator[str]:
    ends = _ends(run)
    if not ends or not all(end.timed_out for _, end in ends):
        yield "something was decided though nobody acted"
    for ticket, end in ends:
        card = _card(scene, run, ticket)
        if card and (end.actor.kind is ActorKind.HUMAN or not card.text.startswith("Nobody")):
            yield f"the card does not say that nobody decided: {card.text}"


def _said(
    scene: Scene, run: RunScene, words: str, who: str, kind: type[Allow | Deny | Answer]
) -> Iterator[str]:
    """Complain unless this person decided so, and the card in the channel says it."""
    tickets = [
        ticket
        for ticket, end in _ends(run)
        if isinstance(end.decision, kind) and end.actor.id == who
    ]
    cards = [_card(scene, run, ticket) for ticket in tickets]
    if not any(card is not None and card.text.startswith(words) for card in cards):
        yield f'no card says "{words}"'


def _ends(run: RunScene) -> list[tuple[str, Resolution]]:
    facts = [event.fact for event in run.events]
    return [(fact.approval, fact.resolution) for fact in facts if isinstance(fact, TicketClosed)]


def _card(scene: Scene, run: RunScene, ticket: str) -> Seen | None:
    place = run.place(ticket, Role.ASK)
    return scene.messages.get(place) if place else None
