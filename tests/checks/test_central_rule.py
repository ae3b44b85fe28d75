"""How many regions a release may have follows from its published class counts: by two codes, and another is refused."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.central_params import PublicFacts
from anonkit.checks.central_rule import RebuiltRule, rule_checks
from anonkit.dp_trees.additive_model.budget_rule import rule_for

UNITS = 1 << 52


def _tree(counts: list[int]) -> list[dict[str, Any]]:
    """A root, two nodes, and four leaves, the counts of a class in one of them."""
    none = [0] * len(counts)
    return [{"children": [1, 2]}, {"children": [3, 4]}, {"children": [5, 6]},
            {"counts": counts}, {"counts": none}, {"counts": none}, {"counts": none}]  # fmt: skip


LEVELS = {0: [0], 1: [1, 2], 2: [3, 4, 5, 6], 3: [3, 4, 5, 6]}


def _failed(counts: list[int], attributes: int, left: Fraction, *, most: int, told: int) -> list[str]:
    """Which checks refuse a release that has regions at this level."""
    facts = SimpleNamespace(
        n_classes=len(counts), attributes=[SimpleNamespace(domain=SimpleNamespace(categories=("a",)))] * attributes,
        whole=lambda *_: 0,
    )  # fmt: skip
    rule = RebuiltRule(depth=3, regions=most, bins=16, weights=True, left=float(left), shares=(0.1, 0.1, 0.6, 0.2))
    params = {"rule": {"rows": 1, "depth": 3, "regions": told, "bins": 16, "weights": True}, "trees": [_tree(counts)],
              "scores": {"regions": LEVELS[told]}, "weights": {}}  # fmt: skip
    return [check.name for check in rule_checks(params, cast("PublicFacts", facts), rule) if not check.passed]


@given(
    counts=st.lists(st.integers(-500, 10**6), min_size=2, max_size=6),
    attributes=st.integers(1, 40),
    units=st.integers(1, 4 * UNITS),
    told=st.integers(0, 3),
)
def test_regions_are_those_that_the_rarest_classes_have_rows_for(
    counts: list[int], attributes: int, units: int, told: int
) -> None:
    """The level that the rule comes to passes; every other one is refused."""
    left = Fraction(units, UNITS)
    plan = rule_for(epsilon=float(left), rows=1e9, attributes=attributes, classes=len(counts))
    own = plan.for_classes(counts, epsilon=left, attributes=attributes)
    failed = _failed(counts, attributes, left, most=plan.region_depth, told=own.region_depth)
    assert failed == []
    if told != own.region_depth:
        assert "rule" in _failed(counts, attributes, left, most=plan.region_depth, told=told)


@pytest.mark.parametrize(("counts", "depth"), [([10_000, 10_000], 1), ([18_800, 1_200], 0), ([19_990, -40], 0)])
def test_six_in_a_hundred_are_too_few_for_regions(counts: list[int], depth: int) -> None:
    """As many rows: two regions where the classes are level, none where one is rare, whatever its noisy count is."""
    rule = rule_for(epsilon=1.0, rows=20_000, attributes=15, classes=2)
    assert rule.region_depth == 1
    own = rule.for_classes(counts, epsilon=Fraction(1), attributes=15)
    assert own.region_depth == depth
    assert own.histograms == rule.histograms
    assert "rule" in _failed(counts, 15, Fraction(1), most=1, told=1 - depth)
