"""The bot on a stage: real Bolt, real HTTP or a real socket, and the local Slack as the peer."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.bootstrap import Runtime, open_runtime
from bot.local_slack import ActResult, LocalSlack, LocalSlackClient, RecordedCall
from bot.server import Bot, Limits, serve
from bot.settings import Purpose, Settings, given_settings
from bot.sockets import Pace
from bot.tasks import Patience
from engine import Agent, Origin, Run, Via, ask_human
from engine.ids import Surroundings
from engine.store import Store
from notifiers import names
from tests.engine.scripted import Ledger, repeat_results, script
from tests.engine.town import but_for_attempts

ALICE, BOB, CAROL = "U0ALICE", "U0BOB", "U0CAROL"
GUEST, OUTSIDER, GONE, ROBOT = "U0GUEST", "U0EXT", "U0GONE", "U0ROBOT"
DEPLOYS, GENERAL = "C0DEPLOYS", "C0GENERAL"
RESUME_SECRET = "q7Zt0mXc5Vb2Nn8Jk4Lp1Rs6Wy9Dg3Hf"
QUICK = Limits(
    patience=Patience(ack=2.0, give_up=4.0), drain=5.0, goodbye=2.0, socket=Pace(look=0.05)
)

Json = dict[str, Any]
MakeAgents = Callable[[Ledger], Sequence[Agent]]


class Clock:
    """The real clock, and what it was moved by."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def seconds(self) -> float:
        return self().timestamp()

    def move(self, step: timedelta) -> None:
        self.ahead += step


def deployer(ledger: Ledger, **more: Any) -> Agent:
    """Deploys if a person lets it."""
    model = script([("deploy", {"version": "1.4.2"})], repeat_results)
    asked: Any = {
        "name": "deployer",
        "model": model,
        "tools": [ledger.deploy],
        "approvals": {"deploy": "user"},
    }
    return Agent(**{**asked, **more})


def curious(_ledger: Ledger) -> Agent:
    """Asks a question and repeats the answer."""
    model = script([("ask_human", {"question": "Which change ticket?"})], repeat_results)
    return Agent(name="curious", model=model, tools=[ask_human])


def both(ledger: Ledger) -> Sequence[Agent]:
    return [deployer(ledger), curious(ledger)]


