"""The README's examples run as they are printed."""

import ast
import inspect
import re
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine import RunStatus

README = Path(__file__).parent.parent / "README.md"


async def test_the_agent_and_its_test_without_slack_work_as_printed() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    agent, approvers, trial = blocks
    names: dict[str, Any] = {}
    await run(agent, names)
    await run(approvers, names)
    assert replace(names["deployer"], approvers=names["careful"]).who.quorum == 2
    await run(trial, names)

    ended = await names["engine"].get_run(names["started"].run)
    assert ended.status is RunStatus.SUCCEEDED
    assert ended.output == "It is live."


async def run(source: str, names: dict[str, Any]) -> None:
    """Run a block that may await at its top level."""
    code = compile(source, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done: Awaitable[None] | None = eval(code, names)  # noqa: S307 - our own page
    if inspect.isawaitable(done):
        await done
