"""Permission rules: what may run, must be asked for, or never runs, said beside the agents' code."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import InvalidRuleError
from engine.patterns import Condition, TextPattern, read_condition, read_pattern
from engine.policy import Verdict
from engine.schema import Frozen, Json

MAX_RULES = 1_000
MAX_REASON = 300
_STRICTNESS = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


class Rule(Frozen):
    """What is said of calls that match. Plain data: a RuleBook reads its patterns.

    Attributes:
        verdict: ``"deny"``, ``"ask"`` or ``"allow"``.
        tool: A pattern for the tool's name: exact, a glob, or ``/a regex/``.
        agent: The same for the agent's name.
        when: Conditions on arguments, such as ``env = "prod"``; all must hold.
        reason: Told to the model when the rule denies.
        id: Names the rule in events; the place in the file unless given.
        where: The file and line it stands in, if any.

    """

    verdict: Literal["allow", "ask", "deny"]
    tool: str
    agent: str = "*"
    when: tuple[str, ...] = ()
    reason: str = ""
    id: str = ""
    where: str = ""

    @property
    def name(self) -> str:
        """Return what the rule goes by in events."""
        return self.id or self.where


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules say of one call, by which rule (empty where none spoke), and why."""

    verdict: Verdict = Verdict.ALLOW
    rule: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """How one rule stands to a call: ``misses`` is what does not match; empty if it speaks."""

    rule: Rule
    misses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A rule with its patterns read."""

    rule: Rule
    agent: TextPattern
    tool: TextPattern
    when: tuple[Condition, ...]

    @property
    def verdict(self) -> Verdict:
        return Verdict(self.rule.verdict)

    @property
    def _sure(self) -> bool:
        return self.verdict is Verdict.ALLOW

    def concerns(self, agent: str, tool: str) -> bool:
        """Tell whether this rule may speak of calls of a tool."""
        return not any(self._missed_names(agent, tool))

    def misses(self, agent: str, tool: str, arguments: Json, given: Json) -> Iterator[str]:
        """Yield what of a call does not match."""
        yield from self._missed_names(agent, tool)
        looked_at = arguments if self._sure or given is None else given
        for condition in self.when:
            if not condition.holds(looked_at, sure=self._sure):
                yield condition.text

    def _missed_names(self, agent: str, tool: str) -> Iterator[str]:
        if not self.agent.matches(agent, sure=self._sure):
            yield f"agent {self.rule.agent}"
        if not self.tool.matches(tool, sure=self._sure):
            yield f"tool {self.rule.tool}"


@dataclass(frozen=True)
class RuleBook:
    """Rules from one place. Of all that match, the strictest is the book's word; order is nothing.

    Attributes:
        rules: The rules.
        default: The word on calls that no rule of this book matches.
        name: Where they come from; names rules that have neither id nor place.

    Raises:
        InvalidRuleError: on construction, if a rule is malformed or two share an id.

    """

    rules: tuple[Rule, ...] = ()
    default: Verdict = Verdict.ALLOW
    name: str = "rules"
    _ready: tuple[_Ready, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        """Read every pattern."""
        if len(self.rules) > MAX_RULES:
            raise InvalidRuleError(f"{self.name} has more than {MAX_RULES:,} rules")
        named = tuple(
            rule if rule.name else rule.model_copy(update={"where": f"{self.name}:{number}"})
            for number, rule in enumerate(self.rules, 1)
        )
        _check_ids(named)
        object.__setattr__(self, "rules", named)
        object.__setattr__(self, "_ready", tuple(_read(rule) for rule in named))

    def weigh(self, agent: str, tool: str, arguments: Json, given: Json = None) -> Ruling:
        """Return the book's word on a call, by its arguments as the tool will get them.

        ``given`` is the same with what was given under names that the tool knows them not by. Rules
        that ask or deny look at it instead, where there is any.
        """
        spoke = [one for one in self._ready if not any(one.misses(agent, tool, arguments, given))]
        if not spoke:
            rule = "" if self.default is Verdict.ALLOW else f"{self.name}:default"
            return Ruling(self.default, rule)
        strictest = max(spoke, key=lambda one: _STRICTNESS[one.verdict])
        return Ruling(strictest.verdict, strictest.rule.name, strictest.rule.reason)

    def hides(self, agent: str, tool: str) -> bool:
        """Tell whether no call of a tool can get past this book, whatever its arguments."""
        concerned = [one for one in self._ready if one.concerns(agent, tool)]
        never = any(one.verdict is Verdict.DENY and not one.when for one in concerned)
        let = any(one.verdict is not Verdict.DENY for one in concerned)
        return never or (self.default is Verdict.DENY and not let)

    def explain(self, agent: str, tool: str, arguments: Json) -> tuple[Finding, ...]:
        """Return how each rule stands to a call."""
        return tuple(
            Finding(one.rule, tuple(one.misses(agent, tool, arguments, None)))
            for one in self._ready
        )


def judge(
    books: Sequence[RuleBook], agent: str, tool: str, arguments: Json, given: Json = None
) -> Ruling:
    """Return the strictest word of several books on one call, by what ``weigh`` looks at."""
    return strictest([book.weigh(agent, tool, arguments, given) for book in books])


def strictest(rulings: Sequence[Ruling]) -> Ruling:
    """Return the strictest ruling; of equals the first by a rule; ALLOW where there is none."""
    return max(
        rulings, key=lambda one: (_STRICTNESS[one.verdict], one.rule != ""), default=Ruling()
    )


def tightening(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return rules that a single run may be given: those that only make it stricter.

    Raises:
        InvalidRuleError: one allows, or is malformed.

    """
    book = RuleBook(tuple(rules), name="run")
    for rule in book.rules:
        if rule.verdict == "allow":
            raise InvalidRuleError(f"rule {rule.name}: a run's own rules can only ask or deny")
    return book.rules


def _read(rule: Rule) -> _Ready:
    if len(rule.reason) > MAX_REASON:
        raise InvalidRuleError("too long", rule=rule.name, key="reason")
    key, at = "agent", 0
    try:
        agent = read_pattern(rule.agent)
        key = "tool"
        tool = read_pattern(rule.tool)
        key, conditions = "when", []
        for at, text in enumerate(rule.when):  # noqa: B007 - told of the one that is malformed
            conditions.append(read_condition(text))
    except InvalidRuleError as error:
        raise InvalidRuleError(
            error.problem, column=error.column, rule=rule.name, key=key, index=at
        ) from error
    return _Ready(rule, agent, tool, tuple(conditions))


def _check_ids(rules: Sequence[Rule]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.id and rule.id in seen:
            raise InvalidRuleError(f"two rules have the id {rule.id!r}", rule=rule.name, key="id")
        seen.add(rule.id)
