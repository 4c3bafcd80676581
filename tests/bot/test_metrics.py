"""What a serving process tells Prometheus: true numbers, few labels, and nothing people wrote."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from bot import metrics_page
from bot.local_slack import Fault, FaultKind
from bot.metered_store import MeteredStore
from bot.metrics import Meters
from engine import Run, Via
from engine.errors import (
    ClaimLostError,
    CommitConflictError,
    StoreUnavailableError,
    UndecodableRecordError,
)
from engine.identity import Actor
from engine.ids import PersonId
from engine.stores import MemoryStore
from notifiers import names
from tests.bot.faulty_store import FaultyStore
from tests.bot.stage import BOB, Stage, curious, deployer, on_stage
from tests.contracts.play import LEASE, Play
from tests.engine.scripted import Ledger, repeat_results, script
from tests.factories import HeldClock, make_next

LABELS = {
    "status": {"queued", "running", "waiting", "succeeded", "failed", "cancelled"},
    "state": {"due", "held"},
    "target": {"tool_permission", "remote_input", "outcome_unknown"},
    "decision": {"allow", "deny", "answer", "settle", "timed_out", "withdrawn"},
    "via": {via.value for via in Via},
    "noticed": {"commit", "heartbeat"},
    "part": {"worker", "heartbeat", "courier", "sweeper", "store", "other"},
    "check": {"store", "loops", "slack", "directory", "socket", "process"},
}
"""Every label of ours, and all that may stand there."""
CHOSEN_BY_US = {"le", "version"}


@pytest.fixture(autouse=True)
def never_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_page, "FRESH_S", 0.0)


async def scrape(on: Stage) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{on.bot.url}/metrics") as response,
    ):
        assert response.status == 200
        assert response.content_type == "text/plain"
        return await response.text()


def samples(text: str) -> Iterator[Sample]:
    for family in text_string_to_metric_families(text):
        yield from family.samples


def value(text: str, name: str, **labels: str) -> float | None:
    """Return the number of one sample; None where there is none."""
    found = [one.value for one in samples(text) if one.name == name and one.labels == labels]
    return found[0] if found else None


async def shown(on: Stage) -> None:
    """Wait until no card is behind."""
    store = on.runtime.engine.store
    while True:
        mark = store.mark()
        if not (await store.gauges()).cards_behind:
            return
        await store.wait(timedelta(milliseconds=50), mark)


async def ended(on: Stage, run: Run) -> None:
    await on.until_run(run.id, lambda now: not now.live)
    await shown(on)


async def test_an_approval_is_counted_from_the_start_to_the_end() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        await shown(on)
        on.clock.move(timedelta(seconds=40))
        parked = await scrape(on)
        await on.press(BOB, card)
        await ended(on, run)
        done = await scrape(on)

    assert value(parked, "holdshort_runs", status="waiting") == 1
    assert 40 <= (value(parked, "holdshort_oldest_wait_seconds") or 0) < 60
    assert value(parked, "holdshort_tickets_opened_total", target="tool_permission") == 1
    assert value(done, "holdshort_runs", status="waiting") == 0
    assert value(done, "holdshort_oldest_wait_seconds") == 0
    assert value(done, "holdshort_runs_started_total") == 1
    assert value(done, "holdshort_runs_ended_total", status="succeeded") == 1
    assert value(done, "holdshort_decisions_total", decision="allow", via="slack") == 1
    assert value(done, "holdshort_time_to_decision_seconds_bucket", le="30.0") == 0
    assert value(done, "holdshort_time_to_decision_seconds_bucket", le="60.0") == 1
    assert (value(done, "holdshort_cards_shown_total") or 0) > 2
    assert (value(done, "holdshort_commit_seconds_count") or 0) > 4
    assert value(done, "holdshort_store_up") == 1


@pytest.mark.parametrize(
    ("agent", "action", "decision"),
    [("deployer", names.DENY, "deny"), ("curious", names.DECLINE, "deny")],
)
async def test_decisions_are_told_apart(agent: str, action: str, decision: str) -> None:
    async with on_stage() as on:
        run, card = await on.park(agent)
        await on.press(BOB, card, action)
        await ended(on, run)
        told = await scrape(on)

    assert value(told, "holdshort_decisions_total", decision=decision, via="slack") == 1


async def test_a_press_that_is_repeated_is_one_decision() -> None:
    async with on_stage() as on:
        run, card = await on.park()
        for _ in range(3):
            await on.press_as_shown(BOB, card)
        await ended(on, run)
        told = await scrape(on)

    assert value(told, "holdshort_decisions_total", decision="allow", via="slack") == 1


async def test_silence_is_no_persons_answer() -> None:
    async with on_stage() as on:
        run, _ = await on.park()
        on.clock.move(timedelta(days=2))
        await on.runtime.engine.sweeper.sweep()
        await ended(on, run)
        told = await scrape(on)

    assert value(told, "holdshort_decisions_total", decision="timed_out", via="system") == 1
    assert value(told, "holdshort_time_to_decision_seconds_count") == 0


async def test_a_cancelled_wait_is_withdrawn() -> None:
    async with on_stage() as on:
        run, _ = await on.park()
        await on.runtime.engine.cancel(run.id, actor=Actor(id=PersonId(BOB), via=Via.API))
        told = await scrape(on)

    assert value(told, "holdshort_decisions_total", decision="withdrawn", via="api") == 1
    assert value(told, "holdshort_runs_ended_total", status="cancelled") == 1


async def test_cards_that_cannot_be_shown_are_seen() -> None:
    async with on_stage() as on:
        on.slack.faults.plant(
            Fault(kind=FaultKind.ERROR, method="chat.postMessage", error="fatal_error", times=None)
        )
        await on.runtime.engine.start("deployer", "go", owner=BOB)

        async def put_off() -> str | None:
            text = await scrape(on)
            seen = value(text, "holdshort_cards_put_off_total")
            return text if seen and value(text, "holdshort_cards", state="held") else None

        refused = await on.people.wait_for(put_off)

    assert value(refused, "holdshort_faults_total", part="courier")


async def test_a_store_that_is_away_is_told_and_its_numbers_are_not_made_up() -> None:
    async with on_stage(store=lambda clock: AbsentStore(clock=clock)) as on:
        assert value(await scrape(on), "holdshort_runs", status="waiting") == 0
        store = cast("MeteredStore", on.runtime.engine.store).inner
        cast("AbsentStore", store).broken = True
        told = await scrape(on)

    assert value(told, "holdshort_store_up") == 0
    assert value(told, "holdshort_runs", status="waiting") is None
    assert value(told, "holdshort_check_ok", check="store") == 0
    assert (value(told, "holdshort_store_errors_total") or 0) > 0


class AbsentStore(FaultyStore):
    async def gauges(self) -> Any:
        if self.broken:
            raise StoreUnavailableError("told to be broken")
        return await super().gauges()


async def test_the_age_of_the_socket_is_told() -> None:
    async with on_stage(mode="socket") as on:
        told = await scrape(on)

    silence = value(told, "holdshort_socket_silence_seconds")
    assert silence is not None
    assert silence >= 0
    assert value(told, "holdshort_check_ok", check="socket") == 1


async def test_where_there_is_no_socket_nothing_is_told_of_one() -> None:
    async with on_stage() as on:
        told = await scrape(on)

    assert "socket" not in told


async def test_readers_within_a_second_share_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_page, "FRESH_S", 3600.0)
    async with on_stage() as on:
        before = await scrape(on)
        await on.park()
        after = await scrape(on)

    assert value(before, "holdshort_runs", status="waiting") == 0
    assert value(after, "holdshort_runs", status="waiting") == 0
    assert value(after, "holdshort_runs_started_total") == 1


async def test_no_label_holds_what_a_person_or_a_model_chose() -> None:
    chosen = "chosen-by-people"

    def agents(ledger: Ledger) -> Any:
        model = script([("deploy", {"version": "SECRETARGUMENT"})], repeat_results)
        return [deployer(ledger, name=chosen, model=model), curious(ledger)]

    async with on_stage(agents) as on:
        run, card = await on.park(chosen)
        asked, _ = await on.park("curious")
        await on.press(BOB, card)
        await ended(on, run)
        told = await scrape(on)

    for sample in samples(told):
        if sample.name.startswith("holdshort_"):
            for label, text in sample.labels.items():
                assert label in CHOSEN_BY_US or text in LABELS[label], sample
    for text in (chosen, "SECRETARGUMENT", BOB, run.id, run.ref, asked.tickets[0].ref):
        assert text not in told


# The store in between.


@pytest.fixture
def meters() -> Meters:
    return Meters()


@pytest.fixture
def play(meters: Meters) -> Play:
    clock = HeldClock()
    return Play(MeteredStore(MemoryStore(clock=clock), meters), clock)


def count(meters: Meters, name: str, **labels: str) -> float:
    return meters.registry.get_sample_value(name, labels) or 0


async def test_a_commit_that_came_second_is_a_conflict(play: Play, meters: Meters) -> None:
    run = await play.start()
    await play.commit(make_next(run))
    with pytest.raises(CommitConflictError):
        await play.commit(make_next(run))

    assert count(meters, "holdshort_commit_conflicts_total") == 1
    await play.store.close()


async def test_a_lost_claim_is_counted_where_it_is_noticed(play: Play, meters: Meters) -> None:
    run, claim = await play.claimed()
    play.clock.move(seconds=60)
    await play.claim("another")
    with pytest.raises(ClaimLostError):
        await play.store.heartbeat(claim, LEASE)
    with pytest.raises(ClaimLostError):
        await play.commit(make_next(run), claim)

    assert count(meters, "holdshort_leases_lost_total", noticed="heartbeat") == 1
    assert count(meters, "holdshort_leases_lost_total", noticed="commit") == 1
    await play.store.close()


async def test_a_fault_is_counted_by_its_part_and_passed_on(meters: Meters) -> None:
    told: list[tuple[str, Exception]] = []
    error = UndecodableRecordError("run_1")
    report = meters.counting(lambda part, fault: told.append((part, fault)))

    report("store", error)
    report("run_1", error)

    assert told == [("store", error), ("run_1", error)]
    assert count(meters, "holdshort_faults_total", part="store") == 1
    assert count(meters, "holdshort_faults_total", part="other") == 1
