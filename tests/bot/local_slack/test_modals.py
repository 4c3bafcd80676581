"""Modals: opening, pushing, updating and closing them."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import ControlError, LocalSlack, LocalSlackClient
from tests.bot.local_slack.forms import CHANNEL, answer, payload, show, stack, trigger
from tests.bot.local_slack.peers import (
    BoltApp,
    Clock,
    Json,
    PlainApp,
    actions,
    button,
    modal,
    plain,
    section,
    text_input,
)
from tests.bot.local_slack.refusals import refusal


@pytest.fixture(autouse=True)
def reachable(slack: LocalSlack, app: PlainApp) -> None:
    slack.request_url = app.url


async def test_a_trigger_opens_one_modal_for_the_one_who_acted(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    view = await show(web, people, modal(private_metadata="secret"))

    assert [one["id"] for one in await stack(people)] == [view["id"]]
    assert (await people.state("U0ALICE"))["views"] == []
    assert view["private_metadata"] == "secret"
    assert view["root_view_id"] == view["id"]
    assert view["app_id"] == "A0LOCAL"
    assert view["hash"]


async def test_a_trigger_is_good_once(web: AsyncWebClient, people: LocalSlackClient) -> None:
    trigger_id = await trigger(people)
    await web.views_open(trigger_id=trigger_id, view=modal())

    again = web.views_open(trigger_id=trigger_id, view=modal())
    assert await refusal(again) == "exchanged_trigger_id"


async def test_a_refused_view_does_not_use_the_trigger_up(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    trigger_id = await trigger(people)
    broken = web.views_open(trigger_id=trigger_id, view=modal(title=plain("x" * 25)))

    assert await refusal(broken) == "invalid_arguments"
    assert (await web.views_open(trigger_id=trigger_id, view=modal()))["ok"]


async def test_a_trigger_lives_three_seconds(
    web: AsyncWebClient, people: LocalSlackClient, clock: Clock
) -> None:
    young, old = await trigger(people), await trigger(people)
    clock.advance(3)
    assert (await web.views_open(trigger_id=young, view=modal()))["ok"]
    clock.advance(0.1)

    assert await refusal(web.views_open(trigger_id=old, view=modal())) == "expired_trigger_id"


async def test_a_trigger_nobody_gave_is_invalid(web: AsyncWebClient) -> None:
    assert await refusal(web.views_open(trigger_id="1.2.x", view=modal())) == "invalid_trigger_id"


async def test_a_view_has_to_be_sent_and_to_be_json(web: AsyncWebClient) -> None:
    for data in ({"trigger_id": "1.2.x"}, {"trigger_id": "1.2.x", "view": "{"}):
        assert await refusal(web.api_call("views.open", data=data)) == "invalid_arguments"


async def test_a_view_that_is_too_large_is_refused(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    huge = modal(*[section("x" * 2500)] * 100)

    assert await refusal(web.views_open(trigger_id="1.2.x", view=huge)) == "view_too_large"


async def test_three_views_may_lie_on_each_other_and_no_more(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    top = await show(web, people, modal(actions(button("more"))))
    for _ in range(2):
        pressed = await people.click("U0BOB", action_id="more", view_id=top["id"])
        assert pressed.trigger_id
        pushed = await web.views_push(
            trigger_id=pressed.trigger_id, view=modal(actions(button("more")))
        )
        assert pushed["view"]["previous_view_id"] == top["id"]
        top = pushed["view"]
    last = await people.click("U0BOB", action_id="more", view_id=top["id"])
    assert last.trigger_id

    assert len(await stack(people)) == 3
    refused = web.views_push(trigger_id=last.trigger_id, view=modal())
    assert await refusal(refused) == "push_limit_reached"
    assert payload(app)["container"] == {"type": "view", "view_id": top["id"]}
    assert "channel" not in payload(app)


async def test_nothing_can_be_pushed_where_no_modal_is(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    call = web.views_push(trigger_id=await trigger(people), view=modal())

    assert await refusal(call) == "not_found"


async def test_a_view_is_updated_by_id_or_by_its_own_name(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    view = await show(web, people, modal(external_id="mine"))
    changed = modal(section("changed"), external_id="mine")

    by_id = await web.views_update(view_id=view["id"], view=changed, hash=view["hash"])
    by_name = await web.views_update(external_id="mine", view=changed)

    assert by_id["view"]["hash"] != view["hash"]
    assert by_name["view"]["id"] == view["id"]
    assert (await stack(people))[0]["blocks"][0]["text"]["text"] == "changed"


async def test_a_stale_hash_is_a_conflict(web: AsyncWebClient, people: LocalSlackClient) -> None:
    view = await show(web, people)
    await web.views_update(view_id=view["id"], view=modal())

    call = web.views_update(view_id=view["id"], view=modal(), hash=view["hash"])
    assert await refusal(call) == "hash_conflict"


async def test_a_view_that_is_gone_cannot_be_updated(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    view = await show(web, people)
    await people.close_view("U0BOB")

    assert await refusal(web.views_update(view_id=view["id"], view=modal())) == "not_found"
    assert await refusal(web.api_call("views.update", json={"view": modal()})) == (
        "invalid_arguments"
    )


async def test_two_views_cannot_have_one_name(
    web: AsyncWebClient, people: LocalSlackClient
) -> None:
    await show(web, people, modal(external_id="mine"))
    call = web.views_open(trigger_id=await trigger(people), view=modal(external_id="mine"))

    assert await refusal(call) == "duplicate_external_id"


async def test_an_app_hears_of_a_closed_modal_only_if_it_asked_to(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    await show(web, people)
    before = len(app.received)
    silent = await people.close_view("U0BOB")
    heard_nothing = len(app.received) == before
    view = await show(web, people, modal(notify_on_close=True))
    told = await people.close_view("U0BOB", clear=True)

    assert (silent.delivered, silent.via, silent.failure) == (False, "nothing", "")
    assert heard_nothing
    assert told.acked
    assert payload(app)["type"] == "view_closed"
    assert payload(app)["view"]["id"] == view["id"]
    assert payload(app)["is_cleared"] is True


async def test_closing_shows_the_view_beneath_and_clearing_closes_all(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    bottom = await show(web, people)
    answer(app, response_action="push", view=modal())
    await people.submit("U0BOB", {"reason": "x"})
    await people.close_view("U0BOB")
    after_close = await stack(people)
    answer(app, response_action="push", view=modal(clear_on_close=True))
    await people.submit("U0BOB", {"reason": "x"})
    await people.close_view("U0BOB")

    assert [one["id"] for one in after_close] == [bottom["id"]]
    assert await stack(people) == []


async def test_only_the_topmost_view_can_be_pressed(
    web: AsyncWebClient, people: LocalSlackClient, app: PlainApp
) -> None:
    bottom = await show(web, people, modal(actions(button()), text_input()))
    answer(app, response_action="push", view=modal())
    await people.submit("U0BOB", {"reason": "x"})

    with pytest.raises(ControlError, match="not_visible"):
        await people.click("U0BOB", action_id="approve", view_id=bottom["id"])


async def test_a_bolt_app_opens_and_handles_a_modal(
    web: AsyncWebClient, people: LocalSlackClient, bolt: BoltApp
) -> None:
    @bolt.app.command("/holdshort")
    async def command(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=modal())

    @bolt.app.view("form")
    async def form(ack: Any, view: Json) -> None:
        typed = view["state"]["values"]["reason"]["typed"]["value"]
        if len(typed) < 5:
            await ack(response_action="errors", errors={"reason": "Say more."})
        else:
            await ack()

    await people.slash("U0BOB", CHANNEL, "ask")
    await people.wait_for(lambda: stack(people))
    await people.submit("U0BOB", {"reason": "no"})
    refused = (await stack(people))[0]["errors"]
    await people.submit("U0BOB", {"reason": "because"})

    assert refused == {"reason": "Say more."}
    assert await stack(people) == []
