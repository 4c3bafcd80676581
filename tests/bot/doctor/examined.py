"""An examination of an environment with one thing wrong, and what it finds."""

from collections.abc import Callable
from pathlib import Path

from bot.doctor import examine
from bot.doctor_findings import Finding, Level
from bot.local_slack import App, Channel
from tests.bot.stage import ALICE

OWN = Channel(id="C0OWN", name="own", members=(ALICE, App().bot_user))
Set = Callable[..., None]


def write_agents(folder: Path, module: str, *agents: str) -> str:
    """Write a module of agents with these arguments, and return its name for the settings."""
    made = ", ".join(
        f"Agent(name='agent{number}', model='test', {arguments})"
        for number, arguments in enumerate(agents)
    )
    (folder / f"{module}.py").write_text(f"from engine import Agent\nagents = [{made}]\n")
    return f"{module}:agents"


async def look(check: str) -> list[Finding]:
    """Return what is wrong, all of which must be of this check."""
    wrong = [one for one in await examine() if one.level is not Level.OK]
    assert {one.check for one in wrong} <= {check}, wrong
    assert all(one.remedy and "\n" not in one.remedy for one in wrong)
    return wrong


async def one(check: str, level: Level) -> str:
    """Return the text of the one thing that is wrong."""
    (finding,) = await look(check)
    assert finding.level is level
    return finding.text


async def failure(check: str) -> str:
    return await one(check, Level.FAILURE)


async def warning(check: str) -> str:
    return await one(check, Level.WARNING)
