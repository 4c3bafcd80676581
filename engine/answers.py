"""Answers: from a token and a person's word to a recorded decision, or a refusal."""

import json
from dataclasses import dataclass
from typing import Protocol

from engine.cards import TicketNotice
from engine.deciders import Deciders
from engine.errors import (
    AlreadyDecidedError,
    CommitConflictError,
    DeadlinePassedError,
    IdempotencyConflictError,
    InvalidResumeTokenError,
    InvalidRunStateError,
    NotAllowedError,
    Refusal,
    ResumeError,
    RunNotFoundError,
    StoreError,
    TicketExpiredError,
    TicketMismatchError,
    TokenFault,
)
from engine.identity import Actor, Via
from engine.ids import Moment, Surroundings, normalise_ref
from engine.lifecycle.answer import Judgement, Recorded, admit, answer, key_body, spelled
from engine.lifecycle.edit import Edit, arguments_of
from engine.lifecycle.propose import permission_digest
from engine.lifecycle.refuse import note_refusal
from engine.notices import NoticeWriter
from engine.remembered import (
    MAX_LIVE,
    RememberFault,
    RememberRefusedError,
    Term,
    Wish,
    terms_of,
)
from engine.runs import Run
from engine.schema import Json, digest_of
from engine.store import Loaded, Store
from engine.tickets import Allow, Decision, ResumeCommand, ResumeTicket
from engine.tokens import KeyRing, TokenClaims


@dataclass(frozen=True, slots=True)
class Editing:
    """A ticket as it may be shown, and the call's arguments as they would run.

    The arguments hold what is kept secret: they are what an edit starts from, and for no eye.
    """

    notice: TicketNotice
    arguments: dict[str, Json]


class ArgumentCheck(Protocol):
    """Port: what edited arguments go through before they may take the place of a call's own."""

    async def check(self, run: Run, ticket: ResumeTicket, arguments: dict[str, Json]) -> Edit:
        """Return the arguments in their canonical form, or refuse them.

        Raises:
            InvalidArgumentsError: they do not fit the tool.
            EditRefusedError: they may not be edited, or not into these.
            TicketMismatchError: the tool is not any more what was asked for.
            ConfigurationError: this process does not know the run's agent.

        """
        ...


