"""Cuts disclose nothing of fewer than k rows, to an attacker who knows the algorithm and tries every table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.domains.named_parts import place
from anonkit.k_anonymity.supported_parts import declared_cuts, equal_width_cuts, heavy_cuts

DAYS = st.dates(date(1900, 1, 1), date(2030, 1, 1))
CELLS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=60),
    st.lists(st.integers(-5, 40), min_size=1, max_size=60),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=60),
    st.lists(st.floats(-10, 10).map(lambda x: round(x, 2)), min_size=1, max_size=60),
    st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3), min_size=1, max_size=40),
    st.lists(DAYS, min_size=1, max_size=60),
    st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2030, 1, 1)), min_size=1, max_size=40),
)


def _column(cells: Sequence[object]) -> CodedColumn:
    values = sorted(set(cells))  # type: ignore[type-var]
    codes = np.array([values.index(cell) for cell in cells], dtype=np.int32)
    return CodedColumn(name="x", codes=codes, values=values, ordered=True)


@given(CELLS, st.integers(2, 6))
def test_every_part_holds_k_rows_and_a_cut_separates_its_neighbours(cells: list[object], k: int) -> None:
    """Between two cuts are k rows; a cut is above the value before it and not above the value it begins with."""
    column = _column(cells)
    cuts = heavy_cuts(column, k)
    borders = [0, *(at for at, _ in cuts), column.size]
    if cuts:
        for first, end in pairwise(borders):
            assert ((column.codes >= first) & (column.codes < end)).sum() >= k
    for at, point in cuts:
        assert column.values[at - 1] < point <= column.values[at]  # type: ignore[operator]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), min_size=1, max_size=60), st.integers(2, 4))
def test_people_are_counted_where_there_are_units(rows: list[tuple[int, int]], k: int) -> None:
    """Between two cuts are rows of k people."""
    column, units = _column([value for value, _ in rows]), np.array([unit for _, unit in rows])
    cuts = heavy_cuts(column, k, [units])
    borders = [0, *(at for at, _ in cuts), column.size]
    if cuts:
        for first, end in pairwise(borders):
            assert len(set(units[(column.codes >= first) & (column.codes < end)].tolist())) >= k


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60), st.integers(2, 6))
def test_values_that_k_rows_have_are_told_apart(cells: list[int], k: int) -> None:
    """Full detail is reached where every value is held by k rows."""
    heavy = [value for value in cells if cells.count(value) >= k]
    if heavy:
        assert len(heavy_cuts(_column(heavy), k)) == len(set(heavy)) - 1


def _every_attack(domain: Sequence[int], n_rows: int, k: int, bins: int | None) -> int:
    """Return how many tables give fewer than k rows away to somebody who knows k, n and the algorithm.

    A table does where some set of values, held by one to k - 1 of its rows, is held by a row in every table that has
    the same cuts.
    """
    alike: dict[tuple[object, ...], list[tuple[int, ...]]] = defaultdict(list)
    for rows in combinations_with_replacement(domain, n_rows):
        points = [point for _, point in heavy_cuts(_column(rows), k)]
        shown = points if bins is None else [points[at] for at in equal_width_cuts(points, bins)]
        alike[tuple(shown)].append(tuple(rows.count(value) for value in domain))
    given_away = 0
    for tables in alike.values():
        empty = {sum(1 << at for at, count in enumerate(table) if count == 0) for table in tables}
        for table in tables:
            for values in range(1, 1 << len(domain)):
                held = sum(count for at, count in enumerate(table) if values >> at & 1)
                if 0 < held < k and not any(zeros & values == values for zeros in empty):
                    given_away += 1
                    break
    return given_away


SMALL = [(range(8), 6, 2), (range(17, 24), 7, 3), (range(-4, 4), 6, 2)]


@pytest.mark.quick_cases("domain0-6-2-3", "domain1-7-3-None")
@pytest.mark.parametrize("bins", [None, 3])
@pytest.mark.parametrize(("domain", "n_rows", "k"), SMALL)
def test_no_set_of_values_that_fewer_than_k_rows_have_follows_from_the_cuts(
    domain: range, n_rows: int, k: int, bins: int | None
) -> None:
    """For every table, every set of values of fewer than k rows is empty in another table with the same cuts."""
    assert _every_attack(domain, n_rows, k, bins) == 0


@pytest.mark.slow
@pytest.mark.parametrize("bins", [None, 2, 5])
@pytest.mark.parametrize(
    ("domain", "n_rows", "k"), [(range(9), 8, 3), (range(45, 55), 7, 2), ([0, 1, 7, 9, 40, 90, 700, 5000], 9, 3)]
)
def test_no_larger_table_gives_one_away_either(domain: range, n_rows: int, k: int, bins: int | None) -> None:
    """As above, on larger domains and heavy tails."""
    assert _every_attack(domain, n_rows, k, bins) == 0


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=30, unique=True).map(sorted), st.integers(2, 12))
def test_bins_follow_from_the_cuts_alone(points: list[int], n_bins: int) -> None:
    """Bins of equal width are chosen among the cuts, at most one cut an edge."""
    chosen = equal_width_cuts(points, n_bins)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= max(n_bins - 1, 1)
    assert all(0 <= at < len(points) for at in chosen)


def test_scores_are_cut_as_in_the_paper() -> None:
    """Ten scores in five bins: {1, 2}, {3, 4}, … as if the smallest and largest score had been looked at."""
    points = list(range(2, 11))
    assert [points[at] for at in equal_width_cuts(points, 5)] == [3, 5, 7, 9]


@given(st.lists(st.integers(0, 100), min_size=5, max_size=80), st.integers(2, 8), st.integers(2, 5))
def test_bins_of_public_bounds_are_cut_at_their_edges(cells: list[int], n_bins: int, k: int) -> None:
    """Edges are multiples of the width, and k rows are between each two."""
    column = _column(cells)
    cuts = declared_cuts(column, (0.0, 100.0), n_bins, k)
    borders = [0, *(at for at, _ in cuts), column.size]
    for at, point in cuts:
        assert any(point == -(-100 * edge // n_bins) for edge in range(1, n_bins))
        assert column.values[at - 1] < Fraction(place(point)) <= column.values[at]  # type: ignore[operator]
    if cuts:
        for first, end in pairwise(borders):
            assert ((column.codes >= first) & (column.codes < end)).sum() >= k
