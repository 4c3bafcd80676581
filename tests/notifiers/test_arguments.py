"""Consent: every value of the arguments is on the card, or counted as not on it."""

import re

import pytest
from hypothesis import given

from engine.schema import Json, canonical_json
from notifiers import limits
from notifiers.arguments import Row, Secret, Sheet, on_card, read_rows, summary
from notifiers.text import Style, inert, units
from tests.notifiers.effort import EVERY_TREE, NORMAL
from tests.notifiers.judge import check_visible
from tests.notifiers.trees import NASTY, count, leaves, quoted, trees


def on_lines(arguments: Json) -> list[str]:
    return list(on_card(arguments).lines)


def value_of(row: Row) -> str:
    """Read back the value that a line shows."""
    shown = row.line.removeprefix(f"{row.name} = ")
    return quoted(shown[1:-1]) if shown.startswith('"') else shown


def tell_apart(sheet: Sheet) -> int:
    """Return how many values the sheet accounts for."""
    return len(sheet.lines) + len(sheet.boxes) + sheet.missing


@EVERY_TREE
@given(trees)
def test_every_value_is_shown_inert_or_counted_as_not_shown(arguments: dict[str, Json]) -> None:
    sheet = on_card(arguments)
    rows = list(read_rows(arguments))
    whole = {inert(row.raw, Style.BOX) for row in rows if not row.line}

    assert sheet.values == count(arguments) == tell_apart(sheet) == len(rows)
    assert [row.raw for row in rows] == list(leaves(arguments))[: len(rows)]
    assert sum(box.text not in whole for box in sheet.boxes) == sheet.cut
    assert set(sheet.lines) <= {row.line for row in rows}
    assert sheet.complete == (not sheet.hidden)
    for row in rows:
        assert not row.line or value_of(row) == row.raw
    for text in [*sheet.lines, *(f"{box.name}{box.note}" for box in sheet.boxes)]:
        check_visible(text)
    for box in sheet.boxes:
        check_visible(box.text, "\n\t")


@NORMAL
@given(trees)
def test_no_two_values_go_by_the_same_name(arguments: dict[str, Json]) -> None:
    names = [row.name for row in read_rows(arguments)]
    assert len(names) == len(set(names))


@NORMAL
@given(trees)
def test_the_budgets_of_a_card_hold(arguments: dict[str, Json]) -> None:
    sheet = on_card(arguments)
    boxes = sum(units(box.text) for box in sheet.boxes)

    assert len(sheet.lines) <= limits.CARD_LINES
    assert len(sheet.boxes) <= limits.CARD_BOXES
    assert sum(map(units, sheet.lines)) + boxes <= limits.CARD_UNITS
    assert all("\n" not in line for line in sheet.lines)
    assert sheet.size == len(canonical_json(arguments).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("prod", "x = prod"),
        ("1.4.2", "x = 1.4.2"),
        ("https://example.com/a", "x = https://example.com/a"),
        (1, "x = 1"),
        ("1", 'x = "1"'),
        ("1.5", 'x = "1.5"'),
        (True, "x = true"),
        ("true", 'x = "true"'),
        (None, "x = null"),
        ("null", 'x = "null"'),
        ("", 'x = ""'),
        ([], "x = []"),
        ({}, "x = {}"),
        (" prod", 'x = " prod"'),
        ('1.4.2" env="staging', 'x = "1.4.2\\" env=\\"staging"'),
        ("a    b", 'x = "a  \\u{20x2}b"'),
        ("pro\u200bd", 'x = "pro\\u{200B}d"'),
        ("日本", 'x = "日本"'),
    ],
)
def test_a_short_value_reads_as_exactly_what_it_is(value: Json, line: str) -> None:
    assert on_lines({"x": value}) == [line]


def test_nested_values_are_named_by_the_way_to_them() -> None:
    arguments: Json = {"items": [{"name": "a", "a.b": 1}], "a": {"b": 2}}
    assert on_lines(arguments) == ["items[0].name = a", 'items[0]."a.b" = 1', "a.b = 2"]


