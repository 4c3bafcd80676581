"""Two passes that Slack hands out with each interaction: trigger ids and response URLs.

Trigger ids live 3 s and are good for one view (views.open error list). Response URLs live 30 min
and are good for 5 messages (docs.slack.dev/interactivity/handling-user-interaction).
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.local_slack.errors import SlackError
from bot.local_slack.ids import Mint

RESPONSE_URL_LIFE_S = 1800.0
RESPONSE_URL_USES = 5
TRIGGER_LIFE_S = 3.0


@dataclass(slots=True)
class Trigger:
    """The right to show one view to one person. `modal` is the view it was given in, if any."""

    user: str
    issued_at: float
    modal: str | None = None
    used: bool = False


class Triggers:
    """All trigger ids ever given."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._given: dict[str, Trigger] = {}

    def give(self, user: str, modal: str | None = None) -> str:
        """Return a new trigger id for an act of this person."""
        trigger_id = self._mint.trigger_id()
        self._given[trigger_id] = Trigger(user, self._mint.now(), modal)
        return trigger_id

    def exchange(self, trigger_id: str) -> Trigger:
        """Use a trigger up.

        Raises SlackError `invalid_trigger_id`, `exchanged_trigger_id` or `expired_trigger_id`.
        """
        trigger = self.look(trigger_id)
        trigger.used = True
        return trigger

    def look(self, trigger_id: str) -> Trigger:
        """Return a trigger that could be exchanged now, without using it up; raises as above."""
        trigger = self._given.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        if self._mint.now() - trigger.issued_at > TRIGGER_LIFE_S:
            raise SlackError("expired_trigger_id")
        return trigger


@dataclass(slots=True)
class ResponsePass:
    """The right to say something where one person acted; `source_ts` is the message acted on."""

    user: str
    channel: str
    issued_at: float
    source_ts: str | None = None
    uses: int = 0


class ResponsePasses:
    """All response URLs ever given, by the last part of their path."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._given: dict[str, ResponsePass] = {}

    def give(self, user: str, channel: str, source_ts: str | None = None) -> str:
        """Return the id of a new response URL."""
        pass_id = self._mint.word("", 24)
        self._given[pass_id] = ResponsePass(user, channel, self._mint.now(), source_ts)
        return pass_id

    def use(self, pass_id: str) -> ResponsePass:
        """Count one use.

        Raises SlackError with status 404: `expired_url` (unknown or older than 30 minutes) or
        `used_url` (five uses made). The two words are what apps report; Slack documents neither.
        """
        found = self._given.get(pass_id)
        if found is None or self._mint.now() - found.issued_at > RESPONSE_URL_LIFE_S:
            raise SlackError("expired_url", status=404)
        if found.uses >= RESPONSE_URL_USES:
            raise SlackError("used_url", status=404)
        found.uses += 1
        return found
