"""A model's arguments are parsed strictly and brought into one canonical text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.arguments import MAX_BYTES, MAX_DEPTH, canonical_arguments
from engine.errors import ToolCallError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(st.dictionaries(st.text(), TREES, max_size=3))
def test_canonical_arguments_mean_the_same_and_are_stable(arguments: dict[str, object]) -> None:
    try:
        text = canonical_arguments(json.dumps(arguments))
    except ToolCallError:
        # Lone surrogates cannot be written as UTF-8.
        assert any(0xD800 <= ord(c) <= 0xDFFF for c in json.dumps(arguments, ensure_ascii=False))
        return

    assert json.loads(text) == arguments
    assert canonical_arguments(text) == text


def test_the_order_of_keys_and_the_spaces_do_not_matter() -> None:
    assert canonical_arguments('{"b": 1, "a": 2}') == canonical_arguments({"a": 2, "b": 1})


@pytest.mark.parametrize("nothing", [None, "", "  ", {}])
def test_no_arguments_are_an_empty_object(nothing: str | None) -> None:
    assert canonical_arguments(nothing) == "{}"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("[1]", "one JSON object"),
        ('"x"', "one JSON object"),
        ("{", "not valid JSON"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' twice"),
        ('{"a": "\\ud800"}', "not valid JSON"),
        ('{"a": ' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested deeper"),
        ('{"a": "' + "x" * MAX_BYTES + '"}', "larger than 256 KiB"),
        ('{"a": "' + "é" * (MAX_BYTES // 2) + '"}', "larger than 256 KiB"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_arguments_that_could_mean_two_things_or_too_much_are_refused(raw: str, words: str) -> None:
    with pytest.raises(ToolCallError, match=words):
        canonical_arguments(raw)


def test_a_float_that_is_not_finite_is_refused_as_an_object_too() -> None:
    with pytest.raises(ToolCallError, match="not valid JSON"):
        canonical_arguments({"a": float("inf")})


def test_the_deepest_and_the_largest_allowed_arguments_pass() -> None:
    deepest = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    largest = '{"a":"' + "x" * (MAX_BYTES - 8) + '"}'

    assert canonical_arguments(deepest) == deepest
    assert canonical_arguments(largest) == largest
