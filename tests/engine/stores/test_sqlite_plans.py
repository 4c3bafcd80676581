"""Every statement of the store finds its rows by an index, however many there are."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from importlib import import_module
from importlib.resources import files
from typing import Any

import pytest

from engine.errors import CommitConflictError
from engine.runs import RunStatus
from engine.store import CARDS_KEEP_FOR, KeyRecord, RunFilter
from engine.stores import MemoryStore
from engine.stores.sqlite_database import Database
from tests.contracts.play import LEASE, Play, due, keyed
from tests.engine.stores.conftest import Opener
from tests.factories import (
    HeldClock,
    make_ask,
    make_card_key,
    make_closed,
    make_ended,
    make_event,
    make_next,
    make_parked,
    make_receipt,
    make_record,
    make_revoked,
    make_rule,
    make_ticket,
)

WORDS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")

# What may walk or sort, and why that stays small.
ALLOWED = {
    ("sqlite_cards._CARDS", "USE TEMP"): "the few cards of one run",
    ("sqlite_cards._TAKE", "SCAN json_each"): "the cards being taken",
    (
        "sqlite_reads._DEADLINES",
        "SCAN runs",
    ): "along the index of deadlines, and stops at the first",
    (
        "sqlite_reads._BEHIND",
        "SCAN cards",
    ): "along the index of those behind, and stops at the first",
    ("sqlite_berths._LOOK", "SCAN json_each"): "the few names that an ask counts for",
    (
        "sqlite_berths._LOOK",
        "SCAN berths",
    ): "along the index of those that wait, and stops at the first",
    ("sqlite_berths._ADD", "SCAN json_each"): "the few names that an ask counts for",
    ("sqlite_berths._TIDY", "SCAN json_each"): "the few names that an ask counts for",
    ("sqlite_berths._OPEN_COUNTS", "SCAN json_each"): "the names of the kinds that wait",
    ("sqlite_berths._CALLED", "SCAN berths"): "along the index of those called, up to a limit",
    ("sqlite_berths._HEADS", "SCAN step"): "the kinds of asks that wait",
    ("sqlite_berths._HEADS", "USE TEMP"): "the kinds of asks that wait",
    (
        "sqlite_gauges._GAUGES",
        "SCAN berths",
    ): "along the index of those that wait: as many as are held back",
    ("sqlite_reads._NEXT_READY", "SCAN step"): "the few priorities there are",
    ("sqlite_gauges._GAUGES", "SCAN step"): "the few priorities there are",
    (
        "sqlite_gauges._GAUGES",
        "SCAN runs",
    ): "along the index of parked runs, and stops at the first",
    (
        "sqlite_gauges._GAUGES",
        "SCAN cards",
    ): "along the index of those behind: the few that a courier has still to show",
    ("sqlite_rules._LISTED", "SCAN rules"): "all remembered rules, for a person to look at",
    ("sqlite_rules._LISTED", "USE TEMP"): "of those given at one moment, by their ids",
}


def statements(name: str, value: object) -> dict[str, str]:
    """Return the statement that a constant is, or those it holds, by name."""
    if isinstance(value, str) and value.split()[:1] and value.split()[0] in WORDS:
        return {name: value}
    if isinstance(value, tuple):
        return {
            f"{name}[{place}]": text
            for place, one in enumerate(value)
            for text in statements("", one).values()
        }
    return {}


def written() -> dict[str, str]:
    """Return every statement that stands in the store's modules, by its name."""
    folder = files("engine.stores")
    modules = [one.name.removesuffix(".py") for one in folder.iterdir()]
    return {
        found: text
        for module in sorted(modules)
        if module.startswith("sqlite_")
        for name, value in vars(import_module(f"engine.stores.{module}")).items()
        for found, text in statements(f"{module}.{name}", value).items()
    }


class Anything(dict[str, None]):
    def __missing__(self, name: str) -> None:
        return None


