"""One look at the demo: what people see in Slack, what they did, and how the runs stand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.demo.reading import buttons_of, read_text
from bot.local_slack import Delivery, LocalSlackClient
from engine import Run, RunEngine, RunStatus
from engine.cards import Card, CardKey, Role
from engine.entries import CallResult, RecordKind
from engine.events import CallGated, RunEvent, TicketOpened
from engine.schema import Json

Place = tuple[str, str]
"""A message: its channel and its ts."""

_GOING = (RunStatus.QUEUED, RunStatus.RUNNING)
_PAGE = 20


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as people see it: whom it reaches, how it reads, and what can be pressed."""

    place: Place
    to: str
    text: str
    buttons: tuple[str, ...]
    private_reply: bool


@dataclass(frozen=True, slots=True)
class RunScene:
    """A run, what happened to it, its calls, and where its cards are."""

    run: Run
    events: tuple[RunEvent, ...]
    arguments: Mapping[str, Json]
    results: Mapping[str, CallResult]
    cards: tuple[Card, ...]

    def place(self, subject: str, role: Role) -> Place | None:
        """Return where a card is shown."""
        return next(
            (
                p
                for card, p in self._shown
                if subject in {card.subject, *card.approvals} and card.role is role
            ),
            None,
        )

    @property
    def outcome(self) -> Place | None:
        """Return where the owner is told how the run ended."""
        return next((place for card, place in self._shown if card.role is Role.OUTCOME), None)

    @property
    def tickets(self) -> dict[str, str]:
        """Return the approval id of each call that people were asked about."""
        facts = [event.fact for event in self.events]
        return {fact.call: fact.approval for fact in facts if isinstance(fact, TicketOpened)}

    def tool(self, call: str) -> str:
        """Return the name of the tool that a call is of."""
        facts = [event.fact for event in self.events]
        gated = [fact for fact in facts if isinstance(fact, CallGated) and fact.call == call]
        return gated[0].tool if gated else "a tool"

    def result(self, call: str) -> str:
        """Return what the model was told of a call."""
        found = self.results.get(call)
        return "" if found is None else str(found.content)

    @property
    def at_rest(self) -> bool:
        """Tell whether nothing moves before somebody acts or time passes, and all is shown."""
        shown = all(card.shown >= card.wanted for card in self.cards)
        return shown and self.run.status not in _GOING

    @property
    def _shown(self) -> list[tuple[CardKey, Place]]:
        receipts = [(card.key, card.receipt) for card in self.cards]
        return [(key, (r.place, r.id)) for key, r in receipts if r is not None and r.shown]


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything at one moment; ``torn`` if a run moved while we looked."""

    deliveries: tuple[Delivery, ...] = ()
    messages: Mapping[Place, Seen] = field(default_factory=dict)
    runs: tuple[RunScene, ...] = ()
    ledger: tuple[Mapping[str, Any], ...] = ()
    torn: bool = False

    @property
    def at_rest(self) -> bool:
        """Tell whether nothing moves before somebody acts or time passes, and all is shown."""
        return not self.torn and all(run.at_rest for run in self.runs)


class Viewer:
    """Takes looks."""

    def __init__(
        self, engine: RunEngine, client: LocalSlackClient, names: Mapping[str, str], ledger: Path
    ) -> None:
        """Look at this engine and this Slack; ``names`` are those of the people by id."""
        self._engine = engine
        self._client = client
        self._names = names
        self._ledger = ledger

    async def look(self) -> Scene:
        """Take a look."""
        listed = (await self._engine.list_runs(limit=_PAGE)).runs
        runs = [await self._look_at(run) for run in reversed(listed)]
        # Slack after the runs: where all cards are shown, their messages are there to be read.
        scene = Scene(
            runs=tuple(runs),
            ledger=read_ledger(self._ledger),
            messages=await self._messages(),
            deliveries=tuple(await self._client.app.deliveries()),
        )
        after = (await self._engine.list_runs(limit=_PAGE)).runs
        return replace(scene, torn=_versions(listed) != _versions(after))

    async def _look_at(self, listed: Run) -> RunScene:
        store = self._engine.store
        run = await self._engine.get_run(listed.id)
        records = await store.records(run.id)
        results = [
            CallResult.model_validate_json(r.body) for r in records if r.kind is RecordKind.RESULT
        ]
        arguments = {
            f"{r.entry}.{r.index}": json.loads(r.body)
            for r in records
            if r.kind is RecordKind.ARGUMENTS
        }
        return RunScene(
            run=run,
            events=await self._engine.events(run.id),
            arguments=arguments,
            results={result.call: result for result in results},
            cards=await store.cards(run.id),
        )

    async def _messages(self) -> dict[Place, Seen]:
        found: dict[Place, Seen] = {}
        for person, name in self._names.items():
            state = await self._client.state(person)
            for channel in state["channels"]:
                to = f"to {name}" if channel["is_im"] else f"#{channel['name']}"
                for message in channel["messages"]:
                    seen = self._seen(channel["id"], message, to, name)
                    found[seen.place] = seen
        return found

    def _seen(self, channel: str, message: Mapping[str, Any], to: str, name: str) -> Seen:
        private = bool(message["is_ephemeral"])
        return Seen(
            place=(channel, message["ts"]),
            to=f"to {name}" if private else to,
            text=read_text(message["text"], self._names),
            buttons=tuple(b["text"]["text"] for b in buttons_of(message.get("blocks", []))),
            private_reply=private,
        )


def _versions(runs: Sequence[Run]) -> list[tuple[str, int]]:
    return [(run.id, run.version) for run in runs]


def read_ledger(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Return what the tool did, in order."""
    lines: Sequence[str] = path.read_text("utf-8").splitlines() if path.exists() else ()
    return tuple(json.loads(line) for line in lines)
