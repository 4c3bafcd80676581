"""What the terminal says of a run's facts, of its tickets, and of errors from below."""

import asyncio
import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.cli.errors import explain
from bot.facts import tell_fact, tell_resolution
from engine import Actor, Agent, Allow, Answer, Decision, Deny, Settle, Verdict, Via, ask_human
from engine.entries import CallOutcome
from engine.errors import ConfigurationError, Refusal, StoreUnavailableError
from engine.events import (
    AnswerRefused,
    CallFinished,
    CallGated,
    CallLost,
    CallNotAsked,
    CallRejected,
    CallStarted,
    CallTightened,
    CallWithheld,
    CancelRequested,
    Fact,
    RunCancelled,
    RunFailed,
    RunStarted,
    RunSucceeded,
    TicketClosed,
    TicketOpened,
    VoteCast,
)
from engine.identity import SYSTEM, Vote
from engine.ids import ApprovalId, CallId, OpId, PersonId, Ref, utc_now
from engine.tickets import Resolution
from tests.bot.cli.conftest import ALICE, BOB, Serving, Terminal
from tests.engine.scripted import script

CALL, TOOL, OP, TICKET = CallId("1.0"), "deploy", OpId("op_1"), ApprovalId("apr_1")
PERSON = Actor(id=PersonId(BOB), via=Via.SLACK)


def resolution(decision: Decision, actor: Actor = PERSON, **more: Any) -> Resolution:
    return Resolution(decision=decision, actor=actor, at=utc_now(), **more)


def finished(outcome: CallOutcome, seconds: float | None = None) -> CallFinished:
    return CallFinished(call=CALL, tool=TOOL, outcome=outcome, seconds=seconds)


def opened(target: str) -> TicketOpened:
    return TicketOpened(
        approval=TICKET, ref=Ref("ABC123"), target=target, call=CALL, digest="", deadline=None
    )


FACTS: Sequence[tuple[Fact, str]] = [
    (
        RunStarted(agent="a", owner=PersonId(ALICE), requester=PersonId(BOB)),
        f"started by {BOB} for {ALICE}",
    ),
    (
        CallGated(call=CALL, tool=TOOL, digest="9f2c1a04" * 8, verdict=Verdict.ASK),
        "deploy needs a person (args 9f2c1a04)",
    ),
    (
        CallGated(call=CALL, tool=TOOL, digest="9f2c" * 16, verdict=Verdict.DENY, rule="no-prod"),
        "deploy is denied by the rule no-prod (args 9f2c9f2c)",
    ),
    (
        CallTightened(call=CALL, tool=TOOL, verdict=Verdict.ASK, rule="r:3"),
        "deploy needs a person after all, by the rule r:3",
    ),
    (
        CallTightened(call=CALL, tool=TOOL, verdict=Verdict.DENY, rule="r:3"),
        "deploy is denied after all, by the rule r:3",
    ),
    (
        CallNotAsked(call=CALL, tool=TOOL, digest="", denials=2),
        "deploy was not asked: denied 2 times in this run",
    ),
    (
        CallRejected(call=CALL, tool=TOOL, reason="no version"),
        "deploy was refused before its policy: no version",
    ),
    (opened("tool_permission"), "ABC123 waits for an approval"),
    (opened("remote_input"), "ABC123 asks a question"),
    (opened("outcome_unknown"), "ABC123 waits to be told whether the call happened"),
    (
        TicketClosed(approval=TICKET, call=CALL, resolution=resolution(Allow())),
        f"approved by {BOB} (slack)",
    ),
    (
        TicketClosed(
            approval=TICKET, call=CALL, resolution=resolution(Allow(), instead_of=PersonId(ALICE))
        ),
        f"approved by {BOB} (slack) for {ALICE}",
    ),
    (
        VoteCast(
            approval=TICKET,
            call=CALL,
            vote=Vote(actor=PERSON, person=PERSON.id, seat=PERSON.id, at=utc_now()),
            votes=1,
            needed=2,
        ),
        f"approved by {BOB} (slack): 1 of 2",
    ),
    (
        AnswerRefused(
            approval=TICKET,
            call=CALL,
            actor=PERSON,
            decision="allow",
            refusal=Refusal.NOT_AN_APPROVER,
        ),
        f"{BOB} (slack) tried to allow and may not (not an approver)",
    ),
    (CallStarted(call=CALL, tool=TOOL, op=OP, attempt=1), "deploy starts"),
    (finished(CallOutcome.SUCCEEDED, 3.21), "deploy ran in 3.2 s"),
    (finished(CallOutcome.FAILED, 3.21), "deploy failed in 3.2 s"),
    (finished(CallOutcome.SUCCEEDED), "deploy has its answer"),
    (finished(CallOutcome.DENIED), "deploy did not run"),
    (CallLost(call=CALL, tool=TOOL, op=OP), "deploy was lost while it ran"),
    (
        CallWithheld(call=CALL, tool=TOOL, op=OP),
        "deploy was not started: no second server confirmed that it may",
    ),
    (
        CancelRequested(actor=PERSON),
        f"to be cancelled once the tool has ended, says {BOB} (slack)",
    ),
    (RunSucceeded(), "succeeded"),
    (RunFailed(code="stuck", message="nothing goes on"), "failed (stuck): nothing goes on"),
    (RunCancelled(actor=PERSON), f"cancelled by {BOB}"),
]


