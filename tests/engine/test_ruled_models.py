"""Rules, cards and secrets of tools whose arguments are models: by the names that people are shown."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr
from pydantic.alias_generators import to_camel
from pydantic_ai.toolsets import FunctionToolset

from engine import Agent, Allow, ToolOptions
from engine.agents import ToolItem
from engine.errors import InvalidArgumentsError
from engine.events import CallGated, CallRejected, CallTightened
from engine.policy import Verdict
from engine.redaction import HIDDEN
from engine.rules import Rule, RuleBook
from engine.runs import Run
from tests.engine.scripted import (
    ALICE,
    Stage,
    advance,
    person,
    repeat_results,
    script,
    stage,
)
from tests.engine.test_redeploy import redeployed


class Order(BaseModel):
    """What to deploy."""

    env: str = "prod"
    hosts: list[str] = []
    sender: str = Field(default="", validation_alias=AliasChoices("from", "by"))  # type: ignore[pydantic-alias]
    key: SecretStr = SecretStr("")


def one(order: Order) -> str:
    """Deploy an order."""
    return f"deployed to {order.env}"


def two(order: Order, when: Annotated[str, Field(validation_alias="at")] = "now") -> str:
    """Deploy an order at a time."""
    return f"deployed to {order.env} {when}"


def fleet(orders: list[Order]) -> str:
    """Deploy several orders."""
    return f"deployed {len(orders)}"


def agent(tool: ToolItem, arguments: dict[str, Any], name: str, **given: Any) -> Agent:
    return Agent(name="a", model=script([(name, arguments)], repeat_results), tools=[tool], **given)


async def started(tool: Any, arguments: dict[str, Any], **given: Any) -> tuple[Stage, Run]:
    on = stage(lambda _: agent(tool, arguments, tool.__name__, **given))
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(begun.run)


async def facts(on: Stage, run: Run, kind: type) -> list[Any]:
    return [e.fact for e in await on.engine.events(run.id) if isinstance(e.fact, kind)]


def book(verdict: Any, *when: str) -> RuleBook:
    default = Verdict.ASK if verdict == "allow" else Verdict.ALLOW
    return RuleBook((Rule(id="r", verdict=verdict, tool="*", when=when),), default)


@pytest.mark.parametrize(
    ("tool", "arguments", "condition"),
    [
        (one, {"env": "prod"}, 'env = "prod"'),
        (one, {"env": "prod"}, 'order.env = "prod"'),
        (one, {}, 'env = "prod"'),
        (one, {"hosts": ["a", "b"]}, 'hosts[*] = "b"'),
        (one, {"from": "eve"}, '"from" = "eve"'),
        (one, {"by": "eve"}, 'by = "eve"'),
        (one, {"by": "eve"}, 'sender = "eve"'),
        (one, {"key": "hunter2"}, 'key = "x"'),
        (one, {"unknown": 1}, "unknown = 1"),
        (two, {"order": {}}, 'order.env = "prod"'),
        (two, {"order": {"from": "eve"}}, 'order.from = "eve"'),
        (two, {"order": {"from": "eve"}}, 'order.sender = "eve"'),
        (two, {"order": {}, "at": "noon"}, 'at = "noon"'),
        (two, {"order": {}, "at": "noon"}, 'when = "noon"'),
        (two, {"order": {}}, 'at = "now"'),
        (two, {"order": {}}, 'when = "now"'),
        (two, {"order": {}}, 'order.from = ""'),
        (two, {"order": {}}, 'order.by = ""'),
        (one, {}, 'by = ""'),
        (one, {}, 'order.by = ""'),
        (one, {"from": "eve", "by": "ann"}, 'by = "ann"'),
        (one, {"from": "eve", "by": "ann"}, 'from = "eve"'),
        (fleet, {"orders": [{}]}, 'orders[*].by = ""'),
    ],
)
async def test_a_rule_that_denies_knows_an_argument_by_each_of_its_names(
    tool: Any, arguments: dict[str, Any], condition: str
) -> None:
    on, run = await started(tool, arguments, rules=book("deny", condition))
    (gated,) = await facts(on, run, CallGated)
    assert (gated.verdict, gated.rule) == (Verdict.DENY, "r")


@pytest.mark.parametrize(
    ("tool", "arguments", "condition", "verdict"),
    [
        (one, {"env": "dev"}, 'env = "dev"', Verdict.ALLOW),
        (one, {"env": "dev"}, 'order.env = "dev"', Verdict.ALLOW),
        (one, {"env": "prod"}, 'env = "dev"', Verdict.ASK),
        (two, {"order": {"env": "dev"}}, 'order.env = "dev"', Verdict.ALLOW),
        (two, {"order": {}}, 'at = "now"', Verdict.ALLOW),
        (two, {"order": {}, "at": "noon"}, 'at = "now"', Verdict.ASK),
        (one, {"by": "eve"}, 'from = "eve"', Verdict.ALLOW),
        # The tool does not get these: that they are there tells nothing.
        (one, {"dry_run": True}, "dry_run = true", Verdict.ASK),
        (one, {"from": "eve", "by": "ann"}, 'by = "ann"', Verdict.ASK),
        (two, {"order": {"dry_run": True}}, "order.dry_run = true", Verdict.ASK),
    ],
)
async def test_a_rule_that_allows_looks_only_at_what_the_tool_gets(
    tool: Any, arguments: dict[str, Any], condition: str, verdict: Verdict
) -> None:
    on, run = await started(tool, arguments, rules=book("allow", condition))
    (gated,) = await facts(on, run, CallGated)
    assert gated.verdict is verdict


async def test_a_default_is_not_made_other_by_not_being_given() -> None:
    on, run = await started(one, {}, rules=book("deny", 'env != "prod"'))
    (gated,) = await facts(on, run, CallGated)
    assert gated.verdict is Verdict.ALLOW


async def test_the_last_look_knows_arguments_by_their_names_too() -> None:
    on, run = await started(one, {"env": "dev"}, approvals={"one": "user"})
    token = on.token(run.id, run.tickets[0].approval)
    await on.engine.resume(token, Allow(arguments={"env": "prod"}), actor=person(ALICE))
    later = agent(one, {}, "one", rules=book("deny", 'env = "prod"'))

    await advance(redeployed(on, later))

    (tightened,) = await facts(on, run, CallTightened)
    assert tightened.rule == "r"


WRAPPED: dict[str, Any] = {"order": {"env": "prod", "key": "hunter2222"}}


@pytest.mark.parametrize("prefix", ["", "ops"])
async def test_the_fields_of_a_model_are_not_taken_from_within_an_object_that_no_schema_tells_of(
    prefix: str,
) -> None:
    tools = FunctionToolset([one])
    tool = tools.prefixed(prefix) if prefix else tools
    name = f"{prefix}_one" if prefix else "one"
    on = stage(lambda _: agent(tool, WRAPPED, name, approvals={name: "user"}))
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()

    run = await on.engine.get_run(begun.run)
    assert run.waiting is None
    (rejected,) = await facts(on, run, CallRejected)
    assert rejected.reason == f"arguments do not fit {name}: give the fields of order themselves"


async def test_an_edit_may_not_wrap_the_fields_of_a_model_either() -> None:
    on, run = await started(one, {"env": "dev"}, approvals={"one": "user"})
    token = on.token(run.id, run.tickets[0].approval)
    with pytest.raises(InvalidArgumentsError):
        await on.engine.resume(token, Allow(arguments=WRAPPED), actor=person(ALICE))


class Login(BaseModel):
    """Who logs in, and with what."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    user_name: str
    pass_word: SecretStr
    more_keys: list[SecretStr] = []


