"""The gallery: every state of a card side by side, to look at and to compare."""
