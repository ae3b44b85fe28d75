"""Changes by one row, computed by hand: the numbers that a check believes are in no file of a release."""

from __future__ import annotations

import math

import pytest

from anonkit.budget_rules.model_queries import ClassDependence, PlaceSum, SplitScore
from anonkit.checks.query_changes import change_of
from anonkit.errors import ReleaseFormatError


@pytest.mark.parametrize(("rows", "bits"), [(1, 1.0), (1023, 10.0)])
def test_an_entropy_moves_by_the_steepest_slope_and_a_step_at_either_end(rows: int, bits: float) -> None:
    """log2(N + 1) + 1 / ln 2 bits of 256 steps."""
    query = SplitScore(score="entropy", classes=2, most_rows=rows)
    assert change_of(query) == math.ceil((bits + 1 / math.log(2)) * 256) + 2


def test_a_quarter_of_many_distances_or_the_largest_alone_is_read() -> None:
    """Two rows for each of the distances that are added up, divided by four; two rows at least."""
    sizes = [(2, 1), (5, 10), (6, 15), (9, 36), (9, 3), (13, 100)]
    changes = [change_of(ClassDependence(attributes=attributes, pairs=pairs)) for attributes, pairs in sizes]
    assert changes == [514, 514, 642, 1026, 514, 1538]


def test_a_row_adds_the_place_that_is_furthest_from_zero() -> None:
    """Either end of the grid."""
    assert [change_of(PlaceSum(low=low, high=high)) for low, high in ((0, 9), (-12, 9), (-3, -1))] == [9, 12, 3]


def test_a_score_that_is_not_known_has_no_bound() -> None:
    """No default replaces it: a check that guesses low would pass a release that costs more."""
    with pytest.raises(ReleaseFormatError, match="nothing bounds"):
        change_of(SplitScore(score="twoing", classes=2))
