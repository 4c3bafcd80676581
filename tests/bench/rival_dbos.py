"""DBOS on SQLite, its poll tuned from 1 s to 10 ms: a workflow of three steps and one message."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dbos import DBOS

POLL_S = 0.01
PATIENCE_S = 60


async def _propose() -> str:
    return "I would like to deploy."


async def _deploy(version: str) -> str:
    return f"release {version} live"


async def _answer() -> str:
    return "done"


propose, deploy, answer = (DBOS.step()(step) for step in (_propose, _deploy, _answer))


async def _flow(text: str) -> str:
    await propose()
    await DBOS.set_event_async("parked", {"name": "deploy", "args": {"version": text}})
    assert await DBOS.recv_async("answer", timeout_seconds=PATIENCE_S) == "allow"
    await deploy("1.4.2")
    said: str = await answer()
    return said


flow = DBOS.workflow()(_flow)


class _Flows:
    """Cycles, each a workflow."""

    async def cycles(self, count: int, tasks: int = 1) -> float:
        async def lane() -> None:
            for _ in range(count // tasks):
                await self._cycle()

        begun = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(tasks)))
        return time.perf_counter() - begun

    async def _cycle(self) -> None:
        handle = await DBOS.start_workflow_async(flow, "deploy 1.4.2")
        name = handle.workflow_id
        assert await DBOS.get_event_async(name, "parked", timeout_seconds=PATIENCE_S)
        await DBOS.send_async(name, "allow", "answer")
        assert await handle.get_result() == "done"


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[_Flows]:
    """Launch it."""
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{folder}/dbos.sqlite",
            "run_admin_server": False,
            "log_level": "ERROR",
            "notification_listener_polling_interval_sec": POLL_S,
        }
    )
    DBOS.launch()
    try:
        yield _Flows()
    finally:
        DBOS.destroy()