class Answers:
    """Records people's answers. What it may raise is told at ``RunEngine.resume``."""

    def __init__(
        self,
        store: Store,
        keys: KeyRing,
        deciders: Deciders,
        check: ArgumentCheck,
        writer: NoticeWriter,
        surroundings: Surroundings,
    ) -> None:
        """Take the store, the keys of tokens, who knows people, what checks edits and writes notices."""
        self._store = store
        self._keys = keys
        self._deciders = deciders
        self._check = check
        self._writer = writer
        self._surroundings = surroundings

    async def record(
        self, token: str, decision: Decision, actor: Actor, key: str | None
    ) -> Recorded:
        """Record one answer, or return what was recorded under its key."""
        claims = self._keys.read(token, actor.via)
        while True:
            loaded = await self._load(claims, key)
            known = _recorded(loaded, claims, decision, actor)
            if known is not None:
                return known
            ticket = _current_ticket(loaded, claims)
            try:
                return await self._record(loaded, ticket, decision, actor, key)
            except CommitConflictError:
                continue
            except DeadlinePassedError as error:
                raise TicketExpiredError(ticket.deadline or loaded.now) from error

    def key(self, token: str, decision: Decision, actor: Actor) -> str:
        """Return the idempotency key of a person's answer: (token id, actor, decision, edits).

        Raises:
            InvalidResumeTokenError: malformed, forged, or for another way in.

        """
        claims = self._keys.read(token, actor.via)
        return digest_of("key", claims.token, actor.key, spelled(decision))

    async def find(self, ref: str) -> tuple[Run, ResumeTicket]:
        """Return the ticket a person named: by its own ref, or a run's with one open ticket.

        Raises:
            RunNotFoundError: no ticket goes by that ref.
            InvalidRunStateError: the ref is a run's, and not exactly one ticket of it is open.

        """
        found = await self._store.find(normalise_ref(ref))
        if found is None:
            raise RunNotFoundError(ref)
        loaded = await self._store.load(found.run, approval=found.approval)
        run = loaded.run
        if found.approval is not None:
            ticket = run.ticket(found.approval) or loaded.closed
            if ticket is None:
                raise RunNotFoundError(ref)
            return run, ticket
        if len(run.tickets) != 1:
            raise InvalidRunStateError(_choose(run), code="choose_ticket")
        return run, run.tickets[0]

    async def editing(self, token: str, via: Via) -> Editing:
        """Return what a person is shown of an open ticket, and its arguments to be edited.

        Raises:
            InvalidResumeTokenError: malformed, forged, superseded, or for another way in.
            ResumeError: the ticket is not open, or what is stored is not what was asked.

        """
        claims = self._keys.read(token, via)
        loaded = await self._load(claims, None)
        ticket = _current_ticket(loaded, claims)
        arguments = json.loads(await self._arguments(ticket))
        return Editing(await self._writer.ticket(loaded.run, ticket, via), arguments)

    async def _load(self, claims: TokenClaims, key: str | None) -> Loaded:
        return await self._store.load(claims.run_id, key=key, approval=claims.approval_id)

    async def _record(
        self,
        loaded: Loaded,
        ticket: ResumeTicket,
        decision: Decision,
        actor: Actor,
        key: str | None,
    ) -> Recorded:
        claimant = await self._deciders.look(loaded.run, ticket, actor, loaded.now)
        command = ResumeCommand.from_ticket(ticket, decision, actor=actor, now=loaded.now)
        moment = Moment(loaded.now, self._surroundings.ids)
        judgement = Judgement(command, claimant)
        try:
            admit(loaded.run, judgement)
        except NotAllowedError as error:
            await self._keep_attempt(loaded.run, command, error.refusal)
            raise
        if isinstance(decision, Allow):
            arguments = await self._arguments(ticket)
            if decision.arguments is not None:
                edit = await self._check.check(loaded.run, ticket, decision.arguments)
                judgement = Judgement(command, claimant, edit)
            elif decision.remember is not None:
                terms = await self._terms(loaded.run, ticket, arguments, decision.remember)
                judgement = Judgement(command, claimant, terms=terms)
        change, told = answer(loaded.run, judgement, moment, key)
        done = await self._store.commit(change)
        return Recorded.model_validate_json(done.outcome) if done.outcome is not None else told

    async def _terms(
        self, run: Run, ticket: ResumeTicket, arguments: str, wish: Wish
    ) -> tuple[Term, ...]:
        """Return what a rule would want of calls like this one; refuse where there is no room."""
        secret = ticket.declared.secrets
        terms = terms_of(json.loads(arguments), secret, wish.loose, ticket.approval)
        if len(await self._store.rules.live(run.agent, run.owner)) >= MAX_LIVE:
            raise RememberRefusedError(RememberFault.FULL)
        return terms

    async def _arguments(self, ticket: ResumeTicket) -> str:
        """Return a call's stored arguments; refuse if they are not those that were shown."""
        call, tool = ticket.target.call, ticket.target.tool
        records = await self._store.records(ticket.run, int(call.partition(".")[0]))
        arguments = arguments_of(records, call, tool, ticket.digest)
        if arguments is None or permission_digest(tool, arguments) != ticket.digest:
            raise TicketMismatchError("arguments")
        return arguments

    async def _keep_attempt(self, run: Run, command: ResumeCommand, refusal: Refusal) -> None:
        """Keep in the events that somebody tried; whatever comes of that, they are refused."""
        try:
            while True:
                change = note_refusal(run, command, refusal, self._surroundings.moment())
                if change is None:
                    return
                try:
                    await self._store.commit(change)
                except CommitConflictError:
                    run = (await self._store.load(run.id)).run
                else:
                    return
        except (StoreError, ResumeError) as error:
            self._surroundings.report("answers", error)


def _recorded(
    loaded: Loaded, claims: TokenClaims, decision: Decision, actor: Actor
) -> Recorded | None:
    record = loaded.recorded
    if record is None:
        return None
    if record.body != key_body(claims.approval, decision, actor):
        raise IdempotencyConflictError(record.key)
    return Recorded.model_validate_json(record.outcome)


def _current_ticket(loaded: Loaded, claims: TokenClaims) -> ResumeTicket:
    closed = loaded.closed
    if closed is not None and closed.resolution is not None:
        resolution = closed.resolution
        raise AlreadyDecidedError(
            decision=resolution.word, by=resolution.actor.id, at=resolution.at
        )
    ticket = loaded.run.ticket(claims.approval)
    if ticket is None:
        raise InvalidRunStateError(f"run {loaded.run.ref} does not wait on this ticket")
    if ticket.token != claims.token or ticket.digest != claims.digest:
        raise InvalidResumeTokenError(TokenFault.SUPERSEDED)
    return ticket


def _choose(run: Run) -> str:
    if not run.tickets:
        return f"run {run.ref} is {run.status} and waits on nothing"
    refs = ", ".join(ticket.ref for ticket in run.tickets)
    return f"run {run.ref} waits on several things; name one: {refs}"
