"""Bots are killed all the time, and still: one decision, one effect, every card ends right."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine import RunStatus
from tests.faults.storm import OnFile, Storm, Weather, allowed, storm
from tests.servers.process import ServerProcess


@dataclass(frozen=True, slots=True)
class OnServer:
    """A Valkey server that may be killed, too."""

    server: ServerProcess

    @property
    def url(self) -> str:
        """Return the store's URL."""
        return self.server.url

    async def kill(self) -> bool:
        """Kill it, and start it on what it has written."""
        await asyncio.to_thread(self.server.kill)
        await asyncio.to_thread(self.server.start)
        return True


async def check(blown: Storm) -> None:
    """Check what the ledger, the store and the Slack say in the end."""
    effects = blown.effects()
    runs = await blown.runs()
    assert len(runs) == blown.weather.runs
    for run in runs:
        version = blown.started[run.id]
        decided = await blown.decisions(run.id)
        assert run.status is RunStatus.SUCCEEDED, version
        assert set(decided.values()) == {1}, version
        # A tool that was killed before its effect, and given up, has none.
        most = 1 if allowed(version) else 0
        assert effects[version] <= most, version
        if len(decided) == 1:
            told = [event.fact for event in await blown.events(run.id)]
            assert effects[version] == most, told


@pytest.mark.crash
@pytest.mark.timeout(300)
async def test_a_storm_over_bots_on_one_file(tmp_path: Path) -> None:
    backend = OnFile(f"sqlite:///{tmp_path / 'store.sqlite'}")

    async with storm(tmp_path, backend, Weather(runs=60, kills=15)) as blown:
        await blown.blow()

        assert blown.kills["bot"] == 15
        await check(blown)


@pytest.mark.crash
@pytest.mark.timeout(300)
async def test_a_storm_over_bots_and_their_server(tmp_path: Path) -> None:
    await storm_over_server(tmp_path, Weather(runs=60, kills=15))


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(4))
async def test_a_long_storm_over_bots_and_their_server(tmp_path: Path, seed: int) -> None:
    await storm_over_server(tmp_path, Weather(runs=500, kills=100, seed=seed))


async def storm_over_server(folder: Path, weather: Weather) -> None:
    """Let it blow over a Valkey server of its own."""
    with ServerProcess() as server:
        async with storm(folder, OnServer(server), weather) as blown:
            await blown.blow()

            assert blown.kills["server"] > 0
            assert blown.kills.total() == weather.kills
            await check(blown)
