"""Greedy selection: the requirements hold, the result is maximal, and one-hot bits mean what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.equivalence import (
    AtLeastK,
    DistinctL,
    DistinctRows,
    HistogramRequirement,
    NumberedRows,
    Requirement,
    TCloseness,
    released_partition,
)
from anonkit.k_anonymity.search.greedy_selection import (
    Feature,
    FeatureSelection,
    column_features,
    n_suppressed,
    one_hot_features,
    rows_violating,
    select_features,
    suppressed_rows,
)
from anonkit.k_anonymity.search.hierarchy_levels import Ladder, automatic_ladder
from tests.k_anonymity.search.coded_tables import classes_of, coded, holds, of_people, requirements, tables


@st.composite
def _problems(draw: st.DrawFn) -> tuple[list[CodedColumn], list[Feature], list[Requirement], int, dict[str, Ladder]]:
    """Draw a table, an order of its columns or bits, requirements, a suppression limit and perhaps ladders."""
    table = draw(tables())
    n_rows = table[0].codes.size
    features = draw(st.sampled_from([column_features, one_hot_features]))(table)
    ladders = {column.name: automatic_ladder(column) for column in table} if draw(st.booleans()) else {}
    return (
        table,
        draw(st.permutations(features)),
        draw(requirements(n_rows)),
        draw(st.integers(0, n_rows // 3)),
        ladders,
    )


def _released(table: list[CodedColumn], selection: FeatureSelection) -> list[np.ndarray]:
    groups = ((column, selection.groups[column.name]) for column in table)
    return [of_code[column.codes] for column, of_code in groups if of_code is not None]


@given(_problems())
def test_what_is_released_meets_everything_asked(problem: Any) -> None:
    """The rows kept meet the requirements by definition, within the limit unless nothing could be kept."""
    table, ranking, asked, limit, ladders = problem
    selection = select_features(table, ranking, asked, limit, ladders)
    assert holds(_released(table, selection), ~selection.suppressed, asked)
    if selection.kept_features:
        assert selection.suppressed.sum() <= limit
        assert selection.suppressed.sum() == [d.suppressed for d in selection.decisions if d.is_kept][-1]


@given(_problems())
def test_no_dropped_feature_could_be_added_at_the_end(problem: Any) -> None:
    """The result is maximal: adding a dropped feature, at its coarsest, suppresses more than the limit.

    k and distinct l are monotone in the rows they suppress; requirements on shares only when no row may be suppressed.
    """
    table, ranking, asked, limit, ladders = problem
    if any(isinstance(requirement, TCloseness) for requirement in asked):
        return  # measured against the whole table, which `holds` does not see
    if any(of_people(requirement) for requirement in asked):
        return  # people in several classes may come to hold one value in common where these are merged
    if any(isinstance(requirement, HistogramRequirement) for requirement in asked):
        limit = 0  # a class that breaks one of these may have parts that do not: with suppression they are not monotone
    selection = select_features(table, ranking, asked, limit, ladders)
    columns = {column.name: column for column in table}
    for decision in selection.decisions:
        if decision.is_kept:
            assert decision.suppressed <= limit
            continue
        feature, column = decision.feature, columns[decision.feature.column]
        codes = feature.codes(column)
        if feature.code is None and ladders:
            codes = ladders[feature.column].levels[-1][column.codes]
        projected = [*_released(table, selection), codes]
        gone = [
            row
            for rows in classes_of(projected, range(codes.size))
            for row in rows
            if not all(
                holds([np.zeros(codes.size, np.int64)], np.isin(np.arange(codes.size), rows), [r]) for r in asked
            )
        ]
        assert len(gone) > limit
        assert decision.suppressed > limit


@given(_problems())
def test_dropped_features_say_which_requirement_broke(problem: Any) -> None:
    """A dropped feature names a requirement and how many rows break it; the counts never exceed the table."""
    table, ranking, asked, limit, ladders = problem
    for decision in select_features(table, ranking, asked, limit, ladders).decisions:
        assert set(decision.violations) <= {requirement.name for requirement in asked}
        assert all(0 < rows <= table[0].codes.size for rows in decision.violations.values())
        if not decision.is_kept:
            assert decision.level is None
            assert decision.violations


@given(_problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(problem: Any, shuffle: Any) -> None:
    """Shuffled rows and columns give the same groups and the same decisions."""
    table, ranking, asked, limit, ladders = problem
    rows = list(range(table[0].codes.size))
    shuffle.shuffle(rows)
    mixed = [CodedColumn(name=c.name, codes=c.codes[rows], values=c.values, ordered=c.ordered) for c in table[::-1]]
    straight = select_features(table, ranking, asked, limit, ladders)
    again = select_features(mixed, ranking, [one.at(np.array(rows)) for one in asked], limit, ladders)
    assert straight.decisions == again.decisions
    assert straight.suppressed[rows].tolist() == again.suppressed.tolist()


def test_the_first_feature_that_fits_wins() -> None:
    """Two columns that fit alone but not together: the ranking decides."""
    table = [coded("a", [0, 0, 1, 1]), coded("b", [0, 1, 0, 1])]
    for first, second in (("a", "b"), ("b", "a")):
        ranking = [Feature(column=first), Feature(column=second)]
        selection = select_features(table, ranking, [AtLeastK(2)], 0)
        assert [feature.column for feature in selection.kept_features] == [first]
        assert selection.decisions[1].violations == {"k-anonymity": 4}


def test_the_printed_test_of_the_paper_is_inverted() -> None:
    """Algorithm 1 as printed would delete the column that passes and keep the identifying one."""
    table = [coded("fits", [0, 0, 1, 1]), coded("identifies", [0, 1, 2, 3])]
    selection = select_features(table, column_features(table), [AtLeastK(2)], 0)
    assert [feature.column for feature in selection.kept_features] == ["fits"]


def test_accepted_bits_stay_and_the_rest_is_one_group() -> None:
    """One-hot: each accepted category is released, all others of the column are merged."""
    table = [coded("a", [0, 0, 0, 1, 1, 2, 3])]
    selection = select_features(table, one_hot_features(table), [AtLeastK(2)], 0)
    assert [feature.code for feature in selection.kept_features] == [0, 1]
    groups = selection.groups["a"]
    assert groups is not None
    assert groups.tolist() == [0, 1, 2, 2]


def test_the_last_category_left_counts_as_a_group() -> None:
    """Rare values that remain when all others are accepted would be a class of their own: one bit must go."""
    table = [coded("a", [0, 0, 0, 1, 1, 2])]
    selection = select_features(table, one_hot_features(table), [AtLeastK(2)], 0)
    assert [feature.code for feature in selection.kept_features] == [0]


def test_a_ladder_is_climbed_before_a_column_is_dropped() -> None:
    """A column too fine for k is kept at the finest level that fits."""
    table = [coded("n", np.arange(64), ordered=True), coded("id", np.arange(64))]
    ladders = {"n": automatic_ladder(table[0])}
    ranking = [Feature(column="n"), Feature(column="id")]
    selection = select_features(table, ranking, [AtLeastK(8)], 0, ladders)
    assert [(d.is_kept, d.level) for d in selection.decisions] == [(True, 3), (False, None)]
    groups = selection.groups["n"]
    assert groups is not None
    assert np.bincount(groups).tolist() == [8] * 8


def test_an_impossible_requirement_suppresses_every_row() -> None:
    """More diversity than there are values: nothing is kept and all rows are marked."""
    table = [coded("a", [0, 0, 1, 1])]
    selection = select_features(table, column_features(table), [DistinctL(np.zeros(4, np.int64), 2)], 0)
    assert not selection.kept_features
    assert selection.suppressed.all()


@given(tables(), st.data())
def test_distinct_rows_count_every_row_once(table: list[CodedColumn], data: st.DataObject) -> None:
    """Every row is found in its entry with all its codes, and the weights add up to the table."""
    n_rows = table[0].codes.size
    asked = data.draw(requirements(n_rows))
    distinct = NumberedRows.of(table, asked)
    assert distinct.whole.n_rows() == n_rows
    for column in distinct.columns:
        original = next(other for other in table if other.name == column.name)
        assert column.codes[distinct.entry].tolist() == original.codes.tolist()
    for before, after in zip(asked, distinct.requirements, strict=True):
        for values, of_entries in zip(before.attributes, after.attributes, strict=True):
            assert of_entries[distinct.entry].tolist() == values.tolist()
    nothing = released_partition(table, {column.name: None for column in table})
    assert nothing.n_classes == 1


@given(tables(), st.data())
def test_counting_the_distinct_rows_finds_the_entries_that_numbering_finds(
    table: list[CodedColumn], data: st.DataObject
) -> None:
    """Entries, their order, weights and requirements are the same whether or not rows know their entry."""
    asked = data.draw(st.one_of(st.just([AtLeastK(2)]), requirements(table[0].codes.size)))
    counted, numbered = DistinctRows.of(table, asked), NumberedRows.of(table, asked)
    assert counted.whole.weights is not None
    assert counted.whole.weights.tolist() == numbered.weights.tolist()
    for one, other in zip(counted.columns, numbered.columns, strict=True):
        assert (one.name, one.codes.dtype, one.codes.tolist()) == (other.name, other.codes.dtype, other.codes.tolist())
    assert [one.name for one in counted.requirements] == [one.name for one in asked]


@given(tables(), st.data())
def test_rows_are_counted_by_class_as_they_are_marked(table: list[CodedColumn], data: st.DataObject) -> None:
    """The number of rows to go is that of the rows marked, for any requirement; so are rows of broken classes."""
    asked = data.draw(requirements(table[0].codes.size))
    rows = NumberedRows.of(table, asked)
    partition = rows.whole.refine(rows.columns[0].codes)
    assert n_suppressed(partition, rows.requirements) == partition.n_rows(suppressed_rows(partition, rows.requirements))
    everything = np.ones(partition.classes.size, dtype=bool)
    broken = {
        one.name: partition.n_rows(one.violated(partition, everything)[partition.classes]) for one in rows.requirements
    }
    assert rows_violating(partition, rows.requirements) == {name: n for name, n in broken.items() if n}
