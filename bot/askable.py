"""Whether the agents' models can be asked at all: told at the start, not at the first run."""

from collections.abc import Iterable, Iterator

from bot.settings import SettingsError
from engine import Agent

REMEDY = "install its library or set its API key, as the line says; serving needs it too"


def check_askable(agents: Iterable[Agent]) -> None:
    """Find each agent's model by its name; nothing is sent.

    Raises:
        SettingsError: a line for each that lacks its library or its key, or is unknown.

    """
    wrong = list(unaskable(agents))
    if wrong:
        raise SettingsError(wrong)


def unaskable(agents: Iterable[Agent]) -> Iterator[str]:
    """Yield a line for each agent whose model cannot be asked: which model, and what it lacks."""
    # The model layer is what takes longest to import; a terminal does without it.
    from engine.model import why_not_askable  # noqa: PLC0415

    for agent in agents:
        why = why_not_askable(agent.model)
        if why:
            yield f"agent {agent.name}: the model {agent.model!r} cannot be asked: {why}"
