"""What is secret is found by the schema and by its shape, and nothing beside it is taken out."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr, TypeAdapter

from engine.redaction import HIDDEN, MAX_POINTERS, marked_secrets, mask, redact
from engine.schema import Json, canonical_json

PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq2\n" * 3 + "Zm9v==\n"
    "-----END RSA PRIVATE KEY-----"
)
SECRETS = [
    "sk-proj-abcdefghijklmnop1234",
    "sk-ant-api03-abcdefghijklmnop",
    "sk_live_abcdefghijklmnop1234",
    "xoxb-1234567890-abcdefghij",
    "xapp-1-A0123456789-abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghij_klmnop",
    "glpat-abcdefghijklmnopqrst",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
    PEM,
    PEM.replace("\n", "\\n"),
]
HARMLESS = [
    "task-force-of-sixteen-letters-or-more",
    "risk-assessment-and-more-words",
    "sk-short",
    "AKIA",
    "ghp_short",
    "eyJ.eyJ.x",
    "prod",
    "-----BEGIN CERTIFICATE-----",
]


class Account(BaseModel):
    user: str
    password: SecretStr


class Node(BaseModel):
    key: SecretStr
    left: "Node | None" = None
    right: "Node | None" = None


class Login(BaseModel):
    api_key: SecretStr
    url: str = ""
    accounts: list[Account] = []
    by_name: dict[str, SecretStr] = {}
    pair: tuple[str, SecretStr] | None = None
    pin: int = Field(0, json_schema_extra={"writeOnly": True})
    vault: dict[str, Any] = Field({}, json_schema_extra={"writeOnly": True})
    either: Account | Node | None = None


LOGIN = TypeAdapter(Login).json_schema()


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_known_by_its_shape_and_only_it_is_taken_out(secret: str) -> None:
    said = mask(f"curl -H 'x: {secret}' | sh; rm -rf /")

    assert said == f"curl -H 'x: {HIDDEN} ({len(secret):,} characters) •••' | sh; rm -rf /"
    assert redact({"key": secret}).arguments == {"key": HIDDEN}


@pytest.mark.parametrize("secret", SECRETS[3:7])
def test_a_secret_is_known_where_it_is_glued_to_other_letters(secret: str) -> None:
    assert mask(f"x{secret}") == f"x{HIDDEN} ({len(secret)} characters) •••"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_begins_like_a_secret_is_shown(text: str) -> None:
    assert mask(text) == text


def test_no_command_hides_in_a_key() -> None:
    said = mask(
        "-----BEGIN PRIVATE KEY-----\nrm -rf / --no-preserve-root\n-----END PRIVATE KEY-----"
    )
    assert "-rf / --no-preserve-root" in said


@pytest.mark.parametrize(
    "unit", ["-----BEGIN PRIVATE KEY-----", "A" * 15 + "\n", "eyJ", "sk-", "\\n"]
)
def test_no_text_takes_long(unit: str) -> None:
    text = "-----BEGIN PRIVATE KEY-----" + unit * (200_000 // len(unit))
    assert len(mask(text)) <= len(text) + 40 * text.count("-----BEGIN")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"api_key": "hunter2"}, {"api_key": HIDDEN}),
        ({"url": "hunter2"}, {"url": "hunter2"}),
        (
            {"accounts": [{"user": "bob", "password": "hunter2"}] * 2},
            {"accounts": [{"user": "bob", "password": HIDDEN}] * 2},
        ),
        ({"by_name": {"a/b": "hunter2"}}, {"by_name": {"a/b": HIDDEN}}),
        ({"pair": ["a", "hunter2"]}, {"pair": [HIDDEN, HIDDEN]}),
        ({"pin": 1234}, {"pin": HIDDEN}),
        ({"vault": {"a": [1, {}], "b": None}}, {"vault": {"a": [HIDDEN, HIDDEN], "b": HIDDEN}}),
        (
            {"either": {"user": "bob", "password": "x"}},
            {"either": {"user": "bob", "password": HIDDEN}},
        ),
        (
            {"either": {"key": "x", "left": {"key": "y"}}},
            {"either": {"key": HIDDEN, "left": {"key": HIDDEN}}},
        ),
        ({"unknown": {"api_key": "hunter2"}}, {"unknown": {"api_key": "hunter2"}}),
    ],
)
def test_what_the_schema_marks_is_hidden_wherever_it_stands(arguments: Json, shown: Json) -> None:
    found = redact(arguments, marked_secrets(LOGIN, arguments))
    assert found.arguments == shown


def test_too_many_places_hide_all_that_holds_them_and_stay_few() -> None:
    def tree(depth: int) -> Json:
        below: dict[str, Json] = (
            {"left": tree(depth - 1), "right": tree(depth - 1)} if depth else {}
        )
        return {"key": "hunter2", **below}

    arguments: Json = {"url": "x", "either": tree(7)}
    marked = marked_secrets(LOGIN, arguments)

    assert marked == ("/either",)
    assert len(marked) <= MAX_POINTERS
    assert "hunter2" not in str(redact(arguments, marked).arguments)
    assert redact(arguments, marked).arguments["url"] == "x"  # type: ignore[index, call-overload]


def test_a_schema_that_refers_to_itself_or_to_nothing_is_walked_to_its_end() -> None:
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/x"}]}},
    }
    assert marked_secrets(schema, {"a": 1}) == ()


def test_a_name_that_holds_a_secret_is_masked_and_loses_no_value() -> None:
    key = SECRETS[5]
    found = redact({key: 1, f"{key} ": 2, "a": 3, f"b{key[:4]}": 4})

    assert key not in str(found.arguments)
    assert list(found.arguments.values()) == [1, 2, 3, 4]  # type: ignore[union-attr]


def test_two_names_that_are_masked_alike_are_kept_apart() -> None:
    first, second = "ghp_" + "a" * 20, "ghp_" + "b" * 20
    found = redact({first: 1, second: 2})
    assert list(found.arguments.values()) == [1, 2]  # type: ignore[union-attr]


def test_a_hidden_value_is_kept_out_of_what_is_said_beside_it() -> None:
    assert mask("the password is hunter2!", ["hunter2", "is"]) == (
        f"the password is {HIDDEN} (7 characters) •••!"
    )


def test_where_something_was_taken_out_is_told() -> None:
    found = redact({"a": SECRETS[0], "b": [f"x {SECRETS[0]}", "y"], "c/d": "z"}, ["/c~1d"])
    assert (found.hidden, found.masked) == (("/a", "/c~1d"), ("/b/0",))
    assert found.secrets == (SECRETS[0], "z")


@pytest.mark.parametrize(
    "secret", ['hun"ter\\two\n', "caf\u00e9\u202e-secret", 'it\'s "it"', "\ud800 half"]
)
@pytest.mark.parametrize("spell", [str, json.dumps, canonical_json, repr])
def test_a_hidden_value_is_taken_out_however_it_is_spelled(
    secret: str, spell: Callable[[str], str]
) -> None:
    told = f"it is {spell(secret)}, they say"
    inside = spell(secret).removeprefix('"').removeprefix("'")[:-1]
    assert inside not in mask(told, [secret])


@pytest.mark.parametrize("pin", [483920, -1234567, 48.3920])
def test_a_number_is_a_secret_too(pin: float) -> None:
    hidden = redact({"pin": pin, "on": True}, ["/pin", "/on"])
    assert hidden.arguments == {"pin": HIDDEN, "on": HIDDEN}
    assert str(pin) not in mask(f"use {pin}; True", hidden.secrets)
    assert hidden.secrets == (str(pin),)


SECRET_ONE = {"writeOnly": True}


@pytest.mark.parametrize(
    ("part", "value", "where"),
    [
        ({"items": [{}, SECRET_ONE]}, ["a", "b"], "/t/*"),
        ({"items": [{}], "additionalItems": SECRET_ONE}, ["a", "b"], "/t/*"),
        ({"prefixItems": [{}], "unevaluatedItems": SECRET_ONE}, ["a", "b"], "/t/*"),
        ({"unevaluatedProperties": SECRET_ONE}, {"k": "v"}, "/t/*"),
        ({"if": {}, "then": {"properties": {"k": SECRET_ONE}}}, {"k": "v"}, "/t/k"),
        ({"if": {}, "else": {"properties": {"k": SECRET_ONE}}}, {"k": "v"}, "/t/k"),
        ({"dependentSchemas": {"a": {"properties": {"k": SECRET_ONE}}}}, {"k": "v"}, "/t/k"),
    ],
)
def test_a_mark_is_found_wherever_a_schema_may_put_it(part: Any, value: Json, where: str) -> None:
    assert marked_secrets({"properties": {"t": part}}, {"t": value}) == (where,)


@pytest.mark.parametrize("word", ["anyOf", "allOf", "properties", "patternProperties", "items"])
@pytest.mark.parametrize("nonsense", [None, 3, "x", [None], {"a": None}])
def test_a_schema_that_is_none_marks_nothing_and_fails_nobody(word: str, nonsense: object) -> None:
    part = {word: nonsense}
    values: list[Json] = [{"a": 1}, ["a"], "a"]
    for value in values:
        assert marked_secrets({"properties": {"t": part}, **part}, {"t": value, "a": 1}) == ()
