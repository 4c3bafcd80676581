"""What people press, pick and write, and what they are told of it."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.fixtures import ALICE, BOB, CAROL, DEPLOYS, OpenPage, Room
from tests.browser.scripted import Json
from tests.browser.showcase import CONTROLS, INPUTS, actions, button

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_button_is_pressed_as_the_person_one_is(room: Room, open_page: OpenPage) -> None:
    await room.post(CONTROLS)
    page = await open_page(BOB)

    await page.get_by_role("button", name="Approve").click()
    (told,) = await room.told(1)

    assert told["user"]["id"] == BOB
    assert (told["actions"][0]["action_id"], told["actions"][0]["value"]) == ("approve", "yes")


async def test_a_press_shows_as_pending_until_it_is_acknowledged(
    room: Room, open_page: OpenPage
) -> None:
    await room.post(CONTROLS)
    page = await open_page()
    approve = page.get_by_role("button", name="Approve")
    room.app.go.clear()

    await approve.click()
    await expect(approve).to_have_attribute("aria-busy", "true")
    await approve.click(force=True)
    room.app.go.set()

    await expect(approve).not_to_have_attribute("aria-busy", "true")
    await expect(page.locator(".failure")).to_be_hidden()
    assert len(room.app.actions) == 1


async def test_a_press_that_failed_says_so(room: Room, open_page: OpenPage) -> None:
    await room.post(CONTROLS)
    page = await open_page()
    room.slack.request_url = None

    await page.get_by_role("button", name="Approve").click()

    await expect(page.locator(".card .failure")).to_have_text(re.compile("dispatch_failed"))
    line = page.locator(".line")
    await expect(line).to_contain_text('This action failed with the error "dispatch_failed"')
    await expect(line).to_contain_text("Only visible to you")
    room.slack.request_url = room.app.url
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator(".card .failure")).to_be_hidden()


async def test_a_confirm_dialog_is_asked_first(room: Room, open_page: OpenPage) -> None:
    await room.post(CONTROLS)
    page = await open_page()
    deny, dialog = page.get_by_role("button", name="Deny"), page.get_by_role("dialog")

    await deny.click()
    await expect(dialog.get_by_role("heading")).to_have_text("Really?")
    await expect(dialog.locator("strong")).to_have_text("cannot")
    await expect(dialog.get_by_role("button", name="No")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await deny.click()
    await dialog.get_by_role("button", name="Yes, do it").click()

    assert [one["actions"][0]["action_id"] for one in await room.told(1)] == ["deny"]


async def test_menus_and_selects_say_what_was_picked(room: Room, open_page: OpenPage) -> None:
    await room.post(CONTROLS)
    page = await open_page()

    await page.get_by_role("combobox", name="Pick one").select_option("Blue")
    await room.told(1)
    await page.get_by_role("button", name="More actions").click()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await room.told(2)

    picked = [action["selected_option"]["value"] for action in room.app.actions]
    assert picked == ["blue", "who"]
    await expect(page.get_by_role("combobox", name="Pick one")).to_have_value("blue")
    await expect(page.get_by_role("menu")).to_have_count(0)


async def test_what_stands_in_the_inputs_around_a_button_goes_with_it(
    room: Room, open_page: OpenPage
) -> None:
    await room.post([*INPUTS[:2], actions(button("Go", "go"))])
    page = await open_page()

    await page.get_by_label("One line").fill("typed")
    await page.get_by_role("button", name="Go").click()
    (told,) = await room.told(1)

    values = told["state"]["values"]
    assert values["line"]["line_input"]["value"] == "typed"
    assert values["lines"]["lines_input"]["value"] == "as it was"


async def test_an_update_shows_at_once_and_says_that_it_is_one(
    room: Room, open_page: OpenPage
) -> None:
    ts = await room.post(CONTROLS)
    page = await open_page()
    await page.get_by_role("button", name="Approve").focus()

    await room.web.chat_update(channel=DEPLOYS, ts=ts, text="Closed by <@U0BOB>", blocks=[])

    message = page.locator(".message")
    await expect(message.locator(".text")).to_have_text("Closed by @Bob (edited)")
    await expect(message).to_be_focused()


async def test_a_slash_command_is_sent_from_the_composer(room: Room, open_page: OpenPage) -> None:
    async def answer(payload: Json) -> Json:
        return {"text": f"you said `{payload['text']}`", "response_type": "ephemeral"}

    room.app.answers["/holdshort"] = answer
    page = await open_page(BOB)
    await page.get_by_label("Message to #deploys").press_sequentially("/hold")
    await page.keyboard.press("Tab")
    await page.keyboard.type("answer K7F3QD  two  spaces <b>")
    await page.keyboard.press("Enter")

    message = page.locator(".message.private")
    await expect(message).to_contain_text("Only visible to you")
    await expect(message.locator("code")).to_have_text("answer K7F3QD  two  spaces <b>")
    assert (room.app.told[0]["user_id"], room.app.told[0]["channel_id"]) == (BOB, DEPLOYS)
    await expect(page.get_by_label("Message to #deploys")).to_have_value("")


async def test_a_command_that_is_none_is_told_privately(room: Room, open_page: OpenPage) -> None:
    page = await open_page()

    await page.get_by_label("Message to #deploys").fill("/nothing at all")
    await page.keyboard.press("Enter")

    await expect(page.locator(".line")).to_contain_text("/nothing is not a valid command")


async def test_a_command_that_timed_out_is_told_privately(room: Room, open_page: OpenPage) -> None:
    page = await open_page()
    room.slack._dispatcher._ack_timeout_s = 0.05
    room.app.go.clear()

    await page.get_by_label("Message to #deploys").fill("/holdshort list")
    await page.keyboard.press("Enter")

    said = '/holdshort failed with the error "operation_timeout"'
    await expect(page.locator(".line")).to_contain_text(said)


async def test_what_a_person_writes_is_text(room: Room, open_page: OpenPage) -> None:
    page = await open_page(ALICE)
    await page.get_by_label("Message to #deploys").fill("<b>hi</b> @bob & <!channel>")
    await page.keyboard.press("Enter")

    message = page.locator(".message .text")
    await expect(message).to_have_text("<b>hi</b> @Bob & <!channel>")
    await expect(message.locator(".mention")).to_have_text("@Bob")
    assert room.app.told == []


async def test_a_private_message_is_seen_by_one_person_only(
    room: Room, open_page: OpenPage
) -> None:
    await room.web.chat_postEphemeral(channel=DEPLOYS, user=BOB, text="Not yours to decide.")
    await room.post(text="for everyone")

    bob, carol = await open_page(BOB), await open_page(CAROL)

    await expect(bob.locator(".message.private")).to_contain_text("Only visible to you")
    await expect(carol.locator(".message")).to_have_count(1)


async def test_replies_stand_under_what_they_reply_to(room: Room, open_page: OpenPage) -> None:
    root = await room.post(text="the root")
    await room.post(text="something else")
    await room.post(text="the first reply", thread_ts=root)
    page = await open_page(ALICE)

    await page.locator(".message").first.hover()
    await page.get_by_role("button", name="Reply", exact=True).first.click()
    await page.keyboard.type("the second reply")
    await page.keyboard.press("Enter")

    shown = page.locator(".message .text")
    order = ["the root", "the first reply", "the second reply", "something else"]
    await expect(shown).to_have_text(order)
    await page.get_by_role("button", name="2 replies").click()
    await expect(shown).to_have_text(["the root", "something else"])
