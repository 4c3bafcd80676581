"""The gallery hangs in a local Slack, opens every form, and decides nothing."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from bot.gallery.exhibits import EXHIBITS, Shelf
from bot.gallery.room import NOTHING, OPEN, gallery_world, hung, place
from bot.local_slack import LocalSlack, LocalSlackClient
from engine.cards import TicketNotice
from notifiers import names, pages

ALICE = "U0ALICE"
Json = dict[str, Any]


@dataclass(frozen=True)
class Visit:
    """A person who looks around."""

    people: LocalSlackClient

    async def channel(self, shelf: Shelf) -> list[Json]:
        """Return the messages of a shelf, oldest first."""
        state = await self.people.state(ALICE)
        (found,) = [one for one in state["channels"] if one["id"] == place(shelf)]
        messages: list[Json] = found["messages"]
        return messages

    async def press(self, name: str, action: str) -> None:
        """Press a button of an exhibit."""
        shelf = EXHIBITS[name].shelf
        shown = await self.channel(shelf)
        after = next(n for n, one in enumerate(shown) if one["text"] == name)
        done = await self.people.click(ALICE, place(shelf), shown[after + 1]["ts"], action)
        assert done.acked

    async def form(self) -> Json | None:
        """Return the form that is open."""
        views = (await self.people.state(ALICE))["views"]
        return views[-1] if views else None


@pytest.fixture
async def visit() -> AsyncIterator[Visit]:
    async with (
        LocalSlack(world=gallery_world()) as slack,
        LocalSlackClient(slack.url) as people,
        hung(slack),
    ):
        yield Visit(people)


async def test_every_exhibit_hangs_below_its_name(visit: Visit) -> None:
    seen = []
    for shelf in Shelf:
        shown = await visit.channel(shelf)
        names_, cards = shown[::2], shown[1::2]
        seen += [one["text"] for one in names_]
        assert all(card["blocks"] for card in cards)

    assert sorted(seen) == sorted(EXHIBITS)


async def test_every_form_opens(visit: Visit) -> None:
    for name, one in EXHIBITS.items():
        if one.shelf is Shelf.FORMS:
            await visit.press(name, OPEN)
            form = await visit.form()
            assert form is not None
            assert form["title"]["text"] == one.kit()["title"]["text"]
            await visit.people.close_view(ALICE)


@pytest.mark.parametrize(
    ("name", "action", "title"),
    [
        ("open", names.DENY_REASON, "Deny"),
        ("question", names.ANSWER, "Answer"),
        ("open_high_risk", names.REVIEW, "Review"),
    ],
)
async def test_a_card_opens_its_own_form_and_sending_it_decides_nothing(
    visit: Visit, name: str, action: str, title: str
) -> None:
    await visit.press(name, action)
    form = await visit.form()
    assert form is not None
    assert form["title"]["text"] == title

    typed = {names.ANSWER_BLOCK: {names.ANSWER_INPUT: "CHG-1"}} if title == "Answer" else {}
    done = await visit.people.submit(ALICE, typed)

    assert done.acked
    assert await visit.form() is None


async def test_the_pages_of_a_review_can_be_turned_to_the_last(visit: Visit) -> None:
    await visit.press("form_review_first_page", OPEN)
    notice = EXHIBITS["form_review_first_page"].notice
    assert isinstance(notice, TicketNotice)
    last = pages(notice)
    for page in range(1, last + 1):
        form = await visit.form()
        assert form is not None
        assert form["title"]["text"] == f"Page {page} of {last}"
        await visit.people.submit(ALICE, {})

    assert await visit.form() is None


async def test_a_decision_is_answered_with_the_truth(visit: Visit) -> None:
    await visit.press("open", names.APPROVE)

    assert [one["text"] for one in await visit.channel(Shelf.OPEN)][-1] == NOTHING
