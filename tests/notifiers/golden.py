"""The cards as they are sent, one readable file per state in ``golden/``.

``python -m tests.notifiers.golden`` writes them anew; read the difference before you keep it.
"""

import json
from pathlib import Path
from typing import Any

from notifiers.blocks import Message
from notifiers.card import ask_card
from tests.notifiers.samples import STATES

FOLDER = Path(__file__).parent / "golden"


def as_json(message: Message) -> dict[str, Any]:
    """Return the message as Slack gets it."""
    return {"text": message.text, "blocks": list(message.blocks)}


def read(name: str) -> dict[str, Any]:
    """Return a kept card."""
    kept: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return kept


def main() -> None:
    """Write every card."""
    FOLDER.mkdir(exist_ok=True)
    for name, notice in STATES.items():
        text = json.dumps(as_json(ask_card(notice)), indent=2, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
