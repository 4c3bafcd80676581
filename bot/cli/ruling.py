"""What the permission rules are, and which of them decides about a call."""

import json
from collections.abc import Iterator, Sequence

import typer

from bot.bootstrap import load_agents
from bot.cli.remembering import print_remembered, remembered, would_settle
from bot.cli.screen import Screen
from bot.house_rules import house_rules, under_house_rules
from bot.settings import Purpose, Settings, SettingsError, read_settings
from engine import Agent, RememberedRule, RuleBook, Verdict
from engine.agents import AgentRegistry
from engine.arguments import canonical_arguments
from engine.errors import ToolCallError
from engine.policy import read_verdict
from engine.rules import Finding, Ruling, judge, strictest
from engine.schema import Json

STATUS = {Verdict.ALLOW: 0, Verdict.ASK: 3, Verdict.DENY: 4}
UNDECIDED = 5
"""What is asked here leaves open which word it would be."""
_POLICY = "the agent's own policy"
_IF_SO = "if the tool is as it was, and those who approved could do so still"


def list_rules() -> None:
    """Print every rule there is, and each book's default."""
    screen = Screen()
    settings = read_settings(Purpose.LOOK)
    books, kept = list(_all_books(settings)), remembered(settings)
    rows = [
        (rule.verdict, rule.name, rule.agent, rule.tool, " and ".join(rule.when), rule.where)
        for book in books
        for rule in book.rules
    ]
    if rows:
        screen.table(("VERDICT", "RULE", "AGENT", "TOOL", "WHEN", "PLACE"), rows)
    for book in books:
        screen.line(f"Whatever no rule of {book.name} matches: {book.default.value}.")
    if kept:
        screen.line("Remembered approvals:", "bold")
        print_remembered(screen, kept)
    if not books and not kept:
        screen.line("No rules.")


def check_call(tool: str, arguments: str, agent_name: str, owner: str) -> int:
    """Print what the rules make of a call, and return the exit status that says the same.

    Raises:
        ConfigurationError: there are no rules to check it by, or something is malformed.

    """
    values = _read_arguments(arguments)
    settings = read_settings(Purpose.LOOK)
    agent = _agent(settings, agent_name) if agent_name else None
    if agent:
        _check_tool(agent, tool)
    books = agent.books if agent else tuple(_house(settings))
    word = agent.approvals.get(tool) if agent else None
    ruling = _ruling(books, agent_name, tool, values, word)
    asks = ruling.verdict is Verdict.ASK or callable(word)
    kept = would_settle(remembered(settings), agent, tool, values) if agent and asks else ()
    theirs = (rule for rule in kept if rule.owner == owner and not rule.conversation)
    settled = next(theirs, None)
    if settled is not None and ruling.verdict is Verdict.ASK:
        ruling = Ruling(Verdict.ALLOW, f"the remembered rule {settled.id}")
    open_ = list(_open(books, ruling, agent_name, tool, values))
    if callable(word) and ruling.verdict is not Verdict.DENY:
        open_.append(f"{_POLICY} is a function: it is asked when the call is made")
    screen = Screen()
    screen.line(f"undecided; else {_told(ruling)}" if open_ else _told(ruling), "bold")
    for why in open_:
        screen.line(f"  {why}")
    _print_findings(screen, books, agent_name, tool, values)
    _print_kept(screen, kept)
    return UNDECIDED if open_ else STATUS[ruling.verdict]


def _print_findings(
    screen: Screen, books: Sequence[RuleBook], agent: str, tool: str, values: Json
) -> None:
    for book in books:
        for finding in book.explain(agent, tool, values):
            screen.line(f"  {_told_finding(finding)}")
    if not agent:
        screen.line("  agents have rules and approvals of their own: see --agent")
    if any(book.hides(agent, tool) for book in books):
        screen.line("  no call of this tool could ever run: the model is not offered it")


def _open(
    books: Sequence[RuleBook], ruling: Ruling, agent: str, tool: str, values: Json
) -> Iterator[str]:
    """Yield which rules of particular agents would make another word of it, if no agent is named."""
    for book in books if not agent else ():
        found = book.explain(agent, tool, values)
        by_default = all(finding.misses for finding in found)
        for finding in found:
            rule = finding.rule
            word = Ruling(Verdict(rule.verdict))
            would = word if by_default else strictest([ruling, word])
            if finding.misses == (f"agent {rule.agent}",) and would.verdict != ruling.verdict:
                yield f"of an agent {rule.agent}: {rule.verdict}, by {rule.name}"


def _print_kept(screen: Screen, kept: tuple[RememberedRule, ...]) -> None:
    for rule in kept:
        screen.line(f"  allow {rule.id} matches, for runs of {rule.owner}: {_IF_SO}")


def _ruling(
    books: tuple[RuleBook, ...], agent: str, tool: str, values: Json, word: object
) -> Ruling:
    rulings = [judge(books, agent, tool, values)]
    if isinstance(word, str):
        rulings.append(Ruling(read_verdict(word), _POLICY))
    return strictest(rulings)


def _told(ruling: Ruling) -> str:
    by = f", by {ruling.rule}" if ruling.rule else ": no rule says otherwise"
    why = f" ({ruling.reason})" if ruling.reason else ""
    return f"{ruling.verdict.value}{by}{why}"


def _told_finding(finding: Finding) -> str:
    rule = finding.rule
    place = f" ({rule.where})" if rule.id and rule.where else ""
    stands = f"misses: {'; '.join(finding.misses)}" if finding.misses else "matches"
    return f"{rule.verdict} {rule.name}{place} {stands}"


def _read_arguments(text: str) -> Json:
    try:
        values: Json = json.loads(canonical_arguments(text))
    except ToolCallError as error:
        raise typer.BadParameter(str(error), param_hint="JSON") from error
    return values


def _agent(settings: Settings, name: str) -> Agent:
    known = under_house_rules(load_agents(settings.agents), settings)
    return AgentRegistry(known).get(name)


def _check_tool(agent: Agent, tool: str) -> None:
    """Refuse a name that is none of the agent's tools, where they are known: a slip would pass."""
    if agent.declared is not None and tool not in agent.declared:
        listed = ", ".join(sorted(agent.declared)) or "none"
        told = f"agent {agent.name} has no tool {tool!r}; its tools are: {listed}"
        raise typer.BadParameter(told, param_hint="TOOL")


def _house(settings: Settings) -> Iterator[RuleBook]:
    book = house_rules(settings)
    if book is None:
        raise SettingsError(["HOLDSHORT_RULES is not set: name a file of rules, or --agent"])
    yield book


def _all_books(settings: Settings) -> Iterator[RuleBook]:
    house = house_rules(settings)
    if house is not None:
        yield house
    for agent in load_agents(settings.agents):
        yield from agent.books
