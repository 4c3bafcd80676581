"""How a story is printed: who on the left, what they did or saw on the right."""

from dataclasses import dataclass
from enum import StrEnum

from rich.console import Console
from rich.table import Table
from rich.text import Text

from notifiers.text import inert

WHO_WIDTH = 9


class Tone(StrEnum):
    """What kind of thing a line tells; its value is how the left column looks."""

    ACT = "bold cyan"
    """A person did something."""
    AGENT = "bold magenta"
    """The agent did something."""
    EFFECT = "bold green"
    """A tool left its mark on the world."""
    SEEN = "dim"
    """People can read something that they could not read before."""
    HINT = "yellow"
    """What a person could do now."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a story."""

    tone: Tone
    who: str
    said: str
    buttons: tuple[str, ...] = ()


class Transcript:
    """Prints lines: aligned and wrapped on a terminal, one line each elsewhere."""

    def __init__(self, console: Console) -> None:
        """Print to this console."""
        self._console = console

    def tell(self, line: Line) -> None:
        """Print one line of the story. Nothing in it can steer the terminal."""
        who, said = inert(line.who), Text(inert(line.said), style=_style_of(line))
        for button in line.buttons:
            said.append("  ").append(f"[{inert(button)}]", style="bold")
        if not self._console.is_terminal:
            self.say(f"{who:<{WHO_WIDTH}} {said.plain}")
            return
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_column(width=WHO_WIDTH, no_wrap=True)
        row.add_column(ratio=1, overflow="fold")
        row.add_row(Text(who, style=line.tone.value), said)
        self._console.print(row)

    def say(self, text: str = "", style: str = "") -> None:
        """Print a line that is not part of the story."""
        self._console.print(Text(text, style=style), soft_wrap=True)


def _style_of(line: Line) -> str:
    return "yellow" if line.tone is Tone.HINT else ""
