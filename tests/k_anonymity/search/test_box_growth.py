"""Division of a box along a hierarchy: nodes with enough rows, at the coarsest level that separates them.

Cutting a table into boxes: what every box meets, and which cut is taken.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.box_growth import LISTED, BoxGrowth, divide, per_row
from anonkit.k_anonymity.search.equivalence import (
    AlphaK,
    AtLeastK,
    DistinctL,
    EntropyL,
    Partition,
    RecursiveCL,
    Requirement,
    TCloseness,
)

REQUIREMENTS = ("distinct", "entropy", "recursive", "t", "ordered t", "alpha", "units")


def _column(
    name: str, codes: list[int], *, ordered: bool, missing: bool = False, size: int | None = None
) -> CodedColumn:
    size = size or max(codes) + 1
    values: list[object] = [float(at) if ordered else f"v{at}" for at in range(size - missing)]
    return CodedColumn(
        name=name, codes=np.array(codes, dtype=np.int32), values=[*values, *([None] * missing)], ordered=ordered
    )


@st.composite
def columns(draw: st.DrawFn, n_rows: int) -> list[CodedColumn]:
    """Draw one to four columns of at most six codes, some of them never used."""
    out = []
    for at in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 6))
        codes = draw(st.lists(st.integers(0, size - 1), min_size=n_rows, max_size=n_rows))
        kinds = st.booleans()
        out.append(_column(f"c{at}", codes, ordered=draw(kinds), missing=draw(kinds), size=size))
    return out


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[CodedColumn], Partition, np.ndarray, np.ndarray]:
    """Draw columns, weighted entries in one class, one to three guides or none, and a sensitive attribute."""
    n = draw(st.integers(1, 40))
    whole = Partition.whole(n, np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))))
    n_guides = draw(st.integers(0, 3))
    flat = draw(st.lists(st.integers(0, 8), min_size=n * n_guides, max_size=n * n_guides))
    sensitive = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    return draw(columns(n)), whole, np.array(flat, dtype=np.float64).reshape(n, n_guides), sensitive


def _requirements(names: set[str], sensitive: np.ndarray) -> list[Requirement]:
    made: dict[str, Requirement] = {
        "distinct": DistinctL(sensitive, 2),
        "entropy": EntropyL(sensitive, 1.6),
        "recursive": RecursiveCL(sensitive, 2.0, 2),
        "t": TCloseness(sensitive, 0.25),
        "ordered t": TCloseness(sensitive, 0.15, ordered=True),
        "alpha": AlphaK(sensitive, 0.7),
        "units": AtLeastK(3, np.arange(sensitive.size) // 2),
    }
    return [made[name] for name in sorted(names)]


def _grown(
    table: tuple[list[CodedColumn], Partition, np.ndarray, np.ndarray], requirements: list[Requirement]
) -> tuple[BoxGrowth, Partition]:
    found, whole, guide, _ = table
    growth = BoxGrowth(found, whole, guide, requirements)
    growth.grow()
    leaves, classes = np.unique(growth.node, return_inverse=True)
    assert (leaves == np.flatnonzero(growth.splits.column < 0)).all()  # no leaf is empty
    return growth, Partition(classes, leaves.size, whole.weights)


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(2, 6), st.sets(st.sampled_from(REQUIREMENTS), max_size=3))
def test_every_box_meets_every_requirement_that_the_table_meets(
    table: tuple[list[CodedColumn], Partition, np.ndarray, np.ndarray], k: int, names: set[str]
) -> None:
    """Every requirement that the whole table meets as one class, every box meets too."""
    whole, sensitive = table[1], table[3]
    kept = np.ones(sensitive.size, dtype=bool)
    asked = [AtLeastK(k), *_requirements(names, sensitive)]
    asked = [requirement for requirement in asked if not requirement.violated(whole, kept).any()]
    _, boxes = _grown(table, asked)
    for requirement in asked:
        assert not requirement.violated(boxes, kept).any()


@given(tables(), st.integers(2, 5))
def test_no_box_could_still_be_cut(table: tuple[list[CodedColumn], Partition, np.ndarray, np.ndarray], k: int) -> None:
    """With k alone, no threshold on a number, and no single category against the rest, would leave k rows a side."""
    found, whole, _, _ = table
    if whole.n_rows() < k:
        return
    _, boxes = _grown(table, [AtLeastK(k)])
    assert whole.weights is not None
    for box, column in itertools.product(range(boxes.n_classes), found):
        inside = boxes.classes == box
        held = np.bincount(column.codes[inside], whole.weights[inside], minlength=column.size)
        for code in range(column.size):
            part = held[: code + 1].sum() if column.ordered else held[code]
            alone = column.ordered or (held > 0).sum() == 2
            assert not alone or min(part, held.sum() - part) < k


def test_the_first_cut_is_the_one_that_tells_most_of_the_target() -> None:
    """A column that decides the target is cut before one that distinguishes more values."""
    deciding = _column("a", [0, 0, 1, 1] * 10, ordered=False)
    detailed = _column("b", [at % 8 for at in range(40)], ordered=True)
    guide = np.where(deciding.codes == 1, 100.0, 0.0)[:, None]
    growth = BoxGrowth([detailed, deciding], Partition.whole(40), guide, [AtLeastK(5)])
    growth.grow()
    assert growth.splits.column[0] == 1


def test_cuts_that_tell_nothing_of_the_target_still_keep_detail() -> None:
    """Without a guide boxes are cut as finely as k allows, in the middle first."""
    column = _column("a", [at // 5 for at in range(40)], ordered=True)
    growth = BoxGrowth([column], Partition.whole(40), np.empty((40, 0)), [AtLeastK(5)])
    growth.grow()
    assert growth.splits.at_most[0] == 3
    assert (np.bincount(growth.node)[growth.splits.column < 0] == 5).all()


@pytest.mark.parametrize("like", [0, 3])
def test_missing_goes_to_the_side_it_is_like(like: int) -> None:
    """Missing, the last code of an ordered column, may join the low or the high end."""
    column = _column("a", [0, 1, 2, 3, 4] * 4, ordered=True, missing=True)
    guide = np.where((column.codes // 2 == like // 2) | (column.codes == 4), 100.0, 0.0)[:, None]
    growth = BoxGrowth([column], Partition.whole(20), guide, [AtLeastK(8)])
    growth.grow()
    assert growth.splits.at_most[0] == 1
    assert growth.splits.missing_left[0] == (like == 0)


def test_numbers_that_nobody_has_are_shared_between_the_sides() -> None:
    """The cut is in the middle of the gap between two groups of rows."""
    column = _column("a", [0, 0, 9, 9], ordered=True, size=11)
    growth = BoxGrowth([column], Partition.whole(4), np.empty((4, 0)), [AtLeastK(2)])
    growth.grow()
    assert growth.splits.at_most[0] == 4


@pytest.mark.parametrize(("first", "listed"), [(2, 0), (5, 3)])
def test_categories_that_nobody_has_go_with_the_larger_side(first: int, listed: int) -> None:
    """Only the codes of the smaller side are listed."""
    column = _column("a", [0] * first + [3] * (7 - first), ordered=False, size=6)
    growth = BoxGrowth([column], Partition.whole(7), np.empty((7, 0)), [AtLeastK(2)])
    growth.grow()
    codes, listed_from = growth.splits.listed()
    assert growth.splits.at_most[0] == LISTED
    assert codes.tolist() == [listed]
    assert listed_from.tolist() == [0, 1, 1, 1]


def test_three_classes_order_categories_by_where_they_differ_most() -> None:
    """Categories that speak for one class are cut from those that speak for two others alike."""
    codes = [0, 1, 2, 3] * 10
    speaks = np.array([[0.1, 0.45, 0.45], [0.9, 0.05, 0.05], [0.05, 0.5, 0.45], [0.95, 0.0, 0.05]])
    growth = BoxGrowth(
        [_column("a", codes, ordered=False)], Partition.whole(40), np.rint(1000 * speaks[codes]), [AtLeastK(20)]
    )
    growth.grow()
    assert set(growth.splits.listed()[0].tolist()) in ({0, 2}, {1, 3})


@pytest.mark.parametrize("n_columns", [1, 2])
def test_a_forbidden_cut_gives_way_to_an_allowed_one(n_columns: int) -> None:
    """If the most informative cuts break diversity, categories are cut across the target, or another column is."""
    sensitive = np.array([0, 1, 0, 1] * 10)
    by_target = _column("a", [0, 1, 2, 3] * 10, ordered=False)
    across = _column("b", [0, 0, 0, 0, 1, 1, 1, 1] * 5, ordered=False)
    requirements: list[Requirement] = [AtLeastK(20), DistinctL(sensitive, 2)]
    growth = BoxGrowth([by_target, across][:n_columns], Partition.whole(40), 100.0 * sensitive[:, None], requirements)
    growth.grow()
    sizes = np.bincount(growth.node)[growth.splits.column < 0]
    assert sizes.tolist() == [20, 20]


LEVELS = [np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])]


def divided(codes: list[int], rows: list[float], floor: float) -> tuple[list[int], int, int]:
    """Parts, level and number of nodes of one box."""
    found = divide(
        np.zeros(len(codes), dtype=np.int64), np.array(codes), np.array(rows), np.array(rows),
        np.zeros((len(codes), 1)), LEVELS, np.array([floor]), (1.0, 1.0),
    )  # fmt: skip
    return found.part.tolist(), int(found.level[0]), int(found.n_nodes[0])


@pytest.mark.parametrize(
    ("codes", "rows", "floor", "expected"),
    [
        ([0, 1, 2, 3], [5, 5, 9, 9], 5, ([1, 1, 0, 0], 1, 2)),  # halves, the one with most rows first
        ([0, 1], [5, 6], 5, ([1, 0], 0, 2)),  # one half alone: its values
        ([0, 1, 2, 3], [2, 2, 9, 9], 3, ([1, 1, 0, 0], 1, 2)),
        ([0, 1, 2, 3], [1, 1, 9, 9], 5, ([0, 0, 0, 0], 1, 0)),  # what is left would be too few
    ],
)
def test_nodes_with_enough_rows_are_distinguished(
    codes: list[int], rows: list[float], floor: float, expected: tuple[list[int], int, int]
) -> None:
    """And what is left of the box has enough rows, too, or the smallest node stays with it."""
    assert divided(codes, rows, floor) == expected


def test_a_guide_that_differs_between_parts_is_worth_its_variance() -> None:
    """The gain of halves whose guides are opposite is that of the sums of squares."""
    guide = np.array([[4.0], [4.0], [-4.0], [-4.0]])
    rows = np.full(4, 4.0)
    found = divide(np.zeros(4, dtype=np.int64), np.arange(4), rows, rows, guide, LEVELS, np.array([4.0]), (1.0, 0.0))
    assert found.score.tolist() == [8**2 / 8 * 2]
    assert per_row(np.array([3.0, 5.0]), np.array([2.0, 0.0])).tolist() == [1.5, 5.0]
