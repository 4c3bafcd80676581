"""What a run came to, in the terminal: without the secrets that its calls were given."""

from pathlib import Path

from pydantic import SecretStr

from engine import Agent
from tests.bot.cli.conftest import Serving, Terminal
from tests.engine.scripted import script


def unlock(code: SecretStr) -> str:
    """Unlock."""
    return "done"


def test_neither_a_run_nor_the_list_repeats_a_secret_that_it_was_given(
    terminal: Terminal, path: Path
) -> None:
    model = script([("unlock", {"code": "open-sesame"})], "I used open-sesame.")
    run = Serving(path, Agent(name="a", model=model, tools=[unlock])).start()

    for words in (("runs", "show", run.ref), ("runs", "list")):
        said = " ".join(terminal(*words).out.split())
        assert "I used ••• hidden" in said
        assert "sesame" not in said
