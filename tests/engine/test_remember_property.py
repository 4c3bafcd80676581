"""A rule settles a call only if it is like the approved one in every respect there is."""

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.agents import Agent, AgentRegistry, ToolOptions
from engine.deciders import Deciders
from engine.identity import Approvers, Standing
from engine.ids import CallId, PersonId, Surroundings
from engine.remembered import (
    MAX_TERMS,
    RememberedRule,
    RememberRefusedError,
    Revoked,
    leaves,
    terms_of,
)
from engine.runs import ToolCall
from engine.schema import Json, canonical_json
from engine.settling import Settling
from engine.stores import MemoryStore
from engine.tickets import Declared, Risk
from tests.engine.town import Town
from tests.factories import OWNER, START, HeldClock, make_revoked, make_rule, make_run

NAMES = st.sampled_from(["env", "version", "a/b", "a~b", "", "0", "order"])
SCALARS: st.SearchStrategy[Json] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, 1.0, -0.0]),
    st.sampled_from(["", "0", "1", "prod", "true", "null", "*", "[]", "\u202eprod"]),
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


def rule_for(arguments: Json, loose: list[str], **given: Any) -> RememberedRule:
    rule = make_rule(**given)
    return rule.model_copy(update={"terms": terms_of(arguments, (), loose, rule.approval)})


def loosened(data: st.DataObject, arguments: Json) -> list[str]:
    """Draw arguments that may be anything; one at least stays."""
    every = [at for at, _ in leaves(arguments)]
    assume(len(every) <= MAX_TERMS)
    return (
        data.draw(st.lists(st.sampled_from(every), unique=True, max_size=len(every) - 1))
        if every
        else []
    )


@given(st.data(), ARGUMENTS)
def test_a_rule_fits_what_it_was_given_for(data: st.DataObject, arguments: dict[str, Json]) -> None:
    assert rule_for(arguments, loosened(data, arguments)).fits(arguments)


@settings(max_examples=500)
@given(st.data(), ARGUMENTS, ARGUMENTS)
def test_what_fits_differs_only_where_it_may(
    data: st.DataObject, arguments: dict[str, Json], other: dict[str, Json]
) -> None:
    loose = loosened(data, arguments)
    pinned = {at: canonical_json(v) for at, v in leaves(arguments) if at not in loose}
    found = {at: canonical_json(v) for at, v in leaves(other)}
    same_places = found.keys() == {at for at, _ in leaves(arguments)}
    alike = same_places and all(found[at] == value for at, value in pinned.items())
    assert rule_for(arguments, loose).fits(other) == alike


@settings(max_examples=300)
@given(st.data(), ARGUMENTS, SCALARS)
def test_one_pinned_value_that_differs_is_enough(
    data: st.DataObject, arguments: dict[str, Json], value: Json
) -> None:
    loose = loosened(data, arguments)
    pinned = [at for at, _ in leaves(arguments) if at not in loose]
    assume(pinned)
    at = data.draw(st.sampled_from(pinned))
    changed = json.loads(json.dumps(arguments))
    steps = [step.replace("~1", "/").replace("~0", "~") for step in at.split("/")[1:]]
    held: Any = changed
    for step in steps[:-1]:
        held = held[int(step)] if isinstance(held, list) else held[step]
    last: Any = int(steps[-1]) if isinstance(held, list) else steps[-1]
    assume(canonical_json(held[last]) != canonical_json(value))
    held[last] = value
    assert not rule_for(arguments, loose).fits(changed)


def skeleton(value: Json) -> Json:
    """Return a value with only its objects and lists, and who is in them."""
    if isinstance(value, dict) and value:
        return {name: skeleton(inner) for name, inner in value.items()}
    return [skeleton(inner) for inner in value] if isinstance(value, list) and value else None


@settings(max_examples=300)
@given(st.data(), ARGUMENTS)
def test_a_list_is_no_object_with_numbers_for_names(
    data: st.DataObject, arguments: dict[str, Json]
) -> None:
    other = json.loads(json.dumps(arguments), object_pairs_hook=_as_list)
    twin: Any = {name: _renamed(value) for name, value in arguments.items()}
    loose = loosened(data, arguments)
    for one in (other, twin):
        if isinstance(one, dict) and skeleton(one) != skeleton(arguments):
            assert not rule_for(arguments, loose).fits(one)


