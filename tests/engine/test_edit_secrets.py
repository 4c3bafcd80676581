"""What is kept secret before an edit is kept secret after it."""

from typing import Any

import pydantic
import pytest

from engine import (
    Agent,
    Allow,
    Run,
)
from engine.identity import Via
from engine.redaction import HIDDEN
from tests.engine.deciding import (
    TWO_OF_THREE,
    decide,
)
from tests.engine.scripted import (
    ALICE,
    BOB,
    CAROL,
    Ledger,
    Stage,
    repeat_results,
    script,
    stage,
)


def with_secret(_ledger: Ledger, ran: list[str]) -> Agent:
    def connect(host: str, password: pydantic.SecretStr | None = None) -> str:
        """Connect to a host."""
        said = password.get_secret_value() if password else "nothing"
        ran.append(f"{host} with {said}")
        return "connected"

    model = script([("connect", {"host": "a", "password": "correct horse"})], repeat_results)
    return Agent(
        name="deployer",
        model=model,
        tools=[connect],
        approvals={"connect": "user"},
        approvers=TWO_OF_THREE,
    )


@pytest.mark.plants_secrets("a secret argument is kept as it must run", where=":memory:")
class TestSecrets:
    """What is kept secret before an edit is kept secret after it."""

    async def parked(self, ran: list[str]) -> tuple[Stage, Run]:
        on = stage(lambda ledger: with_secret(ledger, ran))
        started = await on.engine.start("deployer", "go", owner=ALICE)
        await on.engine.tick()
        return on, await on.engine.get_run(started.run)

    async def shown(self, on: Stage, run: Run) -> Any:
        await on.engine.courier.deliver()
        return on.inbox.latest[f"{run.id}:{run.tickets[0].approval}"]

    async def test_a_secret_that_an_edit_changes_is_told_as_changed_and_shown_nowhere(self) -> None:
        ran: list[str] = []
        on, run = await self.parked(ran)
        word = Allow(arguments={"host": "a", "password": "battery staple"})
        await decide(on, run, BOB, word)

        notice = await self.shown(on, run)

        assert notice.altered == ("/password",)
        assert notice.arguments["password"] == notice.original.arguments["password"] == HIDDEN
        await decide(on, run, CAROL)
        await on.settle()
        assert ran == ["a with battery staple"]
        told = (await on.engine.get_run(run.id)).output or ""
        assert "battery" not in told
        assert HIDDEN in told

    async def test_a_secret_that_an_edit_takes_away_stays_secret(self) -> None:
        on, run = await self.parked([])
        await decide(on, run, BOB, Allow(arguments={"host": "a"}))

        notice = await self.shown(on, run)

        assert notice.arguments == {"host": "a"}
        assert notice.original.arguments == {"host": "a", "password": HIDDEN}
        assert "horse" not in notice.model_dump_json()

    async def test_what_an_edit_starts_from_holds_the_secret_and_what_is_shown_does_not(
        self,
    ) -> None:
        on, run = await self.parked([])

        editing = await on.engine.answers.editing(
            on.token(run.id, run.tickets[0].approval), Via.API
        )

        assert editing.arguments == {"host": "a", "password": "correct horse"}
        assert "horse" not in editing.notice.model_dump_json()
