"""The page of benchmark figures says what was aimed at, and no miss goes without its reason."""

import json
from pathlib import Path

from tests.bench.targets import Target

PAGE = json.loads((Path(__file__).parents[1] / "docs" / "bench" / "bench.json").read_text())


def test_a_target_is_judged_by_its_bound() -> None:
    assert [Target("a", "x", 2.0, value).met for value in (1.9, 2.0, 2.1)] == [True, True, False]
    least = [Target("a", "x", 2.0, value, most=False).met for value in (1.9, 2.0, 2.1)]
    assert least == [False, True, True]


def test_a_miss_is_told_with_its_reason_and_a_hit_without() -> None:
    told = [Target("a", "x", 2.0, value, why="so").as_json() for value in (1.0, 3.0)]

    assert [("why" in one, one["met"]) for one in told] == [(False, True), (True, False)]


def test_the_page_holds_ten_targets_and_more_each_with_all_that_it_says() -> None:
    assert len(PAGE["targets"]) >= 10
    for target in PAGE["targets"]:
        assert {"name", "unit", "target", "value", "met", "bound"} <= target.keys()


def test_the_page_judges_as_its_figures_say_and_explains_each_miss() -> None:
    for target in PAGE["targets"]:
        at_most = target["bound"] == "at most"
        inside = target["value"] <= target["target"]
        assert target["met"] is (inside if at_most else target["value"] >= target["target"])
        assert target["met"] or target["why"], target["name"]
