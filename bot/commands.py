"""The slash command: answer, list, show, run, help. Every reply is private."""

from collections.abc import Awaitable, Callable, Sequence

from slack_bolt.context.ack.async_ack import AsyncAck

from bot.answers import Desk
from bot.interactions import Command
from bot.listing import Shown, concerns, list_for, show, usage
from bot.replies import (
    FOR_SLACK,
    incomplete,
    no_member,
    not_a_question,
    recorded,
    refused,
    slow_store,
    started,
)
from engine import Answer, InvalidRunStateError, Origin, RunEngine, RunStatus, Via
from engine.cards import TicketNotice
from engine.errors import HoldshortError
from engine.identity import Directory, Standing
from engine.schema import digest_of
from engine.store import RunFilter
from engine.tickets import RemoteInput

_LISTED = 100
_TWO_WORDS = 2


class Commands:
    """What each word after ``/holdshort`` does.

    Whoever is no member of the home workspace is told so, whatever they ask for.
    """

    def __init__(self, desk: Desk, directory: Directory) -> None:
        """Take the way to the engine, and who tells what someone is."""
        self._desk = desk
        self._engine: RunEngine = desk.engine
        self._directory = directory
        self._verbs: dict[str, Callable[[Command, str], Awaitable[str]]] = {
            "answer": self._answer,
            "list": self._list,
            "show": self._show,
            "run": self._run,
            "help": self._help,
            "": self._help,
        }

    async def run(self, command: Command, ack: AsyncAck) -> None:
        """Do what was typed and say what came of it; the acknowledgement carries the reply."""
        attempt = self._desk.attempt(self._reply(command))
        reply = await attempt.soon()
        if reply is not None:
            await ack(text=_text(reply, command), response_type="ephemeral")
            return
        await ack()
        late = await attempt.at_last()
        text = slow_store() if late is None else _text(late, command)
        await self._desk.whispers.tell(command.place, text)

    async def _reply(self, command: Command) -> str:
        word, rest = (*command.text.split(maxsplit=1), "", "")[:2]
        verb = self._verbs.get(word.lower())
        if verb is None:
            return self._usage(word)
        standing = await self._directory.describe(command.actor)
        if standing is not Standing.MEMBER:
            return no_member()
        return await verb(command, rest.strip())

    async def _answer(self, command: Command, rest: str) -> str:
        words = rest.split(maxsplit=1)
        if len(words) < _TWO_WORDS:
            return incomplete("answer")
        ref, value = words
        _, ticket = await self._engine.answers.find(ref)
        if not isinstance(ticket.target, RemoteInput):
            return not_a_question(ticket, FOR_SLACK)
        token = await self._engine.token_for(ticket.ref, Via.SLACK)
        return recorded(await self._desk.record(token, Answer(value=value), command.actor))

    async def _list(self, command: Command, _rest: str) -> str:
        reader = command.actor.id
        waiting = await self._engine.list_runs(
            RunFilter(statuses=(RunStatus.WAITING,)), limit=_LISTED
        )
        going = await self._engine.list_runs(
            RunFilter(statuses=(RunStatus.QUEUED,), owner=reader), limit=_LISTED
        )
        return list_for(reader, waiting.runs, going.runs)

    async def _show(self, command: Command, rest: str) -> str:
        if not rest:
            return incomplete("show")
        run = await self._engine.get_run(rest)
        notices = await self._notices(rest, [ticket.ref for ticket in run.tickets])
        events = await self._engine.events(run.id)
        concerned = concerns(run, notices, command.actor.id)
        return show(Shown(run, notices, events, concerned))

    async def _notices(self, ref: str, open_now: Sequence[str]) -> list[TicketNotice]:
        """Return the ticket that was named, or all open ones of the run that was."""
        try:
            _, ticket = await self._engine.answers.find(ref)
        except InvalidRunStateError:
            refs = list(open_now)
        else:
            refs = [ticket.ref]
        tokens = [await self._engine.token_for(one, Via.SLACK) for one in refs]
        return [await self._engine.notice(token, Via.SLACK) for token in tokens]

    async def _run(self, command: Command, rest: str) -> str:
        words = rest.split(maxsplit=1)
        if len(words) < _TWO_WORDS:
            return incomplete("run")
        agent, text = words
        who = command.actor.id
        # A trigger id is new with every command typed, and the same in a replay of its request.
        key = digest_of("slash", command.trigger) if command.trigger else ""
        begun = await self._engine.start(
            agent,
            text,
            owner=who,
            requester=who,
            origin=Origin(via=Via.SLACK, channel=command.place.channel),
            idempotency_key=key,
        )
        return started(agent, begun.ref, FOR_SLACK)

    async def _help(self, _command: Command, _rest: str) -> str:
        return self._usage("")

    def _usage(self, unknown: str) -> str:
        return usage([agent.name for agent in self._engine.agents], unknown)


def _text(reply: str | HoldshortError, command: Command) -> str:
    if isinstance(reply, HoldshortError):
        return refused(reply, FOR_SLACK, command.actor.id)
    return reply
