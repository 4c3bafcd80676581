"""The acceptance: a person plays the demo in the page, from the open card to the last word."""

import asyncio
import re

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import DESKTOP
from tests.browser.demo import PATIENCE_S, running_demo
from tests.browser.fixtures import APPROVE, BOB, DEPLOYS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

REF = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{6}\b")


async def test_a_person_plays_the_demo_in_the_page(browser: Browser) -> None:
    async with running_demo() as demo, await browser.new_context(**DESKTOP) as context:
        wrong: list[str] = []
        page = await context.new_page()
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        await page.goto(f"{demo.page}#user={BOB}&channel={DEPLOYS}")

        card = page.locator(".message", has=page.locator(".card")).first
        await expect(card.get_by_role("heading")).to_have_text('Run deploy "1.4.2 to prod"?')
        await card.get_by_role("button", name=APPROVE).click()
        await page.locator("dialog.confirm").get_by_role("button", name="Approve").click()

        await expect(card.get_by_role("heading")).to_have_text('Approved: deploy "1.4.2 to prod"')
        await expect(card).to_contain_text("by @Bob")
        await expect(card).to_contain_text("release 1.4.2 is live in prod")
        await expect(card.locator(".button")).to_have_count(0)
        await expect(page.locator(".message.private")).to_contain_text("Recorded: approved")

        await page.get_by_role("button", name=re.compile("^Be Alice")).click()
        question = page.locator(".message", has=page.locator(".card")).nth(1)
        await expect(question).to_contain_text("Which change ticket covers this?")
        ref = REF.search(await question.locator(".context").inner_text())
        assert ref is not None
        await page.get_by_label("Message to #deploys").fill(f"/holdshort answer {ref[0]} CHG-1042")
        await page.keyboard.press("Enter")

        await expect(question.get_by_role("heading")).to_have_text(re.compile("^Answered"))
        await expect(question).to_contain_text("by @Alice")
        await page.get_by_role("button", name=re.compile("^Holdshort")).click()
        last = page.locator(".message").last
        await expect(last).to_contain_text("1.4.2 is live in prod under CHG-1042.")
        assert wrong == []

        await asyncio.wait_for(demo.over.wait(), PATIENCE_S)
        # With the page still open: whoever watches must not keep the demo from ending.
        assert await demo.interrupt() == 0
