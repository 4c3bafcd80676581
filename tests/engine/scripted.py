"""Agents whose model says what the test wrote, and an engine around them with a held clock."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from engine import Agent, RunEngine
from engine.cards import Notifier
from engine.identity import Actor, Directory, Via
from engine.ids import PersonId, Surroundings
from engine.store import Store
from engine.stores.sqlite import MemoryStore
from engine.worker import WorkerOptions
from notifiers.inbox import InboxNotifier

SECRET = "s" * 32
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALICE, BOB, CAROL = PersonId("UALICE"), PersonId("UBOB"), PersonId("UCAROL")

Call = tuple[str, dict[str, Any]]
Line = str | Sequence[Call] | Callable[[list[ModelMessage]], ModelResponse]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def move(self, step: timedelta) -> None:
        self.now += step


def script(*lines: Line) -> FunctionModel:
    """Return a model that says one line per step: words, tool calls, or what a function returns."""

    def say(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        step = sum(isinstance(message, ModelResponse) for message in messages)
        line = lines[min(step, len(lines) - 1)]
        if callable(line):
            return line(messages)
        if isinstance(line, str):
            return ModelResponse(parts=[TextPart(line)])
        return call_tools(step, line)

    return FunctionModel(say)


def call_tools(step: int, calls: Sequence[Call]) -> ModelResponse:
    """Return what a model says to call these tools in one step."""
    parts = [
        ToolCallPart(tool, json.dumps(arguments), tool_call_id=f"provider-{step}-{index}")
        for index, (tool, arguments) in enumerate(calls)
    ]
    return ModelResponse(parts=[TextPart("I would like to."), *parts])


def returns(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    """Return every tool result in what a model was shown."""
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def repeat_results(messages: list[ModelMessage]) -> ModelResponse:
    """Say what every tool call came to: ``tool=outcome:content`` by step."""
    told = [f"{part.tool_name}={part.outcome}:{part.content}" for part in returns(messages)]
    return ModelResponse(parts=[TextPart(" | ".join(told))])


def person(person_id: PersonId, via: Via = Via.API, team: str = "") -> Actor:
    """Return an actor."""
    return Actor(id=person_id, via=via, team=team)


@dataclass
class Ledger:
    """What tools really did, outside the store."""

    effects: list[str] = field(default_factory=list)

    def deploy(self, version: str, env: str = "prod") -> str:
        """Deploy a version to an environment."""
        self.effects.append(f"deploy {version} {env}")
        return f"release {version} live in {env}"

    def refund(self, order: int) -> str:
        """Refund an order."""
        self.effects.append(f"refund {order}")
        return f"refunded {order}"


def deployer(ledger: Ledger) -> Agent:
    """Return an agent that asks the owner for one deploy."""
    return Agent(
        name="a",
        model=script([("deploy", {"version": "1"})], repeat_results),
        tools=[ledger.deploy],
        approvals={"deploy": "user"},
    )


@dataclass
class Stage:
    """An engine with a held clock, an inbox and a ledger."""

    engine: RunEngine
    clock: Clock
    inbox: InboxNotifier
    ledger: Ledger
    store: Store

    async def advance(self) -> int:
        """Advance every run that is ready."""
        return await advance(self.engine)

    async def settle(self) -> None:
        """Tick until nothing moves any more."""
        for _ in range(5):
            await self.engine.tick()

    def token(self, run: str, approval: str) -> str:
        """Return the token that the inbox was given for a ticket."""
        return self.inbox.tokens[f"{run}:{approval}"]


async def advance(engine: RunEngine) -> int:
    """Advance every run of an engine that is ready; return how many there were."""
    name = engine.surroundings.ids.new("worker")
    return await engine.worker(WorkerOptions(name=name)).drain_ready()


def stage(
    agent: Callable[[Ledger], Agent],
    *,
    directory: Directory | None = None,
    store: Callable[[Clock], Store] | None = None,
    notifier: Notifier | None = None,
    **around: Any,
) -> Stage:
    """Return a stage with one agent on it; ``around``: what else there is of Surroundings."""
    clock, inbox, ledger = Clock(), InboxNotifier(), Ledger()
    made = store(clock) if store is not None else MemoryStore(clock=clock)
    engine = RunEngine(
        store=made,
        agents=[agent(ledger)],
        notifiers={"owner": notifier or inbox},
        resume_secret=SECRET,
        directory=directory,
        surroundings=Surroundings(clock=clock, **around),
    )
    return Stage(engine, clock, inbox, ledger, made)
