"""Whom the agents' approvers name, checked against the Directory before anything is served."""

from collections.abc import Sequence

from bot.logs import get_log
from bot.settings import SettingsError
from engine import Agent
from engine.errors import DirectoryUnavailableError, UnknownGroupError
from engine.identity import Directory, is_email

_log = get_log(__name__)


async def check_named(agents: Sequence[Agent], directory: Directory) -> None:
    """Look up every group and address that is named, so that a mistyped one is found by day.

    An address that is nobody's is only warned of: people leave. Where Slack does not answer,
    nothing is checked, and whoever decides meanwhile is told so.

    Raises:
        SettingsError: a group that Slack does not know, or does not let us see.

    """
    wrong: list[str] = []
    for agent in agents:
        try:
            await _check(agent, directory)
        except UnknownGroupError as error:
            wrong.append(f"agent {agent.name}: approvers: {error}")
        except DirectoryUnavailableError as error:
            _log.warning("approvers were not checked", agent=agent.name, why=str(error))
    if wrong:
        raise SettingsError(wrong)


async def _check(agent: Agent, directory: Directory) -> None:
    who = agent.who
    for group in who.crowd:
        members = await directory.members(group)
        if not members:
            _log.warning("a group of approvers is empty", agent=agent.name, group=group.id)
    for person in who.people:
        if is_email(person) and await directory.find(person) is None:
            _log.warning("an approver's address is nobody's", agent=agent.name, address=person)