def test_no_fact_tells_a_secret() -> None:
    told = tell_fact(RunFailed(code="x", message="no entry with AKIAIOSFODNN7EXAMPLE"))
    assert told == "failed (x): no entry with ••• hidden (20 characters) •••"


@pytest.mark.parametrize(("fact", "told"), FACTS, ids=[fact.kind for fact, _ in FACTS])
def test_every_fact_has_its_phrase(fact: Fact, told: str) -> None:
    assert tell_fact(fact) == told


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (resolution(Deny()), f"denied by {BOB} (slack)"),
        (resolution(Deny(reason="no")), f"denied by {BOB} (slack): no"),
        (resolution(Answer(value="42")), f"answered by {BOB} (slack): 42"),
        (
            resolution(Settle(outcome="happened", value="live")),
            f"settled (happened) by {BOB} (slack): live",
        ),
        (resolution(Deny(reason="approval timed out"), SYSTEM, timed_out=True), "timed out"),
        (
            resolution(Deny(reason="cancelled"), PERSON, withdrawn=True),
            f"withdrawn by {BOB} (slack)",
        ),
    ],
)
def test_an_end_is_told_with_who_and_what_they_said_and_silence_is_nobodys(
    end: Resolution, told: str
) -> None:
    assert tell_resolution(end) == told


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConfigurationError("A is not set\nB is not set"), ("A is not set\nB is not set", 2)),
        (OSError(errno.ENOSPC, "No space left on device", "/var/db"), None),
        (OSError("odd"), ("unexpected OSError: odd", 1)),
    ],
)
def test_errors_from_below_are_lines_too(error: Exception, said: tuple[str, int] | None) -> None:
    assert explain(error) == (said or ("/var/db: No space left on device", 1))


def test_a_store_that_does_not_answer_leaves_open_what_was_recorded() -> None:
    text, status = explain(StoreUnavailableError("busy"))

    assert status == 1
    assert text.startswith("Not recorded, as far as is known")


class TestWhatARunIsShownToWaitFor:
    """``runs show`` for what the example agent does not do."""

    @staticmethod
    def shown(path: Path, terminal: Terminal, *calls: tuple[str, dict[str, Any]]) -> str:
        def notify(text: str) -> str:
            """Send a text."""
            return text

        agent = Agent(
            name="deployer",
            model=script(list(calls), "done"),
            tools=[notify, ask_human],
            approvals={"notify": "user"},
        )
        return terminal("runs", "show", Serving(path, agent).start().ref).out

    def test_a_question_with_how_to_answer_it(self, path: Path, terminal: Terminal) -> None:
        shown = self.shown(path, terminal, ("ask_human", {"question": "Which\nticket?"}))

        assert "    Which\n    ticket?\n" in shown
        assert "  holdshort answer " in shown

    def test_a_long_argument_in_full_and_in_its_own_lines(
        self, path: Path, terminal: Terminal
    ) -> None:
        text = "\n".join(f"line {number} \x1b[31m" for number in range(200))

        shown = self.shown(path, terminal, ("notify", {"text": text}))

        assert f"text ({len(text):,} characters):" in shown
        assert all(f"    line {number} \\u{{1B}}[31m" in shown for number in range(200))
        assert "\x1b" not in shown

    def test_what_the_agent_says_beside_its_call(self, path: Path, terminal: Terminal) -> None:
        shown = self.shown(path, terminal, ("notify", {"text": "hello"}))

        assert "  deployer says: I would like to." in shown

    def test_several_things_at_once_in_the_list(self, path: Path, terminal: Terminal) -> None:
        self.shown(path, terminal, ("notify", {"text": "a"}), ("ask_human", {"question": "b?"}))

        listed = terminal("runs", "list").out
        assert " to run notify, " in listed
        assert listed.rstrip().endswith(" an answer")


def test_a_long_answer_is_cut_short_in_the_list(path: Path, terminal: Terminal) -> None:
    agent = Agent(name="deployer", model=script("x" * 100))
    serving = Serving(path, agent)
    serving.start()

    assert terminal("runs", "list").out.rstrip().endswith("x" * 60 + "…")


def test_a_run_is_cancelled_once_its_tool_has_ended(path: Path, terminal: Terminal) -> None:
    begun = asyncio.Event()

    async def wait() -> str:
        """Wait for ever."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    agent = Agent(name="deployer", model=script([("wait", {})], "done"), tools=[wait])
    serving = Serving(path, agent)
    run_id = serving.queue()
    serving.vanish(begun)

    said = terminal("runs", "cancel", run_id, operator=ALICE)

    assert said.out.endswith("to be cancelled once its tool has ended.\n")
