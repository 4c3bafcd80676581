"""One thing changed in the database behind the engine's back: a typed refusal, and nothing runs."""

import json
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine import Agent, Allow, Approvers, Run, RunStatus
from engine.errors import HoldshortError, InvalidResumeTokenError, ResumeError
from engine.identity import Via
from engine.lifecycle.propose import permission_digest
from engine.runs import ToolCall
from engine.stores import SqliteStore
from engine.stores.packing import pack, unpack
from engine.tickets import ResumeTicket
from tests.engine.scripted import ALICE, BOB, CAROL, Ledger, Stage, person, script, stage

Json = Any
Edit = Callable[[Json], None]

OTHERS: dict[str, Json] = {
    "approval": "apr_other",
    "ref": "ZZZZZZ",
    "run": "run_other",
    "conversation": "another",
    "snapshot": "another",
    "fingerprint": "another",
    "token": "tok_other",
    "digest": "0" * 64,
    "opened_at": "2025-01-01T00:00:00Z",
    "deadline": "2099-01-01T00:00:00Z",
    "requester": "UNOBODY",
    "votes": [
        {
            "actor": {"kind": "human", "team": "", "id": "UDAVE", "via": "slack"},
            "person": "UDAVE",
            "seat": "UDAVE",
            "at": "2026-01-01T12:00:00Z",
        }
    ],
    "seal": "0" * 64,
    "target": {"kind": "tool_permission", "call": "1.0", "tool": "refund"},
    "approvers": {"people": ["UBOB"], "quorum": 1},
    "declared": {"risk": "low", "title": "Nothing much"},
    "edited": {"original": "0" * 64, "by": [], "at": "2026-01-01T12:00:00Z"},
    "held": {"timeout": "PT1H", "full": [], "news": []},
}
OTHERS["wished"] = {
    "terms": [{"at": "/version"}],
    "hours": 168,
    "conversation": False,
    "by": {"kind": "human", "team": "", "id": "UBOB", "via": "slack"},
    "at": "2026-01-01T12:00:00Z",
}
UNTOUCHED = {"schema_version", "resolution"}
"""A schema that is not known is another test; an open ticket with a resolution is below."""

OF_THE_CALL: dict[str, Json] = {
    "id": "1.7",
    "provider_id": "another",
    "tool": "refund",
    "digest": "0" * 64,
    "fingerprint": "another",
    "verdict": "allow",
    "because": "another",
    "settled": "R000000000",
    "state": "allowed",
    "replay": "safe",
    "timeout_s": 1.0,
    "approval": None,
    "declared": {"risk": "low", "title": "Nothing much"},
    "edited": {"original": "0" * 64, "by": [], "at": "2026-01-01T12:00:00Z"},
}
OF_ITS_RUNNING = {"inquiry", "attempts", "op", "started_at"}
"""Written when a call begins, whatever stood there before."""

OF_ITS_CARD = {"card"}
"""Says where it is shown, and has no say in what is decided."""


def deployer(ledger: Ledger) -> Agent:
    model = script([("deploy", {"version": "1"})], "done")
    who = Approvers(people=(BOB, CAROL), quorum=1)
    approvals: Any = {"deploy": "user"}
    return Agent(
        name="deployer",
        model=model,
        tools=[ledger.deploy, ledger.refund],
        approvals=approvals,
        approvers=who,
        approval_timeout=timedelta(hours=1),
    )


def edit_run(path: Path, edit: Edit) -> None:
    """Change the stored run as somebody with the file would."""
    with sqlite3.connect(path) as database:
        ((body,),) = database.execute("SELECT body FROM runs").fetchall()
        stored = json.loads(unpack(body))
        edit(stored)
        database.execute("UPDATE runs SET body = ?", (pack(json.dumps(stored)),))
    database.close()


def edit_closed(path: Path, edit: Edit) -> None:
    with sqlite3.connect(path) as database:
        ((body,),) = database.execute("SELECT body FROM tickets").fetchall()
        stored = json.loads(unpack(body))
        edit(stored)
        database.execute("UPDATE tickets SET body = ?", (pack(json.dumps(stored)),))
    database.close()


