"""Bins of a numeric target: runs of cells of a public grid, that partition all numbers and are read cell by cell.

Public domains as codes.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.cell_values import codes_of_cells, labels_of_cells
from anonkit.domains.number_bins import (
    UNKNOWN,
    Categories,
    DeclaredTarget,
    Grid,
    NumberBins,
    named_classes,
    shown_classes,
)
from anonkit.errors import ParameterError, ReleaseFormatError

GRIDS = st.builds(
    lambda lower, width, cells, missing: Grid(lower=lower, upper=lower + width, cells=cells, has_missing=missing),
    st.floats(-1e6, 1e6),
    st.floats(0.01, 1e6),
    st.integers(1, 300),
    st.booleans(),
)


@given(GRIDS, st.integers(1, 40))
def test_a_published_middle_reads_back_as_its_cell(grid: Grid, band: int) -> None:
    """Decoding and encoding again gives the same code, on the grid itself and widened by a band."""
    for each in (grid, grid.widened(band)):
        codes = np.arange(each.size)
        assert np.array_equal(each.encode(each.decode(codes)), codes)


@given(GRIDS, st.floats(-1e7, 1e7))
def test_a_value_is_at_most_half_a_cell_from_its_middle(grid: Grid, value: float) -> None:
    """Inside the bounds the middle is near; outside, the outermost cell is taken."""
    code = int(grid.encode(np.array([value]))[0])
    middle = grid.midpoints()[code]
    inside = min(max(value, grid.lower), grid.upper)
    assert abs(middle - inside) <= grid.width / 2 * (1 + 1e-6) + 1e-12 * abs(grid.lower)


def test_missing_is_the_last_code() -> None:
    """NaN and None take the code after the values, and come back."""
    grid = Grid(lower=0, upper=10, cells=5, has_missing=True)
    assert grid.encode(np.array([0.0, np.nan, 10.0])).tolist() == [0, 5, 4]
    assert np.isnan(grid.decode(np.array([5]))[0])
    categories = Categories(values=("a", "b"), has_missing=True)
    assert categories.codes_of == {"a": 0, "b": 1, None: 2}
    assert categories.decode(np.array([2, 0])).tolist() == [None, "a"]


def test_missing_without_a_code_is_refused() -> None:
    """The message counts the rows."""
    with pytest.raises(ParameterError, match="1 of 2 values are missing"):
        Grid(lower=0, upper=1, cells=2).encode(np.array([0.5, np.nan]))


def test_impossible_domains_are_refused() -> None:
    """Empty or repeated categories, bounds in the wrong order, no cells, damaged params."""
    for values in ((), ("a", "a")):
        with pytest.raises(ParameterError):
            Categories(values=values)
    for lower, upper, cells in ((1, 1, 2), (0, np.inf, 2), (0, 1, 0)):
        with pytest.raises(ParameterError):
            Grid(lower=lower, upper=upper, cells=cells)
    with pytest.raises(ReleaseFormatError):
        Grid.from_params({"bounds": [0, 1]})
    with pytest.raises(ReleaseFormatError):
        Categories.from_params({"categories": [1]})


@given(GRIDS)
def test_params_bring_a_domain_back(grid: Grid) -> None:
    """A grid and a list of categories survive the params file."""
    assert Grid.from_params(grid.to_params()) == grid
    categories = Categories(values=("ä", "b"), has_missing=grid.has_missing)
    assert Categories.from_params(categories.to_params()) == categories


@st.composite
def number_bins(draw: st.DrawFn) -> NumberBins:
    """Some runs of the cells of some grid."""
    low, cells = draw(st.floats(-1e6, 1e6)), draw(st.integers(1, 40))
    high = low + draw(st.floats(1e-3, 1e6))
    ends = sorted({*draw(st.lists(st.integers(1, cells))), cells})
    grid = Grid(lower=low, upper=high, cells=cells, has_missing=draw(st.booleans()))
    return NumberBins.of(grid, ends)


@given(bins=number_bins(), place=st.floats(-0.5, 1.5))
def test_a_number_is_in_the_bin_of_its_cell(bins: NumberBins, place: float) -> None:
    """Numbers beyond a bound are at the bound, and a cell is in one bin."""
    grid = bins.grid
    number = np.array([grid.lower + place * (grid.upper - grid.lower)])
    cell = int(grid.encode(np.clip(number, grid.lower, grid.upper))[0])
    (found,) = bins.bins_of(number)
    assert (0, *bins.ends)[found] <= cell < bins.ends[found]


@given(bins=number_bins())
def test_bins_come_back_from_their_params(bins: NumberBins) -> None:
    """Through JSON, means and missing too; other targets are as they were."""
    stated = json.loads(json.dumps(DeclaredTarget(name="y", domain=bins).to_params()))
    assert DeclaredTarget.from_params(stated).domain == bins
    plain = DeclaredTarget(name="y", domain=Categories(values=("a", "b")))
    assert plain.to_params() == {"name": "y", "domain": {"categories": ["a", "b"], "has_missing": False}}
    assert DeclaredTarget.from_params(plain.to_params()) == plain


def test_what_is_no_number_is_missing_by_its_own_cell_alone() -> None:
    """Texts and nulls are missing; without missing their rows have no class, and other rows keep theirs."""
    grid = Grid(lower=0.0, upper=8.0, cells=4)
    batch = pa.record_batch({"y": pa.array(["1", "N", None, "7.5", "99", "-3", "inf"])})
    assert labels_of_cells(batch, "y", NumberBins.equal(grid)).tolist() == [0, UNKNOWN, UNKNOWN, 3, 3, 0, UNKNOWN]
    counted = NumberBins.equal(Grid(lower=0.0, upper=8.0, cells=4, has_missing=True))
    assert labels_of_cells(batch, "y", counted).tolist() == [0, 4, 4, 3, 3, 0, 4]
    assert codes_of_cells(batch, "y", counted).tolist() == [0, 4, 4, 3, 3, 0, 4]
    alone = [int(labels_of_cells(batch.slice(at, 1), "y", counted)[0]) for at in range(batch.num_rows)]
    assert alone == labels_of_cells(batch, "y", counted).tolist()


def test_shares_of_bins_are_a_mean_and_missing_has_no_part_in_it() -> None:
    """The means weighted by shares; a row without a share gets the mean of the means."""
    bins = NumberBins.of(Grid(lower=0.0, upper=4.0, cells=4, has_missing=True), [1, 4], [0.5, 3.0])
    shares = np.array([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]])
    assert bins.mean_of(shares).tolist() == [0.5, 1.75, 1.75]


def test_bins_are_named_by_their_intervals_and_released_on_their_grid() -> None:
    """By name in cells; as numbers of the grid in rows."""
    bins = NumberBins.of(Grid(lower=0.0, upper=0.3, cells=3), [1, 3])
    assert bins.values == ("[0, 0.1)", "[0.1, 0.3]")
    assert named_classes(bins) == Categories(values=bins.values)
    assert shown_classes(bins) == bins.grid
    assert not bins.are_cells


@pytest.mark.parametrize(
    ("ends", "means"), [([], []), ([2, 1, 4], [1.0] * 3), ([0, 4], [1.0, 2.0]), ([3], [1.0]), ([4], [1.0, 2.0])]
)
def test_bins_that_are_no_partition_are_refused(ends: list[int], means: list[float]) -> None:
    """In Python, and in the params of a release."""
    grid = Grid(lower=0.0, upper=1.0, cells=4)
    with pytest.raises((ParameterError, IndexError)):
        NumberBins.of(grid, ends, means)
    with pytest.raises(ReleaseFormatError):
        NumberBins.from_params({**grid.to_params(), "ends": ends, "means": means})
