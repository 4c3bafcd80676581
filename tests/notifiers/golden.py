"""All that people see as it is sent, one readable file per exhibit of the gallery in ``golden/``.

``holdshort gallery --out tests/notifiers/golden`` writes them anew; read the difference before you
keep it.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"


def read(name: str) -> dict[str, Any]:
    """Return what is kept of one exhibit."""
    kept: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return kept
