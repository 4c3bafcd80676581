"""Being someone, somewhere: people, channels, unread marks, phones, keyboards, a server that stops."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect

from bot.local_slack import LocalSlack
from tests.browser.chromium import DESKTOP, PHONE
from tests.browser.fixtures import ALICE, BOB, DEPLOYS, GENERAL, OpenPage, Room
from tests.browser.showcase import CONTROLS, INPUTS, TEXTS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_address_says_who_and_where(open_page: OpenPage) -> None:
    page = await open_page(BOB, GENERAL)

    await expect(page.get_by_role("heading", level=1)).to_have_text("# general")
    await page.get_by_role("button", name="Be Alice").click()
    await page.get_by_role("button", name="deploys").click()

    await expect(page).to_have_url(re.compile(rf"#user={ALICE}&channel={DEPLOYS}$"))
    await expect(page.get_by_role("heading", level=1)).to_have_text("# deploys")
    await page.go_back()
    await expect(page.get_by_role("heading", level=1)).to_have_text("# general")


async def test_an_address_that_leads_nowhere_leads_somewhere(open_page: OpenPage) -> None:
    page = await open_page(address="#user=U0NOBODY&channel=C0NOWHERE")

    await expect(page).to_have_url(re.compile(rf"#user={ALICE}&channel={DEPLOYS}$"))


async def test_everyone_sees_their_own_channels(room: Room, open_page: OpenPage) -> None:
    page = await open_page(ALICE)
    places = page.get_by_role("navigation", name="Channels and direct messages")

    await expect(places.get_by_role("button", name="private")).to_be_visible()
    await page.get_by_role("button", name="Be Bob").click()
    await expect(places.get_by_role("button", name="private")).to_have_count(0)
    people = page.get_by_role("navigation", name="Who you are").get_by_role("button")
    await expect(people).to_have_count(5)


async def test_what_is_new_is_marked_until_it_is_read(room: Room, open_page: OpenPage) -> None:
    page = await open_page(ALICE, GENERAL)
    deploys = page.get_by_role("button", name=re.compile("^deploys"))

    await room.post(text="one")
    await room.post(text="two")
    await room.web.chat_postEphemeral(channel=DEPLOYS, user=BOB, text="for Bob")

    await expect(deploys).to_have_accessible_name("deploys, 2 unread")
    await expect(page.get_by_role("button", name="Be Bob, 3 unread")).to_be_visible()
    await deploys.click()
    await expect(page.locator(".message")).to_have_count(2)
    await page.get_by_role("button", name="general").click()
    await expect(deploys).to_have_accessible_name("deploys")
    await page.reload()
    await expect(page.get_by_role("button", name="Be Bob, 3 unread")).to_be_visible()
    await expect(deploys).to_have_accessible_name("deploys")


async def test_a_direct_message_opens_its_own_place(room: Room, open_page: OpenPage) -> None:
    page = await open_page(ALICE)

    opened = await room.web.conversations_open(users=ALICE)
    await room.web.chat_postMessage(channel=opened["channel"]["id"], text="Waiting for you")

    await page.get_by_role("button", name="Holdshort, 1 unread").click()
    await expect(page.locator(".message .text")).to_have_text("Waiting for you")


async def test_the_home_tab_shows_what_the_app_published(room: Room, open_page: OpenPage) -> None:
    page = await open_page(ALICE)
    await page.get_by_role("button", name="Holdshort").click()
    await expect(page.locator(".empty")).to_have_text("Holdshort shows nothing on its Home tab.")

    await room.web.views_publish(user_id=ALICE, view={"type": "home", "blocks": CONTROLS})
    await page.get_by_role("button", name="Approve").click()

    told = await room.told(2)
    assert told[0]["event"]["type"] == "app_home_opened"
    assert told[1]["view"]["type"] == "home"


async def overhang(page: Page) -> int:
    """Return how much wider than its window the page is."""
    wide = "() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    return int(await page.evaluate(wide))


async def test_a_phone_needs_no_scrolling_sideways(room: Room, open_page: OpenPage) -> None:
    await room.post(TEXTS)
    await room.post([*CONTROLS, *INPUTS])
    await room.web.chat_postEphemeral(channel=DEPLOYS, user=BOB, text="w" * 500)

    page = await open_page(BOB, **PHONE)
    await expect(page.locator(".message")).to_have_count(3)

    assert await overhang(page) == 0
    messages = page.locator("#messages")
    assert await messages.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    small = await page.get_by_role("button", name="Approve").bounding_box()
    assert small is not None
    assert small["height"] >= 44


async def test_a_phone_keeps_people_and_channels_in_a_drawer(open_page: OpenPage) -> None:
    page = await open_page(BOB, **PHONE)
    alice, opener = page.get_by_label("Be Alice"), page.get_by_role("button", name="People and")

    await expect(alice).to_be_hidden()
    await opener.click()
    await alice.click()
    await page.get_by_role("button", name="private").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("# private")
    await expect(alice).to_be_hidden()
    await opener.click()
    await page.keyboard.press("Escape")
    await expect(opener).to_be_focused()


async def test_a_menu_opens_where_there_is_room(room: Room, open_page: OpenPage) -> None:
    await room.post(CONTROLS)
    page = await open_page(BOB, **PHONE)

    await page.get_by_role("button", name="More actions").click()

    for item in await page.get_by_role("menuitem").all():
        await expect(item).to_be_in_viewport(ratio=1)
    assert await overhang(page) == 0
    assert await page.locator("#messages").evaluate("one => one.scrollLeft") == 0


async def test_all_can_be_done_without_a_mouse(room: Room, open_page: OpenPage) -> None:
    await room.post(CONTROLS)
    page = await open_page(ALICE)
    await page.get_by_role("button", name="You are Alice").focus()

    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="You are Bob")).to_be_focused()
    approve = page.get_by_role("button", name="Approve")
    for _ in range(20):
        await page.keyboard.press("Tab")
        if await approve.evaluate("one => one === document.activeElement"):
            break
    await page.keyboard.press("Enter")

    (told,) = await room.told(1)
    assert (told["user"]["id"], told["actions"][0]["action_id"]) == (BOB, "approve")
    await expect(approve).to_be_focused()


async def test_the_way_past_the_lists_leads_to_the_messages(open_page: OpenPage) -> None:
    page = await open_page(BOB)

    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("log")).to_be_focused()
    await expect(page).to_have_url(re.compile(f"#user={BOB}"))


async def test_the_newest_message_is_in_sight_unless_one_reads_above(
    room: Room, open_page: OpenPage
) -> None:
    for number in range(40):
        await room.post(text=f"number {number}")
    page = await open_page()
    await expect(page.get_by_text("number 39")).to_be_in_viewport()

    await page.locator("#messages").hover()
    await page.mouse.wheel(0, -3000)
    await expect(page.get_by_text("number 0", exact=True)).to_be_in_viewport()
    await room.post(text="the newest")

    newest = page.get_by_role("button", name="Newest messages")
    await newest.click()
    await expect(page.get_by_text("the newest")).to_be_in_viewport()
    await expect(newest).to_be_hidden()


async def test_a_server_that_stops_is_told_and_waited_for(browser: Browser, room: Room) -> None:
    # Not through open_page: what a browser logs of a lost connection is no fault of the page.
    await room.post(text="before")
    async with await browser.new_context(**DESKTOP) as context:
        page = await context.new_page()
        await page.goto(f"{room.slack.page_url}#user={BOB}&channel={GENERAL}")
        deploys = page.get_by_role("button", name=re.compile("^deploys"))
        await expect(deploys).to_have_accessible_name("deploys, 1 unread")
        trouble = page.get_by_role("alert").filter(has_text="does not answer")

        await room.slack.stop()
        await expect(trouble).to_be_visible()
        async with another(room.slack):
            # What the first one said is unknown to the second.
            await expect(deploys).to_have_accessible_name("deploys")
            await expect(trouble).to_have_count(0)


@asynccontextmanager
async def another(before: LocalSlack) -> AsyncIterator[None]:
    """Run another local Slack where one was."""
    slack = LocalSlack()
    await slack.start(port=urlsplit(before.url).port or 0)
    try:
        yield
    finally:
        await slack.stop()
