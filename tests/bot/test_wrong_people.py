"""By every way in, whoever may not decide is refused in private, and that they tried is kept."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.bootstrap import open_runtime
from bot.cli.terminal import Terminal
from bot.local_slack import Kind, RecordedCall
from bot.settings import Purpose, given_settings
from engine import Agent, Allow, Answer, Approvers, Decision, Run, RunEngine, Settle, Via, ask_human
from engine.errors import NotAllowedError
from engine.events import AnswerRefused
from engine.ids import PersonId, Surroundings
from engine.stores import SqliteStore
from engine.worker import WorkerOptions
from notifiers import answer_form, deny_form, names
from notifiers.inbox import InboxNotifier
from tests.bot.stage import (
    ALICE,
    BOB,
    CAROL,
    DEPLOYS,
    GONE,
    GUEST,
    OUTSIDER,
    RESUME_SECRET,
    ROBOT,
    Stage,
    on_stage,
)
from tests.engine.scripted import Ledger, script

Json = dict[str, Any]
PERMISSION, QUESTION, LOST = "permission", "question", "outcome unknown"
NAMED = (BOB, ALICE, GUEST, OUTSIDER, ROBOT, GONE)
HOME, OTHER = "T0LOCAL", "T0OTHER"
# Who, from which workspace, and why they are refused though all but Carol are named. Alice started
# the run; Bob would do, were he not said to come from elsewhere.
WRONG = [
    (CAROL, HOME, "not_an_approver"),
    (ALICE, HOME, "requester"),
    (ROBOT, HOME, "bot"),
    (GUEST, HOME, "guest"),
    (OUTSIDER, OTHER, "outsider"),
    (GONE, HOME, "deactivated"),
    (BOB, OTHER, "outsider"),
]


def agent(target: str, tool: Callable[..., Any]) -> Agent:
    """Return an agent that comes to wait for this kind of answer."""
    approvals: Any = (
        {} if target is QUESTION else {"deploy": "user" if target is PERMISSION else "allow"}
    )
    asked = ("ask_human", {"question": "Which ticket?"})
    call = asked if target is QUESTION else ("deploy", {"version": "1"})
    return Agent(
        name="deployer",
        model=script([call], "done"),
        tools=[ask_human] if target is QUESTION else [tool],
        approvals=approvals,
        approvers=Approvers(people=tuple(PersonId(who) for who in NAMED)),
        notify="slack",
    )


async def lose_a_call(path: Path) -> None:
    """Leave a run whose worker vanished an hour ago, while its tool was at work."""
    begun = asyncio.Event()

    async def deploy(version: str) -> str:
        """Deploy."""
        begun.set()
        await asyncio.Event().wait()
        return version

    def an_hour_ago() -> datetime:
        return datetime.now(UTC) - timedelta(hours=1)

    store = SqliteStore(path, clock=an_hour_ago)
    engine = RunEngine(
        store=store,
        agents=[agent(LOST, deploy)],
        resume_secret=RESUME_SECRET,
        notifiers={"slack": InboxNotifier()},
        surroundings=Surroundings(clock=an_hour_ago),
    )
    await engine.start("deployer", "go", owner=BOB, requester=ALICE)
    working = asyncio.create_task(engine.worker(WorkerOptions(name="gone")).drain_ready())
    await begun.wait()
    working.cancel()
    await asyncio.wait({working})
    await store.close()


@asynccontextmanager
async def waiting(target: str, path: Path) -> AsyncIterator[tuple[Stage, Run]]:
    """Serve a run that waits for this kind of answer."""
    if target is LOST:
        await lose_a_call(path)

    def agents(ledger: Ledger) -> list[Agent]:
        return [agent(target, ledger.deploy)]

    async with on_stage(agents, store_url=f"sqlite:///{path}") as on:
        if target is not LOST:
            await on.runtime.engine.start("deployer", "go", owner=BOB, requester=ALICE)
        (run,) = (await on.runtime.engine.list_runs()).runs
        yield on, await on.until_run(run.id, lambda now: bool(now.tickets))


async def token_of(on: Stage, run: Run) -> str:
    return await on.runtime.engine.token_for(run.tickets[0].ref, Via.SLACK)


def start_of(kind: str, who: str, team: str) -> Json:
    return {
        "type": kind,
        "user": {"id": who, "team_id": team},
        "team": {"id": HOME, "domain": "local"},
        "trigger_id": "1.2.3",
    }


async def click(on: Stage, run: Run, who: str, team: str) -> None:
    """Press the button of a card, or one that should never have been on it."""
    action = names.DECLINE if run.tickets[0].target.kind == "remote_input" else names.APPROVE
    button = {"action_id": action, "value": await token_of(on, run), "type": "button"}
    place = {"channel": {"id": DEPLOYS}, "container": {"channel_id": DEPLOYS}}
    pressed = await on.people.raw(
        start_of("block_actions", who, team) | place | {"actions": [button]}
    )
    assert pressed.acked


async def modal(on: Stage, run: Run, who: str, team: str) -> None:
    """Submit the form that somebody else had opened."""
    notice = await on.runtime.engine.notice(await token_of(on, run), Via.SLACK)
    question = notice.target.kind == "remote_input"
    made: Any = (answer_form if question else deny_form)(notice, channel=DEPLOYS, message="")
    block = names.ANSWER_BLOCK if question else names.REASON_BLOCK
    typed = {block: {"typed": {"type": "plain_text_input", "value": "CHG-7"}}}
    view = {**made, "state": {"values": typed}}
    sent = await on.people.raw(start_of("view_submission", who, team) | {"view": view})
    assert sent.acked


async def slash(on: Stage, run: Run, who: str, team: str) -> str:
    """Type an answer."""
    typed = {
        "command": "/holdshort",
        "text": f"answer {run.tickets[0].ref} CHG-7",
        "user_id": who,
        "team_id": team,
        "channel_id": DEPLOYS,
        "trigger_id": "1.2.3",
    }
    sent = await on.people.raw(typed, kind=Kind.SLASH)
    assert sent.acked
    assert sent.body["response_type"] == "ephemeral"
    return str(sent.body["text"])


async def terminal(on: Stage, run: Run, who: str, _team: str) -> None:
    """Answer from a terminal whose operator this is; there is no team to say there."""
    decisions: dict[str, Decision] = {
        "tool_permission": Allow(),
        "remote_input": Answer(value="CHG-7"),
        "outcome_unknown": Settle(outcome="abandon"),
    }
    settings = given_settings(
        Purpose.TERMINAL,
        slack_bot_token=on.slack.bot_token,
        slack_api_url=on.slack.api_url,
        store_url=on.runtime.settings.store_url,
        resume_secrets=RESUME_SECRET,
        operator=who,
    )
    ticket = run.tickets[0]
    async with open_runtime(settings, agents=()) as own:
        with pytest.raises(NotAllowedError):
            await Terminal(own.engine, settings).decide(ticket.ref, decisions[ticket.target.kind])


def whispered(on: Stage) -> list[RecordedCall]:
    calls = on.slack_calls()
    return [call for call in calls if call.method in {"response_url", "chat.postEphemeral"}]


async def told(on: Stage, before: int) -> str:
    """Wait until somebody was told something that nobody else sees, and return it."""

    async def look() -> str | None:
        heard = whispered(on)
        return str(heard[before].arguments["text"]) if len(heard) > before else None

    return await on.people.wait_for(look)


@pytest.mark.parametrize("target", [PERMISSION, QUESTION, LOST])
@pytest.mark.parametrize("way", [click, modal, slash, terminal])
async def test_the_wrong_people_are_refused_and_it_is_kept_that_they_tried(
    way: Callable[[Stage, Run, str, str], Any], target: str, tmp_path: Path
) -> None:
    async with waiting(target, tmp_path / "runs.db") as (on, run):
        public = len(on.calls("chat.postMessage"))
        wrong = [one for one in WRONG if way is not terminal or one[:2] != (BOB, OTHER)]
        for who, team, why in wrong:
            before = len(whispered(on))

            said = await way(on, run, who, team)

            if way in {click, modal}:
                said = await told(on, before)
            if said is not None:
                assert re.search("can decide|may decide", said), why
                assert "nothing changed" in said
            assert await on.unchanged(run)

        events = await on.runtime.engine.events(run.id)
        tried = [event.fact for event in events if isinstance(event.fact, AnswerRefused)]
        expected = [
            (who, "not_an_approver" if target is QUESTION and why == "requester" else why)
            for who, _, why in wrong
        ]
        assert [(fact.actor.id, fact.refusal.value) for fact in tried] == expected
        assert on.ledger.effects == []
        posts = on.calls("chat.postMessage")[public:]
        assert not [
            one for one in posts if one["channel"] == DEPLOYS and "nothing changed" in one["text"]
        ]


async def test_the_right_person_is_let_in_by_each_of_these_ways(tmp_path: Path) -> None:
    """The table above refuses for the reasons it says, and not because the way is blocked."""
    async with waiting(PERMISSION, tmp_path / "one.db") as (on, run):
        await click(on, run, BOB, HOME)
        assert not (await on.run(run.id)).tickets
    async with waiting(PERMISSION, tmp_path / "two.db") as (on, run):
        await modal(on, run, BOB, HOME)
        assert not (await on.run(run.id)).tickets
    async with waiting(QUESTION, tmp_path / "three.db") as (on, run):
        assert (await slash(on, run, BOB, HOME)).startswith("Recorded: answered")
