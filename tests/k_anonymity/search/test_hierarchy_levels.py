"""Ladders of generalization."""

from __future__ import annotations

import datetime
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.errors import ParameterError
from anonkit.k_anonymity.search.hierarchy_levels import (
    Ladder,
    automatic_ladder,
    bin_of,
    equal_mass,
    full_detail,
    number_groups,
    tree_ladder,
    width_ladder,
)
from tests.k_anonymity.search.coded_tables import coded, tables


def _column(values: list[object], *, ordered: bool) -> CodedColumn:
    return CodedColumn(name="c", codes=np.arange(len(values), dtype=np.int32), values=values, ordered=ordered)


@given(tables(max_columns=1))
def test_automatic_levels_are_nested_and_keep_ordered_groups_together(table: list[CodedColumn]) -> None:
    """Level 0 is full detail, each level merges the one before, and ordered groups are intervals."""
    column = table[0]
    levels = automatic_ladder(column).levels
    assert levels[0].tolist() == list(range(column.size))
    for finer, coarser in pairwise(levels):
        assert coarser.max() < finer.max()
        assert all(len(set(coarser[finer == group].tolist())) == 1 for group in finer)
    if column.ordered:
        for level in levels:
            assert (np.diff(level) >= 0).all()
            assert column.missing is None or (level == level[column.missing]).sum() == 1


def test_automatic_levels_of_many_values_halve() -> None:
    """1,000 equally frequent numbers become 64, 32, … 2 ranges; as categories, the commonest stay."""
    numbers = automatic_ladder(coded("n", np.arange(1000), ordered=True)).levels
    assert [int(level.max()) + 1 for level in numbers] == [1000, 64, 32, 16, 8, 4, 2]
    skewed = automatic_ladder(coded("c", np.repeat([0, 1, 2], [1, 5, 3]))).levels
    assert skewed[-1].tolist() == [0, 1, 0]


def test_widths_make_bins_at_multiples() -> None:
    """Bins [i w, (i + 1) w); missing is apart at every level."""
    column = _column([3.0, 5.0, 9.0, 10.0, 19.0, 20.0, None], ordered=True)
    levels = width_ladder(column, [5, 10]).levels
    assert levels[1].tolist() == [0, 1, 1, 2, 3, 4, 5]
    assert levels[2].tolist() == [0, 0, 0, 1, 1, 2, 3]


def test_widths_that_cut_through_finer_bins_are_refused() -> None:
    """A width that is no multiple of the one before splits what was merged."""
    with pytest.raises(ParameterError, match="ladder of column 'c'"):
        width_ladder(_column([float(i) for i in range(12)], ordered=True), [4, 6])


def test_widths_need_numbers() -> None:
    """Dates have no bin width; the message names the column, not a value."""
    with pytest.raises(ParameterError, match="bin widths need numbers") as raised:
        width_ladder(_column([datetime.date(2020, 1, 1)], ordered=True), [5])
    assert "2020" not in str(raised.value)


def test_tree_levels_follow_the_paths() -> None:
    """Values of one group share it; values without a path and missing stay apart."""
    tree = [("a1", "a", "all"), ("a2", "a", "all"), ("b1", "b", "all")]
    levels = tree_ladder(_column(["a1", "b1", "a2", "stranger", None], ordered=False), tree).levels
    assert [level.tolist() for level in levels] == [[0, 1, 2, 3, 4], [0, 1, 0, 2, 3], [0, 0, 0, 1, 2]]


def test_a_level_that_splits_is_refused() -> None:
    """Levels must be nested."""
    with pytest.raises(ParameterError, match="splits groups"):
        Ladder("c", (np.array([0, 0, 1], np.int32), np.array([0, 1, 1], np.int32)))


def test_full_detail_is_one_level() -> None:
    """A column that may not be coarsened is kept or dropped."""
    assert [level.tolist() for level in full_detail(coded("c", [0, 2, 1])).levels] == [[0, 1, 2]]


@given(st.lists(st.integers(0, 5), min_size=1))
def test_groups_are_numbered_by_their_smallest_code(keys: list[int]) -> None:
    """The numbering depends on the grouping only."""
    first = {key: keys.index(key) for key in keys}
    rank = {key: at for at, key in enumerate(sorted(first, key=lambda key: first[key]))}
    assert number_groups(np.array(keys)).tolist() == [rank[key] for key in keys]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=200), st.sampled_from([2, 8, 64]))
def test_ranges_of_equal_mass_ascend_and_halve(counts: list[int], n_parts: int) -> None:
    """Ranges follow the order of the values; those for half as many parts are unions of them."""
    fine, coarse = equal_mass(np.array(counts), n_parts), equal_mass(np.array(counts), n_parts // 2)
    assert (np.diff(fine) >= 0).all()
    assert 0 <= fine.min() <= fine.max() < n_parts
    assert coarse.tolist() == (fine // 2).tolist()


NUMBERS = st.one_of(
    st.lists(st.integers(-(2**63), 2**64), min_size=1, max_size=20, unique=True),
    st.lists(st.decimals(-1000, 1000, places=2), min_size=1, max_size=20, unique=True),
    st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=1, max_size=20, unique=True),
)


@given(NUMBERS.map(sorted), st.sampled_from([0.1, 0.5, 2.5, 5.0, 1000.0]))
def test_bins_are_exact(values: list[object], width: float) -> None:
    """Values share a bin exactly when their quotients by the width do; the bin's ends are multiples around them."""
    bins = width_ladder(_column(values, ordered=True), [width]).levels[1].tolist()
    places = [Fraction(str(value)) // Fraction(str(width)) for value in values]
    assert [a == b for a, b in pairwise(bins)] == [a == b for a, b in pairwise(places)]
    for value, place in zip(values, places, strict=True):
        low, high = bin_of(value, width)  # type: ignore[arg-type]
        assert Fraction(str(low)) == place * Fraction(str(width))
        assert Fraction(str(low)) <= Fraction(str(value)) < Fraction(str(high))


def test_bins_have_no_infinite_numbers() -> None:
    """A declared bin is finite."""
    with pytest.raises(ParameterError, match="infinite numbers"):
        width_ladder(_column([1.0, float("inf")], ordered=True), [5])
