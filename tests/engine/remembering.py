"""A shop with one agent, people who approve, and what they have remembered."""

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from engine import (
    Agent,
    Allow,
    RememberedRule,
    RememberRefusedError,
    Run,
    RunEngine,
    RunStatus,
    Wish,
)
from engine.ids import PersonId, Surroundings
from engine.remembered import RememberFault
from engine.tickets import Decision
from tests.engine.deciding import named
from tests.engine.scripted import (
    ALICE,
    BOB,
    SECRET,
    Call,
    Ledger,
    Stage,
    advance,
    person,
    repeat_results,
    script,
    stage,
)
from tests.engine.town import Town

PROD: Call = ("deploy", {"version": "1", "env": "prod"})
NEXT: Call = ("deploy", {"version": "2", "env": "prod"})
DEV: Call = ("deploy", {"version": "1", "env": "dev"})
HOURS: Literal[8] = 8
EXACT = Allow(remember=Wish(hours=HOURS))
ANY_VERSION = Allow(remember=Wish(hours=HOURS, loose=("/version",)))
BY_BOB = named(BOB)


@dataclass
class Shop:
    """One agent whose script is set anew for each run, and the people around it."""

    on: Stage
    engine: RunEngine
    given: dict[str, Any]
    town: Town = field(default_factory=Town)

    def serve(self, *steps: Any, **changed: Any) -> None:
        """Serve the same agent with another script, or changed, from here on."""
        agent = deployer(self.on.ledger, *steps, **(self.given | changed))
        self.engine = RunEngine(
            store=self.on.store,
            agents=[agent],
            notifiers={"owner": self.on.inbox},
            resume_secret=SECRET,
            directory=self.town,
            surroundings=Surroundings(clock=self.on.clock),
        )

    async def run(self, *steps: Any, owner: str = ALICE, **more: Any) -> Run:
        """Start a run of the agent with this script and take it as far as it goes."""
        changed = more.pop("changed", {})
        self.serve(*steps, **changed)
        begun = await self.engine.start("deployer", "go", owner=owner, **more)
        await advance(self.engine)
        return await self.engine.get_run(begun.run)

    async def answer(self, run: Run, who: str, decision: Decision) -> None:
        actor = person(PersonId(who))
        token = await self.engine.token_for((await self.now(run)).tickets[0].ref, actor.via)
        key = self.engine.answers.key(token, decision, actor)
        await self.engine.resume(token, decision, actor=actor, idempotency_key=key)
        await advance(self.engine)

    async def now(self, run: Run) -> Run:
        return await self.engine.get_run(run.id)

    async def facts(self, run: Run, kind: type[Any]) -> list[Any]:
        return [e.fact for e in await self.engine.events(run.id) if isinstance(e.fact, kind)]

    async def rules(self) -> tuple[RememberedRule, ...]:
        return await self.on.store.rules.live("deployer", ALICE)

    async def asks(self, *steps: Any, **more: Any) -> bool:
        """Tell whether a run with this script waits for somebody."""
        return (await self.run(*steps, **more)).status is RunStatus.WAITING


def deployer(ledger: Ledger, *steps: Any, **given: Any) -> Agent:
    usual: dict[str, Any] = {
        "tools": [ledger.deploy, ledger.refund],
        "approvals": {"deploy": "user", "refund": "user"},
        "approvers": BY_BOB,
        "deny_limit": None,
        "tool_deny_limit": None,
    }
    return Agent(name="deployer", model=script(*steps, repeat_results), **(usual | given))


def shop(store: Any = None, **given: Any) -> Shop:
    town = Town()
    on = stage(lambda ledger: deployer(ledger, "x", **given), directory=town, store=store)
    return Shop(on, on.engine, given, town)


async def remembered(decision: Allow = ANY_VERSION, **given: Any) -> tuple[Shop, Run]:
    """Return a shop where Bob has approved a deploy to prod and had it remembered."""
    made = shop(**given)
    run = await made.run([PROD])
    await made.answer(run, BOB, decision)
    return made, await made.now(run)


async def refusal(made: Shop, run: Run, who: str, decision: Allow) -> RememberFault:
    with pytest.raises(RememberRefusedError) as refused:
        await made.answer(run, who, decision)
    return refused.value.fault
