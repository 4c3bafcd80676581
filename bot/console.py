"""Printing to people: as wide as their terminal, and without wrapping where there is none."""

import os
import sys

from rich.console import Console

_UNWRAPPED = 10_000


class QuietConsole(Console):
    """Falls silent when nobody reads any more, as at the end of ``| head``; the work goes on."""

    def on_broken_pipe(self) -> None:
        """Print nothing from here on, not even at exit."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_console() -> Console:
    """Return the console of standard output."""
    width = None if sys.stdout.isatty() else _UNWRAPPED
    return QuietConsole(highlight=False, width=width)
