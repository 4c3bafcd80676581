"""The pictures in docs/, taken of a real demo: `python -m tests.browser.screenshots`.

With a folder, the gallery instead, on a desktop and on a phone: every shelf, every form.

They look as meant where the Inter font is installed; elsewhere the system's own font is used.
"""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page

from bot.gallery.exhibits import EXHIBITS, Shelf
from bot.gallery.room import gallery_world, hung, place
from bot.local_slack import LocalSlack, LocalSlackClient
from tests.browser.chromium import PHONE, SAME, chromium
from tests.browser.demo import ROOT, running_demo
from tests.browser.fixtures import ALICE, APPROVE, BOB, DEPLOYS

DOCS = ROOT / "docs"
BIGGEST = 200_000
TOP = 300
"""What is above and below the messages, at most."""
PART = 1500
WIDE: dict[str, Any] = {
    **SAME,
    "viewport": {"width": 1160, "height": 830},
    "device_scale_factor": 1.5,
}
SHARP: dict[str, Any] = {**WIDE, "device_scale_factor": 2}
NARROW: dict[str, Any] = {**PHONE, "device_scale_factor": 2}


async def take_all() -> None:
    """Play the demo, and take a picture of each moment."""
    async with (
        running_demo() as demo,
        LocalSlackClient(demo.page.rstrip("/")) as people,
        chromium() as browser,
    ):
        here = f"{demo.page}#user={BOB}&channel={DEPLOYS}"
        sharp = await _open(browser, here, SHARP)
        card = sharp.locator(".message", has=sharp.locator(".card")).first
        await card.get_by_role("button", name=APPROVE).wait_for()
        await people.say(ALICE, DEPLOYS, "1.4.2 is ready. <@U0BOB>, can you look at this one?")
        await people.say(BOB, DEPLOYS, "Looking.")
        await sharp.get_by_text("Looking.").wait_for()
        await _take(card.locator(".card"), "card-open")
        await _take(await _open(browser, here, NARROW), "page-phone")

        await card.get_by_role("button", name=APPROVE).click()
        await sharp.locator("dialog.confirm").get_by_role("button", name="Approve").click()
        answer = sharp.get_by_role("button", name=re.compile("^Answer"))
        await answer.wait_for()
        await sharp.mouse.move(0, 0)
        await _take(card.locator(".card"), "card-closed")
        await _take(sharp.locator(".card").nth(1), "card-question")
        await _take(await _open(browser, here, WIDE), "page-desktop")


async def take_gallery(folder: Path) -> None:
    """Take every shelf of the gallery from top to bottom, and every form, in both widths.

    Playwright makes the folder.
    """
    async with (
        LocalSlack(world=gallery_world()) as slack,
        hung(slack),
        LocalSlackClient(slack.url) as people,
        chromium() as browser,
    ):
        for width, options in {"desktop": WIDE, "phone": NARROW}.items():
            for shelf in Shelf:
                where = f"{slack.page_url}#user={ALICE}&channel={place(shelf)}"
                page = await browser.new_page(**options)
                await page.goto(where)
                await page.locator(".message").first.wait_for()
                if shelf is Shelf.FORMS:
                    await _take_forms(page, people, folder, width)
                else:
                    await _take_shelf(page, folder, f"{shelf}-{width}")
                await page.close()


async def _take_shelf(page: Page, folder: Path, name: str) -> None:
    """Take a shelf in parts, on a page high enough to scroll nowhere."""
    size = page.viewport_size or {"width": 0, "height": 0}
    high = await page.locator("#messages").evaluate("shown => shown.scrollHeight") + TOP
    await page.set_viewport_size({"width": size["width"], "height": high})
    for number, above in enumerate(range(0, high, PART), start=1):
        # Any: Playwright wants a type of its own, which is there only with the browser's lock.
        clip: Any = {"x": 0, "y": above, "width": size["width"], "height": min(PART, high - above)}
        path = folder / f"{name}-{number:02}.png"
        await page.screenshot(path=path, clip=clip, animations="disabled")


async def _take_forms(page: Page, people: LocalSlackClient, folder: Path, width: str) -> None:
    names = [one.name for one in EXHIBITS.values() if one.shelf is Shelf.FORMS]
    for number, name in enumerate(names):
        await page.get_by_role("button", name="Open the form").nth(number).click()
        await page.locator("dialog").wait_for()
        await page.screenshot(path=folder / f"{name}-{width}.png", animations="disabled")
        await people.close_view(ALICE, clear=True)
        await page.locator("dialog").wait_for(state="detached")


async def _open(browser: Browser, address: str, options: dict[str, Any]) -> Page:
    page = await browser.new_page(**options)
    await page.goto(address)
    await page.locator(".card").first.wait_for()
    await page.evaluate("document.fonts.ready")
    return page


async def _take(what: Any, name: str) -> None:
    path: Path = DOCS / f"{name}.png"
    size = len(await what.screenshot(path=path, animations="disabled"))
    print(f"{path.relative_to(ROOT)}: {size // 1000} kB{' (too big)' if size > BIGGEST else ''}")  # noqa: T201 - a command


if __name__ == "__main__":
    asyncio.run(take_gallery(Path(sys.argv[1])) if sys.argv[1:] else take_all())
