"""What people did in Slack, read from Slack's payloads into values of our own.

Field lists: https://docs.slack.dev/reference/interaction-payloads and
https://docs.slack.dev/interactivity/implementing-slash-commands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import Actor, Via
from engine.cards import Receipt
from engine.ids import PersonId

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one person can be told something that nobody else sees."""

    person: str
    channel: str = ""
    response_url: str = ""


@dataclass(frozen=True, slots=True)
class Press:
    """A button pressed: by whom, on which card, and the token it carried."""

    actor: Actor
    place: Place
    action: str
    token: str
    trigger: str
    card: Receipt | None


@dataclass(frozen=True, slots=True)
class Submission:
    """A form submitted: by whom, what we had put into it, and what they typed."""

    actor: Actor
    place: Place
    metadata: str
    typed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: by whom, where, and what came after the command's name."""

    actor: Actor
    place: Place
    text: str
    trigger: str


def read_press(body: Json) -> Press:
    """Read a ``block_actions`` payload; of several actions the first counts."""
    actor = _actor(body)
    channel = _text(_part(body, "channel"), "id") or _text(_part(body, "container"), "channel_id")
    actions = body.get("actions")
    action = actions[0] if isinstance(actions, list) and actions else {}
    return Press(
        actor=actor,
        place=Place(actor.id, channel, _text(body, "response_url")),
        action=_text(action, "action_id"),
        token=_text(action, "value"),
        trigger=_text(body, "trigger_id"),
        card=_card(body, channel),
    )


def read_submission(body: Json) -> Submission:
    """Read a ``view_submission`` payload."""
    actor = _actor(body)
    view = _part(body, "view")
    return Submission(
        actor=actor,
        place=Place(actor.id),
        metadata=_text(view, "private_metadata"),
        typed=dict(_typed(_part(_part(view, "state"), "values"))),
    )


def read_command(body: Json) -> Command:
    """Read the form fields of a slash command."""
    actor = Actor(team=_text(body, "team_id"), id=PersonId(_text(body, "user_id")), via=Via.SLACK)
    place = Place(actor.id, _text(body, "channel_id"), _text(body, "response_url"))
    return Command(actor, place, _text(body, "text"), _text(body, "trigger_id"))


def read_place(body: Json) -> Place:
    """Return where whoever caused any payload can be told something."""
    if "command" in body:
        return read_command(body).place
    return read_press(body).place


def _actor(body: Json) -> Actor:
    # The team in `user` is the clicker's own; `team` is where the app is installed
    # (slackapi/java-slack-sdk#1041).
    user = _part(body, "user")
    return Actor(team=_text(user, "team_id"), id=PersonId(_text(user, "id")), via=Via.SLACK)


def _card(body: Json, channel: str) -> Receipt | None:
    """Return the message that was pressed on; an ephemeral one can never be updated."""
    container = _part(body, "container")
    message = _text(container, "message_ts") or _text(_part(body, "message"), "ts")
    if not channel or not message or container.get("is_ephemeral"):
        return None
    return Receipt(place=channel, id=message)


def _typed(values: Json) -> list[tuple[str, str]]:
    found = []
    for block, inputs in values.items():
        if isinstance(inputs, dict):
            found += [(block, _put_in(one)) for one in inputs.values()]
    return found


def _put_in(state: object) -> str:
    """Return what stands in an input: typed, picked, or the value of the option chosen.

    https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload
    """
    chosen = _text(_part(state, "selected_option"), "value")
    return _text(state, "value") or _text(state, "selected_date") or chosen


def _part(body: object, name: str) -> Json:
    part = body.get(name) if isinstance(body, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _text(body: object, name: str) -> str:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, str) else ""
