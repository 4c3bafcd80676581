"""Agents: named definitions, checked when they are made and when an engine takes them."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, Self, get_args

from engine.errors import InvalidAgentDefinitionError, UnknownAgentError
from engine.identity import OWNER, Approvers
from engine.ids import OpId, PersonId, RunId
from engine.policy import Policy, PolicyContext, check_policy
from engine.rules import Rule, RuleBook
from engine.runs import Replay, Run
from engine.schema import Json, digest_of
from engine.tickets import Risk

Asks = Literal["together", "one_by_one", "first_only"]
DEFAULT_APPROVAL_TIMEOUT = timedelta(hours=24)
DEFAULT_TOOL_TIMEOUT = timedelta(minutes=10)
DEFAULT_MAX_STEPS = 50
DEFAULT_DENY_LIMIT = 2
DEFAULT_TOOL_DENY_LIMIT = 5
DEFAULT_MAX_OPEN_ASKS = 20
DEFAULT_MAX_OPEN_ASKS_PER_APPROVER = 50
MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class RunScope:
    """What a per-run tool factory and a tool may know of the run (``ctx.deps`` in a tool).

    ``op`` names the effect: the same for every attempt of one call, so a downstream system can
    use it as its idempotency key. None in a factory.
    """

    run: RunId
    agent: str
    owner: PersonId
    requester: PersonId
    context: Json
    op: OpId | None = None

    @classmethod
    def of(cls, run: Run, op: OpId | None = None) -> Self:
        """Return what may be known of a run."""
        return cls(
            run=run.id,
            agent=run.agent,
            owner=run.owner,
            requester=run.requester,
            context=run.context,
            op=op,
        )


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """How one tool is run.

    Attributes:
        replay: What may be done with a call whose outcome was lost.
        timeout: How long one call may run.
        version: Raise it when the tool's meaning changes under the same schema: parked calls of
            the old version are then asked again.
        risk: ``"low"``, ``"medium"`` (Approve asks once more) or ``"high"`` (the arguments are
            reviewed first). None says nothing.
        describe: Says in a few words what a call does, from its validated input. People see it in
            quotes, beside the tool's name and never instead of the arguments.
        editable: Whether whoever may allow a call may change its arguments first.

    Raises:
        InvalidAgentDefinitionError: on construction, if the risk is another word.

    """

    replay: Replay = Replay.NEVER
    timeout: timedelta = DEFAULT_TOOL_TIMEOUT
    version: str = "1"
    risk: Risk | Literal["low", "medium", "high"] | None = None
    describe: Callable[[dict[str, Any]], str] | None = None
    editable: bool = True

    def __post_init__(self) -> None:
        """Read the risk."""
        if self.risk is not None and self.risk not in set(Risk):
            raise InvalidAgentDefinitionError(
                f"risk {self.risk!r}: use one of: {', '.join(Risk)}, or leave it out"
            )

    @property
    def danger(self) -> Risk | None:
        """Return the risk as a value."""
        return None if self.risk is None else Risk(self.risk)


OnCall = Callable[[PolicyContext], "Sequence[str] | Awaitable[Sequence[str]]"]
"""Says who is on call, by id or e-mail. A plain function runs in a thread: it may block."""
ToolFunction = Callable[..., Any]
ToolItem = Any
"""A typed function, a Pydantic AI ``Tool``, or a Pydantic AI toolset."""
ToolFactory = Callable[[RunScope], "Sequence[ToolItem] | Awaitable[Sequence[ToolItem]]"]
ASKS_A_PERSON = "__holdshort_asks_a_person__"


def ask_human(question: str) -> str:
    """Ask the person this run works for, and wait for the answer.

    Args:
        question: What you need to know, in one or two sentences.

    """
    raise AssertionError(f"the engine asks people; this is never called ({question!r})")


setattr(ask_human, ASKS_A_PERSON, True)


def asks_a_person(item: object) -> bool:
    """Tell whether a tool is of the kind whose result a person gives."""
    return bool(getattr(item, ASKS_A_PERSON, False))


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A named definition of what runs, with what, and who is asked.

    Attributes:
        model: A Pydantic AI model name (``"openai:gpt-5"``) or model object.
        tools: Typed functions, Pydantic AI tools or toolsets; or one function of the RunScope
            that returns them for each run.
        approvals: Per tool name ``"user"`` (always ask), ``"allow"``, ``"deny"``, or a function of
            the validated input and the PolicyContext that returns one of these words.
        rules: Permission rules beside the approvals (``docs/rules.md``). Of all that speaks of a
            call, rules and approvals, the strictest is the verdict.
        approvers: Who may decide, and how many of them it takes; the owner unless named.
        on_call: A function of the PolicyContext that returns the people who are on call just now,
            by id or e-mail. Asked whenever somebody decides; if it fails, nobody is let through.
        asks: What happens where one step holds several calls that ask. ``"together"``: all are
            open at once and decided in any order. ``"one_by_one"``: the calls are gone through in
            the model's order, each done before the next one asks. ``"first_only"``: the first
            asks, and the model is never seen to have proposed the others; it may ask again.
        approval_timeout: Silence for this long is a denial.
        deny_limit: A call (tool and arguments) that people denied this often in a run is not asked
            again: it is blocked, and the model told so. Silence counts. None: without end.
        tool_deny_limit: The same for all calls of one tool together.
        max_open_asks: How many asks of this agent may be open at once, in all its runs; further ones
            are held back, and put to people as these are answered. None: any number.
        max_open_asks_per_approver: The same for whoever is asked: an ask of this agent is held back
            while a person, group or channel that it is put to has this many open, of any agents.
        notify: Name of the notifier; may be left out where the engine has just one.
        options: Per tool name, how it is run.

    Raises:
        InvalidAgentDefinitionError: on construction, saying what to do.
        InvalidRuleError: on construction, if a rule is malformed.

    """

    name: str
    model: Any
    instructions: str = ""
    tools: Sequence[ToolItem] | ToolFactory = ()
    approvals: Mapping[str, Policy] = field(default_factory=dict)
    rules: Sequence[Rule | RuleBook] | RuleBook = ()
    approvers: Approvers | Sequence[str] = OWNER
    on_call: OnCall | None = None
    asks: Asks = "together"
    approval_timeout: timedelta = DEFAULT_APPROVAL_TIMEOUT
    notify: str | None = None
    options: Mapping[str, ToolOptions] = field(default_factory=dict)
    max_steps: int = DEFAULT_MAX_STEPS
    deny_limit: int | None = DEFAULT_DENY_LIMIT
    tool_deny_limit: int | None = DEFAULT_TOOL_DENY_LIMIT
    max_open_asks: int | None = DEFAULT_MAX_OPEN_ASKS
    max_open_asks_per_approver: int | None = DEFAULT_MAX_OPEN_ASKS_PER_APPROVER

    def __post_init__(self) -> None:
        """Check everything that can be known before a run."""
        _check_name(self.name)
        _check_limits(self)
        for tool, policy in self.approvals.items():
            check_policy(tool, policy)
        if self.declared is not None:
            check_names(self, self.declared)
        object.__setattr__(self, "rules", _read_books(self.name, self.rules))
        who = _read_approvers(self.name, self.approvers)
        if self.on_call is not None:
            who = who.model_copy(update={"on_call": True})
        _check_approvers(self, who)
        object.__setattr__(self, "approvers", who)

    @property
    def who(self) -> Approvers:
        """Return the approvers as a value."""
        if not isinstance(self.approvers, Approvers):
            raise TypeError("approvers are normalised when the Agent is made")
        return self.approvers

    @property
    def books(self) -> tuple[RuleBook, ...]:
        """Return the rules as books: its own, and those it was put under."""
        return _read_books(self.name, self.rules)

    def under(self, book: RuleBook) -> Self:
        """Return this agent under the rules of a book besides its own."""
        return replace(self, rules=(*self.books, book))

    @property
    def declared(self) -> frozenset[str] | None:
        """Return the names of the tools, or None where only a run can tell them."""
        if callable(self.tools):
            return None
        names = [_declared_name(item) for item in self.tools]
        if None in names:
            return None
        return frozenset(name for name in names if name is not None)

    @property
    def snapshot(self) -> str:
        """Return the id of this definition: instructions and model name."""
        model = self.model if isinstance(self.model, str) else type(self.model).__name__
        return digest_of("agent", self.name, model, self.instructions)[:16]

    def option(self, tool: str) -> ToolOptions:
        """Return how a tool is run."""
        return self.options.get(tool, ToolOptions())