def edit_arguments(path: Path) -> None:
    with sqlite3.connect(path) as database:
        body = pack('{"version":"2"}')
        changed = database.execute("UPDATE records SET body = ? WHERE kind = 'arguments'", (body,))
        assert changed.rowcount == 1
    database.close()


@pytest.fixture
async def on(tmp_path: Path) -> Any:
    made = stage(deployer, store=lambda clock: SqliteStore(tmp_path / "runs.db", clock=clock))
    yield made
    await made.store.close()


@pytest.fixture
async def parked(on: Stage) -> Run:
    started = await on.engine.start("deployer", "go", owner=ALICE)
    await on.settle()
    return await on.engine.get_run(started.run)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


async def approve(on: Stage, run: Run) -> None:
    """Approve by the token of the card that was shown before anything was changed."""
    await on.engine.resume(on.token(run.id, run.tickets[0].approval), Allow(), actor=person(BOB))


async def by_ref(on: Stage, run: Run) -> None:
    """Approve by ref: the token is made from what is stored by now."""
    token = await on.engine.token_for(run.tickets[0].ref, Via.TERMINAL)
    await on.engine.resume(token, Allow(), actor=person(BOB, Via.TERMINAL))


async def nothing_ran(on: Stage) -> None:
    await on.settle()
    assert on.ledger.effects == []


def test_every_field_is_changed_somewhere_here() -> None:
    assert set(ResumeTicket.model_fields) == {*OTHERS, *UNTOUCHED}
    assert set(ToolCall.model_fields) == {*OF_THE_CALL, *OF_ITS_RUNNING, *OF_ITS_CARD}


@pytest.mark.parametrize("way", [approve, by_ref])
@pytest.mark.parametrize("name", OTHERS)
async def test_a_changed_field_of_the_ticket_is_refused(
    name: str, way: Callable[[Stage, Run], Any], on: Stage, parked: Run, path: Path
) -> None:
    def edit(stored: Json) -> None:
        assert stored["tickets"][0][name] != OTHERS[name]
        stored["tickets"][0][name] = OTHERS[name]

    edit_run(path, edit)

    with pytest.raises((ResumeError, InvalidResumeTokenError)):
        await way(on, parked)
    await nothing_ran(on)


@pytest.mark.parametrize("way", [approve, by_ref])
@pytest.mark.parametrize("name", OF_THE_CALL)
async def test_a_changed_field_of_the_call_is_refused(
    name: str, way: Callable[[Stage, Run], Any], on: Stage, parked: Run, path: Path
) -> None:
    def edit(stored: Json) -> None:
        assert stored["batch"]["calls"][0][name] != OF_THE_CALL[name]
        stored["batch"]["calls"][0][name] = OF_THE_CALL[name]

    edit_run(path, edit)

    with pytest.raises((ResumeError, InvalidResumeTokenError)):
        await way(on, parked)
    await nothing_ran(on)


@pytest.mark.parametrize("way", [approve, by_ref])
async def test_changed_arguments_are_refused(
    way: Callable[[Stage, Run], Any], on: Stage, parked: Run, path: Path
) -> None:
    edit_arguments(path)

    with pytest.raises(ResumeError, match="arguments"):
        await way(on, parked)
    assert await on.engine.get_run(parked.id) == parked
    await nothing_ran(on)


def denied(ticket: Json) -> None:
    ticket["resolution"]["decision"] = {"kind": "deny", "reason": ""}


def by_fewer(ticket: Json) -> None:
    ticket["votes"] = []


def by_somebody_else(ticket: Json) -> None:
    ticket["resolution"]["actor"]["id"] = "UNOBODY"


@pytest.mark.parametrize("edit", [denied, by_fewer, by_somebody_else])
async def test_a_decision_that_was_changed_after_it_fell_runs_nothing(
    edit: Edit, on: Stage, parked: Run, path: Path
) -> None:
    await approve(on, parked)

    edit_closed(path, edit)

    await nothing_ran(on)
    ended = await on.engine.get_run(parked.id)
    assert ended.status is RunStatus.FAILED
    assert ended.failure is not None
    assert ended.failure.code == "altered"


