"""Bots are killed all the time, and still: one decision, one effect, every card ends right."""

from pathlib import Path

import pytest

from engine import RunStatus
from tests.faults.storm import OnFile, Storm, Weather, allowed, storm


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
            assert effects[version] == most, version


@pytest.mark.crash
@pytest.mark.timeout(300)
async def test_a_storm_over_bots_on_one_file(tmp_path: Path) -> None:
    backend = OnFile(f"sqlite:///{tmp_path / 'store.sqlite'}")

    async with storm(tmp_path, backend, Weather(runs=60, kills=15)) as blown:
        await blown.blow()

        assert blown.kills["bot"] == 15
        await check(blown)
