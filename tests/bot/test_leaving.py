"""A process that was told to stop ends, whatever its tools, models and policies still do."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from bot.local_slack import LocalSlack
from tests.bot.stage import RESUME_SECRET

ROOT = Path(__file__).parents[2]
HEAD = """
import asyncio, contextlib, sys, threading
from bot.server import Limits, serve_forever
from bot.settings import Purpose, read_settings
from engine import Agent, RunEngine
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from tests.engine.scripted import script

def say(what):
    sys.stdout.write(what + "\\n")
    sys.stdout.flush()

def block():
    say("stuck")
    threading.Event().wait()

async def swallow():
    say("stuck")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

def tool_in_a_thread() -> str:
    "Block."
    block()

async def tool_that_swallows() -> str:
    "Swallow."
    await swallow()

async def policy_that_swallows(values, context):
    await swallow()

def model_in_a_thread(messages, info):
    block()

def well() -> str:
    "Go well."
    return "well"
"""
TAIL = """
limits = Limits(drain=0.2, goodbye=0.2, leave=0.2)
agent = Agent(name="a", **FIELDS)
work = RunEngine.worker

def started(self, options):
    asyncio.get_running_loop().create_task(self.start("a", "go", owner="U0BOB"))
    return work(self, options)

RunEngine.worker = started
status = serve_forever(read_settings(Purpose.SERVE), agents=[agent], limits=limits)
say("returned")
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        # A tool's thread keeps nobody from leaving.
        (
            "model=script([('tool_in_a_thread', {})], 'x'), tools=[tool_in_a_thread]",
            "tools were still running",
        ),
        (
            "model=script([('tool_that_swallows', {})], 'x'), tools=[tool_that_swallows]",
            "user code did not end",
        ),
        (
            "model=script([('well', {})], 'x'), tools=[well], approvals={'well': policy_that_swallows}",
            "user code did not end",
        ),
        ("model=FunctionModel(model_in_a_thread)", "user code did not end"),
    ],
)
async def test_a_process_ends_with_status_0_though_user_code_never_does(
    fields: str, told: str, tmp_path: Path
) -> None:
    program = f"{HEAD}\nFIELDS = dict({fields})\n{TAIL}"
    async with LocalSlack() as slack:
        environment = {
            **{name: value for name, value in os.environ.items() if "COV" not in name},
            "PYTHONPATH": str(ROOT),
            "HOLDSHORT_AGENTS": "nowhere:nothing",
            "HOLDSHORT_STORE_URL": f"sqlite:///{tmp_path / 'holdshort.db'}",
            "HOLDSHORT_RESUME_SECRETS": RESUME_SECRET,
            "HOLDSHORT_PORT": "0",
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
            "HOLDSHORT_SLACK_API_URL": slack.api_url,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            said = await asyncio.wait_for(process.stdout.readline(), 20)
            assert said == b"stuck\n", (await process.stderr.read()).decode()
            process.send_signal(signal.SIGTERM)
            status = await asyncio.wait_for(process.wait(), 15)
            logged = (await process.stderr.read()).decode()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    assert status == 0
    assert '"stopped"' in logged
    assert told in logged
