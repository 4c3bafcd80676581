"""How often a property is tried: by everyone who runs the tests, and by `make proof`."""

from hypothesis import settings

QUICK = settings(max_examples=150, deadline=None)
NORMAL = settings(max_examples=500, deadline=None)
EVERY_TREE = settings(max_examples=2000, deadline=None)
PROOF = settings(max_examples=6250, deadline=None)
"""Eight cards an example: 50,000 cards."""