def _as_list(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object as a list where its names are those of a list's places."""
    names = [name for name, _ in pairs]
    return [v for _, v in pairs] if names == [str(n) for n in range(len(names))] else dict(pairs)


def _renamed(value: Json) -> Json:
    """Return a value with objects for its lists, under the same JSON pointers."""
    if isinstance(value, dict):
        return {name: _renamed(inner) for name, inner in value.items()}
    if isinstance(value, list) and value:
        return {str(at): _renamed(inner) for at, inner in enumerate(value)}
    return value


@given(ARGUMENTS)
def test_all_arguments_are_never_loose_together(arguments: dict[str, Json]) -> None:
    every = [at for at, _ in leaves(arguments)]
    assume(every)
    try:
        terms_of(arguments, (), every, "apr")
    except RememberRefusedError:
        return
    raise AssertionError("a bare tool was remembered")


AGENT = Agent(name="deployer", model="test", approvers=Approvers())
REGISTRY = AgentRegistry([AGENT])
LIKE: dict[str, Any] = {"env": "prod", "version": "2"}

DIFFERENCES: dict[str, Any] = {
    "nothing": {},
    "another agent": {"rule": {"agent": "other"}},
    "another tool": {"rule": {"tool": "destroy"}},
    "a changed tool": {"rule": {"fingerprint": "other"}},
    "another owner": {"rule": {"owner": PersonId("UOTHER")}},
    "another conversation": {"rule": {"conversation": "elsewhere"}},
    "another context": {"rule": {"context": "0" * 64}},
    "other approvers": {"rule": {"approvers": Approvers(people=(OWNER,), quorum=1)}},
    "a larger quorum": {
        "rule": {"approvers": Approvers(people=(OWNER,), quorum=2, four_eyes=False)}
    },
    "no votes": {"rule": {"votes": ()}},
    "expired": {"rule": {"expires_at": START}},
    "revoked": {"revoked": make_revoked()},
    "a pinned argument": {"arguments": {"env": "dev", "version": "2"}},
    "one argument more": {"arguments": {**LIKE, "force": True}},
    "one argument less": {"arguments": {"env": "prod"}},
    "high risk then": {"call": {"declared": Declared(risk=Risk.HIGH)}},
    "high risk now": {"risk": "high"},
    "a granter who left": {"standing": Standing.DEACTIVATED},
    "a directory that is away": {"down": True},
}


@settings(max_examples=200, deadline=None)
@given(st.sets(st.sampled_from(sorted(DIFFERENCES)), max_size=3))
async def test_any_difference_makes_that_people_are_asked(differences: set[str]) -> None:
    said: dict[str, Any] = {}
    for name in differences:
        for key, value in DIFFERENCES[name].items():
            said[key] = {**said.get(key, {}), **value} if key == "rule" else value
    settled = await settles(said)
    assert settled == (differences <= {"nothing"})


async def settles(said: dict[str, Any]) -> bool:
    clock, town = HeldClock(), Town(down=said.get("down", False))
    if "standing" in said:
        town.standings[OWNER] = said["standing"]
    store = MemoryStore(clock=clock)
    try:
        rule = make_rule(**said.get("rule", {}))
        await store.rules.keep(rule)
        if isinstance(said.get("revoked"), Revoked):
            await store.rules.revoke(rule.id, said["revoked"])
        settling = Settling(store.rules, Deciders(town, REGISTRY), Surroundings(clock=clock))
        call = ToolCall(
            id=CallId("1.0"), provider_id="p", tool="deploy", digest="d", fingerprint="fingerprint"
        ).model_copy(update=said.get("call", {}))
        options = {"deploy": ToolOptions(risk=said.get("risk"))}
        agent = Agent(name="deployer", model="test", tools=lambda _: (), options=options)
        arguments = canonical_json(said.get("arguments", LIKE))
        return await settling.rule_for(make_run(), agent, call, arguments) is not None
    finally:
        await store.close()
