"""The papers' choices in one table: shares of levels, rates of choices, and which methods it holds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from anonkit.budget_rules.tree_rule import CUTS, PAPER_TREES, requested_trees
from anonkit.dp_trees.release.tree_releases import TreeMethod
from anonkit.methods import method_class, method_names

WORDS: dict[str, Any] = {"depth": 3, "steps": 4, "order": "ascending", "score": "gini", "stop": "noisy"}


@pytest.mark.parametrize("name", PAPER_TREES)
def test_levels_have_weights_and_counts_of_rows_a_share_below_one(name: str) -> None:
    """One weight a level, the leaves' included; a method of steps has none."""
    trees = requested_trees(PAPER_TREES[name], WORDS, 2)
    levels = 0 if trees.paper.in_steps else 3 + trees.paper.leaves_below
    assert len(trees.weights) == levels
    assert len(trees.counted) in (0, levels)
    assert all(weight > 0 for weight in trees.weights)
    assert all(0 < share < 1 for share in trees.counted)


def test_the_table_holds_the_methods_of_trees_of_papers() -> None:
    """Each by its name, and no other."""
    classes = [method_class(name) for name in method_names()]
    assert {own.name for own in classes if issubclass(own, TreeMethod)} == set(PAPER_TREES)


def test_only_scores_that_move_one_way_have_slack() -> None:
    """The published rate divides them by two; information gain needs the two."""
    paper = PAPER_TREES["diffprfs"]
    given = [{**WORDS, "rate": rate, "score": score} for rate in ("full", "published")
             for score in ("gini", "information-gain")]  # fmt: skip
    assert [requested_trees(paper, one, 0).slack for one in given] == [1, 1, 2, 1]


def test_each_draw_of_a_path_has_the_same_share_where_levels_share_by_their_draws() -> None:
    """Two cuts, an attribute and a count on each level, two counts in a leaf: 14 draws in all."""
    trees = requested_trees(PAPER_TREES["diffp-c45"], WORDS, 2)
    whole = sum(trees.weights)
    assert trees.paper.split == CUTS
    assert {weight * share / whole for weight, share in zip(trees.weights, trees.counted, strict=True)} == {
        Fraction(1, 14)
    }


@pytest.mark.parametrize(("stop", "counted"), [("noisy", 4), ("depth", 0)])
def test_rows_are_counted_to_stop_alone_where_the_paper_does_so(stop: str, counted: int) -> None:
    """Of C4.5 on counts: a tenth of each level, if the noisy rule needs it."""
    trees = requested_trees(PAPER_TREES["c45-halving"], {**WORDS, "stop": stop}, 0)
    assert trees.counted == (Fraction(1, 10),) * counted
    assert trees.weights == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))
