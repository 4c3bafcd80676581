"""What the package offers, and that it stands alone."""

import ast
from pathlib import Path

import bot.local_slack as door

FOLDER = Path(door.__file__).parent
STRANGERS = ("engine", "notifiers", "slack_bolt", "slack_sdk")


def test_every_offered_name_is_there_once() -> None:
    assert len(set(door.__all__)) == len(door.__all__)
    assert all(hasattr(door, name) for name in door.__all__)


def test_nothing_of_the_bot_or_of_slacks_own_libraries_is_imported() -> None:
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in names:
                assert name.split(".")[0] not in STRANGERS, (path, name)
                assert not name.startswith("bot.") or name.startswith("bot.local_slack")
