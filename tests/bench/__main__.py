"""``make bench``: what a cycle costs, as ratios within one run."""

import tempfile
from pathlib import Path
from statistics import median

from tests.bench import cycle

TARGET = 2.5


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        figures = cycle.run(Path(folder))
    engine = median(pair[0] for pair in figures["pairs"])
    replay = median(pair[1] for pair in figures["pairs"])
    ratio = median(pair[0] / pair[1] for pair in figures["pairs"])
    print("engine cycle on SQLite: start, park, resume, executing, result, finish")
    for name in ("full_commits", "lite_commits", "statements", "hops"):
        print(f"  {name.replace('_', ' '):<22}{figures[name]:>8.2f} per cycle")
    print(f"  {'engine':<22}{engine * 1000:>8.2f} ms per cycle")
    print(f"  {'replay of its SQL':<22}{replay * 1000:>8.2f} ms per cycle")
    met = "met" if ratio <= TARGET else "missed"
    print(f"  {'ratio':<22}{ratio:>8.2f} (target at most {TARGET}: {met})")


if __name__ == "__main__":
    main()
