"""The examination judges approvers as the engine does."""

from pathlib import Path

import pytest

from bot.local_slack import LocalSlack
from tests.bot.doctor.examined import Set, failure
from tests.bot.stage import BOB, GONE, GUEST


@pytest.mark.parametrize(
    ("module", "approvers", "says"),
    [
        ("admits", f"people=('{BOB}', '{GONE}'), admitted=('{GONE}',)", f"{GONE} is deactivated"),
        (
            "names",
            f"people=('{BOB}', 'gast@example.org')",
            "gast@example.org is a guest, and guests are refused",
        ),
        ("away", f"people=('{BOB}',), stand_ins=(AWAY,)", "U0NOBODY is nobody that Slack knows"),
    ],
)
async def test_whom_the_engine_would_refuse_the_examination_does_not_pass(
    given: Set, slack: LocalSlack, tmp_path: Path, module: str, approvers: str, says: str
) -> None:
    guest = slack.world.user(GUEST)
    assert guest is not None
    slack.world.put_user(guest.model_copy(update={"email": "gast@example.org"}))
    (tmp_path / f"{module}_wrongly.py").write_text(
        "from datetime import UTC, datetime\n"
        "from engine import Agent\n"
        "from engine.identity import Approvers, StandIn\n"
        f"AWAY = StandIn(absent='{BOB}', by='U0NOBODY', until=datetime.max.replace(tzinfo=UTC))\n"
        f"agents = [Agent(name='agent0', model='test', approvers=Approvers({approvers}))]\n"
    )
    given(HOLDSHORT_AGENTS=f"{module}_wrongly:agents")
    assert await failure("approvers") == f"agent agent0: {says}"
