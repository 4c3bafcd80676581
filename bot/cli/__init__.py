"""The ``holdshort`` command: a way to start, look at and answer runs, and to serve."""