@pytest.mark.parametrize("name", sorted({*OF_THE_CALL} - {"state"}))
async def test_a_call_that_was_changed_after_it_was_allowed_does_not_run(
    name: str, on: Stage, parked: Run, path: Path
) -> None:
    await approve(on, parked)

    def edit(stored: Json) -> None:
        stored["batch"]["calls"][0][name] = OF_THE_CALL[name]

    edit_run(path, edit)

    await nothing_ran(on)
    ended = await on.engine.get_run(parked.id)
    assert (ended.status, ended.failure and ended.failure.code) == (RunStatus.FAILED, "altered")


async def test_arguments_that_were_changed_after_they_were_allowed_do_not_run(
    on: Stage, parked: Run, path: Path
) -> None:
    await approve(on, parked)
    edit_arguments(path)

    await nothing_ran(on)
    ended = await on.engine.get_run(parked.id)
    assert ended.failure is not None
    assert ended.failure.code == "altered"


async def edited(on: Stage, run: Run) -> None:
    """Have the version edited, so that two forms of the arguments are stored."""
    token = on.token(run.id, run.tickets[0].approval)
    word = Allow(arguments={"version": "3"})
    await on.engine.resume(token, word, actor=person(BOB))


def the_edit_itself(database: sqlite3.Connection) -> None:
    ((body,),) = database.execute("SELECT body FROM records WHERE kind = 'edit'").fetchall()
    changed = pack(unpack(body).replace('"3', '"4'))
    database.execute("UPDATE records SET body = ? WHERE kind = 'edit'", (changed,))


def the_edit_to_nonsense(database: sqlite3.Connection) -> None:
    database.execute("UPDATE records SET body = ? WHERE kind = 'edit'", (pack("[]"),))


def the_edit_away(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM records WHERE kind = 'edit'")


def the_call_back_to_what_the_model_asked(database: sqlite3.Connection) -> None:
    ((body,),) = database.execute("SELECT body FROM runs").fetchall()
    stored = json.loads(unpack(body))
    stored["batch"]["calls"][0]["digest"] = permission_digest("deploy", '{"version":"1"}')
    database.execute("UPDATE runs SET body = ?", (pack(json.dumps(stored)),))


@pytest.mark.parametrize(
    "change",
    [
        the_edit_itself,
        the_edit_to_nonsense,
        the_edit_away,
        the_call_back_to_what_the_model_asked,
    ],
)
async def test_an_edit_that_was_changed_after_it_was_allowed_does_not_run(
    change: Callable[[sqlite3.Connection], None], on: Stage, parked: Run, path: Path
) -> None:
    await edited(on, parked)
    with sqlite3.connect(path) as database:
        before = database.total_changes
        change(database)
        assert database.total_changes == before + 1
    database.close()

    await nothing_ran(on)
    assert (await on.engine.get_run(parked.id)).status is RunStatus.FAILED


async def test_a_call_that_is_set_free_while_its_ticket_is_open_does_not_run(
    on: Stage, parked: Run, path: Path
) -> None:
    def edit(stored: Json) -> None:
        stored["batch"]["calls"][0]["state"] = "allowed"
        stored["tickets"] = []
        stored["status"] = "queued"

    edit_run(path, edit)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE runs SET status = 'queued', deadline = NULL")
    database.close()

    await nothing_ran(on)
    ended = await on.engine.get_run(parked.id)
    assert ended.failure is not None
    assert ended.failure.code == "altered"


async def test_a_resolution_written_into_an_open_ticket_decides_nothing(
    on: Stage, parked: Run, path: Path
) -> None:
    def edit(stored: Json) -> None:
        stored["tickets"][0]["resolution"] = {
            "decision": {"kind": "allow"},
            "actor": {"id": "UBOB", "via": "slack"},
            "at": "2026-01-01T12:00:00Z",
        }

    edit_run(path, edit)

    with pytest.raises(HoldshortError):
        await approve(on, parked)
    await nothing_ran(on)