def check_names(agent: Agent, tools: frozenset[str]) -> None:
    """Refuse approvals or options that name no tool.

    A mistyped name would leave the real tool without a policy.

    Raises:
        InvalidAgentDefinitionError: naming the words that match nothing, and the tools there are.

    """
    for field_name, named in (("approvals", agent.approvals), ("options", agent.options)):
        unknown = sorted(set(named) - tools)
        if unknown:
            raise InvalidAgentDefinitionError(
                f"agent {agent.name!r}: {field_name} name no tool: {', '.join(unknown)}; "
                f"its tools are: {', '.join(sorted(tools)) or 'none'}"
            )


class AgentRegistry:
    """The agents an engine knows, by name."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        """Take agents of distinct names.

        Raises:
            InvalidAgentDefinitionError: two agents share a name.

        """
        self._agents: dict[str, Agent] = {}
        for agent in agents:
            if agent.name in self._agents:
                raise InvalidAgentDefinitionError(
                    f"two agents are named {agent.name!r}; rename one"
                )
            self._agents[agent.name] = agent

    def __iter__(self) -> Iterator[Agent]:
        """Iterate over the agents in the order given."""
        return iter(self._agents.values())

    def get(self, name: str) -> Agent:
        """Return an agent.

        Raises:
            UnknownAgentError: none has that name.

        """
        if name not in self._agents:
            raise UnknownAgentError(name, tuple(self._agents))
        return self._agents[name]


def notifier_of(agent: Agent, notifiers: Mapping[str, object]) -> str | None:
    """Return the name of the notifier that shows this agent's cards; None where there is none.

    Raises:
        InvalidAgentDefinitionError: ``notify`` names no notifier, or leaves open which of several.

    """
    if agent.notify is not None:
        if agent.notify not in notifiers:
            raise InvalidAgentDefinitionError(
                f"agent {agent.name!r}: notify={agent.notify!r} names no notifier; "
                f"registered are: {', '.join(sorted(notifiers)) or 'none'}"
            )
        return agent.notify
    if len(notifiers) > 1:
        raise InvalidAgentDefinitionError(
            f"agent {agent.name!r}: set notify to one of: {', '.join(sorted(notifiers))}"
        )
    return next(iter(notifiers), None)


def _declared_name(item: ToolItem) -> str | None:
    name = getattr(item, "name", None) or getattr(item, "__name__", None)
    is_toolset = hasattr(item, "get_tools")
    return str(name) if name and not is_toolset else None


def _check_name(name: str) -> None:
    if not name or not name.replace("-", "").replace("_", "").isalnum() or len(name) > MAX_NAME:
        raise InvalidAgentDefinitionError(
            f"agent name {name!r}: use 1 to 64 letters, digits, - and _"
        )


def _check_limits(agent: Agent) -> None:
    if agent.approval_timeout <= timedelta(0):
        raise InvalidAgentDefinitionError(
            f"agent {agent.name!r}: approval_timeout must be positive"
        )
    if agent.max_steps < 1:
        raise InvalidAgentDefinitionError(f"agent {agent.name!r}: max_steps must be at least 1")
    for limit in (agent.deny_limit, agent.tool_deny_limit):
        if limit is not None and limit < 1:
            raise InvalidAgentDefinitionError(
                f"agent {agent.name!r}: a deny limit is at least 1, or None for no limit"
            )
    for most in (agent.max_open_asks, agent.max_open_asks_per_approver):
        if most is not None and most < 1:
            raise InvalidAgentDefinitionError(
                f"agent {agent.name!r}: a limit of open asks is at least 1, or None for no limit"
            )
    if agent.asks not in get_args(Asks):
        raise InvalidAgentDefinitionError(
            f"agent {agent.name!r}: asks is {agent.asks!r}; use one of {', '.join(get_args(Asks))}"
        )


def _read_books(name: str, given: Sequence[Rule | RuleBook] | RuleBook) -> tuple[RuleBook, ...]:
    listed = (given,) if isinstance(given, RuleBook) else tuple(given)
    wrong = [one for one in listed if not isinstance(one, Rule | RuleBook)]
    if wrong:
        raise InvalidAgentDefinitionError(
            f"agent {name!r}: rules hold {wrong[0]!r}; use Rule(...) or a RuleBook"
        )
    own = tuple(one for one in listed if isinstance(one, Rule))
    books = tuple(one for one in listed if isinstance(one, RuleBook))
    return (RuleBook(own, name=f"agent {name}"), *books) if own else books


def _read_approvers(name: str, given: Approvers | Sequence[str]) -> Approvers:
    if isinstance(given, Approvers):
        return given
    if isinstance(given, str) or not given or not all(person for person in given):
        raise InvalidAgentDefinitionError(
            f"agent {name!r}: approvers must be a non-empty list of people, or left out (the owner)"
        )
    return Approvers(people=tuple(PersonId(person) for person in given))


def _check_approvers(agent: Agent, who: Approvers) -> None:
    faults = [
        (
            who.on_call and agent.on_call is None,
            "on_call=True needs a function: Agent(on_call=...)",
        ),
        (agent.on_call is not None and not callable(agent.on_call), "on_call is not a function"),
        (not all((*who.people, *who.groups, *who.channels)), "approvers name somebody by nothing"),
        (who.quorum < 1, f"a quorum of {who.quorum} would let a call run unasked"),
        (
            who.most is not None and who.quorum > who.most,
            f"a quorum of {who.quorum} can never be met: approvers name {who.most}",
        ),
        (
            any(one.until.tzinfo is None for one in who.stand_ins),
            "stand-ins need a moment with a time zone",
        ),
    ]
    for wrong, told in faults:
        if wrong:
            raise InvalidAgentDefinitionError(f"agent {agent.name!r}: {told}")