@dataclass
class Stage:
    """A serving bot with a local Slack around it."""

    slack: LocalSlack
    people: LocalSlackClient
    runtime: Runtime
    bot: Bot
    ledger: Ledger
    clock: Clock
    known: dict[str, int] = field(default_factory=dict)

    async def park(
        self,
        agent: str = "deployer",
        *,
        owner: str = BOB,
        requester: str = "",
        channel: str = DEPLOYS,
    ) -> tuple[Run, Json]:
        """Start a run, wait for its card, and return the waiting run and the card."""
        started = await self.runtime.engine.start(
            agent,
            "go",
            owner=owner,
            requester=requester,
            origin=Origin(via=Via.SLACK, channel=channel),
        )
        card = await self.people.wait_for_message(BOB, channel, lambda m: _asks(m, started.run))
        return await self.run(started.run), {**card, "channel": channel}

    async def run(self, run_id: str) -> Run:
        """Return a run as it stands."""
        return await self.runtime.engine.get_run(run_id)

    async def unchanged(self, run: Run) -> bool:
        """Tell whether a run stands as it did, but for what is kept of refused attempts."""
        return but_for_attempts(await self.run(run.id)) == but_for_attempts(run)

    async def press(
        self, user: str, card: Json, action: str = names.APPROVE, **more: Any
    ) -> ActResult:
        """Press a button of a card."""
        return await self.people.click(user, card["channel"], card["ts"], action, **more)

    async def press_as_shown(
        self, user: str, card: Json, action: str = names.APPROVE, **changed: Any
    ) -> ActResult:
        """Press a button as the card once showed it: the click was on its way when it closed."""
        rows = [block for block in card["blocks"] if block["type"] == "actions"]
        row, button = next(
            (row, one) for row in rows for one in row["elements"] if one["action_id"] == action
        )
        space, channel = self.slack.workspace, card["channel"]
        response = space.passes.give(user, channel, card["ts"])
        payload = {
            "type": "block_actions",
            "user": {"id": user, "team_id": space.world.team.id},
            "team": {"id": space.world.team.id, "domain": space.world.team.domain},
            "channel": {"id": channel, "name": "somewhere"},
            "container": {"type": "message", "message_ts": card["ts"], "channel_id": channel},
            "message": {name: value for name, value in card.items() if name != "channel"},
            "trigger_id": space.triggers.give(user),
            "response_url": f"{self.slack.url}/response/{response}",
            "actions": [{**button, "block_id": row["block_id"]}],
        }
        return await self.people.raw({**payload, **changed})

    async def press_with(self, user: str, card: Json, **button: Any) -> ActResult:
        """Press a button that the card may not have."""
        pressed = {"type": "button", "block_id": "b", "action_ts": "1.1", **button}
        return await self.press_as_shown(user, card, actions=[pressed])

    async def whispers(self, user: str) -> list[str]:
        """Return what a person was told privately, oldest first."""
        state = await self.people.state(user)
        found = [
            message
            for channel in state["channels"]
            for message in channel["messages"]
            if message["is_ephemeral"]
        ]
        return [message["text"] for message in sorted(found, key=lambda m: m["ts"])]

    async def told(self, user: str, count: int = 1) -> str:
        """Wait until a person was told so many things privately; return the last."""

        async def look() -> list[str] | None:
            heard = await self.whispers(user)
            return heard if len(heard) >= count else None

        return (await self.people.wait_for(look))[-1]

    async def until_run(self, run_id: str, holds: Callable[[Run], bool]) -> Run:
        """Wait until something holds of a run."""
        store = self.runtime.engine.store
        while True:
            mark = store.mark()
            run = await self.run(run_id)
            if holds(run):
                return run
            await store.wait(timedelta(seconds=5), mark)

    async def modal(self, user: str) -> Json:
        """Wait until a person has a modal open, and return the topmost."""

        async def look() -> Json | None:
            views = (await self.people.state(user))["views"]
            return views[-1] if views else None

        return await self.people.wait_for(look)

    async def answered(self, result: ActResult) -> str:
        """Return the direct reply to a slash command."""
        assert result.acked, result
        return str(result.body["text"])

    def calls(self, method: str) -> list[Json]:
        """Return the arguments of every call of a method so far."""
        return [call.arguments for call in self.slack_calls(method)]

    def slack_calls(self, method: str | None = None) -> list[RecordedCall]:
        """Return every call so far, of one method if one is named."""
        return self.slack.calls.select(method)


def _asks(message: Json, run: str) -> bool:
    key = message.get("metadata", {}).get("event_payload", {}).get("key", "")
    return key.startswith(f"{run}:") and "actions" in {one["type"] for one in message["blocks"]}


def settings_for(slack: LocalSlack, mode: str = "http", **more: Any) -> Settings:
    """Return the settings of a bot in this Slack."""
    values = {
        "slack_bot_token": slack.bot_token,
        "slack_signing_secret": slack.signing_secret,
        "slack_app_token": slack.app_token,
        "slack_api_url": slack.api_url,
        "slack_channel": DEPLOYS,
        "slack_mode": mode,
        "store_url": "memory:",
        "resume_secrets": RESUME_SECRET,
        "port": 0,
    }
    return given_settings(Purpose.EMBED, **{**values, **more})


@asynccontextmanager
async def on_stage(
    agents: MakeAgents = both,
    *,
    mode: str = "http",
    limits: Limits = QUICK,
    store: Callable[[Clock], Store] | None = None,
    **settings: Any,
) -> AsyncIterator[Stage]:
    """Put everything up, and take it down at the end."""
    clock, ledger = Clock(), Ledger()
    async with (
        LocalSlack(clock=clock.seconds) as slack,
        LocalSlackClient(slack.url) as people,
        open_runtime(
            settings_for(slack, mode, **settings),
            agents=agents(ledger),
            store=store(clock) if store else None,
            surroundings=Surroundings(clock=clock),
            pauses=(),
        ) as runtime,
        serve(runtime, limits=limits) as bot,
    ):
        slack.request_url = bot.slack_url
        stage = Stage(slack, people, runtime, bot, ledger, clock)
        if mode == "socket":
            await people.wait_for(lambda: _connected(people))
        yield stage


async def _connected(people: LocalSlackClient) -> bool:
    return bool(await people.sockets.list())
