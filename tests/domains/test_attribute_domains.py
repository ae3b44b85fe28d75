"""Public domains as codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.attribute_domains import Categories, Grid
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
