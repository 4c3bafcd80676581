"""The public door: complete, sorted, and light."""

import subprocess
import sys

import pytest

import notifiers
from notifiers import limits, names


def test_the_door_offers_what_it_says_in_order() -> None:
    assert notifiers.__all__ == sorted(notifiers.__all__)
    assert all(hasattr(notifiers, name) for name in notifiers.__all__)


def test_everything_public_in_the_door_is_offered() -> None:
    parts = {"ModuleType"} | {type(notifiers).__name__}
    offered = {
        name
        for name, value in vars(notifiers).items()
        if not name.startswith("_") and type(value).__name__ not in parts
    }
    assert offered == set(notifiers.__all__)


@pytest.mark.parametrize("module", ["notifiers", "notifiers.inbox"])
def test_the_inbox_does_not_load_slack(module: str) -> None:
    check = (
        f"import sys, {module}; sys.exit('slack_sdk' in sys.modules or 'aiohttp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_no_two_things_in_slack_go_by_one_name() -> None:
    given = [value for name, value in vars(names).items() if name.isupper()]
    actions = [names.APPROVE, names.DENY, names.DENY_REASON, names.REVIEW]
    actions += [names.ANSWER, names.DECLINE, names.REASON_INPUT, names.ANSWER_INPUT]

    assert len(set(actions)) == len(actions)
    assert all(len(value) <= limits.ACTION_ID for value in given)
