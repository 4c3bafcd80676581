"""Why a target is missed, where it is: written beside the figure in docs/bench/bench.json.

By the target's name; one that is met shows no reason, and one that is missed must have one.
"""

REASONS: dict[str, str] = {}
