"""After each test, nothing it wrote holds a secret: files, databases, logs, output of children.

A test that leaves one fails when it is torn down, with the kind of secret and where it is. Folders
of wider fixtures are read when the last test of a module has ended. Secrets that a child makes for
itself are found only if they have a form of their own, as tokens have. ``plants_secrets`` marks a
test that writes secrets on purpose, and can say where.
"""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.leaks.scan import Leak, files_in
from tests.leaks.watch import Watch

_ours = pytest.StashKey["Leaks"]()
_patch = pytest.StashKey[pytest.MonkeyPatch]()


class Leaks:
    """What the tests of one process have left, and which of their files were read."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._read: dict[Path, int] = {}

    def begin(self, planted: list[str]) -> None:
        """Take where a test that begins leaves secrets on purpose."""
        self._watch.planted = planted

    def after(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[Leak]:
        """Return what a test left, and what its module left if it was the last of it."""
        found = self._watch.take()
        for _, name, text in item._report_sections:
            found += self._watch.secrets.leaks(f"captured {name}", text.encode(errors="replace"))
        for folder in self._folders(item, nextitem):
            new = [file for file in files_in(folder) if self._is_new(file)]
            found += self._watch.secrets.leaks_of_files(folder, new)
        return found

    def heard(self, place: str, said: str | bytes) -> None:
        """Take what was written somewhere."""
        self._watch.heard(place, said)

    def mask(self, text: str) -> str:
        """Return what a test printed, as it may be shown."""
        return self._watch.secrets.mask(text)

    def _folders(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[Path]:
        if nextitem is None or nextitem.path != item.path:
            factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
            return [factory.getbasetemp()]
        own = getattr(item, "funcargs", {}).get("tmp_path")
        return [own] if own else []

    def _is_new(self, file: Path) -> bool:
        changed = file.stat().st_mtime_ns
        before, self._read[file] = self._read.get(file), changed
        return before != changed


def pytest_configure(config: pytest.Config) -> None:
    watch, patch = Watch(), pytest.MonkeyPatch()
    watch.install(patch)
    config.stash[_ours], config.stash[_patch] = Leaks(watch), patch


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_patch].undo()


@pytest.fixture
def heard(request: pytest.FixtureRequest) -> Callable[[str, str | bytes], None]:
    """Return who must be told what a test reads by itself, and where: a terminal, a server."""
    return request.config.stash[_ours].heard


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_ours].begin(_planted(item))


def _planted(item: pytest.Item) -> list[str]:
    return [mark.kwargs.get("where", "") for mark in item.iter_markers("plants_secrets")]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost: whatever was captured is at hand
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    yield
    planted = _planted(item)
    found = [
        leak
        for leak in item.config.stash[_ours].after(item, nextitem)
        if not any(where in leak.place for where in planted)
    ]
    if found:
        pytest.fail("left behind:\n" + "\n".join(map(str, found)), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    ours = item.config.stash[_ours]
    report.sections = [(name, ours.mask(text)) for name, text in report.sections]
    return report
