"""What every browser test starts from. Without Playwright there are none, only `make test` is run."""

from importlib.util import find_spec

if find_spec("playwright") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.browser.fixtures import browser, open_page, room  # noqa: F401 - found by name
