"""The demo's story: what is new between two looks, in the order in which one led to the other.

First what people did, then the app's private words to them, then each event of a run with the
messages that tell of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from bot.demo.scene import Place, RunScene, Scene, Seen
from bot.demo.transcript import Line, Tone
from bot.local_slack import Delivery, Kind
from engine.cards import Role
from engine.entries import CallOutcome
from engine.events import (
    CallFinished,
    CallGated,
    Fact,
    RunCancelled,
    RunFailed,
    RunSucceeded,
    TicketClosed,
    TicketOpened,
)
from engine.policy import Verdict
from engine.schema import Json
from engine.tickets import RemoteInput
from notifiers.text import one_line

_VALUE = 60


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells what is new.

    Attributes:
        names: Those of the people, by id.
        hints: Tell whoever watches what they could do.

    """

    names: Mapping[str, str]
    hints: bool = False

    def tell(self, before: Scene, after: Scene) -> Iterator[Line]:
        """Yield the lines that lead from one look to the next."""
        for delivery in after.deliveries[len(before.deliveries) :]:
            yield Line(Tone.ACT, self._actor(delivery), _act(delivery))
        unread = {
            place: seen
            for place, seen in after.messages.items()
            if before.messages.get(place) != seen
        }
        replies = [seen.place for seen in unread.values() if seen.private_reply]
        yield from _read(unread, replies)
        counts = {scene.run.id: len(scene.events) for scene in before.runs}
        effects = [_effect(line, after.ledger) for line in after.ledger[len(before.ledger) :]]
        for scene in after.runs:
            known = counts.get(scene.run.id, 0)
            yield from _tell_run(scene, known, unread, effects)
            if self.hints and known < len(scene.events):
                yield from self._hint(scene)

    def _hint(self, scene: RunScene) -> Iterator[Line]:
        for ticket in scene.run.tickets:
            who = " or ".join(self.names.get(one, one) for one in ticket.approvers.people)
            answer = f"type /holdshort answer {ticket.ref} CHG-1042, or press Answer"
            asked = isinstance(ticket.target, RemoteInput)
            what = answer if asked else "press Approve, Deny or Deny with reason"
            yield Line(Tone.HINT, "your turn", f"on the page, as {who}: {what}")
        if not scene.run.live:
            again = "type /holdshort run deployer Deploy 1.4.3"
            yield Line(Tone.HINT, "your turn", f"Ctrl-C ends the demo; for another run, {again}")

    def _actor(self, delivery: Delivery) -> str:
        payload = delivery.payload
        person = payload.get("user_id") or payload.get("user", {}).get("id", "")
        return self.names.get(person, person)


def _act(delivery: Delivery) -> str:
    payload = delivery.payload
    late = f" (Slack: {delivery.answer.failure})" if delivery.answer.failure else ""
    if delivery.kind is Kind.SLASH:
        return f"types {payload['command']} {payload['text']}{late}"
    match payload.get("type"):
        case "block_actions":
            pressed = payload["actions"][0].get("text", {}).get("text", "something")
            return f"presses {pressed}{late}"
        case "view_submission":
            written = [value for value in _inputs(payload["view"]) if value]
            return f"submits the form: {' / '.join(written)}{late}"
        case "view_closed":
            return f"closes the form{late}"
        case _:
            return f"does something ({delivery.kind.value}){late}"


def _inputs(view: Mapping[str, Any]) -> Iterator[str]:
    for block in view["state"]["values"].values():
        yield from (one_line(str(value.get("value") or "")) for value in block.values())


def _tell_run(
    scene: RunScene, known: int, unread: dict[Place, Seen], effects: list[str]
) -> Iterator[Line]:
    for event in scene.events[known:]:
        yield from _tell_fact(scene, event.fact)
        if isinstance(event.fact, CallFinished) and event.fact.seconds is not None and effects:
            yield Line(Tone.EFFECT, event.fact.tool, effects.pop(0))
        yield from _read(unread, _cards_of(scene, event.fact))
    # A card may be brought up to date long after the event was told.
    yield from _read(unread, [scene.place(ticket, Role.ASK) for ticket in scene.tickets.values()])


def _tell_fact(scene: RunScene, fact: Fact) -> Iterator[Line]:
    agent = scene.run.agent
    match fact:
        case TicketOpened(call=call, target="tool_permission"):
            said = f"calls {scene.tool(call)}; its policy says to ask people, so the run parks"
            yield Line(Tone.AGENT, agent, said)
        case TicketOpened(target="remote_input"):
            yield Line(Tone.AGENT, agent, "asks its owner a question, so the run parks again")
        case CallGated(call=call, verdict=Verdict.ALLOW):
            said = f"calls {_call(scene, call)}; its policy allows that"
            yield Line(Tone.AGENT, agent, said)
        case TicketClosed(resolution=end) if end.timed_out:
            yield Line(Tone.ACT, "nobody", "decides in time")
        case CallFinished(call=call, outcome=outcome) if outcome is not CallOutcome.SUCCEEDED:
            yield Line(Tone.AGENT, agent, f'is told "{one_line(scene.result(call))}"')
        case RunFailed(message=message):
            yield Line(Tone.AGENT, agent, f"fails: {one_line(message)}")
        case _:
            pass


def _cards_of(scene: RunScene, fact: Fact) -> list[Place | None]:
    """Return the messages that tell of a fact."""
    match fact:
        case TicketOpened(approval=ticket):
            return [scene.place(ticket, Role.ASK), scene.place(ticket, Role.ASKED)]
        case CallFinished(call=call) if call in scene.tickets:
            asked = scene.tickets[call]
            return [scene.place(asked, Role.ASK), scene.place(asked, Role.DECIDED)]
        case RunSucceeded() | RunFailed() | RunCancelled():
            return [scene.outcome]
        case _:
            return []


def _read(unread: dict[Place, Seen], places: Iterable[Place | None]) -> Iterator[Line]:
    found = [unread.pop(place) for place in places if place in unread]
    for (text, buttons), group in groupby(found, lambda seen: (seen.text, seen.buttons)):
        first, *others = group
        also = "".join(f" ({other.to} too)" for other in others)
        yield Line(Tone.SEEN, first.to, f"{text}{also}", buttons)


def _call(scene: RunScene, call: str) -> str:
    arguments = scene.arguments.get(call)
    given = arguments.items() if isinstance(arguments, dict) else ()
    shown = ", ".join(f"{name}={_value(value)}" for name, value in given)
    return f"{scene.tool(call)}({shown})"


def _value(value: Json) -> str:
    text = one_line(str(value))
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}…"


def _effect(line: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> str:
    times = sum(other["op"] == line["op"] for other in ledger)
    often = "once" if times == 1 else f"{times} times"
    return f"runs {often}: {line['version']} to {line['env']}"
