"""The pages that lead from a report or a rule to the tests of it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {"field-reports.md": ("report", "behaviour", "tests"), "conformance.md": ("row",)}


@cache
def existing() -> frozenset[str]:
    """Return the name of every test there is."""
    trees = [ast.parse(path.read_text("utf-8")) for path in ROOT.glob("tests/**/test_*.py")]
    return frozenset(
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test_")
    )


@cache
def rows(page: str) -> list[list[str]]:
    """Return the cells of every row of every table, without the heads."""
    lines = (ROOT / "docs" / page).read_text("utf-8").splitlines()
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    return [row for row in cells if row[0] not in PAGES[page] and not set(row[0]) <= {"-"}]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    named = {name for row in rows(page) for name in re.findall(r"`([^`]+)`", row[-1])}

    assert named
    assert sorted(named - existing()) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_row_names_a_test_or_a_reason(page: str) -> None:
    bare = [row[0] for row in rows(page) if "`" not in row[-1]]

    assert [row for row in rows(page) if not row[-1]] == []
    reasons = [row[-1] for row in rows(page) if row[0] in bare]
    assert [
        one for one in reasons if not one.startswith(("Not built yet: ", "Does not apply: "))
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_no_row_is_there_twice(page: str) -> None:
    names = [row[0].split()[0] for row in rows(page)]

    assert len(names) == len(set(names))


def test_what_happened_to_others_is_told_whole() -> None:
    sections = {row[0].split(".")[0] for row in rows("field-reports.md")}

    assert sections == {"2a", "2b", "2c", "2d", "2e", "2f", "2g", "S"}
    assert len(rows("field-reports.md")) > 90
