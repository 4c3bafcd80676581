"""Whether those who may decide can be asked at all: told at the start, not at the first wait."""

from collections.abc import Iterable, Iterator

from engine import Agent
from notifiers import limits, wording


def unheard(agents: Iterable[Agent], channel: str) -> Iterator[str]:
    """Yield a line for each agent of whose named people some will hear nothing.

    Without a channel only people on Slack are asked one by one, and not many of them.
    """
    if channel:
        return
    for agent in agents:
        named = agent.who
        asked = [who for who in named.people if wording.is_slack_person(who)][: limits.DIRECT]
        silent: list[str] = [who for who in named.people if who not in asked]
        silent += [f"{group.kind.value} {group.id}" for group in named.crowd]
        silent += ["whoever is on call"] if named.on_call else []
        if silent:
            yield (
                f"agent {agent.name}: {', '.join(silent)} may decide and will not be told, as no"
                " channel is set; set HOLDSHORT_SLACK_CHANNEL, or start its runs in a channel"
            )
