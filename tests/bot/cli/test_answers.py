"""Answering from the terminal: the operator is a person like any other, and is judged like one."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from bot.demo.scene import read_ledger
from engine import Agent, Run, RunStatus, ToolOptions, Via
from engine.ids import utc_now
from tests.bot.cli.conftest import ALICE, BOB, CAROL, Serving, Terminal, an_hour_ago
from tests.engine.scripted import repeat_results, script


def ref_of(run: Run) -> str:
    assert run.waiting is not None
    return run.waiting.ref


def test_an_approval_lets_the_tool_run_once_and_the_question_is_answered_the_same_way(
    terminal: Terminal, serving: Serving, ledger: Path
) -> None:
    run = serving.start()

    approved = terminal("approve", ref_of(run), operator=BOB)
    asked = serving.serve(run.id)
    answered = terminal("answer", ref_of(asked), "CHG-1042", "or", "so", operator=ALICE)
    ended = serving.serve(run.id)

    assert (approved.status, approved.out) == (0, f"Recorded: approved ({ref_of(run)}).\n")
    assert answered.out == f"Recorded: answered ({ref_of(asked)}).\n"
    assert [line["env"] for line in read_ledger(ledger)] == ["prod"]
    assert ended.output == "1.4.2 is live in prod under CHG-1042 or so."


def test_the_terminal_only_records_and_runs_nothing(
    terminal: Terminal, serving: Serving, ledger: Path
) -> None:
    run = serving.start()

    terminal("approve", ref_of(run), operator=BOB)

    assert read_ledger(ledger) == ()


def test_a_denial_tells_the_model_why(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()

    denied = terminal("deny", ref_of(run), "Not", "on a Friday.", operator=CAROL)

    assert denied.out == f"Recorded: denied ({ref_of(run)}).\n"
    assert "Not on a Friday." in str(serving.serve(run.id).output)


def test_a_ref_may_be_typed_as_it_is_read_aloud(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()
    spoken = ref_of(run).lower().replace("0", "o").replace("1", "l")

    assert terminal("approve", spoken, operator=BOB).status == 0


def test_the_ref_of_the_run_will_do_while_it_waits_for_one_thing(
    terminal: Terminal, serving: Serving
) -> None:
    assert terminal("approve", serving.start().ref, operator=BOB).status == 0


def test_who_decided_and_from_where_is_kept(terminal: Terminal, serving: Serving) -> None:
    run = serving.start()
    terminal("approve", ref_of(run), operator=BOB)

    shown = terminal("runs", "show", run.ref)

    assert f"approved by {BOB} ({Via.TERMINAL.value})" in shown.out


def test_the_same_answer_again_is_the_same_record(terminal: Terminal, serving: Serving) -> None:
    ref = ref_of(serving.start())

    first = terminal("approve", ref, operator=BOB)

    assert terminal("approve", ref, operator=BOB) == first


@pytest.mark.parametrize(
    ("operator", "says"),
    [
        (ALICE, f"Only {BOB} or {CAROL} can decide this; nothing changed."),
        ("U0NOBODY", f"Only {BOB} or {CAROL} can decide this; nothing changed."),
    ],
)
def test_someone_who_is_not_named_is_refused(
    operator: str, says: str, terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()

    refused = terminal("approve", ref_of(run), operator=operator)

    assert (refused.status, refused.out, refused.err) == (1, "", f"holdshort: {says}\n")
    assert serving.serve(run.id).status is RunStatus.WAITING


def test_whoever_started_the_run_cannot_approve_it(terminal: Terminal, serving: Serving) -> None:
    run = serving.start(requester=BOB)

    refused = terminal("approve", ref_of(run), operator=BOB)

    assert refused.status == 1
    assert "You started this run, so someone else must decide." in refused.err


def test_a_late_answer_is_told_who_decided(terminal: Terminal, serving: Serving) -> None:
    ref = ref_of(serving.start())
    terminal("deny", ref, operator=CAROL)

    late = terminal("approve", ref, operator=BOB)

    assert late.status == 1
    assert f"Already denied by {CAROL}, " in late.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("answer", "{ref}", "yes"), "this takes an approval or a denial"),
        (("runs", "resolve", "{ref}", "--abandon"), "this takes an approval or a denial"),
        (("approve", "ZZZZZZ"), "Nothing here goes by ZZZZZZ."),
    ],
)
def test_an_answer_that_does_not_fit_changes_nothing(
    words: tuple[str, ...], says: str, terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()

    refused = terminal(*(word.format(ref=ref_of(run)) for word in words), operator=BOB)

    assert refused.status == 1
    assert says in refused.err
    assert serving.serve(run.id).status is RunStatus.WAITING


@pytest.mark.parametrize(
    "words",
    [
        ("approve", "{ref}"),
        ("deny", "{ref}", "no"),
        ("answer", "{ref}", "yes"),
        ("runs", "resolve", "{ref}", "--abandon"),
        ("runs", "cancel", "{ref}"),
        ("start", "deployer", "Deploy 1.4.2"),
    ],
)
def test_without_an_operator_nothing_is_done(
    words: tuple[str, ...], terminal: Terminal, serving: Serving
) -> None:
    run = serving.start()

    refused = terminal(*(word.format(ref=ref_of(run)) for word in words))

    assert refused.status == 2
    assert refused.err.startswith("holdshort: HOLDSHORT_OPERATOR is not set")
    assert refused.err.count("\n") == 1
    assert serving.serve(run.id).version == run.version


class TestALostOutcome:
    """A worker vanished while the tool was at work, so somebody has to say what happened."""

    @pytest.fixture
    def begun(self) -> asyncio.Event:
        return asyncio.Event()

    @pytest.fixture
    def serving(self, path: Path, begun: asyncio.Event) -> Serving:
        waits = [True, False]

        async def deploy(version: str) -> str:
            """Deploy a version."""
            begun.set()
            if waits.pop(0):
                await asyncio.Event().wait()
            return f"release {version} is live"

        model = script([("deploy", {"version": "1.4.2"})], repeat_results)
        agent = Agent(
            name="deployer",
            model=model,
            tools=[deploy],
            approvals={"deploy": "user"},
            approvers=[BOB],
        )
        return Serving(path, agent)

    @pytest.fixture
    def lost(self, serving: Serving, begun: asyncio.Event) -> Run:
        # Long enough ago for the lease and the tool's own timeout to have passed.
        serving.clock = an_hour_ago
        run = serving.start()
        serving.approve(run, BOB)
        serving.vanish(begun)
        serving.clock = utc_now
        return serving.serve(run.id)

    @pytest.fixture
    def settle(self, terminal: Terminal, serving: Serving, lost: Run) -> Callable[..., str]:
        def say(*words: str) -> str:
            said = terminal("runs", "resolve", ref_of(lost), *words, operator=BOB)
            assert said.status == 0, said.err
            return str(serving.serve(lost.id).output)

        return say

    def test_it_is_shown_with_the_ways_to_settle_it(self, terminal: Terminal, lost: Run) -> None:
        shown = terminal("runs", "show", lost.ref).out

        assert "Did deploy happen?" in shown
        assert f"holdshort runs resolve {ref_of(lost)} --happened" in shown

    def test_it_happened_and_the_model_is_told_with_what(self, settle: Callable[..., str]) -> None:
        assert settle("--happened", "release 1.4.2 is live") == (
            "deploy=success:release 1.4.2 is live"
        )

    def test_it_did_not_happen_so_it_runs_now(self, settle: Callable[..., str]) -> None:
        assert settle("--not-happened") == "deploy=success:release 1.4.2 is live"

    def test_it_is_given_up(self, settle: Callable[..., str]) -> None:
        assert settle("--abandon").startswith("deploy=denied:blocked:")

    @pytest.mark.parametrize("words", [(), ("--abandon", "--not-happened")])
    def test_exactly_one_thing_is_said(self, words: tuple[str, ...], terminal: Terminal) -> None:
        refused = terminal("runs", "resolve", "ABCDEF", *words, operator=BOB)

        assert refused.status == 2
        assert "say one of --happened VALUE, --not-happened, --abandon" in refused.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("start", "deployer", "go", "--context", '"\\ud800"'), "no Unicode"),
        (("start", "deployer", "go", "--owner", "U\n<!channel>"), "--owner is nobody"),
        (("start", "deployer", "a\udcffb"), "an argument is no UTF-8 text"),
        (("approve", "\udcff"), "an argument is no UTF-8 text"),
    ],
)
def test_words_that_cannot_be_kept_are_refused_in_one_line(
    words: tuple[str, ...], line: str, terminal: Terminal, serving: Serving
) -> None:
    said = terminal(*words, operator=ALICE)

    assert said.status == 2
    assert line in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.fixture
def risky(serving: Serving) -> Serving:
    """Return the same, with a tool of high risk."""
    agent = serving.agent
    serving.agent = replace(agent, options={"deploy": ToolOptions(risk="high")})
    return serving


def test_a_call_of_high_risk_is_shown_whole_and_not_approved_unread(
    terminal: Terminal, risky: Serving
) -> None:
    run = risky.start()
    assert run.waiting is not None

    said = terminal("approve", ref_of(run), operator=BOB)

    digest = run.waiting.digest
    assert said.status != 0
    assert "HIGH RISK" in said.out
    assert "version = 1.4.2" in said.out
    assert f"args {digest[:8]}" in said.out
    assert f"--yes {digest[:8]}" in said.err
    assert risky.serve(run.id).tickets == run.tickets


@pytest.mark.parametrize("start", [8, 64])
def test_who_names_the_digest_that_they_reviewed_approves(
    start: int, terminal: Terminal, risky: Serving
) -> None:
    run = risky.start()
    assert run.waiting is not None

    digest = run.waiting.digest[:start]
    said = terminal("approve", ref_of(run), "--yes", digest, operator=BOB)

    assert said.out == f"Recorded: approved ({ref_of(run)}).\n"


@pytest.mark.parametrize("digest", ["00000000", "", "y", "9"])
def test_another_digest_or_too_short_a_one_approves_nothing(
    digest: str, terminal: Terminal, risky: Serving
) -> None:
    run = risky.start()
    assert run.waiting is not None
    shorter = run.waiting.digest[:7] if digest == "9" else digest

    said = terminal("approve", ref_of(run), "--yes", shorter, operator=BOB)

    assert said.status != 0
    assert risky.serve(run.id).tickets == run.tickets


@pytest.mark.parametrize("answer", ["y", "n"])
def test_whoever_sits_there_is_asked_after_they_saw_it(
    answer: str, terminal: Terminal, risky: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = risky.start()
    typed = StringIO(f"{answer}\n")
    typed.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", typed)

    said = terminal("approve", ref_of(run), operator=BOB)

    assert "Approve exactly this? [y/N]" in said.out
    assert ("Recorded: approved" in said.out) == (answer == "y")
    assert (risky.serve(run.id).tickets == run.tickets) == (answer == "n")


def test_an_edit_of_a_call_of_high_risk_is_reviewed_too(terminal: Terminal, risky: Serving) -> None:
    run = risky.start()

    said = terminal("approve", ref_of(run), "--with", '{"env": "staging"}', operator=BOB)

    assert said.status != 0
    assert risky.serve(run.id).tickets == run.tickets
