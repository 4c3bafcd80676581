"""Everything in the gallery looks as it did, and is something that Slack takes."""

import pytest

from bot.gallery.exhibits import EXHIBITS, Shelf
from notifiers import Message
from tests.notifiers import golden
from tests.notifiers.judge import check_message, check_view

FEWEST = 30


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_exhibit_looks_as_it_did(name: str) -> None:
    assert EXHIBITS[name].kit() == golden.read(name)


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_exhibit_is_something_slack_and_its_sdk_take(name: str) -> None:
    made = EXHIBITS[name].made()
    if isinstance(made, Message):
        check_message(made)
    else:
        check_view(made)


def test_nothing_is_kept_of_what_is_no_longer_shown() -> None:
    assert {path.stem for path in golden.FOLDER.iterdir()} == set(EXHIBITS)


def test_there_is_much_to_see_and_something_on_every_shelf() -> None:
    assert len(EXHIBITS) >= FEWEST
    assert {one.shelf for one in EXHIBITS.values()} == set(Shelf)
