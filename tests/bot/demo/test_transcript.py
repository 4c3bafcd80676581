"""How a line of the story looks, and how Slack's texts read in it."""

import io
from collections.abc import Mapping
from datetime import datetime

import pytest
from rich.console import Console

from bot.demo.reading import buttons_of, read_text
from bot.demo.transcript import Line, Tone, Transcript

NAMES = {"U0BOB": "bob"}


def printed(line: Line, *, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=40, force_terminal=terminal, color_system=None)
    Transcript(console).tell(line)
    return file.getvalue()


def test_elsewhere_than_in_a_terminal_a_line_stays_one_line() -> None:
    line = Line(Tone.SEEN, "#deploys", "a card " * 10, ("Approve", "Deny"))

    assert printed(line) == f"#deploys  {'a card ' * 10}  [Approve]  [Deny]\n"


def test_in_a_terminal_what_does_not_fit_goes_on_below_itself() -> None:
    first, second = printed(Line(Tone.ACT, "bob", "word " * 9), terminal=True).splitlines()[:2]

    assert first.startswith("bob       word")
    assert second.startswith("          word")


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_that_was_said_can_steer_the_terminal(*, terminal: bool) -> None:
    shown = printed(Line(Tone.ACT, "bob\x1b[1m", "types \x1b[2J"), terminal=terminal)

    assert "\x1b[2J" not in shown
    assert r"types \u{1B}[2J" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("by <@U0BOB>", "by bob"),
        ("by <@U0STRANGER>", "by U0STRANGER"),
        ("<https://example.com/a|Open the card>", "Open the card"),
        ("<https://example.com/a>", "https://example.com/a"),
        ("in <#C0DEPLOYS|deploys>", "in deploys"),
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("&amp;lt;", "&lt;"),
        ("nothing at all", "nothing at all"),
    ],
)
def test_slacks_markup_reads_as_people_see_it(text: str, reads: str) -> None:
    assert read_text(text, NAMES) == reads


def test_a_moment_reads_as_the_time_of_day_here() -> None:
    at = datetime.now().astimezone().replace(microsecond=0)
    token = f"<!date^{int(at.timestamp())}^{{time}}|then>"

    assert read_text(f"until {token}", NAMES) == f"until {at:%H:%M}"


def test_only_buttons_count_as_buttons() -> None:
    button = {"type": "button", "action_id": "a"}
    blocks: list[Mapping[str, object]] = [
        {"type": "section", "accessory": button},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "small"}]},
        {"type": "actions", "elements": [button]},
    ]

    assert list(buttons_of(blocks)) == [button, button]
