"""The control API: telling people what to do, over HTTP, from this machine only.

See CONTROL.md. Each route is one line in `Control.routes`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import BaseModel, ConfigDict, ValidationError

from bot.local_slack.acts import People
from bot.local_slack.calls import Calls
from bot.local_slack.changes import ChangeKind
from bot.local_slack.control_link import PREFIX
from bot.local_slack.dispatch import Dispatcher
from bot.local_slack.errors import ControlError
from bot.local_slack.event_stream import stream
from bot.local_slack.faults import Fault, Faults
from bot.local_slack.messages import as_slack
from bot.local_slack.sight import seen_by
from bot.local_slack.sockets import SocketHub
from bot.local_slack.verbs import Click, CloseView, OpenHome, Raw, Resend, Say, Slash, Submit
from bot.local_slack.workspace import Workspace
from bot.local_slack.world import Channel, User, UserGroup, WorldView

Model = TypeVar("Model", bound=BaseModel)


class _Asked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RequestUrl(_Asked):
    """Where HTTP deliveries go; None for nowhere."""

    url: str | None


class Membership(_Asked):
    """Who joins or leaves which channel."""

    channel: str
    user: str


class Deactivate(_Asked):
    """Who is deactivated."""

    user: str


class FaultId(_Asked):
    """One planted fault, or all."""

    id: int | None = None


class SocketAct(_Asked):
    """What happens to one connection, or to all."""

    act: str
    id: int | None = None
    reason: str = "warning"


class Control:
    """The routes of the control API."""

    def __init__(
        self,
        workspace: Workspace,
        people: People,
        dispatcher: Dispatcher,
        sockets: SocketHub,
        calls: Calls,
        faults: Faults,
    ) -> None:
        self._space = workspace
        self._people = people
        self._dispatcher = dispatcher
        self._sockets = sockets
        self._calls = calls
        self._faults = faults

    def routes(self) -> list[web.RouteDef]:
        """Return every route."""
        people = self._people
        return [
            _post("click", _act(Click, people.click)),
            _post("submit", _act(Submit, people.submit)),
            _post("close_view", _act(CloseView, people.close_view)),
            _post("slash", _act(Slash, people.slash)),
            _post("open_home", _act(OpenHome, people.open_home)),
            _post("raw", _act(Raw, people.raw)),
            _post("resend", _act(Resend, people.resend)),
            _post("say", self._say),
            _get("state", self._state),
            _get("workspace", self._workspace),
            _get("calls", self._list_calls),
            _get("deliveries", self._deliveries),
            _get("events", self._events),
            _get("faults", self._list_faults),
            _post("faults", self._plant),
            _post("faults/release", self._release),
            _post("faults/clear", self._clear),
            _get("sockets", self._list_sockets),
            _post("sockets", self._socket_act),
            _get("request_url", self._get_request_url),
            _post("request_url", self._set_request_url),
            _post("users", self._put_user),
            _post("channels", self._put_channel),
            _post("groups", self._put_group),
            _post("join", self._join),
            _post("leave", self._leave),
            _post("deactivate", self._deactivate),
        ]

    async def _say(self, request: web.Request) -> web.Response:
        message = self._people.say(await _read(request, Say))
        return web.json_response(as_slack(message, self._space.world, self._space.messages))

    async def _state(self, request: web.Request) -> web.Response:
        user = request.query.get("user", "")
        try:
            return web.json_response(seen_by(self._space, user))
        except KeyError:
            raise ControlError("no_such_user", f"nobody has the id {user!r}") from None

    async def _workspace(self, _request: web.Request) -> web.Response:
        return _model(WorldView.of(self._space.world))

    async def _list_calls(self, request: web.Request) -> web.Response:
        after = _number(request, "after", 0)
        return _models("calls", self._calls.select(request.query.get("method"), after))

    async def _deliveries(self, _request: web.Request) -> web.Response:
        return _models("deliveries", self._people.deliveries)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        # A browser that reconnects says in this header what it has seen.
        seen = request.headers.get("Last-Event-ID", "")
        newest = int(seen) if seen.isdecimal() else self._space.feed.seq
        after = _number(request, "after", newest)
        return await stream(request, self._space.feed, after)

    async def _list_faults(self, _request: web.Request) -> web.Response:
        return _models("faults", self._faults.views())

    async def _plant(self, request: web.Request) -> web.Response:
        return web.json_response({"id": self._faults.plant(await _read(request, Fault))})

    async def _release(self, request: web.Request) -> web.Response:
        chosen = await _read(request, FaultId)
        _existing(lambda: self._faults.release(chosen.id))
        return _done()

    async def _clear(self, request: web.Request) -> web.Response:
        chosen = await _read(request, FaultId)
        _existing(lambda: self._faults.clear(chosen.id))
        return _done()

    async def _list_sockets(self, _request: web.Request) -> web.Response:
        return _models("sockets", self._sockets.views())

    async def _socket_act(self, request: web.Request) -> web.Response:
        asked = await _read(request, SocketAct)
        try:
            await self._do_to_sockets(asked)
        except KeyError:
            raise ControlError("no_such_socket", f"there is no {asked.id}") from None
        return _done()

    async def _do_to_sockets(self, asked: SocketAct) -> None:
        match asked.act:
            case "disconnect":
                await self._sockets.say_goodbye(asked.reason, asked.id)
            case "cut":
                self._sockets.cut(asked.id)
            case "half_open":
                self._sockets.half_open(asked.id)
            case "recover":
                self._sockets.half_open(asked.id, on=False)
            case _:
                raise ControlError("no_such_act", f"{asked.act!r} is nothing one does to sockets")

    async def _get_request_url(self, _request: web.Request) -> web.Response:
        return web.json_response({"url": self._dispatcher.request_url})

    async def _set_request_url(self, request: web.Request) -> web.Response:
        self._dispatcher.request_url = (await _read(request, RequestUrl)).url
        return _done()

    async def _put_user(self, request: web.Request) -> web.Response:
        return self._changed(self._space.world.put_user(await _read(request, User)))

    async def _put_channel(self, request: web.Request) -> web.Response:
        return self._changed(self._space.world.put_channel(await _read(request, Channel)))

    async def _put_group(self, request: web.Request) -> web.Response:
        return self._changed(self._space.world.put_group(await _read(request, UserGroup)))

    async def _join(self, request: web.Request) -> web.Response:
        asked = await _read(request, Membership)
        return self._changed(_existing(lambda: self._space.world.join(asked.channel, asked.user)))

    async def _leave(self, request: web.Request) -> web.Response:
        asked = await _read(request, Membership)
        return self._changed(_existing(lambda: self._space.world.leave(asked.channel, asked.user)))

    async def _deactivate(self, request: web.Request) -> web.Response:
        asked = await _read(request, Deactivate)
        return self._changed(_existing(lambda: self._space.world.deactivate(asked.user)))

    def _changed(self, value: BaseModel) -> web.Response:
        self._space.feed.tell(ChangeKind.WORLD)
        return _model(value)


@web.middleware
async def local_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Guard the control API and put its errors into JSON.

    Only this machine may call it, and no web page of another origin: a browser would otherwise
    let any site that someone visits press buttons here.
    """
    if not request.path.startswith(PREFIX):
        return await handler(request)
    if not (_is_loopback(request.remote or "") and _same_origin(request)):
        return _refused(403, "forbidden", "the control API answers only to this machine")
    try:
        return await handler(request)
    except ControlError as error:
        return _refused(409, error.code, error.detail)
    except ValidationError as error:
        return _refused(422, "bad_request", str(error))


