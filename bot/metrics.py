"""What is counted, in Prometheus' words. No label takes a value that people or models choose.

Names follow https://prometheus.io/docs/practices/naming; docs/production.md lists them.
"""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from engine.gauges import Gauges
from engine.ids import Report
from engine.runs import RunStatus
from engine.store import Change
from engine.tickets import Resolution, ResumeTicket

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
DECISION_BUCKETS_S: Final = (
    *(5, 15, 30, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 15 * _MINUTE),
    *(_HOUR, 4 * _HOUR, 12 * _HOUR, _DAY, 3 * _DAY),
)
COMMIT_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
PARTS: Final = frozenset({"worker", "heartbeat", "courier", "sweeper", "store"})
"""The parts of the engine that report faults; any other is counted as ``other``."""


class Meters:
    """The counters of one process. What the store holds is read when somebody asks."""

    def __init__(self) -> None:
        """Begin at nothing, in a registry of our own."""
        self.registry = CollectorRegistry()
        self.live = LiveGauges()
        self.commits = _Commits(self.registry)
        self.cards = _Cards(self.registry)
        self._faults = Counter(
            "holdshort_faults", "Faults that a loop survived", ["part"], registry=self.registry
        )
        self._check = Gauge(
            "holdshort_check_ok",
            "What readiness looks at: 1 where all is well",
            ["check"],
            registry=self.registry,
        )
        Gauge("holdshort_build_info", "Always 1", ["version"], registry=self.registry).labels(
            _version()
        ).set(1)
        self.registry.register(self.live)
        ProcessCollector(registry=self.registry)

    def counting(self, report: Report) -> Report:
        """Return the fault report that counts what it passes on."""

        def count(part: str, error: Exception) -> None:
            self._faults.labels(part if part in PARTS else "other").inc()
            report(part, error)

        return count

    def checked(self, said: dict[str, str]) -> None:
        """Take what the checks of readiness said."""
        for check, word in said.items():
            self._check.labels(check).set(word == "ok")


class _Commits:
    """What commits did, seen where all of them pass."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            "holdshort_commit_seconds",
            "How long a commit took that went through",
            buckets=COMMIT_BUCKETS_S,
            registry=registry,
        )
        self.conflicts = Counter(
            "holdshort_commit_conflicts",
            "Commits refused because another came first; they are made anew",
            registry=registry,
        )
        self.lost = Counter(
            "holdshort_leases_lost",
            "Claims found to be another worker's",
            ["noticed"],
            registry=registry,
        )
        self.errors = Counter(
            "holdshort_store_errors", "Operations that the store did not answer", registry=registry
        )
        self._runs = _Runs(registry)

    def made(self, change: Change, seconds: float) -> None:
        """Take a commit that was written now."""
        self.seconds.observe(seconds)
        self._runs.count(change)


class _Runs:
    """What became of runs and their tickets."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._started = Counter("holdshort_runs_started", "Runs queued", registry=registry)
        self._ended = Counter("holdshort_runs_ended", "Runs ended", ["status"], registry=registry)
        self._asked = Counter(
            "holdshort_tickets_opened",
            "Times that a run began to wait",
            ["target"],
            registry=registry,
        )
        self._decisions = Counter(
            "holdshort_decisions",
            "Tickets closed: how, and by which way in",
            ["decision", "via"],
            registry=registry,
        )
        self._to_decision = Histogram(
            "holdshort_time_to_decision_seconds",
            "From the opening of a ticket to a person's answer",
            buckets=DECISION_BUCKETS_S,
            registry=registry,
        )

    def count(self, change: Change) -> None:
        if change.expected == 0:
            self._started.inc()
        for ticket in change.opened:
            self._asked.labels(ticket.target.kind).inc()
        for ticket in change.closed:
            self._decide(ticket, ticket.resolution)
        if change.run.status in {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED}:
            self._ended.labels(change.run.status.value).inc()

    def _decide(self, ticket: ResumeTicket, end: Resolution | None) -> None:
        if end is None:
            return
        self._decisions.labels(_kind(end), end.actor.via.value).inc()
        if not (end.timed_out or end.withdrawn):
            self._to_decision.observe((end.at - ticket.opened_at).total_seconds())


class _Cards:
    """What couriers did."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.shown = Counter("holdshort_cards_shown", "Cards brought up to date", registry=registry)
        self.put_off = Counter(
            "holdshort_cards_put_off", "Cards to be tried again later", registry=registry
        )


class LiveGauges(Collector):
    """What is live in the store, and how the socket does, as last read."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.store: Gauges | None = None
        self.silence: float | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield what is known. Nothing stands for a store that did not answer."""
        yield GaugeMetricFamily(
            "holdshort_store_up", "1 where the store was read", value=self.store is not None
        )
        if self.store is not None:
            yield from _read(self.store)
        if self.silence is not None:
            yield GaugeMetricFamily(
                "holdshort_socket_silence_seconds",
                "Since the last frame of the socket",
                value=self.silence,
            )


def _read(now: Gauges) -> Iterator[Metric]:
    runs = GaugeMetricFamily("holdshort_runs", "Runs that have not ended", labels=["status"])
    runs.add_metric([RunStatus.QUEUED.value], now.queued)
    runs.add_metric([RunStatus.RUNNING.value], now.running)
    runs.add_metric([RunStatus.WAITING.value], now.waiting)
    yield runs
    waited = (now.now - now.waiting_since).total_seconds() if now.waiting_since else 0.0
    yield GaugeMetricFamily(
        "holdshort_oldest_wait_seconds", "How long the longest parked run has waited", value=waited
    )
    yield GaugeMetricFamily(
        "holdshort_asks_held", "Asks held back, as too many are open", value=now.held
    )
    cards = GaugeMetricFamily(
        "holdshort_cards", "Cards that do not show yet what they should", labels=["state"]
    )
    cards.add_metric(["due"], now.cards_due)
    cards.add_metric(["held"], now.cards_behind - now.cards_due)
    yield cards
    late = (now.now - now.due_since).total_seconds() if now.due_since else 0.0
    yield GaugeMetricFamily(
        "holdshort_oldest_due_card_seconds", "How long the first due card has been due", value=late
    )


def _kind(end: Resolution) -> str:
    if end.timed_out:
        return "timed_out"
    return "withdrawn" if end.withdrawn else end.decision.kind


def _version() -> str:
    try:
        return version("holdshort")
    except PackageNotFoundError:
        return "unpackaged"
