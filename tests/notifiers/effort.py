"""How often a property is tried: by everyone who runs the tests, and by `make proof`."""

from hypothesis import settings

QUICK = settings(max_examples=150, deadline=None)
NORMAL = settings(max_examples=500, deadline=None)
EVERY_TREE = settings(max_examples=2000, deadline=None)
EVERY_SECRET = settings(max_examples=300, deadline=None)
PROOF_OF_SECRETS = settings(max_examples=5000, deadline=None)
PROOF = settings(max_examples=6250, deadline=None)
"""Nine cards an example: more than 50,000 cards."""
