"""What holds for every test: none depends on how fast this machine is."""

from hypothesis import settings

settings.register_profile("holdshort", deadline=None)
settings.load_profile("holdshort")

pytest_plugins = ["tests.leaks.plugin"]
