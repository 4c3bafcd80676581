"""The example agent, with its script for a model, on a real engine and without Slack."""

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from engine import Allow, Answer, Decision, Deny
from engine.errors import ConfigurationError
from engine.ids import PersonId
from engine.runs import Run
from engine.tickets import Risk
from examples.deployer import deployer
from tests.engine.scripted import ALICE, BOB, Stage, person, stage

TIMEOUT = timedelta(hours=1)


@dataclass
class Story:
    """One run of the example on a stage, and the ledger it writes."""

    on: Stage
    ledger: Path
    run_id: str

    async def run(self) -> Run:
        await self.on.settle()
        return await self.on.engine.get_run(self.run_id)

    async def decide(self, decision: Decision, who: PersonId) -> None:
        waiting = (await self.run()).waiting
        assert waiting is not None
        token = self.on.token(self.run_id, waiting.approval)
        await self.on.engine.resume(token, decision, actor=person(who))

    def deployments(self) -> list[tuple[str, str]]:
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        read = [json.loads(line) for line in lines]
        return [(line["version"], line["env"]) for line in read]


async def begin(tmp_path: Path, asked: str = "Deploy 1.4.2") -> Story:
    ledger = tmp_path / "ledger.jsonl"
    on = stage(lambda _: deployer(ledger, [BOB], TIMEOUT))
    started = await on.engine.start("deployer", asked, owner=ALICE)
    return Story(on, ledger, started.run)


async def test_an_approved_deployment_runs_once_and_then_the_owner_is_asked(tmp_path: Path) -> None:
    story = await begin(tmp_path)
    await story.decide(Allow(), BOB)
    await story.decide(Answer(value="CHG-1042"), ALICE)

    assert (await story.run()).output == "1.4.2 is live in prod under CHG-1042."
    assert story.deployments() == [("1.4.2", "prod")]


async def test_the_people_who_are_asked_see_how_risky_it_is_and_what_in_short(
    tmp_path: Path,
) -> None:
    waiting = (await (await begin(tmp_path)).run()).waiting

    assert waiting is not None
    assert (waiting.declared.risk, waiting.declared.title) == (Risk.MEDIUM, "1.4.2 to prod")


async def test_a_denied_deployment_goes_to_staging_which_needs_nobody(tmp_path: Path) -> None:
    story = await begin(tmp_path)
    await story.decide(Deny(reason="Not on a Friday."), BOB)

    run = await story.run()
    assert run.output == "1.4.2 went to staging instead; prod was blocked: Not on a Friday."
    assert story.deployments() == [("1.4.2", "staging")]


async def test_silence_deploys_nothing_and_is_not_called_a_denial(tmp_path: Path) -> None:
    story = await begin(tmp_path)
    await story.run()
    story.on.clock.move(TIMEOUT + timedelta(seconds=1))

    assert (await story.run()).output == "Nobody decided in time, so 1.4.2 was not deployed."
    assert story.deployments() == []


async def test_a_declined_question_still_ends_the_run(tmp_path: Path) -> None:
    story = await begin(tmp_path)
    await story.decide(Allow(), BOB)
    await story.decide(Deny(), ALICE)

    assert (await story.run()).output == "1.4.2 is live in prod; nobody named a change ticket."


async def test_a_deployment_that_fails_is_said_to_have_failed(tmp_path: Path) -> None:
    story = await begin(tmp_path)
    story.ledger.mkdir()
    await story.decide(Allow(), BOB)

    output = (await story.run()).output
    assert output is not None
    assert output.startswith("1.4.2 was not deployed: IsADirectoryError")


async def test_the_script_deploys_the_version_it_is_asked_for(tmp_path: Path) -> None:
    story = await begin(tmp_path, "Please deploy 2.0.1 today")
    await story.decide(Allow(), BOB)
    await story.run()

    assert story.deployments() == [("2.0.1", "prod")]


async def test_the_ledger_names_the_effect_so_that_a_repeat_can_be_told(tmp_path: Path) -> None:
    story = await begin(tmp_path)
    await story.decide(Allow(), BOB)
    await story.run()

    assert json.loads(story.ledger.read_text())["op"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("openai:gpt-5", "pip install 'holdshort[openai]'"),
        ("anthropic:claude-sonnet-4-5", "pip install 'holdshort[anthropic]'"),
        ("groq:llama-3", "pip install 'pydantic-ai-slim[groq]'"),
        ("nothing:like-it", "Unknown model"),
    ],
)
def test_a_model_that_cannot_be_used_is_named_with_what_is_missing(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDSHORT_MODEL", name)

    with pytest.raises(ConfigurationError, match=name) as refused:
        deployer()

    assert says in str(refused.value)
