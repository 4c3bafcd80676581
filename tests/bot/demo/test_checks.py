"""What the demo checks at its end: every way in which it could have gone wrong is complained of.

The scenes are real ones, played here without a process around them, and then one thing is made
false in each.
"""

import asyncio
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from bot.demo.checks import complaints
from bot.demo.people import People, newest
from bot.demo.scene import RunScene, Scene, Viewer
from bot.demo.stage import load_agent, moves, serve_agent
from bot.demo.story import Story, StuckError
from bot.demo.telling import Teller
from bot.demo.transcript import Transcript
from bot.local_slack import LocalSlack, LocalSlackClient
from engine import RunStatus
from engine.cards import Role
from engine.events import TicketClosed

NAMES = {"U0ALICE": "alice", "U0BOB": "bob", "U0CAROL": "carol"}
PATIENCE = timedelta(seconds=20)


@contextmanager
def own_logs() -> Iterator[None]:
    """Put the log handlers back that serving has replaced."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


async def play(decide: str, folder: Path, approval_timeout: timedelta) -> Scene:
    """Play the story and return its last scene."""
    ledger = folder / "ledger.jsonl"
    agent = load_agent(ledger, approval_timeout)
    async with (
        LocalSlack() as slack,
        serve_agent(agent, slack, folder) as engine,
        LocalSlackClient(slack.url) as client,
        moves(slack) as moved,
    ):
        transcript = Transcript(Console(file=io.StringIO()))
        viewer = Viewer(engine, client, NAMES, ledger)
        story = Story(viewer, Teller(NAMES), transcript, moved, PATIENCE)
        people = People(client, story)
        await people.ask_for_a_deployment()
        if decide == "ignore":
            await people.let_it_pass()
        else:
            await people.decide_everything(approve=decide == "approve")
        return story.scene


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    """Return the last scene of each story."""
    timeouts = {"ignore": timedelta(milliseconds=200)}
    with own_logs():
        return {
            decide: asyncio.run(
                play(decide, tmp_path_factory.mktemp(decide), timeouts.get(decide, PATIENCE))
            )
            for decide in ("approve", "deny", "ignore")
        }


def with_run(scene: Scene, **changed: object) -> Scene:
    """Return the scene with fields of its run changed."""
    run = newest(scene)
    return replace(scene, runs=(replace(run, run=run.run.model_copy(update=changed)),))


def with_text(scene: Scene, role: Role, text: str, *, buttons: tuple[str, ...] = ()) -> Scene:
    """Return the scene with another text on every card of a role."""
    run = newest(scene)
    asked = [run.place(ticket, role) for ticket in run.tickets.values()]
    places = [run.outcome] if role is Role.OUTCOME else asked
    changed = {
        place: replace(scene.messages[place], text=text, buttons=buttons)
        for place in places
        if place is not None
    }
    return replace(scene, messages={**scene.messages, **changed})


def without_decisions(scene: Scene) -> Scene:
    """Return the scene as if no ticket had ever been closed."""
    run = newest(scene)
    left = tuple(event for event in run.events if not isinstance(event.fact, TicketClosed))
    return replace(scene, runs=(replace(run, events=left),))


def told_otherwise(scene: Scene) -> Scene:
    """Return the scene as if the model had been told nothing."""
    return replace(scene, runs=(replace(newest(scene), results={}),))


@pytest.mark.parametrize("decide", ["approve", "deny", "ignore"])
def test_a_story_that_went_well_is_not_complained_of(decide: str, scenes: dict[str, Scene]) -> None:
    assert complaints(decide, scenes[decide], scripted=True) == []


@pytest.mark.parametrize(
    ("decide", "played", "complaint"),
    [
        ("approve", "deny", "0 deployments to prod were approved, and 0 made"),
        ("approve", "ignore", 'no card says "Approved by bob"'),
        ("deny", "approve", "prod was denied, and deployed to 1 times"),
        ("deny", "ignore", "it should have gone to staging, once; the ledger says []"),
        ("ignore", "approve", "nothing should have been deployed; the ledger says ['prod']"),
        ("ignore", "deny", "something was decided though nobody acted"),
    ],
)
def test_a_story_that_took_another_turn_is_complained_of(
    decide: str, played: str, complaint: str, scenes: dict[str, Scene]
) -> None:
    assert complaint in complaints(decide, scenes[played], scripted=True)


def test_a_second_deployment_is_complained_of(scenes: dict[str, Scene]) -> None:
    scene = scenes["approve"]
    twice = replace(scene, ledger=scene.ledger * 2)

    assert complaints("approve", twice, scripted=True) == [
        "1 deployments to prod were approved, and 2 made"
    ]


def test_a_run_that_failed_is_complained_of(scenes: dict[str, Scene]) -> None:
    failed = with_run(scenes["approve"], status=RunStatus.FAILED)

    assert "the run is failed" in complaints("approve", failed, scripted=True)


def test_an_owner_who_was_not_told_is_complained_of(scenes: dict[str, Scene]) -> None:
    untold = with_text(scenes["approve"], Role.OUTCOME, "Done: deployer.")

    assert complaints("approve", untold, scripted=True) == ["alice was not told how it ended"]


def test_a_card_that_can_still_be_pressed_is_complained_of(scenes: dict[str, Scene]) -> None:
    said = "Approved by bob: deploy."
    open_card = with_text(scenes["approve"], Role.ASK, said, buttons=("Approve",))

    assert f"a card still has buttons: {said}" in complaints("approve", open_card, scripted=True)


def test_a_card_that_was_never_shown_is_complained_of(scenes: dict[str, Scene]) -> None:
    hidden = replace(scenes["ignore"], messages={})

    assert any("no card shows" in one for one in complaints("ignore", hidden, scripted=True))


def test_a_card_that_does_not_say_who_decided_is_complained_of(scenes: dict[str, Scene]) -> None:
    silent = with_text(scenes["deny"], Role.ASK, "Denied: deploy.")

    assert complaints("deny", silent, scripted=True) == ['no card says "Denied by bob"']


def test_a_timeout_written_as_a_denial_is_complained_of(scenes: dict[str, Scene]) -> None:
    wrong = with_text(scenes["ignore"], Role.ASK, "Denied by bob: deploy.")

    assert complaints("ignore", wrong, scripted=True) == [
        "the card does not say that nobody decided: Denied by bob: deploy."
    ]


def test_a_model_that_was_not_told_why_is_complained_of(scenes: dict[str, Scene]) -> None:
    untold = told_otherwise(scenes["deny"])

    assert "the model was not told why it was denied" in complaints("deny", untold, scripted=True)


def test_decisions_that_left_no_trace_are_complained_of(scenes: dict[str, Scene]) -> None:
    traceless = without_decisions(scenes["ignore"])

    assert complaints("ignore", traceless, scripted=True) == [
        "something was decided though nobody acted"
    ]


def test_another_model_is_not_bound_to_ask_or_to_go_to_staging(scenes: dict[str, Scene]) -> None:
    scene = replace(scenes["deny"], ledger=())

    assert complaints("deny", scene, scripted=False) == []


def test_a_scene_without_a_run_is_no_end_at_all() -> None:
    with pytest.raises(StuckError, match="no run was started"):
        complaints("approve", Scene(), scripted=True)


class TestTelling:
    """What is new between two looks at a real story."""

    @staticmethod
    def tell(before: Scene, after: Scene, *, hints: bool = False) -> list[tuple[str, str]]:
        return [(line.who, line.said) for line in Teller(NAMES, hints=hints).tell(before, after)]

    @staticmethod
    def first_events(run: RunScene, count: int) -> RunScene:
        return replace(run, events=run.events[:count])

    def test_nothing_new_is_nothing_told(self, scenes: dict[str, Scene]) -> None:
        assert self.tell(scenes["approve"], scenes["approve"]) == []

    def test_a_card_brought_up_to_date_late_is_told_late(self, scenes: dict[str, Scene]) -> None:
        after = scenes["ignore"]
        before = with_text(after, Role.ASK, "deployer asks: run deploy?", buttons=("Approve",))

        (line,) = self.tell(before, after)

        assert line[0] == "#deploys"
        assert line[1].startswith('Nobody decided: deploy "1.4.2 to prod" was denied at')

    def test_a_tool_that_ran_twice_for_one_call_is_not_called_once(
        self, scenes: dict[str, Scene]
    ) -> None:
        scene = scenes["approve"]
        twice = replace(scene, ledger=scene.ledger * 2)

        assert ("deploy", "runs 2 times: 1.4.2 to prod") in self.tell(Scene(), twice)

    def test_whoever_watches_is_told_what_to_do_next(self, scenes: dict[str, Scene]) -> None:
        who, said = self.tell(Scene(), scenes["approve"], hints=True)[-1]

        assert who == "your turn"
        assert "/holdshort run deployer" in said
