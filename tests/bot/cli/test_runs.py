"""Looking at runs and starting them from the terminal; what a program reads, and what goes wrong."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from engine import RunStatus
from engine.stores import SqliteStore
from tests.bot.cli.conftest import ALICE, BOB, CAROL, Serving, Terminal

ROOT = Path(__file__).parents[3]
ESCAPE = "\x1b[2J"


def test_a_started_run_is_taken_up_by_the_serving_process(
    terminal: Terminal, serving: Serving
) -> None:
    said = terminal("start", "deployer", "Deploy 2.0.0", operator=ALICE)

    ref = said.out.split("run ")[1][:6]
    run = serving.serve(ref)
    assert said.status == 0
    assert (run.owner, run.requester, run.origin.via.value) == (ALICE, ALICE, "terminal")
    assert run.status is RunStatus.WAITING


def test_a_run_may_be_for_someone_else_with_a_context_of_its_own(
    terminal: Terminal, serving: Serving
) -> None:
    said = terminal(
        "start", "deployer", "Go", "--owner", CAROL, "--context", '{"pr": 7}', operator=ALICE
    )

    run = serving.serve(said.out.split("run ")[1][:6])
    assert (run.owner, run.requester, run.context) == (CAROL, ALICE, {"pr": 7})


def test_an_owner_will_do_where_there_is_no_operator(terminal: Terminal) -> None:
    assert terminal("start", "deployer", "Go", "--owner", CAROL).status == 0


def test_the_same_key_is_the_same_run(terminal: Terminal) -> None:
    first = terminal("start", "deployer", "Go", "--key", "pr-7", operator=ALICE)

    assert terminal("start", "deployer", "Go", "--key", "pr-7") == first


def test_the_same_key_with_other_words_is_refused(terminal: Terminal) -> None:
    terminal("start", "deployer", "Go", "--key", "pr-7", operator=ALICE)

    refused = terminal("start", "deployer", "Go away", "--key", "pr-7")

    assert refused.status == 1
    assert "the same request came before with something else in it" in refused.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("start", "deployre", "Go"), "There is no agent deployre; there are: deployer."),
        (("start", "deployer", "Go", "--context", "{"), "--context is not JSON"),
        (("start", "deployer", "Go", "--context", "NaN"), "--context is not JSON: NaN"),
        (("runs", "list", "--status", "asleep"), "--status asleep: there are: queued, waiting"),
        (("runs", "list", "--limit", "0"), "--limit"),
        (("approve",), "Missing argument 'REF'"),
        (("aprove", "ABCDEF"), "No such command 'aprove'"),
        (("manifest", "--url", "http://example.com"), "Slack sends only to https"),
    ],
)
def test_what_was_typed_wrongly_is_named_in_one_line(
    words: tuple[str, ...], says: str, terminal: Terminal
) -> None:
    refused = terminal(*words, operator=ALICE)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("holdshort: ")
    assert says in refused.err
    assert refused.err.count("\n") == 1


def test_agents_that_are_not_named_are_asked_for(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDSHORT_AGENTS")

    refused = terminal("start", "deployer", "Go", operator=ALICE)

    assert refused.status == 2
    assert "HOLDSHORT_AGENTS is not set" in refused.err


def test_a_missing_secret_is_named(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDSHORT_RESUME_SECRETS")

    refused = terminal("approve", "ABCDEF")

    assert refused.status == 2
    assert refused.err.startswith("holdshort: HOLDSHORT_RESUME_SECRETS is not set")


def test_looking_needs_no_secret(
    terminal: Terminal, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = serving.start()
    monkeypatch.delenv("HOLDSHORT_RESUME_SECRETS")

    assert run.ref in terminal("runs", "list").out
    assert f"holdshort approve {run.tickets[0].ref}" in terminal("runs", "show", run.ref).out


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "list"),
        ("runs", "show", "ABCDEF"),
        ("runs", "cancel", "ABCDEF"),
        ("runs", "resolve", "ABCDEF", "--abandon"),
        ("approve", "ABCDEF"),
        ("deny", "ABCDEF"),
        ("answer", "ABCDEF", "yes"),
        ("purge", "--older-than", "1d"),
    ],
)
def test_a_store_that_is_not_there_is_told_and_not_made(
    words: tuple[str, ...], terminal: Terminal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistyped = path.parent / "new" / "holdshrt.db"
    monkeypatch.setenv("HOLDSHORT_STORE_URL", f"sqlite:///{mistyped}")

    refused = terminal(*words, operator=ALICE)

    assert refused.status == 2
    assert refused.err == (
        "holdshort: HOLDSHORT_STORE_URL names a store that cannot be opened: there is no file"
        f" {mistyped}; the first `holdshort serve` or `holdshort start` makes it\n"
    )
    assert not mistyped.parent.exists()


def test_the_place_of_a_store_that_nobody_named_is_told(
    terminal: Terminal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDSHORT_STORE_URL")
    monkeypatch.setenv("XDG_DATA_HOME", str(path.parent))

    said = terminal("runs", "list").err

    assert said.startswith("holdshort: HOLDSHORT_STORE_URL (not set, so ")
    assert "there is no file" in said


def test_a_store_of_a_newer_version_is_not_opened(terminal: Terminal, path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 9999")
    database.close()

    refused = terminal("runs", "list")

    assert refused.status == 2
    assert refused.err.count("\n") == 1


def test_an_unforeseen_fault_is_a_line_and_no_traceback(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"out of luck {ESCAPE}")

    monkeypatch.setattr("bot.cli.looks.list_runs", fail)

    failed = terminal("runs", "list")

    assert failed.status == 1
    assert failed.err == "holdshort: unexpected RuntimeError: out of luck \\u{1B}[2J\n"


def test_no_runs_are_said_to_be_none(terminal: Terminal, path: Path) -> None:
    async def make() -> None:
        store = SqliteStore(path)
        await store.next_due()
        await store.close()

    asyncio.run(make())

    assert terminal("runs", "list").out == "No runs.\n"


def test_the_list_says_what_each_run_waits_for_newest_first(
    terminal: Terminal, serving: Serving
) -> None:
    first, second = serving.start(), serving.start(owner=CAROL)
    assert second.waiting is not None

    head, *rows = terminal("runs", "list").out.splitlines()

    assert head.split()[:4] == ["RUN", "STATUS", "AGENT", "OWNER"]
    assert [row.split()[0] for row in rows] == [second.ref, first.ref]
    assert rows[0].rstrip().endswith(f"{second.waiting.ref} to run deploy")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--owner", CAROL), 1),
        (("--owner", BOB), 0),
        (("--agent", "deployer"), 2),
        (("--status", "waiting", "--status", "failed"), 2),
        (("--status", "succeeded"), 0),
        (("--limit", "1"), 1),
    ],
)
def test_the_list_can_be_narrowed(
    options: tuple[str, ...], found: int, terminal: Terminal, serving: Serving
) -> None:
    serving.start()
    serving.start(owner=CAROL)

    assert len(json.loads(terminal("runs", "list", "--json", *options).out)) == found


def test_a_program_reads_what_a_run_waits_for(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()
    assert run.waiting is not None

    (read,) = json.loads(terminal("runs", "list", "--json").out)

    assert (read["ref"], read["status"], read["owner"]) == (run.ref, "waiting", ALICE)
    assert read["waits_for"] == [
        {
            "ref": run.waiting.ref,
            "target": {"kind": "tool_permission", "call": "1.0", "tool": "deploy"},
            "people": [BOB, CAROL],
            "groups": [],
            "channels": [],
            "on_call": False,
            "needed": 1,
            "votes": [],
            "held_back": False,
            "deadline": run.waiting.deadline.isoformat() if run.waiting.deadline else None,
            "digest": run.waiting.digest,
        }
    ]


def test_a_run_is_shown_with_every_argument_and_how_to_answer(
    terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()
    assert run.waiting is not None

    shown = terminal("runs", "show", run.ref).out

    for line in ("env = prod", "version = ", f"args {run.waiting.digest[:8]}"):
        assert line in shown
    assert f"for {BOB} or {CAROL} to decide, until " in shown
    assert f"holdshort approve {run.waiting.ref}" in shown
    assert "deploy needs a person" in shown


def test_a_ticket_leads_to_its_run(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()
    assert run.waiting is not None

    assert terminal("runs", "show", run.waiting.ref) == terminal("runs", "show", run.ref)


def test_a_closed_ticket_is_shown_with_all_of_its_result(
    terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()
    assert run.waiting is not None
    serving.approve(run, BOB)
    serving.serve(run.id)

    shown = terminal("runs", "show", run.waiting.ref).out

    assert f"approved by {BOB} (api), " in shown
    assert "\n  Ran in " in shown
    assert "\n    release 1.4.2 is live in prod\n" in shown
    assert "holdshort approve" not in shown


def test_the_digest_of_the_card_is_the_one_of_the_events(
    terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()
    assert run.waiting is not None

    shown = terminal("runs", "show", run.ref).out

    assert f"\n    args {run.waiting.digest[:8]}\n" in shown
    assert f"deploy needs a person (args {run.waiting.digest[:8]})" in shown


def test_a_program_reads_what_happened(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()

    read = json.loads(terminal("runs", "show", run.ref, "--json").out)

    kinds = [event["fact"]["kind"] for event in read["events"]]
    assert kinds == ["run_started", "call_gated", "ticket_opened"]


def test_an_ended_run_is_shown_with_its_answer(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()
    terminal("deny", run.ref, f"No {ESCAPE}way", operator=BOB)
    serving.serve(run.id)

    shown = terminal("runs", "show", run.ref).out

    assert "1.4.2 went to staging instead" in shown
    assert "\\u{1B}[2Jway" in shown
    assert "\x1b" not in shown


def test_a_run_is_cancelled_by_its_owner(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()

    said = terminal("runs", "cancel", run.ref, operator=ALICE)

    assert (said.status, said.out) == (0, f"Run {run.ref}: cancelled.\n")
    assert serving.serve(run.id).status is RunStatus.CANCELLED


def test_a_run_is_not_cancelled_by_just_anyone(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()

    refused = terminal("runs", "cancel", run.ref, operator="U0NOBODY")

    assert refused.status == 1
    assert serving.serve(run.id).status is RunStatus.WAITING


def test_an_ended_run_is_not_cancelled(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()
    terminal("runs", "cancel", run.ref, operator=ALICE)

    refused = terminal("runs", "cancel", run.ref)

    assert refused.status == 1
    assert "is already cancelled" in refused.err


@pytest.mark.parametrize("words", [(), ("runs",), ("--help",), ("runs", "resolve", "-h")])
def test_help_is_given_without_any_settings(
    words: tuple[str, ...], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDSHORT_RESUME_SECRETS")

    said = terminal(*words)

    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("Usage: ")


def test_the_command_line_itself_loads_nothing_heavy() -> None:
    heavy = ["aiohttp", "engine", "pydantic", "pydantic_ai", "rich", "slack_sdk", "slack_bolt"]
    code = f"import sys, bot.cli.app; print([m for m in {heavy} if m in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)

    assert loaded.stdout.strip() == b"[]"


def test_answering_never_loads_the_model_layer(path: Path) -> None:
    code = (
        "import sys\nfrom bot.cli import app\nsys.argv = ['holdshort', 'approve', 'ABCDEF']\n"
        "try:\n    app.main()\nexcept SystemExit:\n    print('pydantic_ai' in sys.modules)"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)

    assert loaded.stdout.strip() == b"False"


def test_a_reader_that_goes_away_is_no_fault(terminal: Terminal, serving: Serving) -> None:
    serving.start()
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "bot", "runs", "list"]

    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False, cwd=ROOT)

    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")
