"""Synchronous tools that hang use up threads of their own, are told of, and starve nobody else."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import anyio.to_thread
import pytest

from engine import Agent, Run, ToolOptions
from engine.errors import ToolHangsError
from tests.engine.scripted import ALICE, Call, Stage, repeat_results, script, stage

SOON = ToolOptions(timeout=timedelta(milliseconds=50))


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Give what hanging tools wait for; it opens at the end."""
    made = threading.Event()
    yield made
    made.set()


class Faults(list[tuple[str, Exception]]):
    """What was reported."""

    def __call__(self, part: str, error: Exception) -> None:
        self.append((part, error))

    @property
    def hangs(self) -> list[str]:
        return [str(error) for _, error in self if isinstance(error, ToolHangsError)]


async def played(on: Stage) -> Run:
    started = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return await on.engine.get_run(started.run)


async def test_a_tool_that_hangs_is_told_of_and_takes_no_thread_of_others(
    gate: threading.Event,
) -> None:
    def hang() -> None:
        """Never end."""
        gate.wait()

    def well() -> str:
        """End at once."""
        return "well"

    faults = Faults()
    calls: list[Call] = [("hang", {}), ("hang", {}), ("well", {}), ("hang", {}), ("well", {})]
    on = stage(
        lambda _: Agent(
            name="a",
            model=script(calls, repeat_results),
            tools=[hang, well],
            options={"hang": SOON},
        ),
        tool_threads=3,
        report=faults,
    )

    run = await played(on)

    late = "hang=failed:timed out after 0.05 s; it is not known whether it took effect"
    full = "the tool did not run: all threads for tools are taken (3 of 3: hang 3)"
    told = [late, late, "well=success:well", late, f"well=failed:{full}"]
    assert (run.output or "").split(" | ") == told
    *hung, refused = faults.hangs
    assert hung == [
        f"tool hang of run {run.ref}: it is not done after 0.05 s; threads of tools {n} of 3: hang {n}"
        for n in (1, 2, 3)
    ]
    assert refused.startswith(f"tool well of run {run.ref}: all threads for tools are taken (3 of")
    assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens == 0


async def test_a_thread_is_given_back_however_its_tool_ends() -> None:
    def well() -> str:
        """End at once."""
        return "well"

    def stops() -> str:
        """Raise what no future takes."""
        raise StopIteration(3)

    def leaves() -> str:
        """Raise what would end the process."""
        raise SystemExit(4)

    calls: list[Call] = [("stops", {}), ("leaves", {}), ("well", {})]
    on = stage(
        lambda _: Agent(name="a", model=script(calls, repeat_results), tools=[well, stops, leaves]),
        tool_threads=1,
    )

    run = await played(on)

    assert (run.output or "").split(" | ") == [
        "stops=failed:RuntimeError: StopIteration: 3",
        "leaves=failed:SystemExit: 4",
        "well=success:well",
    ]


async def test_a_tool_that_ends_late_gives_its_thread_back(gate: threading.Event) -> None:
    ended = threading.Event()

    def hang() -> None:
        """End late."""
        gate.wait()
        ended.set()

    def open_gate() -> str:
        """Let the other one end."""
        gate.set()
        return str(ended.wait())

    calls: list[Call] = [("hang", {}), ("open_gate", {}), ("open_gate", {})]
    on = stage(
        lambda _: Agent(
            name="a",
            model=script(calls, repeat_results),
            tools=[hang, open_gate],
            options={"hang": SOON},
        ),
        tool_threads=2,
    )

    assert (await played(on)).output == (
        "hang=failed:timed out after 0.05 s; it is not known whether it took effect"
        " | open_gate=success:True | open_gate=success:True"
    )
