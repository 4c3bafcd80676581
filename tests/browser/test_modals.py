"""Forms: what can be filled in, what is wrong with it, and the ways out."""

from collections.abc import Sequence

import pytest
from playwright.async_api import Page, expect

from tests.browser.fixtures import OpenPage, Room
from tests.browser.scripted import Json
from tests.browser.showcase import INPUTS, actions, asked, button, form, plain

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

REASON = asked("reason", "Why", {"type": "plain_text_input", "multiline": True})
TEXT: Json = {"type": "section", "text": plain("Nothing to fill in.")}


async def open_form(room: Room, open_page: OpenPage, blocks: Sequence[Json]) -> Page:
    """Open a page and, in it, a form by pressing a button."""

    async def opens(payload: Json) -> None:
        view = form(list(blocks))
        await room.web.views_open(trigger_id=payload["trigger_id"], view=view)

    room.app.answers["block_actions"] = opens
    await room.post([actions(button("Open", "open"))])
    page = await open_page()
    await page.get_by_role("button", name="Open").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    return page


async def test_a_form_is_sent_with_everything_in_it(room: Room, open_page: OpenPage) -> None:
    page = await open_form(room, open_page, INPUTS)
    dialog = page.get_by_role("dialog", name="A form")

    await expect(dialog.get_by_label("One line")).to_be_focused()
    await page.keyboard.type("written")
    await dialog.get_by_label("Colour").select_option("Blue")
    await expect(dialog.get_by_role("radiogroup", name="Size")).to_be_visible()
    await dialog.get_by_label("Large").check()
    await dialog.get_by_label("Salt").check()
    await dialog.get_by_label("Day").fill("2026-04-01")
    await dialog.get_by_label("North").check()
    await dialog.get_by_label("West").check()
    await dialog.get_by_role("button", name="Send").click()
    await expect(dialog).to_have_count(0)

    values = room.app.told[-1]["view"]["state"]["values"]
    entered = {block: inputs[f"{block}_input"] for block, inputs in values.items()}
    assert entered["line"]["value"] == "written"
    assert entered["lines"]["value"] == "as it was"
    assert entered["select"]["selected_option"]["value"] == "blue"
    assert entered["radio"]["selected_option"]["value"] == "l"
    assert [one["value"] for one in entered["checks"]["selected_options"]] == ["salt"]
    assert entered["day"]["selected_date"] == "2026-04-01"
    assert entered["who"]["selected_user"] == "U0CAROL"
    assert [one["value"] for one in entered["several"]["selected_options"]] == ["n", "w"]
    assert entered["count"]["value"] is None


async def test_an_error_stands_under_its_field_until_it_is_put_right(
    room: Room, open_page: OpenPage
) -> None:
    async def judge(payload: Json) -> Json | None:
        value = payload["view"]["state"]["values"]["reason"]["reason_input"]["value"]
        if value == "too short":
            return {"response_action": "errors", "errors": {"reason": "Say more."}}
        return None

    room.app.answers["view_submission"] = judge
    page = await open_form(room, open_page, [REASON])
    dialog = page.get_by_role("dialog")
    why, send = dialog.get_by_label("Why"), dialog.get_by_role("button", name="Send")

    await why.fill("too short")
    await send.click()
    await expect(dialog.locator(".error")).to_have_text("Say more.")
    await expect(why).to_have_attribute("aria-invalid", "true")
    await expect(why).to_have_accessible_description("Say more.")
    await expect(why).to_be_focused()
    await expect(why).to_have_value("too short")
    await send.click()
    await expect(send).not_to_have_attribute("aria-busy", "true")
    await expect(dialog.locator(".error")).to_have_text("Say more.")
    await why.fill("long enough now")
    await send.click()

    await expect(dialog).to_have_count(0)
    assert len(room.app.told) == 4


