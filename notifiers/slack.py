"""Shows cards in Slack: where a card goes, and how it is kept up to date."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from engine.cards import Asked, BatchNotice, HeldNotice, Notice, OutcomeNotice, Receipt, Role
from engine.errors import DeliveryError
from engine.identity import Via
from engine.ids import PersonId
from notifiers import limits
from notifiers.batch import batch_card, short_batch_card
from notifiers.blocks import Message
from notifiers.calls import SlackCalls
from notifiers.card import ask_card, short_card
from notifiers.held import held_message
from notifiers.owner import batch_message, outcome_message, ticket_message
from notifiers.refusals import CallError, Refusal
from notifiers.wording import is_slack_person

_NOT_SHOWN = Receipt(place="", id="", shown=False)
_ALONE = "Nobody else sees this card: no channel took it, so tell those who may decide."
_DIRECT = "D"
"""What the ids of DMs begin with (https://docs.slack.dev/reference/objects/conversation-object)."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Somewhere a card may go: a channel, or a person's DM."""

    called: str
    channel: str = ""
    thread: str = ""
    person: PersonId | None = None


class SlackNotifier:
    """The Notifier for one Slack workspace."""

    audience = Via.SLACK

    def __init__(self, client: AsyncWebClient, *, channel: str | None) -> None:
        """Take a client that retries nothing, and the channel for runs from elsewhere.

        Raises:
            ConfigurationError: the client has retry handlers.

        """
        self._calls = SlackCalls(client)
        self._channel = channel or ""
        self._rooms: dict[PersonId, str] = {}

    async def show(self, notice: Notice, receipt: Receipt | None) -> Receipt:
        """Show the notice, or bring the message of ``receipt`` up to it; return where it is.

        Raises:
            DeliveryError: it was not shown, or it is not known whether it was.

        """
        known = receipt if receipt is not None and receipt.shown else None
        try:
            if isinstance(notice, OutcomeNotice):
                return await self._tell_owner(notice, outcome_message(notice), known)
            if isinstance(notice, HeldNotice):
                return await self._tell_held(notice, held_message(notice), known)
            if notice.role is Role.ASK:
                return await self._ask(notice, known)
            if known is None and await self._adds_nothing(notice):
                return _NOT_SHOWN
            return await self._tell_owner(notice, _owner_message(notice), known)
        except CallError as error:
            raise error.as_delivery_error() from None

    async def _ask(self, notice: Asked, known: Receipt | None) -> Receipt:
        updated = await self._update_card(notice, known) if known is not None else None
        if updated is not None:
            return updated
        if notice.resolution is not None:
            return _NOT_SHOWN
        refused: list[str] = []
        again = [_again(known)] if known is not None and known.place.startswith(_DIRECT) else []
        for places in (*again, *self._rounds(notice)):
            posted = await self._post_to_each(notice, places, refused)
            if posted:
                return posted[0].model_copy(update={"also": tuple(posted[1:])})
        raise DeliveryError(f"no place took the card: {'; '.join(refused)}", permanent=True)

    def _rounds(self, notice: Asked | HeldNotice) -> Iterator[tuple[_Place, ...]]:
        """Yield where a card may go, best first (DESIGN section 5).

        Where there is no channel, each of those who may decide has the card in their DM.
        """
        origin = notice.origin
        from_slack = origin.via is Via.SLACK and bool(origin.channel)
        if from_slack:
            yield (_Place("the run's own channel", origin.channel, origin.thread),)
        if self._channel and not (from_slack and origin.channel == self._channel):
            yield (_Place("the configured channel", self._channel),)
        deciders = _deciders(notice)
        if deciders:
            yield tuple(_dm(who, notice) for who in deciders)
        if notice.owner not in deciders:
            yield (_dm(notice.owner, notice),)

    async def _post_to_each(
        self, notice: Asked, places: Sequence[_Place], refused: list[str]
    ) -> list[Receipt]:
        """Post the card to every place that takes it; what comes of the first decides a retry."""
        posted: list[Receipt] = []
        for place in places:
            try:
                posted.append(await self._post_card(notice, place, refused))
            except CallError as error:
                if error.kind is Refusal.PLACE:
                    refused.append(f"{place.called} refused it ({error.code})")
                elif not posted:
                    raise
        return posted

    async def _post_card(self, notice: Asked, place: _Place, refused: list[str]) -> Receipt:
        channel = place.channel or await self._room(place.person or notice.owner)
        note = _note(notice, place, refused)
        posted = await _full_or_short(
            notice,
            note,
            lambda made: self._calls.post(
                channel, made, thread=place.thread, key=notice.idempotency
            ),
        )
        link = await self._calls.link(posted)
        return posted.model_copy(update={"link": link, "note": note})

    async def _update_card(self, notice: Asked, known: Receipt) -> Receipt | None:
        """Update the card; None means that it has to be posted anew."""

        async def update(made: Message) -> Receipt:
            await self._calls.update(known, made)
            return known

        try:
            return await _full_or_short(notice, known.note, update)
        except CallError as error:
            if error.kind not in {Refusal.GONE, Refusal.PLACE}:
                raise
            return await self._reply(notice, known) if notice.resolution else None

    async def _reply(self, notice: Asked, known: Receipt) -> Receipt:
        """Say how it ended below a card that can no longer be changed, if Slack lets us."""
        made = _full(notice, "The card above can no longer be changed.")
        try:
            said = await self._calls.post(
                known.place, made, thread=known.id, key=notice.idempotency
            )
        except CallError:
            return known.model_copy(update={"shown": False})
        return said.model_copy(update={"link": known.link, "note": known.note})

    async def _adds_nothing(self, notice: Asked) -> bool:
        """Tell whether a notice that something waits says nothing that the owner does not see."""
        if notice.role is not Role.ASKED:
            return False
        if notice.resolution is not None or not is_slack_person(notice.owner):
            return True
        if notice.ask is not None and notice.ask.shown:
            return notice.ask.place == await self._room(notice.owner)
        return any(place.person == notice.owner for place in next(self._rounds(notice)))

    async def _tell_held(self, notice: HeldNotice, made: Message, known: Receipt | None) -> Receipt:
        """Tell the owner in their DM; and whoever decides, where their cards are."""
        if notice.role is Role.HELD_OWNER and not is_slack_person(notice.owner):
            return _NOT_SHOWN
        if notice.role is Role.HELD_OWNER or known is not None:
            return await self._tell_owner(notice, made, known)
        for places in self._rounds(notice):
            posted: list[Receipt] = []
            for place in places:
                # The owner has a message of their own.
                if place.person != notice.owner:
                    posted += await self._post_held(notice, made, place)
            if posted:
                return posted[0].model_copy(update={"also": tuple(posted[1:])})
        return _NOT_SHOWN

    async def _post_held(
        self, notice: HeldNotice, made: Message, place: _Place
    ) -> tuple[Receipt, ...]:
        """Post it, unless the place does not take it."""
        try:
            channel = place.channel or await self._room(place.person or notice.owner)
            key = notice.idempotency
            return (await self._calls.post(channel, made, thread=place.thread, key=key),)
        except CallError as error:
            if error.kind is not Refusal.PLACE:
                raise
            return ()

    async def _tell_owner(self, notice: Notice, made: Message, known: Receipt | None) -> Receipt:
        if known is None:
            room = await self._room(notice.owner)
            return await self._calls.post(room, made, thread="", key=notice.idempotency)
        try:
            await self._calls.update(known, made)
        except CallError as error:
            if error.kind is not Refusal.GONE:
                raise
        return known

    async def _room(self, owner: PersonId) -> str:
        if not is_slack_person(owner):
            raise CallError("conversations.open", "the owner is not on Slack", Refusal.PLACE)
        if owner not in self._rooms:
            self._rooms[owner] = await self._calls.open_room(owner)
        return self._rooms[owner]


def _note(notice: Asked, place: _Place, refused: list[str]) -> str:
    """Say on the card why it is here, if a better place refused it."""
    parts = [f"Here because {'; '.join(refused)}."] if refused else []
    if place.person is not None:
        parts.append(_who_has_it(notice, place.person))
    return " ".join(parts).rstrip()


def _who_has_it(notice: Asked, reader: PersonId) -> str:
    who, reached = notice.approvers, _deciders(notice)
    if who.just(reader):
        return ""
    if reader not in reached:
        return _ALONE
    if who.crowd or who.on_call:
        return f"Without a channel, this card went to {len(reached)} of those it asks, by name."
    if len(who.people) == 1:
        return ""
    return f"Without a channel, this card went to {len(reached)} of the {len(who.people)} it asks."


def _deciders(notice: Asked | HeldNotice) -> tuple[PersonId, ...]:
    """Return the people on Slack who may decide, the owner first, and no more than a few."""
    who = notice.approvers
    barred = notice.requester if who.four_eyes else ""
    able = [one for one in who.people if is_slack_person(one) and one != barred]
    return tuple(sorted(able, key=lambda one: one != notice.owner)[: limits.DIRECT])


def _dm(who: PersonId, notice: Asked | HeldNotice) -> _Place:
    return _Place("the owner's DM" if who == notice.owner else f"{who}'s DM", person=who)


def _again(known: Receipt) -> tuple[_Place, ...]:
    """Return the DM of a card that is gone, so that nobody else is sent it twice."""
    return (_Place("the same DM", known.place),)


async def _full_or_short(
    notice: Asked, note: str, send: Callable[[Message], Awaitable[Receipt]]
) -> Receipt:
    """Send the card; if Slack does not take its blocks, send the plainest one instead."""
    try:
        return await send(_full(notice, note))
    except CallError as error:
        if error.kind is not Refusal.CONTENT:
            raise
        return await send(_short(notice, note))


def _full(notice: Asked, note: str) -> Message:
    if isinstance(notice, BatchNotice):
        return batch_card(notice, note)
    return ask_card(notice, note)


def _short(notice: Asked, note: str) -> Message:
    if isinstance(notice, BatchNotice):
        return short_batch_card(notice, note)
    return short_card(notice, note)


def _owner_message(notice: Asked) -> Message:
    return batch_message(notice) if isinstance(notice, BatchNotice) else ticket_message(notice)