def log_in(login: Login) -> str:
    """Log in."""
    return login.user_name


def log_in_at(login: Login, host: str) -> str:
    """Log in at a host."""
    return f"{login.user_name} at {host}"


@pytest.mark.plants_secrets("a secret argument is kept as it must run", where=":memory:")
@pytest.mark.parametrize("fields", [("userName", "passWord"), ("user_name", "pass_word")])
@pytest.mark.parametrize("more", ["moreKeys", "more_keys"])
@pytest.mark.parametrize("tool", [log_in, log_in_at])
async def test_a_secret_is_hidden_under_each_name_that_its_field_takes(
    tool: Any, fields: tuple[str, str], more: str
) -> None:
    user, password = fields
    given = {user: "hunter2222", password: "hunter2222", more: ["correct horse"]}
    whole = given if tool is log_in else {"login": given, "host": "hunter2222"}
    on, run = await started(tool, whole, approvals={tool.__name__: "user"})
    token = on.token(run.id, run.tickets[0].approval)
    notice = await on.engine.notice(token, on.inbox.audience)

    assert isinstance(notice.arguments, dict)
    shown = notice.arguments if tool is log_in else notice.arguments["login"]
    assert isinstance(shown, dict)
    assert (shown[password], shown[more]) == (HIDDEN, [HIDDEN])
    # What the schema tells of is not hidden for being the same: that would hide a command.
    if user == "userName":
        assert shown[user] == "hunter2222"
    if tool is log_in_at:
        assert notice.arguments["host"] == "hunter2222"


def used_up(values: Any) -> str:
    """Describe a call, and leave nothing of its values."""
    told = f"mail {list(values['to'])}"
    values.clear()
    return told


async def test_rules_policies_and_a_tools_own_words_each_see_all_of_what_is_read_only_once() -> (
    None
):
    def mail(to: Iterable[str]) -> str:
        return f"to {list(to)}"

    seen: list[Any] = []

    def policy(values: Mapping[str, Any], _context: object) -> str:
        seen.append(list(values["to"]))
        return "ask"

    told: dict[str, Any] = {"options": {"mail": ToolOptions(describe=used_up)}}
    rules = book("deny", 'to[*] = "eve"')
    on, run = await started(mail, {"to": ["eve"]}, rules=rules, **told)
    (gated,) = await facts(on, run, CallGated)
    assert gated.verdict is Verdict.DENY

    _, run = await started(mail, {"to": ["ann"]}, rules=rules, approvals={"mail": policy}, **told)
    assert seen == [["ann"]]
    assert run.tickets[0].declared.title == "mail ['ann']"


async def test_a_field_that_has_the_name_of_its_parameter_is_a_field() -> None:
    class Box(BaseModel):
        box: dict[str, int]

    def put(box: Box) -> str:
        return f"put {box.box}"

    on, run = await started(put, {"box": {"a": 1}}, rules=book("allow", "box.a = 1"))
    assert run.output == "put=success:put {'a': 1}"
    (gated,) = await facts(on, run, CallGated)
    assert gated.rule == "r"
