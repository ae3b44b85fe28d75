"""The two tables of what one row changes: they agree on every kind of query, and on any sizes."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.model_queries import (
    ClassDependence,
    ClippedSum,
    ModelQuery,
    PairError,
    PairGain,
    PairsDependence,
    PlaceHalves,
    PlaceSum,
    SchemeScore,
    SplitScore,
    Table,
    TargetDependence,
    TargetRelation,
    TripleError,
)
from anonkit.checks.query_changes import change_of
from anonkit.mechanisms.query_sensitivity import sensitivity_of

SIZES = st.integers(1, 1 << 28)
QUERIES: dict[type[ModelQuery], st.SearchStrategy[ModelQuery]] = {
    Table: st.just(Table()),
    SplitScore: st.builds(
        SplitScore,
        score=st.sampled_from(["gini", "max-class", "entropy", "information-gain"]),
        classes=st.integers(1, 1000),
        most_rows=SIZES,
    ),
    PairGain: st.just(PairGain()),
    PairError: st.just(PairError()),
    TripleError: st.just(TripleError()),
    PairsDependence: st.builds(PairsDependence, pairs=st.integers(1, 10_000)),
    TargetDependence: st.just(TargetDependence()),
    TargetRelation: st.just(TargetRelation()),
    ClassDependence: st.builds(ClassDependence, attributes=st.integers(2, 500), pairs=st.integers(1, 10_000)),
    PlaceSum: st.builds(PlaceSum, low=st.integers(-(1 << 40), 0), high=SIZES),
    PlaceHalves: st.builds(PlaceHalves, low=st.integers(-(1 << 40), 0), high=SIZES),
    SchemeScore: st.builds(SchemeScore, has_target=st.booleans()),
    ClippedSum: st.builds(ClippedSum, bound=SIZES),
}


@pytest.mark.parametrize("kind", get_args(ModelQuery), ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_the_owner_and_the_check_agree_on_what_a_row_changes(kind: type[ModelQuery], data: st.DataObject) -> None:
    """By two tables that share no line."""
    query = data.draw(QUERIES[kind])
    assert sensitivity_of(query) == change_of(query) >= 1


@pytest.mark.parametrize(
    ("query", "change"),
    [
        (Table(), 1),
        (SplitScore(score="gini", classes=3), 512),
        (SplitScore(score="max-class", classes=3), 1),
        (SplitScore(score="information-gain", classes=4), 1024),
        (PairGain(), 2),
        (PairError(), 512),
        (TripleError(), 514),
        (PairsDependence(pairs=3), 3 * 1024 + 2),
        (TargetDependence(), 514),
        (TargetRelation(), 258),
        (ClassDependence(attributes=9, pairs=30), 1026),
        (ClassDependence(attributes=3, pairs=1), 514),
        (PlaceSum(low=-7, high=3), 7),
        (PlaceHalves(low=-7, high=3), 10),
        (ClippedSum(bound=8192), 8192),
        (SchemeScore(has_target=True), 2048),
        (SchemeScore(has_target=False), 1024),
    ],
)
def test_what_a_row_changes_is_known_by_number(query: ModelQuery, change: int) -> None:
    """Each by hand: rows times steps, up and down, and a step of rounding at either end."""
    assert sensitivity_of(query) == change_of(query) == change


def test_a_score_that_is_not_known_has_no_sensitivity() -> None:
    """No default replaces it: too low a one would make a release cost more than it claims."""
    with pytest.raises(ValueError, match="nothing bounds"):
        sensitivity_of(SplitScore(score="twoing", classes=2))
