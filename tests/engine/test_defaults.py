"""What a call leaves out, and its tool's schema has a default for, is told with the ticket."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from engine import Agent, Allow
from engine.defaults import MAX_CHARACTERS, MAX_DEFAULTS, left_out
from engine.lifecycle.propose import permission_digest
from engine.redaction import HIDDEN
from engine.runs import Run, RunStatus
from engine.schema import Json, canonical_json
from engine.tickets import Declared
from tests.engine.scripted import ALICE, Stage, person, repeat_results, script, stage
from tests.engine.test_redeploy import redeployed

KEY = "AKIAIOSFODNN7EXAMPLE"


def found(schema: dict[str, Any], arguments: Json, told: Json = None) -> dict[str, Json]:
    return {one.at: one.value for one in left_out(schema, arguments, lambda: told).defaults}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


ENV = {"type": "string", "default": "prod"}
ORDER = of(env=ENV)


@pytest.mark.parametrize(
    ("schema", "arguments", "defaults"),
    [
        (of(env=ENV), {}, {"/env": "prod"}),
        (of(env=ENV), {"env": "dev"}, {}),
        (of(env={"type": "string"}), {}, {}),
        (of(n={"default": 0}, m={"default": None}), {}, {"/n": 0, "/m": None}),
        (of(o={"default": {"a": [1]}}), {}, {"/o": {"a": [1]}}),
        (of(order=ORDER), {"order": {}}, {"/order/env": "prod"}),
        (of(order=ORDER), {}, {}),
        ({**of(order={"$ref": "#/$defs/O"}), "$defs": {"O": ORDER}}, {"order": {}}, {"/order/env": "prod"}),
        ({**of(env={"$ref": "#/$defs/E"}), "$defs": {"E": ENV}}, {}, {"/env": "prod"}),
        ({**of(env={"$ref": "#/$defs/E", "default": "dev"}), "$defs": {"E": ENV}}, {}, {"/env": "dev"}),
        ({"allOf": [of(a={"default": 1}), of(b={"default": 2})]}, {}, {"/a": 1, "/b": 2}),
        (of(env={"allOf": [ENV]}), {}, {"/env": "prod"}),
        (of(order={"anyOf": [ORDER, {"type": "null"}]}), {"order": {}}, {"/order/env": "prod"}),
        (of(order={"anyOf": [ORDER, {"type": "null"}]}), {"order": None}, {}),
        (of(all={"type": "array", "items": ORDER}), {"all": [{}, {"env": "dev"}, {}]}, {"/all/0/env": "prod", "/all/2/env": "prod"}),
        (of(all={"prefixItems": [of(), ORDER]}), {"all": [{}, {}, {}]}, {"/all/1/env": "prod"}),
        ({"additionalProperties": ORDER}, {"a/b": {}}, {"/a~1b/env": "prod"}),
    ],
)  # fmt: skip
def test_each_default_that_the_schema_states_is_found(
    schema: dict[str, Any], arguments: Json, defaults: dict[str, Json]
) -> None:
    assert found(schema, arguments) == defaults


CAT = {**of(kind={"const": "cat"}, lives={"default": 9}), "required": ["kind"]}
DOG = {**of(kind={"const": "dog"}, tricks={"default": 0}), "required": ["kind"]}


@pytest.mark.parametrize(
    ("pet", "defaults"),
    [
        ({"kind": "cat"}, {"/pet/lives": 9}),
        ({"kind": "dog"}, {"/pet/tricks": 0}),
        ({"kind": "cow"}, {}),
        ([], {}),
    ],
)
def test_of_several_forms_only_the_one_that_the_value_has_counts(
    pet: Json, defaults: dict[str, Json]
) -> None:
    assert found(of(pet={"oneOf": [CAT, DOG]}), {"pet": pet}) == defaults


def test_where_several_forms_fit_no_default_is_claimed() -> None:
    forms = [of(env=ENV), of(env={"default": "dev"})]

    assert found(of(order={"anyOf": forms}), {"order": {}}) == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#/allOf/0"}], "properties": {"env": ENV}},
        {"properties": [], "allOf": {}, "anyOf": "x", "$ref": 1},
        {"anyOf": [{"required": [[], {}]}, {"$ref": "#/nowhere"}]},
        {"properties": {"env": True, "order": False}},
    ],
)
def test_a_schema_that_is_malformed_or_circular_ends(schema: dict[str, Any]) -> None:
    assert set(found(schema, {"order": {}, "items": [[]]})) <= {"/env"}


def deep(levels: int) -> Json:
    value: Json = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_defaults_beyond_the_bounds_are_counted() -> None:
    many = of(**{f"k{n:03}": {"default": n} for n in range(MAX_DEFAULTS + 5)})
    long = of(note={"default": "x" * MAX_CHARACTERS}, env=ENV, list={"default": [[1], 2]})
    sunk = of(note={"default": deep(900)}, env=ENV)

    of_many = left_out(many, {}, lambda: None)
    of_long = left_out(long, {}, lambda: None)
    of_sunk = left_out(sunk, {}, lambda: None)

    assert (len(of_many.defaults), of_many.more) == (MAX_DEFAULTS, 5)
    assert ([one.at for one in of_long.defaults], of_long.more) == (["/env", "/list"], 1)
    assert ([one.at for one in of_sunk.defaults], of_sunk.more) == (["/env"], 1)


def test_where_not_all_fit_what_is_nothing_goes_first() -> None:
    schema = of(**{f"k{n:03}": {"default": None} for n in range(MAX_DEFAULTS)}, env=ENV)

    kept = left_out(schema, {}, lambda: None)

    assert kept.defaults[0].at == "/env"
    assert kept.more == 1


def test_a_secret_default_is_not_kept() -> None:
    schema = of(
        pin={"default": "1234567", "writeOnly": True},
        note={"default": f"with {KEY}"},
        login={"default": {"user": "bob", "password": "hunter2"}, **of(password={"format": "password"})},
        **{KEY: {"default": 1}},
    )  # fmt: skip

    kept = left_out(schema, {}, lambda: None)

    assert KEY not in str(kept)
    assert "hunter2" not in str(kept)
    assert [one.value for one in kept.defaults[:3]] == [
        HIDDEN,
        f"with {HIDDEN} (20 characters) •••",
        {"user": "bob", "password": HIDDEN},
    ]
    assert [one.hidden for one in kept.defaults[:3]] == [("/pin",), (), ("/login/password",)]
    assert [one.masked for one in kept.defaults[:3]] == [(), ("/note",), ()]


def test_a_default_inside_a_secret_is_hidden() -> None:
    schema = of(login={**of(user={"default": "bob"}), "writeOnly": True})

    (kept,) = left_out(schema, {"login": {"password": "x"}}, lambda: None).defaults

    assert (kept.value, kept.hidden) == (HIDDEN, ("/login/user",))


class Order(BaseModel):
    """What to deploy."""

    model_config = ConfigDict(populate_by_name=True)

    env: str = "prod"
    where: str = Field(default="eu", alias="region")
    tags: list[str] = Field(default_factory=lambda: ["made"])


NO_KEY = SecretStr("abcdefgh")


def deploy(
    version: str,
    env: str = "prod",
    when: Annotated[str, Field(validation_alias="at")] = "now",
    key: SecretStr = NO_KEY,
) -> str:
    """Deploy."""
    return f"{version} to {env} {when} {key}"


def order(order: Order) -> str:
    """Order."""
    return f"{order.env} {order.where}"


def orders(orders: list[Order]) -> str:
    """Order several."""
    return str(len(orders))


async def asked(tool: Callable[..., str], arguments: dict[str, Any]) -> tuple[Stage, Run]:
    name = tool.__name__

    def make(_: object) -> Agent:
        model = script([(name, arguments)], repeat_results)
        return Agent(name="a", model=model, tools=[tool], approvals={name: "user"})

    on = stage(make)
    begun = await on.engine.start("a", "go", owner=ALICE)
    await on.settle()
    return on, await on.engine.get_run(begun.run)


def declared(run: Run) -> Declared:
    assert run.waiting is not None
    return run.waiting.declared


def told(run: Run) -> dict[str, Json]:
    return {one.at: one.value for one in declared(run).defaults}


@pytest.mark.parametrize(
    ("tool", "arguments", "defaults"),
    [
        (deploy, {"version": "1"}, {"/env": "prod", "/at": "now", "/key": HIDDEN}),
        (deploy, {"version": "1", "env": "dev", "at": "x", "key": "y"}, {}),
        (order, {}, {"/env": "prod", "/region": "eu"}),
        (orders, {"orders": [{"env": "dev"}]}, {"/orders/0/region": "eu"}),
        # Junk hides nothing, and what was given under another name is not left out.
        (order, {"junk": 1}, {"/env": "prod", "/region": "eu"}),
        (order, {"where": "us"}, {"/env": "prod"}),
        (orders, {"orders": [{"where": "us"}]}, {"/orders/0/env": "prod"}),
    ],
)
async def test_a_ticket_tells_what_the_call_leaves_out(
    tool: Callable[..., str], arguments: dict[str, Any], defaults: dict[str, Json]
) -> None:
    _, run = await asked(tool, arguments)

    assert told(run) == defaults
    assert declared(run).more_defaults == 0


async def test_the_approval_is_bound_to_the_arguments_as_proposed() -> None:
    on, run = await asked(deploy, {"version": "1"})
    assert run.waiting is not None

    assert run.waiting.digest == permission_digest("deploy", canonical_json({"version": "1"}))
    await on.engine.resume(on.token(run.id, run.waiting.approval), Allow(), actor=person(ALICE))
    await on.settle()
    ended = await on.engine.get_run(run.id)
    assert "1 to prod now **********" in (ended.output or "")


async def test_an_edit_leaves_out_what_it_leaves_out() -> None:
    on, run = await asked(deploy, {"version": "1", "env": "dev", "at": "noon", "key": "k"})
    assert run.waiting is not None
    token = on.token(run.id, run.waiting.approval)

    edited: dict[str, Json] = {"version": "2", "at": "noon", "key": "k"}
    await on.engine.resume(token, Allow(arguments=edited), actor=person(ALICE))

    closed = await on.store.load(run.id, approval=run.waiting.approval)
    assert closed.closed is not None
    assert [one.at for one in closed.closed.declared.defaults] == ["/env"]


async def test_a_default_that_changed_since_is_asked_about_again_as_it_is_now() -> None:
    on, run = await asked(deploy, {"version": "1"})
    assert run.waiting is not None
    await on.engine.resume(on.token(run.id, run.waiting.approval), Allow(), actor=person(ALICE))
    ran = []

    def changed(version: str, env: str = "staging") -> str:
        """Deploy."""
        ran.append(version)
        return env

    changed.__name__ = "deploy"
    now = Agent(name="a", model=script("x"), tools=[changed], approvals={"deploy": "user"})
    engine = redeployed(on, now)
    await engine.tick()

    again = await engine.get_run(run.id)
    assert again.status is RunStatus.WAITING
    assert told(again) == {"/env": "staging"}
    assert ran == []
