"""Where runs are listed and shown, what is held back is said to be."""

from datetime import timedelta

import pytest

from bot.cli.screen import Screen, print_run, print_runs, run_as_json
from bot.facts import tell_fact
from bot.listing import Shown, list_for, show
from bot.metrics import LiveGauges
from engine import Run
from engine.cards import TicketNotice
from engine.events import RunEvent
from engine.identity import Via
from tests.engine.scripted import ALICE, BOB, Stage, stage
from tests.engine.test_flood import deployer, flood

Seen = tuple[Stage, Run, TicketNotice, tuple[RunEvent, ...]]


@pytest.fixture
async def seen() -> Seen:
    """Return a run of two asks, of which one is held back, and what is shown of that one."""
    on = stage(lambda ledger: deployer(ledger, calls=2, max_open_asks=1))
    (started,) = await flood(on, 1)
    run = await on.engine.get_run(started)
    token = await on.engine.token_for(run.tickets[1].ref, Via.TERMINAL)
    notice = await on.engine.notice(token, Via.TERMINAL)
    return on, run, notice, await on.engine.events(started)


async def test_a_terminal_lists_how_many_are_held_back(
    seen: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run, _, _ = seen
    print_runs(Screen(), [(run, "")])
    told = capsys.readouterr().out
    assert f"{run.tickets[0].ref} to run deploy" in " ".join(told.split())
    assert "1 held back" in " ".join(told.split())
    assert [one["held_back"] for one in run_as_json(run)["waits_for"]] == [False, True]


async def test_a_terminal_shows_why_nobody_was_asked(
    seen: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run, notice, events = seen
    print_run(Screen(), run, [notice], events)
    told = capsys.readouterr().out
    assert "for UBOB to decide; held back, as too many others are open" in told
    assert f"{notice.ref} is held back: too many others are open" in told


async def test_slack_lists_and_shows_what_is_held_back(seen: Seen) -> None:
    _, run, notice, events = seen
    asked, back = run.tickets
    lines = list_for(BOB, [(run, asked), (run, back)], [], []).splitlines()
    assert [line.endswith("held back") for line in lines] == [False, False, True]
    assert "waiting for <@UBOB> · 1 held back" in list_for(ALICE, [], [run], [])
    shown = show(Shown(run, [notice], events, concerned=True))
    assert "<@UBOB> may decide already; it is held back, as too many others are open." in shown


async def test_the_events_tell_of_the_release(seen: Seen) -> None:
    on, run, _, _ = seen
    on.clock.move(timedelta(hours=2))
    for _ in range(3):
        await on.engine.tick()
    told = [tell_fact(event.fact) for event in await on.engine.events(run.id)]
    assert f"{run.tickets[1].ref} is put to people now" in told


async def test_the_metrics_count_what_is_held_back(seen: Seen) -> None:
    on, _, _, _ = seen
    gauges = LiveGauges()
    gauges.store = await on.store.gauges()
    values = {one.name: one.samples[0].value for one in gauges.collect()}
    assert values["holdshort_asks_held"] == 1
