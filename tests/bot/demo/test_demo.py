"""The demo itself, by what a newcomer sees: the real command, the real parts, nothing replaced."""

import re
import signal
import socket
from pathlib import Path

import pytest

from bot.local_slack import LocalSlackClient
from notifiers import names
from tests.bot.demo.conftest import Play, Played, Watched

REF = r"[0-9A-HJKMNP-TV-Z]{6}"

APPROVED = [
    "alice types /holdshort run deployer Deploy 1.4.2 to production",
    f"to alice Started deployer: run {REF}.*",
    "deployer calls deploy; its policy says to ask people, so the run parks",
    r'#deploys deployer asks: \U0001f7e0 Medium risk · Run deploy "1.4.2 to prod"\? env = prod · version = 1.4.2 · notes = "" \(default\) · until .* \[Approve\] .*',
    r'to alice Waiting for bob or carol: Run deploy "1.4.2 to prod"\? .*',
    "bob presses Approve",
    rf"to bob Recorded: approved \({REF}\)\.",
    "deploy runs once: 1.4.2 to prod",
    r'#deploys Approved by bob: deploy "1.4.2 to prod"\. Ran in .* s: "release 1.4.2 is live in prod".*',
    "deployer asks its owner a question, so the run parks again",
    r"#deploys deployer asks: Which change ticket covers this\? .* \[Answer\] \[Decline\]",
    r'to alice Waiting for you: deployer asks "Which change ticket covers this\?" .*',
    f"alice types /holdshort answer {REF} CHG-1042",
    rf"to alice Recorded: answered \({REF}\)\.",
    r'#deploys Answered by alice: "Which change ticket covers this\?".*',
    "to alice Done: deployer. 1.4.2 is live in prod under CHG-1042",
    "",
    "As it should be: deployed once, after bob had allowed it.",
]
DENIED = [
    *APPROVED[:5],
    "bob presses Deny with reason",
    "bob submits the form: Not on a Friday.",
    rf"to bob Recorded: denied \({REF}\)\.",
    'deployer is told "blocked: Not on a Friday."',
    r'#deploys Denied by bob: deploy "1.4.2 to prod"\. Reason: "Not on a Friday.".*',
    r"deployer calls deploy\(env=staging, .*version=1.4.2\); its policy allows that",
    "deploy runs once: 1.4.2 to staging",
    "to alice Done: deployer. 1.4.2 went to staging instead; prod was blocked: Not on a Friday",
    "",
    "As it should be: bob denied it, so prod was not touched and the agent took another way.",
]
IGNORED = [
    *APPROVED[:5],
    "nobody decides in time",
    'deployer is told "blocked: approval timed out"',
    '#deploys Nobody decided: deploy "1.4.2 to prod" was denied at .*',
    "to alice Done: deployer. Nobody decided in time, so 1.4.2 was not deployed",
    "",
    "As it should be: nobody decided, so nothing was deployed.",
]


def check(played: Played, story: list[str]) -> None:
    """Compare line by line what was told after the first act, and how the command ended."""
    told = played.lines[played.lines.index(story[0]) :]
    assert (played.status, played.err) == (0, ""), played.out
    assert len(told) == len(story), played.out
    for line, wanted in zip(told, story, strict=True):
        assert re.fullmatch(wanted, line), (wanted, line)


@pytest.mark.parametrize(("decide", "story"), [("deny", DENIED), ("ignore", IGNORED)])
def test_the_story_is_told_line_by_line_and_leaves_nothing_behind(
    decide: str, story: list[str], play: Play, scratch: Path
) -> None:
    check(play("--decide", decide), story)

    assert list(scratch.iterdir()) == []


def test_an_approved_story_keeps_its_folder_when_asked_and_no_secret_is_in_it(
    play: Play, scratch: Path
) -> None:
    real = {
        "HOLDSHORT_STORE_URL": f"sqlite:///{scratch / 'real.db'}",
        "SLACK_BOT_TOKEN": "xoxb-of-the-real-workspace",
        "HOLDSHORT_SLACK_API_URL": "http://127.0.0.1:9/",
    }
    played = play("--decide", "approve", "--keep", **real)

    # Nor are the settings of the real workspace touched: there is no real.db.
    (kept,) = scratch.iterdir()
    check(played, [*APPROVED, f"Kept: {kept}"])
    assert {file.name for file in kept.iterdir()} >= {"holdshort.db", "ledger.jsonl", "bot.log"}
    written = played.out.encode() + b"".join(file.read_bytes() for file in kept.iterdir())
    assert not re.search(rb"xox[a-z]-|xapp-|eyJ[\w-]{16}", written)


def test_with_no_terminal_and_a_taken_port_it_says_so_and_plays_all_the_same(play: Play) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        played = play("--port", str(port))

    assert played.lines[:2] == [
        "No terminal here, so the people act by themselves: approve.",
        f"Port {port} is taken; the page is elsewhere.",
    ]
    check(played, APPROVED)


def test_a_model_whose_library_is_missing_is_named_with_what_to_install(play: Play) -> None:
    played = play("--decide", "approve", HOLDSHORT_MODEL="openai:gpt-5")

    assert (played.status, played.out) == (2, "")
    assert "pip install 'holdshort[openai]'" in played.err
    assert played.err.count("\n") == 1


def test_an_end_that_should_not_be_is_told_and_fails(play: Play, scratch: Path) -> None:
    # Pydantic AI's own test model deploys to staging, which needs nobody.
    played = play("--decide", "approve", HOLDSHORT_MODEL="test")

    assert played.status == 1
    assert "Not as it should be:" in played.lines
    assert "0 deployments to prod were approved, and 0 made" in played.lines
    assert list(scratch.iterdir()) == []


def test_ctrl_c_before_the_end_leaves_nothing_behind(watched: Watched, scratch: Path) -> None:
    watched.until("your turn")

    assert watched.stop() == 130
    assert "Traceback" not in watched.seen
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_or_an_end_from_outside_leaves_nothing_behind(
    told: signal.Signals, watched: Watched, scratch: Path
) -> None:
    watched.until("your turn")

    assert watched.stop(told) == 130
    assert list(scratch.iterdir()) == []


def test_ctrl_c_while_it_starts_leaves_nothing_behind(watched: Watched, scratch: Path) -> None:
    watched.until("An agent asks")

    assert watched.stop() == 130
    assert "Traceback" not in watched.seen
    assert list(scratch.iterdir()) == []


async def test_in_a_terminal_it_waits_for_people_and_tells_what_they_do(watched: Watched) -> None:
    first = watched.until("press Approve, Deny")
    page = re.search(r"http://127\.0\.0\.1:\d+/", first)
    assert page is not None
    async with LocalSlackClient(page[0]) as people:
        card = await people.wait_for_message("U0CAROL", "C0DEPLOYS", bool)
        await people.click("U0ALICE", "C0DEPLOYS", card["ts"], names.APPROVE)
        watched.until("Only bob or carol can decide this; nothing changed.")
        await people.click("U0CAROL", "C0DEPLOYS", card["ts"], names.APPROVE)
        asked = watched.until("or press Answer")
        ref = re.search(rf"/holdshort answer ({REF})", asked)
        assert ref is not None
        await people.slash("U0ALICE", "C0DEPLOYS", f"answer {ref[1]} CHG-7")
        watched.until("Deploy 1.4.3")

    for said in ("alice presses Approve", "carol presses Approve", "live in prod under CHG-7"):
        assert said in watched.told
    assert max(len(line) for line in watched.seen.splitlines()) <= 80
    assert watched.stop() == 0
