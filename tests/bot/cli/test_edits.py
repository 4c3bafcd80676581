"""Edit and approve from the terminal: ``holdshort approve REF --with JSON``."""

from pathlib import Path

import pytest

from bot.demo.scene import read_ledger
from engine import Run
from tests.bot.cli.conftest import ALICE, BOB, Serving, Terminal


def ref_of(run: Run) -> str:
    assert run.waiting is not None
    return run.waiting.ref


def test_the_arguments_that_are_given_change_and_the_others_stay(
    terminal: Terminal, serving: Serving, ledger: Path
) -> None:
    run = serving.start()

    approved = terminal("approve", ref_of(run), "--with", '{"env": "staging"}', operator=BOB)
    asked = serving.serve(run.id)
    terminal("answer", ref_of(asked), "CHG-1", operator=ALICE)
    serving.serve(run.id)

    assert (approved.status, approved.out) == (
        0,
        f"Recorded: approved with edits ({ref_of(run)}).\n",
    )
    assert [(line["version"], line["env"]) for line in read_ledger(ledger)] == [
        ("1.4.2", "staging")
    ]


def test_what_happened_tells_of_the_edit_and_of_no_argument(
    terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()
    terminal("approve", ref_of(run), "--with", '{"env": "staging"}', operator=BOB)

    told = terminal("runs", "show", run.id).out

    assert f"{BOB} (terminal) edits its arguments (args " in " ".join(told.split())
    assert "approved with edits by" in " ".join(told.split())


@pytest.mark.parametrize(
    ("edits", "status", "said"),
    [
        ('{"env": 7}', 1, "Not recorded: env: Input should be 'staging' or 'prod'."),
        ('{"colour": "red"}', 1, "Not recorded: colour: Extra inputs are not permitted."),
        ('{"env": "a", "env": "b"}', 2, "--with: arguments give the key 'env' twice"),
        ("[1]", 2, "--with: arguments must be one JSON object"),
        ("{", 2, "--with: arguments are not valid JSON"),
        ('{"env": NaN}', 2, "--with: arguments hold NaN"),
    ],
)
def test_edits_that_do_not_fit_are_refused_in_one_line_and_change_nothing(
    terminal: Terminal, serving: Serving, edits: str, status: int, said: str
) -> None:
    run = serving.start()

    refused = terminal("approve", ref_of(run), "--with", edits, operator=BOB)

    assert said in refused.err
    assert refused.status == status
    assert refused.err.count("\n") == 1
    assert serving.serve(run.id) == run


def test_the_requester_may_not_edit(terminal: Terminal, serving: Serving) -> None:
    run = serving.start(requester=BOB)

    refused = terminal("approve", ref_of(run), "--with", '{"env": "staging"}', operator=BOB)

    assert "You started this run" in refused.err
    assert serving.serve(run.id).waiting == run.waiting


def test_the_same_edit_again_tells_that_it_is_decided(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()
    edit = ("approve", ref_of(run), "--with", '{"env": "staging"}')
    terminal(*edit, operator=BOB)

    again = terminal(*edit, operator=BOB)

    assert f"Already approved with edits by {BOB}" in again.err


def test_an_edit_needs_the_agents(
    terminal: Terminal, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = serving.start()
    monkeypatch.setenv("HOLDSHORT_AGENTS", "")

    refused = terminal("approve", ref_of(run), "--with", "{}", operator=BOB)

    assert "HOLDSHORT_AGENTS is not set" in refused.err
