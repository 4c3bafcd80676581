"""What the examination says of groups, channels and whoever is on call, who may decide."""

from pathlib import Path

import pytest

from bot.doctor import examine
from bot.doctor_findings import Level
from bot.local_slack import Fault, FaultKind, LocalSlack, UserGroup
from tests.bot.doctor.examined import (
    OWN,
    Set,
    failure,
    write_agents,
)

ONCALL = "S0ONCALL"


@pytest.fixture
def asking(given: Set, tmp_path: Path) -> Set:
    """Return what sets up an agent with these approvers."""

    def ask(name: str, approvers: str, *more: str) -> None:
        made = ", ".join((f"approvers=Approvers({approvers})", *more))
        module = write_agents(tmp_path, name, made).partition(":")[0]
        path = tmp_path / f"{module}.py"
        path.write_text(f"from engine import Approvers\n{path.read_text()}")
        given(HOLDSHORT_AGENTS=f"{module}:agents")

    return ask


async def said() -> list[str]:
    """Return what is said of approvers, where nothing is wrong."""
    found = await examine()
    assert {one.level for one in found} == {Level.OK}
    return [one.text for one in found if one.check == "approvers"]


async def test_groups_channels_and_whoever_is_on_call_are_told(asking: Set) -> None:
    asking(
        "crowd",
        f"groups=('{ONCALL}',), channels=('{OWN.id}',)",
        "on_call=lambda context: ()",
    )

    assert await said() == [f"agent agent0: {ONCALL}, {OWN.id}, whoever is on call"]


@pytest.mark.parametrize(("kind", "name"), [("groups", "S0NONE"), ("channels", "C0NONE")])
async def test_a_group_that_slack_does_not_know_is_a_failure(
    asking: Set, kind: str, name: str
) -> None:
    asking(f"unknown_{kind}", f"{kind}=('{name}',)")

    assert (await failure("approvers")).startswith(f"agent agent0: {name} is unknown: ")


async def test_a_group_with_nobody_in_it_is_a_failure(
    asking: Set,
    slack: LocalSlack,
) -> None:
    slack.world.put_group(UserGroup(id=ONCALL, handle="oncall", name="On call", users=()))
    asking("nobody", f"groups=('{ONCALL}',)")

    assert await failure("approvers") == f"agent agent0: {ONCALL} has nobody in it"


async def test_a_group_that_slack_cannot_tell_of_is_a_failure(
    asking: Set,
    slack: LocalSlack,
) -> None:
    asking("away", f"groups=('{ONCALL}',)")
    method = "usergroups.users.list"
    slack.faults.plant(Fault(kind=FaultKind.ERROR, method=method, error="fatal_error"))

    assert await failure("approvers") == (
        f"agent agent0: {ONCALL} cannot be looked up: {method}: fatal_error"
    )
