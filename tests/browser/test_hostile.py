"""Text that would rather be something else stays text."""

import pytest
from playwright.async_api import expect

from bot.local_slack import User
from tests.browser.fixtures import DEPLOYS, OpenPage, Room
from tests.browser.scripted import Json
from tests.browser.showcase import actions, button, literal, option, plain, rich

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HTML = '<img src=x onerror="pwned()"><script>pwned()</script><b>bold</b>'
WIDE = "<!channel> <!here> <@U0BOB>"
TURNED = "\u202etxt.exe\u2066 \u200bhidden"
HOSTILE = f"{HTML} {WIDE} {TURNED}"
EVERYWHERE: list[Json] = [
    {"type": "header", "text": plain(HTML)},
    {"type": "section", "text": plain(HOSTILE)},
    {"type": "section", "fields": [plain(HOSTILE)]},
    {"type": "context", "elements": [plain(HOSTILE)]},
    {
        "type": "rich_text",
        "elements": [rich("preformatted", literal(HOSTILE)), rich("quote", literal(HOSTILE))],
    },
    {"type": "image", "alt_text": HTML, "image_url": "https://img.example/x.png"},
    actions(
        button(HTML[:75], "press", accessibility_label=HTML[:75]),
        {"type": "static_select", "action_id": "pick", "options": [option(HTML[:75], "x")]},
    ),
]
ELEMENTS = "img, script, iframe, b, object, [onerror], .mention"


async def test_plain_text_is_shown_letter_by_letter(room: Room, open_page: OpenPage) -> None:
    await room.post(EVERYWHERE)

    page = await open_page()
    card = page.locator(".card")

    await expect(card.locator(ELEMENTS)).to_have_count(0)
    shown = await card.locator(".section .text").evaluate_all("all => all.map(a => a.textContent)")
    assert shown == [HOSTILE, HOSTILE]
    assert await card.locator("pre").text_content() == HOSTILE
    assert await card.locator("h2").text_content() == HTML


async def test_mrkdwn_makes_only_what_slack_makes(room: Room, open_page: OpenPage) -> None:
    await room.post(text=f'{HTML} <javascript:pwned()|press me> <https://a.example"onx=|me too>')

    page = await open_page()
    text = page.locator(".message .text")

    await expect(text.locator("img, script, b, [onerror]")).to_have_count(0)
    await expect(text).to_contain_text("<img src=x onerror=")
    hrefs = await text.get_by_role("link").evaluate_all("all => all.map(a => a.href)")
    assert [href for href in hrefs if not href.startswith("https://")] == []


async def test_names_and_notices_are_text_too(room: Room, open_page: OpenPage) -> None:
    room.slack.world.put_user(User(id="U0EVIL", name="evil", real_name=f"{HTML}\u202e"))
    await room.people.world.join(DEPLOYS, "U0EVIL")
    await room.people.say("U0EVIL", DEPLOYS, "by me, <@U0EVIL>")
    room.slack.workspace.notify("U0BOB", HTML, detail=HTML, channel=DEPLOYS)

    page = await open_page()

    await expect(page.locator(".message .name")).to_have_text(f"{HTML}\u202e")
    await expect(page.locator(".line")).to_contain_text(HTML)
    await expect(page.locator("#app").locator("img, script, b")).to_have_count(0)


async def test_turned_text_turns_nothing_beside_it(room: Room, open_page: OpenPage) -> None:
    await room.post([{"type": "context", "elements": [plain("\u202eabc"), plain("after")]}])

    page = await open_page()
    texts = page.locator(".card .small .text")

    # The override ends with its own element; an isolate is what keeps it there.
    kept = await texts.evaluate_all("all => all.map(a => getComputedStyle(a).unicodeBidi)")
    assert kept == ["isolate", "isolate"]
    first, second = await texts.first.bounding_box(), await texts.last.bounding_box()
    assert first is not None
    assert second is not None
    assert first["x"] < second["x"]


async def test_nothing_makes_the_page_slow_or_wide(room: Room, open_page: OpenPage) -> None:
    nested = "*_~" * 900
    await room.post([{"type": "section", "text": {"type": "mrkdwn", "text": nested}}])
    await room.post(text="`*_<" * 3000)
    await room.post([{"type": "section", "text": plain("w" * 3000)}])

    page = await open_page(viewport={"width": 390, "height": 844})

    await expect(page.locator(".message")).to_have_count(3)
    assert await page.evaluate("document.documentElement.scrollWidth") == 390
    assert await page.locator("#messages").evaluate("one => one.scrollWidth - one.clientWidth") == 0


async def test_the_page_runs_no_script_but_its_own(open_page: OpenPage) -> None:
    page = await open_page()

    policy = page.locator("meta[http-equiv=Content-Security-Policy]")
    given = await policy.get_attribute("content") or ""

    assert "default-src 'none'" in given
    assert "unsafe" not in given
