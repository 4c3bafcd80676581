"""The routes of the one HTTP server: Slack's requests, and two questions about our health."""

import asyncio
import time
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp

from bot.health import Health
from bot.logs import get_log
from bot.slack_requests import (
    MAX_BODY_BYTES,
    MalformedRequestError,
    Proof,
    SignatureCheck,
    to_bolt,
)
from engine.ids import Clock

READ_TIMEOUT_S = 10.0
_log = get_log(__name__)
Now = Callable[[], float]


class Routes:
    """Collects routes and makes the application of them."""

    def __init__(self, health: Health) -> None:
        """Begin with the two questions."""
        self._health = health
        self._routes = [web.get("/healthz", self._alive), web.get("/readyz", self._ready)]

    def take_slack(self, path: str, app: AsyncApp, check: SignatureCheck, clock: Clock) -> None:
        """Add the one route to which Slack sends events, interactions and commands."""
        self._routes.append(web.post(path, _SlackRoute(app, check, clock).handle))

    def take_question(self, path: str, answer: Handler) -> None:
        """Add one more question that is asked of this process."""
        self._routes.append(web.get(path, answer))

    def application(self, most_bytes: int) -> web.Application:
        """Return the application."""
        app = web.Application(client_max_size=most_bytes, middlewares=[_log_access])
        app.add_routes(self._routes)
        return app

    async def _alive(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _ready(self, _request: web.Request) -> web.Response:
        ready, checks = await self._health.look()
        return web.json_response({"ready": ready, "checks": checks}, status=200 if ready else 503)


class _SlackRoute:
    """Size, signature, form: only then Bolt. A refusal says nothing about why."""

    def __init__(self, app: AsyncApp, check: SignatureCheck, clock: Clock) -> None:
        self._app = app
        self._check = check
        self._clock = clock

    async def handle(self, request: web.Request) -> web.Response:
        if (request.content_length or 0) > MAX_BODY_BYTES:
            return web.Response(status=413)
        # The signature covers the bytes as they came; aiohttp would hand over others.
        if "Content-Encoding" in request.headers:
            return web.Response(status=415)
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                body = await request.read()
        except TimeoutError:
            return web.Response(status=408)
        now = self._clock().timestamp()
        proof = self._check.check(request.headers, body, now)
        if proof is not Proof.GENUINE:
            self._tell_log(proof, request, now)
            return web.Response(status=401)
        try:
            asked = to_bolt(request.headers, body)
        except MalformedRequestError:
            _log.warning("a signed request could not be read", bytes=len(body))
            return web.Response(status=400)
        return await to_aiohttp_response(await self._app.async_dispatch(asked))

    def _tell_log(self, proof: Proof, request: web.Request, now: float) -> None:
        if proof is Proof.OUT_OF_TIME:
            # Genuine but old or early: either a replay, or one of the clocks is wrong.
            skew = now - int(request.headers["X-Slack-Request-Timestamp"])
            _log.warning("a request was refused; is this clock right?", seconds_off=round(skew))
            return
        _log.warning("a request was refused", why=proof.value)


@web.middleware
async def _log_access(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Log each request without its query and body: both may hold secrets."""
    begun = time.monotonic()
    status = 500
    try:
        response = await handler(request)
        status = response.status
    except web.HTTPException as error:
        status = error.status
        return web.Response(status=status)
    except Exception:  # noqa: BLE001 - whoever asked is told nothing of it
        _log.exception("a request failed", path=request.path)
        return web.Response(status=status)
    else:
        return response
    finally:
        took = round((time.monotonic() - begun) * 1000)
        _log.info(
            "request", method=request.method, path=request.path, status=status, milliseconds=took
        )
