"""Why a target is missed, where it is: written beside the figure in docs/bench/bench.json."""

REASONS: dict[str, str] = {}