def _same_origin(request: web.Request) -> bool:
    host = urlsplit(f"//{request.host}").hostname or ""
    if not (host == "localhost" or _is_loopback(host)):
        return False
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.host


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _refused(status: int, code: str, detail: str) -> web.Response:
    return web.json_response({"error": code, "detail": detail}, status=status)


def _get(path: str, handler: Handler) -> web.RouteDef:
    return web.get(f"{PREFIX}/{path}", handler)


def _post(path: str, handler: Handler) -> web.RouteDef:
    return web.post(f"{PREFIX}/{path}", handler)


def _act(
    model: type[Model], act: Callable[[Model], Awaitable[BaseModel]]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(request: web.Request) -> web.Response:
        return _model(await act(await _read(request, model)))

    return handler


async def _read(request: web.Request, model: type[Model]) -> Model:
    return model.model_validate_json(await request.read() or b"{}")


def _model(value: BaseModel) -> web.Response:
    return web.Response(text=value.model_dump_json(), content_type="application/json")


def _models(name: str, values: list[Any]) -> web.Response:
    return web.json_response({name: [value.model_dump(mode="json") for value in values]})


def _done() -> web.Response:
    return web.json_response({"ok": True})


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, str(default))
    if not text.isdecimal():
        raise ControlError("bad_request", f"{name} must be a number")
    return int(text)


Value = TypeVar("Value")


def _existing(act: Callable[[], Value]) -> Value:
    try:
        return act()
    except KeyError as missing:
        raise ControlError("no_such_thing", f"there is no {missing}") from None
