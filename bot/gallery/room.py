"""The room of the gallery: a scratch local Slack with a channel a shelf, and forms that open.

There is no engine and no store. A button carries its exhibit's name in place of a token, so a
press opens the real form of that exhibit; nothing can be decided here.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from pydantic import SecretStr
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.gallery.exhibits import EXHIBITS, Exhibit, Shelf, View
from bot.interactions import Press, read_press, read_submission
from bot.local_slack import Channel, LocalSlack, World, default_world
from bot.slack_requests import MalformedRequestError, Proof, SignatureCheck, to_bolt
from engine.cards import TicketNotice
from notifiers import Message, answer_form, deny_form, names, pages, read_meta, review_form
from notifiers.blocks import actions, button, message
from notifiers.calls import SlackCalls

HOST = "127.0.0.1"
OPEN = "gallery.open"
NOTHING = "This is the gallery: nothing is decided here."
_FORMS = {names.DENY_REASON: deny_form, names.ANSWER: answer_form, names.REVIEW: review_form}


def gallery_world() -> World:
    """Return the usual people, and a channel for every shelf that all of them see."""
    usual = default_world()
    people = tuple(one.id for one in usual.users.values() if not one.deleted)
    return World(
        team=usual.team,
        app=usual.app,
        users=usual.users.values(),
        channels=[Channel(id=place(shelf), name=shelf, members=people) for shelf in Shelf],
        groups=usual.groups.values(),
    )


def place(shelf: Shelf) -> str:
    """Return the id of a shelf's channel."""
    return f"C0{shelf.name}"


@asynccontextmanager
async def hung(slack: LocalSlack) -> AsyncIterator[None]:
    """Hang every exhibit in a local Slack that is running, and answer what is pressed there."""
    client = AsyncWebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])
    attendant = Attendant(client, slack.signing_secret)
    app = web.Application()
    app.add_routes([web.post("/", attendant.handle)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        slack.request_url = f"http://{HOST}:{runner.addresses[0][1]}/"
        await _hang(SlackCalls(client))
        yield
    finally:
        await runner.cleanup()


async def _hang(calls: SlackCalls) -> None:
    for one in EXHIBITS.values():
        made = one.carrying(one.name).made()
        shown = made if isinstance(made, Message) else _door(one)
        channel = place(one.shelf)
        await calls.post(channel, Message(one.name, ()), thread="", key=f"name:{one.name}")
        await calls.post(channel, shown, thread="", key=one.name)


def _door(one: Exhibit) -> Message:
    """Return the message from which a form is opened."""
    return message(one.name, [actions(button("Open the form", OPEN, one.name))])


class Attendant:
    """Answers the presses: opens forms, turns their pages, and says that nothing is decided."""

    def __init__(self, client: AsyncWebClient, secret: str) -> None:
        """Take the client that opens forms, and what requests are signed with."""
        self._client = client
        self._check = SignatureCheck([secret])

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request."""
        raw = await request.read()
        proof = self._check.check(request.headers, raw, datetime.now(UTC).timestamp())
        if proof is not Proof.GENUINE:
            return web.Response(status=401)
        try:
            body: Mapping[str, Any] = to_bolt(request.headers, raw).body
        except MalformedRequestError:
            return web.Response(status=400)
        if body.get("type") == "view_submission":
            return _submitted(body)
        await self._pressed(read_press(body))
        return web.Response()

    async def _pressed(self, press: Press) -> None:
        view = _form(press)
        try:
            if view is None:
                await self._client.chat_postEphemeral(
                    channel=press.place.channel, user=press.place.person, text=NOTHING
                )
            else:
                await self._client.views_open(trigger_id=press.trigger, view=view)
        except SlackApiError as error:
            raise web.HTTPBadGateway(text=str(error.response.get("error"))) from None


def _form(press: Press) -> Any:  # noqa: ANN401 - a view, as the SDK has it
    one = EXHIBITS.get(press.token)
    if one is None or not isinstance(one.notice, TicketNotice):
        return None
    if press.action == OPEN:
        return one.carrying(one.name).made()
    form = _FORMS.get(press.action)
    return form(one.notice.model_copy(update={"token": SecretStr(press.token)})) if form else None


def _submitted(body: Mapping[str, Any]) -> web.Response:
    """Turn the page of a review; any other form closes."""
    meta = read_meta(read_submission(body).metadata)
    one = EXHIBITS[meta.token.get_secret_value()].carrying(meta.token.get_secret_value())
    notice = one.notice
    if _callback(body) != names.REVIEW_FORM or not isinstance(notice, TicketNotice):
        return web.Response()
    if meta.page >= pages(notice):
        return web.Response()
    view: View = review_form(notice, meta.page + 1)
    return web.json_response({"response_action": "update", "view": view})


def _callback(body: Mapping[str, Any]) -> str:
    return str(body.get("view", {}).get("callback_id", ""))
