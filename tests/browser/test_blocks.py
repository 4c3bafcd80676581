"""Each block and each bit of mrkdwn, as it shows."""

import pytest
from playwright.async_api import expect

from tests.browser.fixtures import OpenPage, Room
from tests.browser.showcase import CONTROLS, TEXTS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_texts_show_as_slack_shows_them(room: Room, open_page: OpenPage) -> None:
    await room.post(TEXTS)

    page = await open_page()
    card = page.locator(".card")

    await expect(card.get_by_role("heading", name="Deploy 1.4.2?")).to_be_visible()
    marked = card.locator(".section").first
    for tag, text in {"strong": "bold", "em": "slanted", "s": "gone", "code": "code"}.items():
        await expect(marked.locator(tag)).to_have_text(text)
    await expect(marked).to_contain_text("@Alice #general")
    await expect(card.locator(".section").nth(1)).to_have_text("*plain* <stays> &lt;plain&gt;")
    await expect(card.locator(".fields > *")).to_have_text(["Version\n1.4.2", "Env\nprod"])
    link = card.get_by_role("link", name="the manual")
    await expect(link).to_have_attribute("href", "https://docs.example/a?b=1&c=2")
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    await expect(card.get_by_role("button", name="Beside")).to_be_visible()
    await expect(card.locator(".context")).to_contain_text("args 9f2c1a04")
    await expect(card.locator("hr")).to_be_visible()
    await expect(card.locator(".markdown")).to_have_text("# as it is")


async def test_a_picture_is_told_and_not_fetched(room: Room, open_page: OpenPage) -> None:
    await room.post(TEXTS)

    page = await open_page()

    await expect(page.locator(".card .picture")).to_have_text("A graph that falls")
    await expect(page.locator(".card img")).to_have_count(0)


async def test_rich_text_shows_all_its_parts(room: Room, open_page: OpenPage) -> None:
    await room.post(TEXTS)

    page = await open_page()
    rich = page.locator(".card .rich")

    await expect(rich.locator("strong")).to_have_text("bold")
    await expect(rich.locator("code")).to_have_text("code")
    assert await rich.locator("pre").inner_text() == "first line\n  second line"
    await expect(rich.locator("blockquote")).to_have_text("as said")
    await expect(rich.locator("ol > li")).to_have_text(["one", "@Bob"])


async def test_controls_show_by_their_roles(room: Room, open_page: OpenPage) -> None:
    await room.post(CONTROLS)

    page = await open_page()
    card = page.locator(".card")

    await expect(card.get_by_role("button", name="Approve")).to_have_class("button primary")
    await expect(card.get_by_role("button", name="Deny")).to_have_class("button danger")
    await expect(card.get_by_role("combobox", name="Pick one")).to_have_value("")
    await expect(card.get_by_role("button", name="More actions")).to_be_visible()


async def test_what_the_page_does_not_know_is_named(room: Room, open_page: OpenPage) -> None:
    await room.post_unchecked([{"type": "video"}, {"type": "rich_text", "elements": []}])

    page = await open_page()

    said = "A block of type “video” is not shown here."
    await expect(page.locator(".card .unknown")).to_have_text(said)


MRKDWN = {
    "a *b* c": "a <strong>b</strong> c",
    "*b _i_*": "<strong>b <em>i</em></strong>",
    "2*3*4 and snake_case_name": "2*3*4 and snake_case_name",
    "* not * bold": "* not * bold",
    "*open\nclosed*": "*open\nclosed*",
    "`*code*`": "<code>*code*</code>",
    "`a &lt;b&gt;`": "<code>a &lt;b&gt;</code>",
    "before\n```\nx = 1\n```\nafter": "before<pre>x = 1</pre>after",
    "```a <https://x.example|b> *c*```": "<pre>a b *c*</pre>",
    "&gt; one\n&gt; two\nthree": "<blockquote>one\ntwo</blockquote>three",
    ">>> all\nof it": "<blockquote>all\nof it</blockquote>",
    "a &lt;b&gt; &amp;amp; c": "a &lt;b&gt; &amp;amp; c",
    "<script>": "&lt;script&gt;",
    "<javascript:alert(1)|x>": "&lt;javascript:alert(1)|x&gt;",
    "<!nothing|said>": '<span class="mention">said</span>',
    "<!here>": '<span class="mention me">@here</span>',
    "<!subteam^S0ONCALL>": '<span class="mention">@oncall</span>',
    "<#C0PRIVATE>": '<span class="mention">#private channel</span>',
    "<@U0BOB>": '<span class="mention me">@<bdi>Bob</bdi></span>',
    "<@U0NOBODY>": '<span class="mention">@<bdi>U0NOBODY</bdi></span>',
    "<!date^oops^{date}|then>": "then",
    "<!date^1392734382^{nothing}|then>": "then",
    "": "",
}


async def test_mrkdwn_reads_as_slack_reads_it(open_page: OpenPage) -> None:
    page = await open_page()

    shown = await page.evaluate(
        """async (sources) => {
            const { mrkdwn } = await import("./mrkdwn.js");
            const { Directory } = await import("./directory.js");
            const { fetchWorkspace } = await import("./api.js");
            const directory = new Directory(await fetchWorkspace());
            const context = { directory, me: "U0BOB", visible: [] };
            return sources.map((source) => {
                const place = document.createElement("div");
                place.append(mrkdwn(source, context, { verbatim: true }));
                return place.innerHTML;
            });
        }""",
        list(MRKDWN),
    )

    assert dict(zip(MRKDWN, shown, strict=True)) == MRKDWN


async def test_a_bare_address_is_a_link_unless_verbatim(room: Room, open_page: OpenPage) -> None:
    text = "see https://a.example/b, or not"
    await room.post([{"type": "section", "text": {"type": "mrkdwn", "text": text}}])
    quiet = {"type": "mrkdwn", "text": text, "verbatim": True}
    await room.post([{"type": "section", "text": quiet}])

    page = await open_page()

    await expect(page.locator(".card").first.get_by_role("link")).to_have_text(
        "https://a.example/b"
    )
    await expect(page.locator(".card").last.get_by_role("link")).to_have_count(0)


async def test_a_moment_shows_in_the_readers_time_zone(room: Room, open_page: OpenPage) -> None:
    token = "<!date^1392734382^{date_short_pretty} at {time}|back then>"
    await room.post([{"type": "section", "text": {"type": "mrkdwn", "text": token}}])

    here = await open_page()
    there = await open_page(timezone_id="Asia/Tokyo")

    await expect(here.locator(".card")).to_have_text("18 Feb 2014 at 14:39")
    await expect(there.locator(".card")).to_have_text("18 Feb 2014 at 23:39")


async def test_a_link_to_a_message_stays_in_the_page(room: Room, open_page: OpenPage) -> None:
    ts = await room.post(text="the one that is sought")
    link = (await room.web.chat_getPermalink(channel="C0DEPLOYS", message_ts=ts))["permalink"]
    await room.web.chat_postMessage(channel="C0GENERAL", text=f"<{link}|Open the card>")

    page = await open_page(channel="C0GENERAL")
    await page.get_by_role("link", name="Open the card").click()

    await expect(page.locator(".message.sought")).to_contain_text("the one that is sought")
    await expect(page.locator(".message.sought")).to_be_focused()
