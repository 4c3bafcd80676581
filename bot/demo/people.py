"""The people of the demo, acting by themselves: through Slack's signed ways, as people would."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.demo.reading import buttons_of
from bot.demo.scene import RunScene, Scene
from bot.demo.story import Story, StuckError
from bot.local_slack import ActResult, LocalSlackClient
from engine.tickets import OutcomeUnknown, RemoteInput, ResumeTicket, ToolPermission
from notifiers import names

ALICE, BOB, CAROL = "U0ALICE", "U0BOB", "U0CAROL"
DEPLOYS = "C0DEPLOYS"
REQUEST = "Deploy 1.4.2 to production"
REASON = "Not on a Friday."
TICKET = "CHG-1042"

_MOST_ANSWERS = 20


@dataclass(frozen=True, slots=True)
class People:
    """Alice, who owns the run, and Bob, who may approve."""

    client: LocalSlackClient
    story: Story

    async def ask_for_a_deployment(self) -> None:
        """Let Alice start the agent."""
        done = await self.client.slash(ALICE, DEPLOYS, f"run deployer {REQUEST}")
        _check(done, "the slash command was not taken")
        await self.story.until(lambda scene: bool(scene.runs), "a run")

    async def let_it_pass(self) -> None:
        """Do nothing until the run has ended by itself."""
        await self.story.until(lambda scene: not newest(scene).run.live, "an end by itself")

    async def decide_everything(self, *, approve: bool) -> None:
        """Answer whatever the run waits for until it has ended."""
        for _ in range(_MOST_ANSWERS):
            run = newest(self.story.scene).run
            if run.waiting is None:
                return
            await self._answer(run.waiting, approve=approve)
        raise StuckError(f"the run still asks after {_MOST_ANSWERS} answers")

    async def _answer(self, ticket: ResumeTicket, *, approve: bool) -> None:
        replies = _replies(self.story.scene)
        match ticket.target:
            case ToolPermission() if approve:
                await self._press(BOB, names.APPROVE)
            case ToolPermission():
                await self._deny_with_a_reason()
            case RemoteInput():
                text = f"answer {ticket.ref} {TICKET}"
                _check(await self.client.slash(ALICE, DEPLOYS, text), "the answer was not taken")
            case OutcomeUnknown():
                raise StuckError(f"the outcome of {ticket.target.tool} is unknown")
        await self.story.until(
            lambda scene: _closed(scene, ticket) and _replies(scene) > replies,
            f"an end of {ticket.ref}, and a word to whoever answered",
        )

    async def _deny_with_a_reason(self) -> None:
        await self._press(BOB, names.DENY_REASON)
        await self.client.wait_for(self._form)
        done = await self.client.submit(BOB, {names.REASON_BLOCK: REASON})
        _check(done, "the form was not taken")

    async def _press(self, who: str, action: str) -> None:
        message = await self.client.wait_for_message(
            who, DEPLOYS, lambda message: action in _actions(message)
        )
        _check(await self.client.click(who, DEPLOYS, message["ts"], action), "the press was lost")

    async def _form(self) -> bool:
        return bool((await self.client.state(BOB))["views"])


def newest(scene: Scene) -> RunScene:
    """Return the run that was started last.

    Raises:
        StuckError: there is none.

    """
    if not scene.runs:
        raise StuckError("no run was started")
    return scene.runs[-1]


def _closed(scene: Scene, ticket: ResumeTicket) -> bool:
    return newest(scene).run.ticket(ticket.approval) is None


def _replies(scene: Scene) -> int:
    return sum(seen.private_reply for seen in scene.messages.values())


def _actions(message: Mapping[str, Any]) -> list[str]:
    return [button["action_id"] for button in buttons_of(message.get("blocks", []))]


def _check(done: ActResult, otherwise: str) -> None:
    if not done.acked:
        raise StuckError(f"{otherwise}: {done.failure or done.status}")