async def test_a_field_that_must_be_filled_in_is_asked_for(room: Room, open_page: OpenPage) -> None:
    page = await open_form(room, open_page, [REASON, INPUTS[0]])
    dialog = page.get_by_role("dialog")
    why, line = dialog.get_by_label("Why"), dialog.get_by_label("One line")
    send = dialog.get_by_role("button", name="Send")

    await send.click()
    for field in (why, line):
        await expect(field).to_have_accessible_description("Please fill in this field.")
    await why.fill("because")
    await send.click()

    await expect(line).to_be_focused()
    await expect(why).not_to_have_attribute("aria-invalid", "true")
    await expect(dialog.locator(".error:visible")).to_have_count(1)
    assert [one["type"] for one in room.app.told] == ["block_actions"]


async def test_a_field_takes_no_more_than_slack_does(room: Room, open_page: OpenPage) -> None:
    page = await open_form(room, open_page, INPUTS[:1])

    await page.keyboard.type("x" * 25)

    await expect(page.get_by_role("dialog").get_by_label("One line")).to_have_value("x" * 20)
    await expect(page.locator(".left")).to_have_text("20 / 20")


async def test_a_form_that_the_app_did_not_take_stays_and_says_so(
    room: Room, open_page: OpenPage
) -> None:
    page = await open_form(room, open_page, [REASON])
    dialog = page.get_by_role("dialog")
    room.slack.request_url = None

    await dialog.get_by_label("Why").fill("kept")
    await dialog.get_by_role("button", name="Send").click()

    await expect(dialog.locator("footer .failure")).to_contain_text("dispatch_failed")
    await expect(dialog.get_by_label("Why")).to_have_value("kept")


async def test_an_answer_that_slack_refuses_is_told_in_the_form(
    room: Room, open_page: OpenPage
) -> None:
    async def nonsense(_payload: Json) -> Json:
        return {"response_action": "dance"}

    room.app.answers["view_submission"] = nonsense
    page = await open_form(room, open_page, [TEXT])

    await page.get_by_role("dialog").get_by_role("button", name="Send").click()

    toast = page.get_by_role("dialog").locator(".toast")
    await expect(toast).to_contain_text("We had some trouble connecting. Try again?")
    await expect(toast).to_contain_text("invalid_response_action")


async def test_what_is_typed_stays_when_the_app_changes_the_form(
    room: Room, open_page: OpenPage
) -> None:
    page = await open_form(room, open_page, [REASON])
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Why").fill("half a sent")
    view = (await room.people.state("U0BOB"))["views"][-1]

    await room.web.views_update(view_id=view["id"], view=form([TEXT, REASON]))

    await expect(dialog).to_contain_text("Nothing to fill in.")
    await expect(dialog.get_by_label("Why")).to_have_value("half a sent")


async def test_a_form_on_a_form_has_a_way_back(room: Room, open_page: OpenPage) -> None:
    async def push(_payload: Json) -> Json:
        return {"response_action": "push", "view": form([TEXT], title=plain("The second"))}

    room.app.answers["view_submission"] = push
    page = await open_form(room, open_page, [REASON])
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Why").fill("because")
    await dialog.get_by_role("button", name="Send").click()

    await expect(dialog.get_by_role("heading")).to_have_text("The second")
    await dialog.get_by_role("button", name="Back").first.click()

    await expect(dialog.get_by_role("heading")).to_have_text("A form")
    await expect(dialog.get_by_label("Why")).to_have_value("because")


async def test_escape_closes_a_form_and_leads_back_to_the_button(
    room: Room, open_page: OpenPage
) -> None:
    page = await open_form(room, open_page, [REASON])

    await page.keyboard.press("Escape")

    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_role("button", name="Open")).to_be_focused()
    assert (await room.people.state("U0BOB"))["views"] == []


async def test_the_focus_stays_in_the_form(room: Room, open_page: OpenPage) -> None:
    page = await open_form(room, open_page, [REASON])

    seen = []
    for _ in range(8):
        await page.keyboard.press("Tab")
        inside = "document.activeElement.closest('dialog') !== null || document.activeElement === document.body"
        seen.append(await page.evaluate(inside))

    assert all(seen)


async def test_a_form_without_fields_cannot_be_sent_by_accident(
    room: Room, open_page: OpenPage
) -> None:
    page = await open_form(room, open_page, [TEXT])

    await expect(page.get_by_role("dialog").get_by_role("heading")).to_be_focused()
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("dialog")).to_be_visible()
    assert [one["type"] for one in room.app.told] == ["block_actions"]