@pytest.mark.parametrize("key", ["env = staging\nx", 'x" = "1', "a b", "\u202eenv", "x\ty", ""])
def test_a_key_cannot_pass_for_a_line_of_its_own(key: str) -> None:
    (line,) = on_lines({key: "prod"})

    assert re.fullmatch(r'"(?:[^"\\]|\\.)*" = prod', line)
    assert quoted(line[1:].removesuffix('" = prod')) == key


@pytest.mark.parametrize(
    "value",
    ["a\nb = c", "1.4.2 env = staging", "שלום", "pr\u043ed", "w" * 81, "\u200b" * 20, 'x" ' * 40],
)
def test_what_could_mislead_on_a_line_gets_a_box_of_its_own(value: str) -> None:
    sheet = on_card({"x": value})

    assert not sheet.lines
    assert [box.text for box in sheet.boxes] == [inert(value, Style.BOX)]
    assert sheet.complete


def test_a_right_to_left_name_does_not_share_a_line_with_its_value() -> None:
    assert not on_lines({"שלום": "prod"})


def test_letters_of_mixed_alphabets_are_pointed_out() -> None:
    (box,) = on_card({"env": "pr\u043ed"}).boxes
    assert box.note == "4 characters; mixes Cyrillic and Latin letters"


def test_a_long_value_is_cut_and_says_so() -> None:
    sheet = on_card({"env": "prod", "notes": "x" * 4812})
    (box,) = sheet.boxes

    assert box.text == "x" * 200
    assert box.note == "first 200 of 4,812 characters"
    assert sheet.hidden == "1 value is cut short, of 2 (4,837 bytes in all)"
    assert not sheet.complete


def test_a_flood_of_newlines_does_not_push_the_buttons_away() -> None:
    sheet = on_card({"notes": "\n" * 500 + "and drop the table"})
    assert sum(box.text.count("\n") for box in sheet.boxes) <= limits.PREVIEW_BREAKS
    assert not sheet.complete


def test_many_values_are_counted_where_they_are_not_shown() -> None:
    sheet = on_card({f"k{n:03}": n for n in range(100)})
    assert sheet.missing == 100 - limits.CARD_LINES
    assert sheet.hidden.startswith("80 values are not shown, of 100 (")


def test_a_name_too_long_for_a_label_is_not_shown_by_halves() -> None:
    sheet = on_card({"k" * 200: "prod"})
    assert (sheet.missing, sheet.lines, sheet.boxes) == (1, (), ())


@pytest.mark.parametrize("arguments", [None, {}])
def test_no_arguments_are_complete(arguments: Json) -> None:
    assert on_card(arguments).complete
    assert not list(read_rows(arguments))


@pytest.mark.parametrize("value", NASTY)
def test_a_summary_is_one_short_line(value: str) -> None:
    said = summary({"a": value, "b": 1, "c": [value] * 40})

    check_visible(said)
    assert units(said) <= limits.SUMMARY + 20


def test_a_summary_tells_how_much_it_leaves_out() -> None:
    assert summary({"env": "prod", "notes": "x" * 500, "n": 1}) == "env = prod · n = 1 · 1 more"
    assert summary({"notes": "x" * 500}) == "1 not shown here"
    assert summary({}) == ""


def test_a_flood_of_values_is_counted_to_the_last_and_its_secrets_are_named() -> None:
    many: dict[str, Json] = {f"v{n}": n for n in range(3 * limits.VALUES_LOOKED_AT)}
    last = list(many)[-1]

    sheet = on_card(many, Secret(hidden=(f"/{last}",)))

    assert (sheet.values, tell_apart(sheet)) == (len(many), len(many))
    assert sheet.secrets == (last,)
    assert not sheet.complete
    shown = summary(many).count(" = ")
    assert summary(many).endswith(f"{len(many) - shown:,} more")


def test_of_a_flood_of_values_only_the_first_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def look(value: object) -> str:
        tried.append(value)
        return str(value)

    monkeypatch.setattr("notifiers.arguments._raw", look)
    many: dict[str, Json] = {f"v{n}": n for n in range(3 * limits.VALUES_LOOKED_AT)}

    on_card(many)
    summary(many)

    assert len(tried) == 2 * limits.VALUES_LOOKED_AT
