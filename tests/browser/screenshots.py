"""The pictures in docs/, taken of a real demo: `python -m tests.browser.screenshots`.

They look as meant where the Inter font is installed; elsewhere the system's own font is used.
"""

import asyncio
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page

from bot.local_slack import LocalSlackClient
from tests.browser.chromium import PHONE, SAME, chromium
from tests.browser.demo import ROOT, running_demo
from tests.browser.fixtures import ALICE, BOB, DEPLOYS

DOCS = ROOT / "docs"
BIGGEST = 200_000
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
        await card.get_by_role("button", name=re.compile("^Approve")).wait_for()
        await people.say(ALICE, DEPLOYS, "1.4.2 is ready. <@U0BOB>, can you look at this one?")
        await people.say(BOB, DEPLOYS, "Looking.")
        await sharp.get_by_text("Looking.").wait_for()
        await _take(card.locator(".card"), "card-open")
        await _take(await _open(browser, here, NARROW), "page-phone")

        await card.get_by_role("button", name=re.compile("^Approve")).click()
        answer = sharp.get_by_role("button", name=re.compile("^Answer"))
        await answer.wait_for()
        await sharp.mouse.move(0, 0)
        await _take(card.locator(".card"), "card-closed")
        await _take(sharp.locator(".card").nth(1), "card-question")
        await _take(await _open(browser, here, WIDE), "page-desktop")


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
    asyncio.run(take_all())
