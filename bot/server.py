"""The serving process: one HTTP server, the engine's loops, and the line to Slack."""

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from aiohttp import web
from slack_bolt.app.async_app import AsyncApp

from bot.answers import Desk
from bot.bootstrap import Runtime, SlackSide, open_runtime
from bot.health import Health, store_check, task_check
from bot.logs import configure_logs, get_log
from bot.metrics_page import MetricsPage
from bot.reach import unheard
from bot.settings import Settings, SettingsError, SlackMode
from bot.slack_app import make_app
from bot.slack_check import SlackCheck
from bot.slack_requests import MAX_BODY_BYTES, SignatureCheck
from bot.sockets import Pace, SocketLine
from bot.stopping import end_without_user_code, told_to_stop
from bot.tasks import Patience, Tasks
from bot.web_routes import Routes
from bot.whispers import Whispers
from engine import Agent
from engine.loops import run_loops
from engine.stopping import until
from engine.worker import WorkerOptions

SLACK_PATH = "/slack/events"
METRICS_PATH = "/metrics"
_log = get_log(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long things may take, in seconds.

    Attributes:
        patience: A person's press.
        drain: Running tools, once told to stop.
        goodbye: Listeners that still have something to say, once the tools have ended.
        leave: User code that has not ended once all is closed; then the process ends without it.
        socket: How the socket is watched.
        lease: How long a claim lasts without a heartbeat: so long a lost process's runs wait.

    """

    patience: Patience = field(default_factory=Patience)
    drain: float = 25.0
    goodbye: float = 5.0
    leave: float = 2.0
    socket: Pace = field(default_factory=Pace)
    lease: float = 10.0


class Bot:
    """A serving process, as seen by whoever started it."""

    def __init__(self, runtime: Runtime, limits: Limits) -> None:
        """Take what is wired; nothing runs before ``start``."""
        self.runtime = runtime
        self.health = Health()
        self._metrics = MetricsPage(runtime.meters, runtime.engine.store, self.health)
        self.port = 0
        self._limits = limits
        self._tasks = Tasks()
        self._stop = asyncio.Event()
        self._loops: asyncio.Task[None] | None = None
        self._line: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Return the address of the server, without a slash at the end."""
        host = self.runtime.settings.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def slack_url(self) -> str:
        """Return where Slack's requests go in HTTP mode."""
        return f"{self.url}{SLACK_PATH}"

    async def start(self) -> None:
        """Listen, then begin to work.

        Raises:
            SettingsError: the address cannot be listened on.

        """
        slack, engine = self.runtime.slack, self.runtime.engine
        app = self._slack_app(slack) if slack is not None else None
        await self._listen(app)
        name, lease = engine.surroundings.ids.new("worker"), timedelta(seconds=self._limits.lease)
        options = WorkerOptions(name=name, lease=lease)
        self._loops = asyncio.create_task(run_loops(engine, options, self._stop))
        self.health.checks |= {"store": store_check(engine), "loops": task_check(self._loops)}
        if slack is not None and app is not None:
            now = asyncio.get_running_loop().time
            check = SlackCheck(slack.client, slack.identity.bot_user, now)
            self.health.checks |= {"slack": check, "directory": slack.directory.recover}
            for line in unheard(engine.agents, self.runtime.settings.slack_channel):
                _log.warning(line)
            self._connect(slack, app)
        _log.info("serving", url=self.url, mode=self.runtime.settings.slack_mode.value)

    async def stop(self) -> None:
        """Stop claiming, let running tools and unfinished replies end, then close."""
        self.health.draining = True
        self._stop.set()
        await self._end_loops()
        if self._runner is not None:
            await self._runner.cleanup()
        # Before the line is closed, or what is in hand could not be acknowledged; and after, for
        # what came until then.
        late = await self._tasks.drain(self._limits.goodbye)
        if self._line is not None:
            self._line.cancel()
            await asyncio.gather(self._line, return_exceptions=True)
            late += await self._tasks.drain(self._limits.goodbye)
        _log.info("stopped", cut_short=late)

    async def failed(self) -> None:
        """Return when the engine's loops have ended though nobody told them to."""
        if self._loops is not None:
            await asyncio.wait({self._loops})

    async def _end_loops(self) -> None:
        if self._loops is None:
            return
        await asyncio.wait({self._loops}, timeout=self._limits.drain)
        if not self._loops.done():
            _log.warning("tools were still running; their runs go on elsewhere, or are asked about")
        self._loops.cancel()
        # User code may swallow its cancelling, or sit in a thread that nothing can interrupt.
        await asyncio.wait({self._loops}, timeout=self._limits.leave)
        ended = None if _unended(self._loops) else self._loops.exception()
        if ended is not None:
            _log.error("the engine's loops failed", exc_info=ended)

    def _slack_app(self, slack: SlackSide) -> AsyncApp:
        desk = Desk(
            self.runtime.engine,
            Whispers(slack.client, slack.session),
            self._tasks,
            self._limits.patience,
            self.runtime.settings.operator,
        )
        return make_app(slack, desk, self._tasks)

    def _connect(self, slack: SlackSide, app: AsyncApp) -> None:
        token = self.runtime.settings.slack_app_token
        if self.runtime.settings.slack_mode is not SlackMode.SOCKET or token is None:
            return
        line = SocketLine(
            app, token.get_secret_value(), slack.client, self._tasks, self._limits.socket
        )
        self._line = asyncio.create_task(line.run())
        self.health.checks["socket"] = line.trouble
        self._metrics.line = line

    async def _listen(self, app: AsyncApp | None) -> None:
        settings = self.runtime.settings
        routes = Routes(self.health)
        routes.take_question(METRICS_PATH, self._metrics.answer)
        if app is not None and settings.slack_mode is SlackMode.HTTP:
            check = SignatureCheck(
                [one.get_secret_value() for one in settings.slack_signing_secret]
            )
            routes.take_slack(SLACK_PATH, app, check, self.runtime.engine.surroundings.clock)
        self._runner = web.AppRunner(
            routes.application(MAX_BODY_BYTES),
            access_log=None,
            shutdown_timeout=self._limits.goodbye,
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, settings.host, settings.port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise _cannot_listen(settings, error) from error
        self.port = self._runner.addresses[0][1]


@asynccontextmanager
async def serve(runtime: Runtime, *, limits: Limits | None = None) -> AsyncIterator[Bot]:
    """Serve until the block ends, then drain.

    Raises:
        SettingsError: the address cannot be listened on.

    """
    bot = Bot(runtime, limits or Limits())
    await bot.start()
    try:
        yield bot
    finally:
        await bot.stop()


def serve_forever(
    settings: Settings, *, agents: Sequence[Agent] | None = None, limits: Limits | None = None
) -> int:
    """Serve until SIGTERM or SIGINT; return the exit status.

    A process whose user code does not end is ended without it, with that status: after
    ``limits.leave`` seconds of closing, or as long after the interpreter began to exit.

    Raises:
        ConfigurationError: something must be put right first; the text says what.

    """
    configure_logs(secrets=settings.secrets)
    limits = limits or Limits()
    with asyncio.Runner() as runner:
        status = runner.run(_serve_until_told(settings, agents, limits))
        closed = end_without_user_code(status, limits.leave)
    closed.set()
    return status


async def _serve_until_told(
    settings: Settings, agents: Sequence[Agent] | None, limits: Limits
) -> int:
    # Before the signals are taken, they end the process as they always would.
    async with open_runtime(settings, agents=agents) as runtime:
        with told_to_stop() as told:
            async with serve(runtime, limits=limits) as bot:
                failing = asyncio.create_task(bot.failed())
                await until(told, failing)
                return 0 if told.is_set() else 1


def _unended(loops: "asyncio.Task[None]") -> bool:
    return not loops.done() or loops.cancelled()


def _cannot_listen(settings: Settings, error: OSError) -> SettingsError:
    where = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        return SettingsError(
            [f"HOLDSHORT_PORT: {where} is taken; stop what uses it, or set another"]
        )
    return SettingsError([f"HOLDSHORT_HOST: cannot listen on {where}: {error.strerror}"])
