"""The slash command: answer, list, show, run, help. Every reply is private."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from bot.answers import Desk
from bot.interactions import Command
from bot.listing import Shown, list_for, show, usage
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
from bot.rule_listing import rules_message, told_revoked, which_rule
from engine import Answer, InvalidRunStateError, Origin, Run, RunEngine, RunStatus, Via
from engine.errors import HoldshortError, RunNotFoundError, WrongDecisionError
from engine.identity import Directory, Standing
from engine.schema import digest_of
from engine.store import RunFilter
from engine.tickets import ResumeTicket
from notifiers import Message

_LISTED = 100
_TWO_WORDS = 2


Reply = str | Message


class Commands:
    """What each word after ``/holdshort`` does.

    Whoever is no member of the home workspace is told so, whatever they ask for.
    """

    def __init__(self, desk: Desk, directory: Directory) -> None:
        """Take the way to the engine, and who tells what someone is."""
        self._desk = desk
        self._engine: RunEngine = desk.engine
        self._directory = directory
        self._verbs: dict[str, Callable[[Command, str], Awaitable[Reply]]] = {
            "answer": self._answer,
            "list": self._list,
            "show": self._show,
            "rules": self._rules,
            "run": self._run,
            "help": self._help,
            "": self._help,
        }

    async def run(self, command: Command, ack: AsyncAck) -> None:
        """Do what was typed and say what came of it; the acknowledgement carries the reply."""
        attempt = self._desk.attempt(self._reply(command))
        reply = await attempt.soon()
        if reply is not None:
            await ack(**_shown(reply, command), response_type="ephemeral")
            return
        await ack()
        late = await attempt.at_last()
        text = slow_store() if late is None else _text(late, command)
        await self._desk.whispers.tell(command.place, text)

    async def _reply(self, command: Command) -> Reply:
        word, rest = (*command.text.split(maxsplit=1), "", "")[:2]
        verb = self._verbs.get(word.lower())
        if verb is None:
            return self._usage(word)
        person = await self._directory.describe(command.actor)
        member = person.standing is Standing.MEMBER
        # An answer is judged by the engine: it lets in whoever is admitted by name, and keeps the
        # attempts of everybody else.
        if not member and verb != self._answer:
            return no_member()
        try:
            return await verb(command, rest.strip())
        except RunNotFoundError:
            if member:
                raise
            return no_member()

    async def _answer(self, command: Command, rest: str) -> str:
        words = rest.split(maxsplit=1)
        if len(words) < _TWO_WORDS:
            return incomplete("answer")
        ref, value = words
        _, ticket = await self._engine.answers.find(ref)
        token = await self._engine.token_for(ticket.ref, Via.SLACK)
        try:
            return recorded(await self._desk.record(token, Answer(value=value), command.actor))
        except WrongDecisionError:
            return not_a_question(ticket, FOR_SLACK)

    async def _list(self, command: Command, _rest: str) -> str:
        reader = command.actor.id
        waiting = await self._engine.list_runs(
            RunFilter(statuses=(RunStatus.WAITING,)), limit=_LISTED
        )
        asked = await self._asked(waiting.runs, command)
        going = await self._engine.list_runs(
            RunFilter(statuses=(RunStatus.QUEUED,), owner=reader), limit=_LISTED
        )
        return list_for(reader, asked, waiting.runs, going.runs)

    async def _asked(
        self, runs: Sequence[Run], command: Command
    ) -> Sequence[tuple[Run, ResumeTicket]]:
        """Return the open tickets that whoever typed may decide."""
        now = self._engine.surroundings.clock()
        every = [(run, ticket) for run in runs for ticket in run.tickets]
        may = await asyncio.gather(
            *(self._engine.deciders.may(run, one, command.actor, now) for run, one in every)
        )
        return [asked for asked, theirs in zip(every, may, strict=True) if theirs]

    async def _show(self, command: Command, rest: str) -> str:
        if not rest:
            return incomplete("show")
        run = await self._engine.get_run(rest)
        tickets = await self._named(rest, run)
        tokens = [await self._engine.token_for(one.ref, Via.SLACK) for one in tickets]
        notices = [await self._engine.notice(token, Via.SLACK) for token in tokens]
        events = await self._engine.events(run.id)
        now = self._engine.surroundings.clock()
        concerned = await self._engine.deciders.concern(run, tickets, command.actor, now)
        ending = await self._engine.ending(run)
        return show(Shown(run, notices, events, concerned, ending))

    async def _rules(self, command: Command, rest: str) -> Reply:
        verb, name = (*rest.split(maxsplit=1), "", "")[:2]
        revoking, operator = self._engine.revoking, self._desk.operator
        if not verb:
            rules = await revoking.seen_by(command.actor, operator=operator)
            return rules_message(rules, self._engine.surroundings.clock(), FOR_SLACK)
        if verb.lower() != "revoke" or not name:
            return which_rule()
        rule = await revoking.revoke(name, command.actor, operator=operator)
        return told_revoked(rule, command.actor, FOR_SLACK)

    async def _named(self, ref: str, run: Run) -> Sequence[ResumeTicket]:
        """Return the ticket that was named, or all open ones of the run that was."""
        try:
            _, ticket = await self._engine.answers.find(ref)
        except InvalidRunStateError:
            return run.tickets
        return [ticket]

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


def _shown(reply: Reply | HoldshortError, command: Command) -> dict[str, Any]:
    blocks = {"blocks": list(reply.blocks)} if isinstance(reply, Message) else {}
    return {"text": _text(reply, command), **blocks}


def _text(reply: Reply | HoldshortError, command: Command) -> str:
    if isinstance(reply, Message):
        return reply.text
    if isinstance(reply, HoldshortError):
        return refused(reply, FOR_SLACK, command.actor.id)
    return reply
