"""The demo: one approval from end to end, on real parts and on this machine alone."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.console import open_console
from bot.demo.checks import complaints
from bot.demo.people import People
from bot.demo.scene import Viewer
from bot.demo.stage import Stage, is_scripted, load_agent, moves, scratch_folder, serve_agent
from bot.demo.story import Story, StuckError
from bot.demo.telling import Teller
from bot.demo.transcript import Transcript
from bot.local_slack import ControlError, LocalSlack, LocalSlackClient, User
from bot.local_slack_port import listen
from bot.stopping import told_to_stop

INTERRUPTED = 130
_SOON = timedelta(seconds=3)
_LATER = timedelta(hours=1)
_PATIENCE = timedelta(seconds=20)
_PATIENCE_WITH_A_MODEL = timedelta(minutes=3)
_ENDS = {
    "approve": "As it should be: deployed once, after bob had allowed it.",
    "deny": "As it should be: bob denied it, so prod was not touched and the agent took another way.",
    "ignore": "As it should be: nobody decided, so nothing was deployed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """How the demo is played.

    Attributes:
        decide: What the people do by themselves; None: they wait for you.
        port: Where the page is, if nothing else is there.
        keep: Keep the scratch folder.

    """

    decide: str | None
    port: int
    keep: bool


def play(options: DemoOptions) -> int:
    """Play the demo; return the exit status: 0 if it ended as it should, else 1 or 130."""
    return asyncio.run(_Demo(options).run())


class _Demo:
    """One play."""

    def __init__(self, options: DemoOptions) -> None:
        self._options = options
        self._decide = options.decide
        self._transcript = Transcript(open_console())
        self._story: Story | None = None

    async def run(self) -> int:
        """Play until it has ended, or until told to stop."""
        with told_to_stop() as told:
            playing = asyncio.create_task(self._play())
            stopping = asyncio.create_task(told.wait())
            await asyncio.wait({stopping, playing}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if playing.done():
                return playing.result()
            playing.cancel()
            await asyncio.wait({playing})
        self._transcript.say("\nStopped.")
        return 0 if self._has_ended() else INTERRUPTED

    async def _play(self) -> int:
        self._say_who_decides()
        slack = LocalSlack()
        with scratch_folder(keep=self._options.keep) as folder:
            ledger = folder / "ledger.jsonl"
            try:
                agent = load_agent(ledger, _SOON if self._decide == "ignore" else _LATER)
                await self._open_page(slack)
                async with serve_agent(agent, slack, folder) as engine:
                    return await self._tell(Stage(engine, slack, ledger))
            finally:
                await slack.stop()
                if self._options.keep:
                    self._transcript.say(f"Kept: {folder}")

    def _say_who_decides(self) -> None:
        if self._decide is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
            self._transcript.say("No terminal here, so the people act by themselves: approve.")
            self._decide = "approve"

    async def _open_page(self, slack: LocalSlack) -> None:
        if not await listen(slack, self._options.port):
            self._transcript.say(f"Port {self._options.port} is taken; the page is elsewhere.")
        self._transcript.say("An agent asks, a person decides, the same run goes on.", "bold")
        self._transcript.say(f"Everybody's Slack, on this machine alone: {slack.page_url}")
        self._transcript.say()

    async def _tell(self, stage: Stage) -> int:
        async with LocalSlackClient(stage.slack.url) as client, moves(stage.slack) as moved:
            names = {u.id: u.name for u in stage.slack.world.users.values() if _can_act(u)}
            viewer = Viewer(stage.engine, client, names, stage.ledger)
            teller = Teller(names, hints=self._decide is None)
            patience = _PATIENCE if is_scripted() else _PATIENCE_WITH_A_MODEL
            story = self._story = Story(viewer, teller, self._transcript, moved, patience)
            people = People(client, story)
            try:
                await people.ask_for_a_deployment()
                return await self._go_on(story, people)
            except (ControlError, StuckError, TimeoutError) as stuck:
                return self._judge([str(stuck) or "nobody could see what they were to press"])

    async def _go_on(self, story: Story, people: People) -> int:
        match self._decide:
            case None:
                await story.follow()
            case "ignore":
                await people.let_it_pass()
            case decide:
                await people.decide_everything(approve=decide == "approve")
        wrong = complaints(self._decide or "", story.scene, scripted=is_scripted())
        return self._judge(wrong)

    def _judge(self, wrong: Sequence[str]) -> int:
        self._transcript.say()
        if not wrong:
            self._transcript.say(_ENDS[self._decide or "approve"], "bold green")
            return 0
        self._transcript.say("Not as it should be:", "bold red")
        for complaint in wrong:
            self._transcript.say(f"  {complaint}")
        self._transcript.say("Again with --keep, bot.log in the scratch folder says more.")
        return 1

    def _has_ended(self) -> bool:
        runs = self._story.scene.runs if self._story else ()
        return bool(runs) and not any(scene.run.live for scene in runs)


def _can_act(user: User) -> bool:
    return not (user.is_bot or user.deleted)
