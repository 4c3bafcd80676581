"""A bot moves from a file to a server: what waits there goes on here, and its old card closes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.bootstrap import open_runtime
from bot.local_slack import LocalSlack, LocalSlackClient
from bot.server import serve
from engine.ids import Surroundings
from tests.bot.stage import BOB, QUICK, RESUME_SECRET, Clock, Stage, both, settings_for
from tests.engine.scripted import Ledger
from tests.servers.process import ServerProcess

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def serving(
    slack: LocalSlack, people: LocalSlackClient, url: str, ledger: Ledger
) -> AsyncIterator[Stage]:
    """Serve from a store; Slack was there before, and stays."""
    clock = Clock()
    async with (
        open_runtime(
            settings_for(slack, store_url=url),
            agents=both(ledger),
            surroundings=Surroundings(clock=clock),
            pauses=(),
        ) as runtime,
        serve(runtime, limits=QUICK) as bot,
    ):
        slack.request_url = bot.slack_url
        yield Stage(slack, people, runtime, bot, ledger, clock)


async def copy(source: str, target: str) -> str:
    """Copy a store as an operator does; return what was printed."""
    inherited = {name: value for name, value in os.environ.items() if "COV" not in name}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "store", "copy", source, target),
        env={**inherited, "PYTHONPATH": str(ROOT), "HOLDSHORT_RESUME_SECRETS": RESUME_SECRET},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    return out.decode()


def asked(on: Stage) -> int:
    """Return how many messages with buttons were ever posted."""
    return sum(
        '"actions"' in str(call["blocks"]) or "'actions'" in str(call["blocks"])
        for call in on.calls("chat.postMessage")
    )


async def test_a_card_that_was_posted_before_the_move_is_pressed_after_it(
    tmp_path: Path, redis_server: ServerProcess
) -> None:
    file, ledger = f"sqlite:///{tmp_path / 'old.db'}", Ledger()
    async with LocalSlack() as slack, LocalSlackClient(slack.url) as people:
        async with serving(slack, people, file, ledger) as on:
            run, card = await on.park()

        said = await copy(file, redis_server.url)
        assert said.startswith("Copied 1 run (1 waiting); verified.")

        async with serving(slack, people, redis_server.url, ledger) as on:
            assert await on.run(run.id) == run
            posted = asked(on)
            assert (await on.press(BOB, card)).acked
            ended = await on.until_run(run.id, lambda now: not now.live)
            closed = await people.wait_for_message(
                BOB,
                card["channel"],
                lambda message: (
                    message["ts"] == card["ts"]
                    and "actions" not in {block["type"] for block in message["blocks"]}
                ),
            )

    assert "release 1.4.2" in (ended.output or "")
    assert "Approved" in str(closed)
    assert asked(on) == posted == 1