def plan(sql: str) -> list[str]:
    """Return the steps in which SQLite would run a statement."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(files("engine.stores").joinpath("schema.sql").read_text())
        values = [None] * sql.count("?") if "?" in sql else Anything()
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


def walks(sql: str) -> set[str]:
    """Return what a statement walks through or sorts."""
    steps = {" ".join(step.split()[:2]) for step in plan(sql)}
    return {step for step in steps if step.startswith(("SCAN", "USE"))} - {"SCAN CONSTANT"}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the statements that stores run, as they are prepared: with no value in them.

    A statement with its values might be planned otherwise: a value may rule a partial index in.
    """
    found: set[str] = set()
    execute = Database._execute

    def noted(self: Database, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        found.add(sql)
        return execute(self, sql, parameters)

    monkeypatch.setattr(Database, "_execute", noted)
    return found


async def live(play: Play) -> None:
    """Take a run through all that can become of one, and its card with it."""
    run = play.run(concurrency_key="key")
    key = KeyRecord("start:deployer:key", "key", "body", "outcome")
    await play.commit(run, key=key, records=(make_record(0),), events=(make_event(1),))
    await play.start(concurrency_key="key")
    _, claim = await play.claim()
    await play.store.heartbeat(claim, LEASE)
    held = make_next(run)
    await play.commit(held, claim)
    ticket = make_ticket(run)
    parked = make_parked(held, ticket)
    raised = (make_card_key(run),)
    await play.commit(parked, claim, opened=(ticket,), raised=raised)
    await cards(play)
    await questions(play)
    ended = make_ended(parked)
    await play.commit(ended, closed=(make_closed(ticket),), raised=raised, key=keyed(ended))
    with pytest.raises(CommitConflictError):
        await play.commit(parked)


async def cards(play: Play) -> None:
    """Show a card, lose its receipt, find another message of it, and fail."""
    card = await play.take()
    await play.store.card_shown(card, 1, make_receipt())
    await play.store.card_shown(card, 1, make_receipt())
    await play.store.adopt_card(card.key, make_receipt())
    for behind in await due(play.store):
        await play.store.card_failed(behind, play.clock.now)
    await play.store.cards(card.key.run)


async def berths(play: Play) -> None:
    """Take berths, wait for one, be called, and leave."""
    held = play.store.berths
    asks = [make_ask(f"apr_{number}") for number in range(3)]
    await held.take(asks[:2])
    await held.leave([asks[0].approval])
    await held.called(5)
    await held.settle([asks[1].approval])
    await held.restore(asks[:2], asks[1:])
    await held.count(["agent:a"])
    await held.known(0, 5)


async def questions(play: Play) -> None:
    """Ask all that can be asked."""
    store = play.store
    (run,) = (await store.list_runs(RunFilter(statuses=(RunStatus.WAITING,)), 1)).runs
    for wanted in (RunFilter(), RunFilter(agent="deployer"), RunFilter(owner="UOWNER")):
        await store.list_runs(wanted, 1)
    await store.load(run.id, key="key", approval=run.tickets[0].approval)
    await store.records(run.id)
    await store.events(run.id, 1)
    await store.find(run.ref)
    await store.due(10)
    await store.next_due()
    await store.gauges()
    await store.check()
    await store.wait(timedelta(0))


async def everything(play: Play) -> None:
    """Do all that a store can do."""
    await live(play)
    _, claim = await play.claim()
    assert await play.store.claim("worker", LEASE) is None
    await play.store.release(claim)
    await adopted_first(play)
    await berths(play)
    await moved(play)
    await remembered(play)
    play.clock.now += 2 * CARDS_KEEP_FOR
    await play.store.purge(play.clock.now, 10, dry_run=True)
    await play.store.purge(play.clock.now, 10)


async def remembered(play: Play) -> None:
    """Keep a rule, look at it, end it and remove it."""
    rules, rule = play.store.rules, make_rule()
    await rules.keep(rule)
    assert await rules.live(rule.agent, rule.owner) == (rule,)
    await rules.revoke(rule.id, make_revoked())
    assert len(await rules.listed()) == 1
    assert await rules.forget(rule.expires_at, dry_run=True) == 1
    assert await rules.forget(rule.expires_at) == 1


async def moved(play: Play) -> None:
    """Put every run into another store."""
    other = MemoryStore(clock=play.clock)
    for run in (await play.store.list_runs(RunFilter(), 99)).runs:
        await other.unpack(await play.store.pack(run.id))
    await other.close()


async def adopted_first(play: Play) -> None:
    """Find a message before its card was ever shown."""
    run = await play.raised()
    await play.store.adopt_card(make_card_key(run), make_receipt())


async def test_all_that_a_store_runs_finds_its_rows_by_an_index(
    ran: set[str], opened: Opener, clock: HeldClock
) -> None:
    await everything(Play(opened(), clock))

    names = {text: name for name, text in written().items()}
    queries = {sql for sql in ran if sql.split()[0] in WORDS}
    unnamed = {sql for sql in queries if sql not in names and walks(sql)}
    assert not unnamed
    assert set(names) - queries == set()


@pytest.mark.parametrize("name", written())
def test_no_statement_walks_or_sorts_a_table_that_grows(name: str) -> None:
    assert walks(written()[name]) <= {walk for known, walk in ALLOWED if known == name}


@pytest.mark.parametrize("name", written())
def test_only_a_list_of_a_status_walks_all_runs_of_it(name: str) -> None:
    step = "SEARCH runs USING INDEX runs_status (status=?)"

    assert step not in plan(written()[name])


@pytest.mark.parametrize("name", ["sqlite_reads._DEADLINES", "sqlite_reads._BEHIND"])
def test_what_stops_at_the_first_row_walks_along_an_index(name: str) -> None:
    (step,) = plan(written()[name])

    assert "USING" in step
    assert "INDEX" in step


def test_the_check_of_plans_finds_a_walk() -> None:
    assert len(written()) > 40
    assert walks("SELECT * FROM runs WHERE body > :a ORDER BY body") == {"SCAN runs", "USE TEMP"}
    assert walks("DELETE FROM records WHERE body = ?") == {"SCAN records"}
