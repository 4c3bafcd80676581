"""Starting the Chromium that the machine has; Playwright's own is not downloaded."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Dates and times read the same wherever the tests run.
SAME: dict[str, Any] = {"locale": "en-GB", "timezone_id": "UTC"}
DESKTOP: dict[str, Any] = {**SAME, "viewport": {"width": 1200, "height": 800}}
PHONE: dict[str, Any] = {
    **SAME,
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
}


def find_chromium() -> str:
    """Return the path in CHROMIUM, else what is installed.

    Raises:
        FileNotFoundError: there is none.

    """
    named = [os.environ.get("CHROMIUM", ""), *(shutil.which(name) or "" for name in NAMES)]
    found = next(filter(None, named), "")
    if not found:
        raise FileNotFoundError("no Chromium here: install it, or name it with CHROMIUM=")
    return found


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Give a headless browser without a proxy: all it opens is on this machine."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_chromium(), args=[*FLAGS, "--no-proxy-server"]
        )
        try:
            yield browser
        finally:
            await browser.close()
